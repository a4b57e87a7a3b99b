"""Compiled loops of the papers' workloads, over all algorithms in order and over FiBA's tree.

rounds          evict what is before a bound, insert an item, query; for each item
timed_rounds    the same, with the processor's cycles of each round
fill_and_drain  insert and query until the window has n items, evict until it has none
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.workloads import rows
from sash import swag
from sash.kernel.answers import Answers
from sash.kernel.words import (
    ANSWER,
    Address,
    Cursors,
    InputColumns,
    Memory,
    Outputs,
    attach,
    cycles,
    evict,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    numbers,
    query,
    size,
)
from sash.swag.fiba.aggregate import query as tree_query
from sash.swag.fiba.aggregate import ready
from sash.swag.fiba.evict import evict as tree_evict
from sash.swag.fiba.insert import append
from sash.swag.inputs import addresses


class Loop(NamedTuple):
    """A workload: as it is for windows in order, and as it is for trees."""

    in_order: Callable[..., Any]
    tree: Callable[..., Any]


def rounds(
    memory: Memory, at: Cursors, xs: InputColumns, first: int, stop: int, lo: Address, out: Outputs
) -> Any:
    """For items first to stop - 1: evict those before its bound, insert it, query."""
    q = attach(memory)
    begins = numbers(lo)
    for i in range(first, stop):
        while at.f < begins[i]:
            at = evict(q, at)
        at = insert(q, at, lift(q, item(xs, i)))
        give(out, i, lower(hold(q, ANSWER, query(q, at))))
    return at


def tree_rounds(
    tree: Address, xs: InputColumns, first: int, stop: int, lo: Address, out: Outputs
) -> int:
    """As `rounds`; the time of an item is its number."""
    q = attach(numbers(tree))
    begins = numbers(lo)
    gone = begins[first - 1] if first > 0 else 0
    for i in range(first, stop):
        while gone < begins[i]:
            tree_evict(q)
            gone += 1
        append(q, i, lift(q, item(xs, i)))
        ready(q)
        give(out, i, lower(tree_query(q)))
    return 0


def timed_rounds(
    memory: Memory,
    at: Cursors,
    xs: InputColumns,
    first: int,
    stop: int,
    lo: Address,
    out: Outputs,
    spent: Address,
) -> Any:
    """As `rounds`; the cycles of each round go to `spent`."""
    q = attach(memory)
    begins = numbers(lo)
    for i in range(first, stop):
        begin = cycles()
        while at.f < begins[i]:
            at = evict(q, at)
        at = insert(q, at, lift(q, item(xs, i)))
        give(out, i, lower(hold(q, ANSWER, query(q, at))))
        numbers(spent)[i] = cycles() - begin
    return at


def timed_tree_rounds(
    tree: Address,
    xs: InputColumns,
    first: int,
    stop: int,
    lo: Address,
    out: Outputs,
    spent: Address,
) -> int:
    """As `tree_rounds`; the cycles of each round go to `spent`."""
    q = attach(numbers(tree))
    begins = numbers(lo)
    gone = begins[first - 1] if first > 0 else 0
    for i in range(first, stop):
        begin = cycles()
        while gone < begins[i]:
            tree_evict(q)
            gone += 1
        append(q, i, lift(q, item(xs, i)))
        ready(q)
        give(out, i, lower(tree_query(q)))
        numbers(spent)[i] = cycles() - begin
    return 0


def fill_and_drain(
    memory: Memory, at: Cursors, xs: InputColumns, n: int, times: int, out: Outputs
) -> Any:
    """Insert n items with a query after each, evict them one by one; so many times."""
    q = attach(memory)
    for _ in range(times):
        for i in range(n):
            at = insert(q, at, lift(q, item(xs, i)))
            give(out, i, lower(hold(q, ANSWER, query(q, at))))
        while size(at) > 0:
            at = evict(q, at)
    return at


def tree_fill_and_drain(tree: Address, xs: InputColumns, n: int, times: int, out: Outputs) -> int:
    """As `fill_and_drain`."""
    q = attach(numbers(tree))
    for k in range(times):
        for i in range(n):
            append(q, k * n + i, lift(q, item(xs, i)))
            ready(q)
            give(out, i, lower(tree_query(q)))
        for _ in range(n):
            tree_evict(q)
        ready(q)
    return 0


ROUNDS = Loop(rounds, tree_rounds)
TIMED_ROUNDS = Loop(timed_rounds, timed_tree_rounds)
FILL_AND_DRAIN = Loop(fill_and_drain, tree_fill_and_drain)


class Driven:
    """A new window and its items, driven by compiled loops; answers are kept in `answers`."""

    def __init__(self, window: Any, xs: Any, longest: int) -> None:
        """`longest` is how many items the window has at most."""
        self.window, self._xs = window, xs if isinstance(xs, tuple) else (xs,)
        self._n, self._longest = rows(xs), longest
        self.answers: Answers | None = None

    def run(self, loop: Loop, *numbers: int, then: tuple[int, ...] = ()) -> None:
        """Enter the loop with these numbers, the answers, and what comes after them."""
        window, is_tree = self.window, isinstance(self.window, swag.FiBA)
        if self.answers is None and is_tree:
            window._make_room_to_slide(self._n, self._longest + 1, careful=False)
        elif self.answers is None:
            window._make_room_to_slide(self._n, self._longest)
        items = addresses(self._xs)
        if is_tree:
            kernel = window._kernel(loop.tree, self._xs, math.inf)
        else:
            kernel = window._kernel(loop.in_order, self._xs)
        if self.answers is None:
            self.answers = Answers(kernel.answer, self._n)
        arguments = (items, *numbers, self.answers.address, *then)
        if is_tree:
            kernel.run(window._memory.address, *arguments)
        else:
            window._run(kernel, *arguments)


def latencies(window: Any, xs: Any, lo: np.ndarray, skip: int) -> np.ndarray:
    """Nanoseconds of each round of evict, insert and query, after the first `skip` of them.

    `lo` has for each item the first item of the window that ends with it.
    """
    n = rows(xs)
    longest = int((np.arange(1, n + 1) - lo).max())
    spent = np.zeros(n, np.int64)
    driven = Driven(window, xs, longest)
    driven.run(TIMED_ROUNDS, 0, n, lo.ctypes.data, then=(spent.ctypes.data,))
    return spent[skip:] / cycles_per_nanosecond()


def last(n: int, items: int) -> np.ndarray:
    """The bounds of windows of the last n items."""
    return np.maximum(np.arange(items) + 1 - n, 0)


@cache
def counter_step() -> float:
    """By how many nanoseconds the cycle counter moves at least: some processors' counters do not
    count each cycle."""
    from numba import njit

    from sash.kernel.machine import cycles

    def least_step() -> int:
        least = 1 << 62
        for _ in range(100_000):
            step = cycles()
            step = cycles() - step
            least = min(least, step) if step > 1 else least
        return least

    return float(njit(least_step)()) / cycles_per_nanosecond()


@cache
def cycles_per_nanosecond() -> float:
    """The rate of the cycle counter, measured once."""
    from numba import njit

    from sash.kernel.machine import cycles

    read = njit(lambda: cycles())
    read()
    start, before = time.perf_counter_ns(), read()
    while time.perf_counter_ns() - start < 50_000_000:
        pass
    return float(read() - before) / (time.perf_counter_ns() - start)
