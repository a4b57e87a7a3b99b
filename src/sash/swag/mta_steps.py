"""The steps that Log MTA and Amortized MTA share, and the loops over many rows.

Paper   Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient
        Bulk Evictions, 2018, section 4.
Legend  f..e is the window. Level 0 has its items; node j of level l stands for items
        j << l up to (j + 1) << l, so nodes 2 j and 2 j + 1 of the level below are its
        children (the paper's theorem 1): they are a pair if both are in the window.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    LIFTED,
    Address,
    Cursors,
    InputColumns,
    Memory,
    Outputs,
    Partial,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
    query,
    size,
    start,
)


def cell(q: Any, level: int, j: int) -> int:
    """Where node j of a level lies: each level is a ring, half as long as the one below."""
    s = q.cap[0] >> level
    return s + (j & (s - 1))


def recent(q: Any, level: int, j: int) -> int:
    """Where one of the three youngest nodes of a level lies, or the next: here as any other."""
    s = q.cap[0] >> level
    return s + (j & (s - 1))


def node(q: Any, level: int, j: int) -> Partial:
    """Node j of a level."""
    return get(q.part, cell(q, level, j))


def older(q: Any, is_first: bool, old: Partial, v: Partial) -> Partial:
    """The argument of the policy: old, and v behind it. Held where lift held its item."""
    if is_first:
        return hold(q, LIFTED, v)
    return hold(q, LIFTED, combine(old, v))


def append(q: Any, at: Any, v: Partial) -> Any:
    """The algorithm's own insert, without its policy."""
    raise NotImplementedError


def enforce(q: Any, at: Any) -> Any:
    """The algorithm's own: evict what the policy says."""
    raise NotImplementedError


def evict_at_once(q: Any, at: Any, k: int) -> Any:
    """The algorithm's own bulk eviction."""
    raise NotImplementedError


def evict_bulk(memory: Memory, at: Cursors, k: int) -> Any:
    """A driver: evict the k oldest at once."""
    return evict_at_once(attach(memory), at, k)


BEGINS, HELD, NULL = 1, 2, 4
"""The kinds of rows: a key's first, one that stays whatever the policy says, without an item."""


def obey(
    memory: Memory,
    at: Cursors,
    xs: InputColumns,
    n: int,
    flags: Address,
    sizes: Address,
    out: Outputs,
) -> Any:
    """For each of n rows what the policy leaves after it; `sizes` gets how many items that are.

    Items are those of the rows that are not null. A window without items has no answer.
    """
    q = attach(memory)
    flag, left = numbers(flags), numbers(sizes)
    k = 0
    for i in range(n):
        if flag[i] & BEGINS:
            at = start(q)
        if flag[i] & NULL == 0:
            at = append(q, at, lift(q, item(xs, k)))
            k += 1
        if flag[i] & HELD == 0:
            at = enforce(q, at)
        left[i] = size(at)
        if left[i] > 0:
            give(out, i, lower(hold(q, ANSWER, query(q, at))))
    return at
