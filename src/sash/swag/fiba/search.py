"""Search: inside a node, and from the nearest finger (step 1 of both bulk operations)."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import outlined, prefetch
from sash.swag.fiba.tree import (
    HEIGHT,
    LEFT_LEAF,
    MIN,
    RIGHT_LEAF,
    ROOT,
    RUN,
    STEP,
    WORDS,
    arity,
    child,
    first,
    last,
    most,
    parent,
)

LINE = 8  # numbers of 64 bits in a line of the cache


def below(q: Any, x: int, t: Any) -> int:
    """How many times of node x are less than t."""
    base = first(q, x)
    lo, hi = base, base + arity(q, x) - 1
    while lo < hi:
        mid = (lo + hi) >> 1
        if q.time[mid] < t:
            lo = mid + 1
        else:
            hi = mid
    return lo - base


def upto(q: Any, x: int, t: Any) -> int:
    """How many times of node x are at most t."""
    base = first(q, x)
    lo, hi = base, base + arity(q, x) - 1
    while lo < hi:
        mid = (lo + hi) >> 1
        if t < q.time[mid]:
            hi = mid
        else:
            lo = mid + 1
    return lo - base


@outlined
def eviction_boundary(q: Any, t: Any) -> tuple[int, int]:
    """Find, on each level, the node that t cuts, and its neighbor on the right.

    Gives the levels of the top and the bottom of the boundary; `path` has on each level
    the node, how many of its entries go, the neighbor and the cell of the entry
    between the two, which is their least common ancestor's. A top that is to be the
    root has no neighbor. t is at least the oldest time and before the youngest. O(log m).
    """
    root = q.head[ROOT]
    level = 0
    if t < q.time[first(q, root)]:
        x = q.head[LEFT_LEAF]
        above = parent(q, x)
        while not t < q.time[first(q, above)]:
            x, above = above, parent(q, above)
            level += 1
        neighbor, cell = child(q, above, 1), first(q, above)
    else:
        x = q.head[RIGHT_LEAF]
        while x != root and t < q.time[last(q, parent(q, x))]:
            x = parent(q, x)
            level += 1
        neighbor, cell = 0, -1
    top = level
    while True:
        ask_for(q, x)
        ask_for(q, neighbor)
        i = upto(q, x, t)
        enter(q, level, x, i, neighbor, cell)
        base = first(q, x)
        if level == 0 or (i > 0 and not q.time[base + i - 1] < t):
            return top, level
        if i < arity(q, x) - 1:
            neighbor, cell = child(q, x, i + 1), base + i
        else:
            neighbor = child(q, neighbor, 0)
        ask_for_children(q, x)
        x = child(q, x, i)
        level -= 1


def ask_for(q: Any, x: int) -> None:
    """Have a node in the cache by the time that it is to change.

    After much else has happened the tree is in memory only, and evicting is mostly
    waiting for it: so the waiting for one level is shared with that for the next.
    """
    prefetch(q.node, WORDS * x)
    for cell in range(first(q, x), first(q, x + 1), LINE):
        prefetch(q.time, cell)
        prefetch(q.val, cell)


def ask_for_children(q: Any, x: int) -> None:
    """The same of what its aggregate is combined from."""
    for i in range(arity(q, x)):
        c = child(q, x, i)
        prefetch(q.node, WORDS * c)
        prefetch(q.agg, c)


def enter(q: Any, level: int, x: int, i: int, neighbor: int, cell: int) -> None:
    """Write a step of the boundary."""
    q.path[STEP * level] = x
    q.path[STEP * level + 1] = i
    q.path[STEP * level + 2] = neighbor
    q.path[STEP * level + 3] = cell


@outlined
def insertion_sites(q: Any, n: int) -> tuple[int, int, int]:
    """Find where the n treelets belong, without changing anything.

    `run` gets, for each site in order: the leaf, the end of the treelets that go
    there, and -1; or, where a time is in an inner node already, the cell, its level and
    the leaf just before it. Gives how many runs there are, how many leaves they add, and
    how many runs overflow their leaf. A search never goes higher than the least common
    ancestor of two sites that follow each other.
    """
    top = start_level(q, q.new_time[0])
    level, i, runs, added, overflows = top, 0, 0, 0, 0
    while True:
        t = q.new_time[i]
        cell, cell_level = descend(q, level, t)
        leaf, bound = 0 + q.path[0], 0 + q.path[1]
        end = i + 1
        if cell < 0:
            end = n if bound < 0 else reach(q, i + 1, n, q.time[bound])
            extra = added_nodes(q, arity(q, leaf) + end - i)
            added += extra
            overflows += 1 if extra > 0 else 0
        q.run[RUN * runs] = leaf
        q.run[RUN * runs + 1] = end
        q.run[RUN * runs + 2] = cell
        q.run[RUN * runs + 3] = cell_level
        runs += 1
        i = end
        if i == n:
            return runs, added, overflows
        level, top = ascend(q, top, q.new_time[i])


def start_level(q: Any, t: Any) -> int:
    """Climb from the nearer finger to the lowest node whose subtree t belongs to."""
    root = q.head[ROOT]
    level = 0
    if q.head[HEIGHT] > 0 and t < q.time[first(q, root)]:
        x = q.head[LEFT_LEAF]
        while not t < q.time[first(q, parent(q, x))]:
            x = parent(q, x)
            level += 1
        bound = first(q, parent(q, x))
    else:
        x = q.head[RIGHT_LEAF]
        while x != root and not q.time[last(q, parent(q, x))] < t:
            x = parent(q, x)
            level += 1
        bound = -1
    q.path[STEP * level] = x
    q.path[STEP * level + 1] = bound
    return level


def ascend(q: Any, top: int, t: Any) -> tuple[int, int]:
    """Climb from the leaf of the last site until t is within the bound."""
    level = 0
    while q.path[STEP * level + 1] >= 0 and not t < q.time[q.path[STEP * level + 1]]:
        level += 1
        if level > top:  # further up the left spine
            x = parent(q, q.path[STEP * top])
            top = level
            q.path[STEP * top] = x
            q.path[STEP * top + 1] = -1 if x == q.head[ROOT] else first(q, parent(q, x))
    return level, top


def descend(q: Any, level: int, t: Any) -> tuple[int, int]:
    """Go down to the leaf that t belongs to; the cell with an equal time, and its level."""
    cell, cell_level = -1, 0
    while level > 0:
        x, bound = 0 + q.path[STEP * level], 0 + q.path[STEP * level + 1]
        i = below(q, x, t)
        if i < arity(q, x) - 1:
            bound = first(q, x) + i
            if cell < 0 and not t < q.time[bound]:
                cell, cell_level = bound, level
        level -= 1
        q.path[STEP * level] = child(q, x, i)
        q.path[STEP * level + 1] = bound
    return cell, cell_level


def reach(q: Any, i: int, n: int, t: Any) -> int:
    """The first treelet from i on whose time is not less than t, by galloping."""
    lo, hi, step = i, i, 1
    while hi < n and q.new_time[hi] < t:
        lo = hi + 1
        hi += step
        step *= 2
    hi = min(hi, n)
    while lo < hi:
        mid = (lo + hi) >> 1
        if q.new_time[mid] < t:
            lo = mid + 1
        else:
            hi = mid
    return lo


def added_nodes(q: Any, p: int) -> int:
    """How many nodes a temporary arity of p takes, beyond the one that is there."""
    b = most(q)
    if p <= b:
        return 0
    full = b + 1 - q.head[MIN]
    return (p - b + full - 1) // full
