"""Slide policies for windows that have none of their own: DABA and recalculation (Naive).

As in section 5.1 of the AMTA paper: after each insertion the oldest item alone is asked about, and
evicted as long as the policy says so. Naive keeps its result until an item is evicted, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash import swag
from sash.kernel import words
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
    policy,
    query,
    size,
)
from sash.swag.inputs import addresses, columns_of
from sash.swag.two_stacks import val

FOREVER = 1 << 62


def obey_by_query(
    memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs
) -> Any:
    """DABA: insert items 0 to n - 1; after each, evict what the policy says, then answer."""
    q = attach(memory)
    for i in range(n):
        if size(at) == most:
            at = evict(q, at)
        at = insert(q, at, lift(q, item(xs, i)))
        total = hold(q, ANSWER, query(q, at))
        while size(at) > 1 and policy(total, get(q.part, val(at.f))):
            at = evict(q, at)
            total = hold(q, ANSWER, query(q, at))
        give(out, i, lower(total))
    return at


def obey_by_recalculating(
    memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs
) -> Any:
    """Naive: as `obey_by_query`; what is asked about is combined, the rest once for all."""
    q = attach(memory)
    total = hold(q, ANSWER, query(q, at))
    for i in range(n):
        first, v = at.f, lift(q, item(xs, i))
        if size(at) == most:
            at = evict(q, at)
        at = insert(q, at, v)
        total = hold(q, ANSWER, combine(total, v) if at.f == first else query(q, at))
        first, old = at.f, get(q.part, at.f)
        while at.f < at.e - 1 and policy(total, old):
            at = evict(q, at)
            old = combine(old, get(q.part, at.f))
        if at.f != first:
            total = hold(q, ANSWER, query(q, at))
        give(out, i, lower(total))
    return at


LOOPS: dict[type, Callable[..., Any]] = {
    swag.DABA: obey_by_query,
    swag.Recalc: obey_by_recalculating,
}


class Obedient:
    """A window of DABA or Recalc with a policy; `slide` is as that of AMTA."""

    def __init__(self, algorithm: type, monoid: Any, policy: Any) -> None:
        self.window: Any = algorithm(monoid, compiled=True)
        self.window._words = {words.policy: policy, **self.window._words}
        self._loop = LOOPS[algorithm]

    def slide(self, xs: Any, most: int = FOREVER, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over what the policy leaves."""
        columns = columns_of(xs)
        assert columns is not None, "policies are measured on numbers"
        n, window = len(columns[0]), self.window
        window._memory.reserve_ring(window._at, min(most, len(window) + n) + 1)
        kernel = window._kernel(self._loop, columns)
        answers = Answers(kernel.answer, n, out)
        window._run(kernel, addresses(columns), n, most, answers.address)
        return answers.result()

    def __len__(self) -> int:
        return len(self.window)
