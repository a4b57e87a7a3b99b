"""Bulk eviction: the pass up along the boundary, and beyond it (section 4)."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import move, outlined
from sash.swag.fiba.aggregate import aggregate, dirty, pass_down, start
from sash.swag.fiba.journal import touch
from sash.swag.fiba.nodes import discard, free, new_leaf
from sash.swag.fiba.repair import merge, move_batch
from sash.swag.fiba.search import enter, eviction_boundary, upto
from sash.swag.fiba.tree import (
    BOTH,
    FRONT,
    HEIGHT,
    LEFT_LEAF,
    MIN,
    ROOT,
    SKIP,
    STEP,
    TOP_LEFT,
    TOP_RIGHT,
    arity,
    child,
    first,
    first_child,
    is_empty,
    is_leaf,
    most,
    move_entries,
    oldest,
    parent,
    set_arity,
    set_parent,
    set_side,
    side_of,
    youngest,
)


def settle(q: Any) -> None:
    """Take the entries that single evicts have skipped out of the left finger."""
    if q.head[SKIP] > 0:
        drop(q, q.head[LEFT_LEAF], q.head[SKIP], False)
        q.head[SKIP] = 0
        q.head[FRONT] = 0


def evict(q: Any) -> None:
    """Evict the oldest entry; there must be one. Amortized O(1), mostly without a combine."""
    q.head[SKIP] += 1
    x = q.head[LEFT_LEAF]
    if q.head[HEIGHT] == 0 or arity(q, x) - q.head[SKIP] < q.head[MIN]:
        evict_on(q, x)


@outlined
def evict_on(q: Any, x: int) -> None:
    """Repair after a single evict from the left finger, x."""
    if q.head[HEIGHT] == 0:
        if is_empty(q):
            settle(q)
        aggregate(q, x)
        return
    settle(q)
    above = parent(q, x)
    enter(q, 0, x, 0, child(q, above, 1), first(q, above))
    pass_up(q, 0, 0)


@outlined
def bulk_evict(q: Any, t: Any) -> None:
    """Evict all entries with times up to t: amortized O(log m), whatever m is."""
    if is_empty(q) or t < q.time[oldest(q)]:
        return
    settle(q)
    if not t < q.time[youngest(q)]:
        clear(q)
    elif q.head[HEIGHT] == 0:
        root = q.head[ROOT]
        drop(q, root, upto(q, root, t), False)
        aggregate(q, root)
    else:
        top, bottom = eviction_boundary(q, t)
        pass_up(q, top, bottom)


def clear(q: Any) -> None:
    """Evict everything."""
    root = q.head[ROOT]
    touch(q, root)
    if not is_leaf(q, root):
        discard(q, root)
        root = new_leaf(q)
    start(q, root)


def pass_up(q: Any, top: int, bottom: int) -> None:
    """Evict along the boundary from bottom to top, and repair further up as long as need be.

    `gone` says that the node one level below was merged away, `stale` that its
    neighbor's aggregate changed. Ends with the pass down from the highest change.
    """
    gone, stale, level, near, x = False, False, bottom, 0, 0
    while True:
        nearer = near
        if level <= top:
            x, i = 0 + q.path[STEP * level], 0 + q.path[STEP * level + 1]
            near, cell = 0 + q.path[STEP * level + 2], 0 + q.path[STEP * level + 3]
        else:
            i = 0
            near, cell = beyond(q, x)
        drop(q, x, i, gone)
        if near == 0:
            x, level = make_root(q, x, level)
            stale = False
            break
        above = parent(q, x)
        stale = stale and child(q, near, 0) == nearer  # else x is its parent
        gone, stale = rebalance(q, x, near, cell, stale)
        if gone:
            free(q, x)
        elif stale:
            refresh(q, near, level)
        if level >= top and not gone:
            break
        x, level = above, level + 1
    if stale:
        x, level = parent(q, x), level + 1
    q.head[TOP_LEFT] = level
    pass_down(q, x)


def beyond(q: Any, x: int) -> tuple[int, int]:
    """The neighbor of a node above the boundary, whose first child was merged away."""
    if x == q.head[ROOT]:
        return 0, -1
    return child(q, parent(q, x), 1), first(q, parent(q, x))


def rebalance(q: Any, x: int, near: int, cell: int, stale: bool) -> tuple[bool, bool]:
    """Repair the arity of x with its neighbor: whether x is gone, and the neighbor is stale.

    A neighbor that takes the place of x comes to be on the left spine: it is for the
    pass down to repair.
    """
    a = arity(q, x)
    if a >= q.head[MIN]:
        return False, stale
    if a == 0:
        return True, False
    if a + arity(q, near) <= most(q):
        merge(q, x, near, cell)
        return True, False
    move_batch(q, x, near, cell)
    return False, True


def refresh(q: Any, x: int, level: int) -> None:
    """Repair the aggregate of x now, or in the pass down if it is on a spine."""
    if side_of(q, x) == 0:
        aggregate(q, x)
    else:
        dirty(q, x, level)


def drop(q: Any, x: int, i: int, gone: bool) -> None:
    """Local eviction: node x loses its i oldest entries and children, and child i if `gone`.

    With that child goes the entry after it, which has moved down.
    """
    for k in range(0 if is_leaf(q, x) else i):
        discard(q, child(q, x, k))
    by = i + 1 if gone else i
    if by == 0:
        return
    touch(q, x)
    base, left = first(q, x), arity(q, x) - by
    set_arity(q, x, left)
    if left > 1:
        move_entries(q, base, base + by, left - 1)
    if not is_leaf(q, x):
        kid = first_child(q, x)
        move(q.child, kid, kid + by, left)


def make_root(q: Any, x: int, level: int) -> tuple[int, int]:
    """Make x the root, or its only child; what was above or beside it goes."""
    root = q.head[ROOT]
    if x != root:
        above = parent(q, x)
        touch(q, above)
        touch(q, root)
        set_arity(q, above, arity(q, above) - 1)  # x stays
        discard(q, root)
    if arity(q, x) == 1 and not is_leaf(q, x):
        only = child(q, x, 0)
        touch(q, x)
        free(q, x)
        x, level = only, level - 1
    if x != root:
        touch(q, x)
        set_parent(q, x, 0)
        set_side(q, x, BOTH)
        q.head[ROOT] = x
        q.head[HEIGHT] = level
        q.head[TOP_RIGHT] = level
    return x, level
