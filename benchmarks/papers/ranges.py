"""All ranges of a window at once, 1 to n items: the loops of FlatFIT's competitors, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sash import Monoid
from sash.kernel.answers import Answers
from sash.kernel.words import (
    ANSWER,
    Cursors,
    InputColumns,
    Memory,
    Outputs,
    attach,
    combine,
    evict,
    get,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    one,
    query,
)
from sash.swag import BInt, FlatFIT, Reactive, Recalc, b_int, recalc
from sash.swag.flat_fat import PREFIX, SUFFIX, prefix, suffix
from sash.swag.in_order import InOrder
from sash.swag.inputs import addresses
from sash.swag.reactive_update import trigger
from sash.testing import counting


def naive(memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs) -> Any:
    """Slide by n items; after each, every range of the last 1 to `most` items is recalculated."""
    q = attach(memory)
    for i in range(n):
        at = insert(q, evict(q, at), lift(q, item(xs, i)))
        for k in range(1, most + 1):
            ranged = recalc.At(at.e - k, at.e)
            give(out, k - 1, lower(hold(q, ANSWER, query(q, ranged))))
    return at


def base_intervals(
    memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs
) -> Any:
    """As `naive`; each range is split into base intervals."""
    q = attach(memory)
    for i in range(n):
        at = insert(q, evict(q, at), lift(q, item(xs, i)))
        for k in range(1, most + 1):
            ranged = b_int.At(at.e - k, at.e, at.capacity)
            give(out, k - 1, lower(hold(q, ANSWER, query(q, ranged))))
    return at


def flat_fat(memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs) -> Any:
    """As `naive`; the tree is updated once, and each range is O(log n) of its nodes."""
    q = attach(memory)
    for i in range(n):
        at = insert(q, evict(q, at), lift(q, item(xs, i)))
        trigger(q, at)
        last = (at.e - 1) & (at.capacity - 1)
        for k in range(1, most + 1):
            first = (at.e - k) & (at.capacity - 1)
            lo, hi = at.capacity + first, at.capacity + last + 1
            older, younger = one(q), one(q)
            while lo < hi:  # up from both ends, until they meet
                if lo & 1:
                    older = hold(q, PREFIX, combine(older, get(q.part, lo)))
                    lo += 1
                if hi & 1:
                    hi -= 1
                    younger = hold(q, SUFFIX, combine(get(q.part, hi), younger))
                lo, hi = lo >> 1, hi >> 1
            if first > last:  # inverted
                older, younger = suffix(q, at.capacity, first), prefix(q, at.capacity, last)
            give(out, k - 1, lower(hold(q, ANSWER, combine(older, younger))))
    return at


LOOPS: dict[type[InOrder], Callable[..., Any]] = {
    Recalc: naive,
    BInt: base_intervals,
    Reactive: flat_fat,
}


def all_ranges(algorithm: type[InOrder], monoid: Any, xs: np.ndarray, n: int) -> Callable[[], Any]:
    """A run over xs of a window of n items that is full; it returns the answers of the last one."""
    window: Any = algorithm(monoid.of(xs.dtype), compiled=True)
    window.insert_many(np.resize(xs, n))
    if isinstance(window, FlatFIT):
        sizes, out = range(1, n + 1), np.empty((len(xs), n), xs.dtype)
        window.slide_many(xs, sizes)
        return partial(last_row, window, xs, sizes, out)
    kernel = window._kernel(LOOPS[algorithm], (xs,))
    answers = Answers(kernel.answer, n)

    def run() -> Any:
        window._memory.reserve(window._at, len(xs))
        window._run(kernel, addresses((xs,)), len(xs), n, answers.address)
        return answers.result()

    return run


def combines_of_ranges(algorithm: type[InOrder], n: int) -> float:
    """Combines per slide of a window of n items, full, that answers for all ranges: counted."""
    monoid, counter = counting(Monoid("nothing", 0, lambda x: 0, lambda a, b: 0))
    window: Any = algorithm(monoid, compiled=False)
    slides: list[Any] = [0] * (n + 1)
    if isinstance(window, FlatFIT):
        window.slide_many([0] * n, range(1, n + 1))
        counter.reset()
        window.slide_many(slides, range(1, n + 1))
        return counter.combines / len(slides)
    window.slide([0] * n, n)
    window._make_room_to_slide(len(slides), n)
    counter.reset()
    window._plain(LOOPS[algorithm])(window._q, window._at, slides, len(slides), n, [None] * n)
    return counter.combines / len(slides)


def last_row(window: FlatFIT, xs: np.ndarray, sizes: range, out: np.ndarray) -> Any:
    return window.slide_many(xs, sizes, out)[-1]
