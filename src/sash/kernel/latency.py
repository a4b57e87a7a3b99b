"""A loop that times every step by the processor's cycle counter."""

from __future__ import annotations

from typing import Any

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


def timed_slide(
    memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs, spent: Address
) -> Any:
    """As `slide`; the cycles that each evict, insert and query took go to `spent`."""
    q = attach(memory)
    for i in range(n):
        begin = cycles()
        if size(at) == most:
            at = evict(q, at)
        at = insert(q, at, lift(q, item(xs, i)))
        give(out, i, lower(hold(q, ANSWER, query(q, at))))
        numbers(spent)[i] = cycles() - begin
    return at
