"""Range query: the entries from one time to another, combined; and a walk over all.

From the lowest node that has the whole range, one way goes down to its older end and
one to its younger end. What hangs between the two is off the spines, so that each
subtree there has its up aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sash.kernel.words import Partial, combine, get, hold, one
from sash.swag.fiba.search import below, upto
from sash.swag.fiba.tree import (
    ACC,
    ACC_2,
    LEFT_LEAF,
    RANGE,
    RIGHT_LEAF,
    ROOT,
    SKIP,
    arity,
    child,
    first,
    is_leaf,
    last,
    parent,
)


def range_query(q: Any, lo: Any, hi: Any) -> Partial:
    """The entries with times from lo to hi, both included: O(log d) combines.

    d is how far the range reaches into the window, from the nearer end.
    """
    x = covering(q, lo, hi)
    while True:
        i, j = from_index(q, x, lo), upto(q, x, hi)
        if i < j or is_leaf(q, x):
            break
        x = child(q, x, i)
    middle = between(q, RANGE, x, i, j)
    if is_leaf(q, x):
        return middle
    if lo < q.time[first(q, x) + i]:
        middle = hold(q, RANGE, combine(from_time(q, child(q, x, i), lo), middle))
    if q.time[first(q, x) + j - 1] < hi:
        middle = hold(q, RANGE, combine(middle, to_time(q, child(q, x, j), hi)))
    return middle


def has_entries(q: Any, lo: Any, hi: Any) -> bool:
    """Whether there is a time from lo to hi, both included."""
    x = covering(q, lo, hi)
    while True:
        i, j = from_index(q, x, lo), upto(q, x, hi)
        if i < j or is_leaf(q, x):
            return i < j
        x = child(q, x, i)


def covering(q: Any, lo: Any, hi: Any) -> int:
    """Climb from the nearer finger to a node that has the whole range."""
    root = q.head[ROOT]
    if not is_leaf(q, root) and hi < q.time[first(q, root)]:
        x = q.head[LEFT_LEAF]
        while not hi < q.time[first(q, parent(q, x))]:
            x = parent(q, x)
        return 0 + x
    x = q.head[RIGHT_LEAF]
    while x != root and not q.time[last(q, parent(q, x))] < lo:
        x = parent(q, x)
    return 0 + x


def from_index(q: Any, x: int, lo: Any) -> int:
    """The node's first entry that is not before lo, nor evicted."""
    i = below(q, x, lo)
    return max(i, q.head[SKIP]) if x == q.head[LEFT_LEAF] else i


def between(q: Any, place: int, x: int, i: int, j: int) -> Partial:
    """Entries i to j - 1 of node x, and the children between them."""
    total = hold(q, place, one(q))
    for k in range(i, j):
        if k > i and not is_leaf(q, x):
            total = hold(q, place, combine(total, get(q.agg, child(q, x, k))))
        total = hold(q, place, combine(total, get(q.val, first(q, x) + k)))
    return total


def from_time(q: Any, x: int, lo: Any) -> Partial:
    """The entries below node x from lo on, where x is not on the right spine."""
    total = hold(q, ACC, one(q))
    while True:
        i, n = from_index(q, x, lo), arity(q, x) - 1
        piece = between(q, ACC_2, x, i, n)
        if i < n and not is_leaf(q, x):
            piece = hold(q, ACC_2, combine(piece, get(q.agg, child(q, x, n))))
        total = hold(q, ACC, combine(piece, total))
        if is_leaf(q, x) or (i < n and not lo < q.time[first(q, x) + i]):
            return total
        x = child(q, x, i)


def to_time(q: Any, x: int, hi: Any) -> Partial:
    """The entries below node x up to hi, where x is not on the left spine."""
    total = hold(q, ACC, one(q))
    while True:
        j = upto(q, x, hi)
        for k in range(j):
            if not is_leaf(q, x):
                total = hold(q, ACC, combine(total, get(q.agg, child(q, x, k))))
            total = hold(q, ACC, combine(total, get(q.val, first(q, x) + k)))
        if is_leaf(q, x) or (j > 0 and not q.time[first(q, x) + j - 1] < hi):
            return total
        x = child(q, x, j)


def entries(q: Any) -> Iterator[int]:
    """The cells of all entries, from the oldest to the youngest."""
    skip = q.head[SKIP]
    stack = [(q.head[ROOT], 0)]
    while stack:
        x, i = stack.pop()
        if is_leaf(q, x):
            start = skip if x == q.head[LEFT_LEAF] else 0
            yield from range(first(q, x) + start, first(q, x) + arity(q, x) - 1)
            continue
        if i > 0:
            yield first(q, x) + i - 1
        if i < arity(q, x) - 1:
            stack.append((x, i + 1))
        stack.append((child(q, x, i), 0))
