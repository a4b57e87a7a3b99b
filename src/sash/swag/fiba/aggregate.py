"""Location-sensitive aggregates: what each node combines, and the pass down (section 3.2).

    up     a node off the spines: all its children and values
    left   on the left spine: without the first child, then the parent's unless it is the root
    right  on the right spine: the parent's unless it is the root, without the last child
    inner  the root: without the first and the last child

The left finger's aggregate is kept for every number of entries evicted from it, in
`front`: so evicting one moves a cursor, and combines nothing.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import ANSWER, Partial, combine, get, hold, one, outlined, put
from sash.swag.fiba.journal import touch
from sash.swag.fiba.tree import (
    ACC,
    ACC_2,
    BOTH,
    FRONT,
    HEIGHT,
    LEFT,
    LEFT_LEAF,
    RIGHT,
    RIGHT_LEAF,
    ROOT,
    SKIP,
    TOP_LEFT,
    TOP_RIGHT,
    arity,
    child,
    first,
    first_child,
    is_leaf,
    parent,
    set_arity,
    set_parent,
    set_side,
    set_weight,
    side_of,
    weight_of,
)


@outlined
def aggregate(q: Any, x: int) -> None:
    """Combine what node x is to hold, from its children, its values and its parent."""
    touch(q, x)
    side = side_of(q, x)
    combined = leaf_values(q, x) if is_leaf(q, x) else inner_values(q, x, side)
    above = parent(q, x)
    if side != 0 and side != BOTH and above != q.head[ROOT]:
        if side == LEFT:
            combined = hold(q, ACC, combine(combined, get(q.agg, above)))
        else:
            combined = hold(q, ACC, combine(get(q.agg, above), combined))
        if not is_leaf(q, x):
            set_weight(q, x, weight_of(q, x) + weight_of(q, above))
    put(q.agg, x, combined)


def leaf_values(q: Any, x: int) -> Partial:
    """The values of a leaf, combined; the left finger may have evicted some.

    Both halves at the same time: each combine has to wait for the one before it only.
    """
    cell = first(q, x)
    end = cell + arity(q, x) - 1
    if x == q.head[LEFT_LEAF]:
        cell += q.head[SKIP]
    half = (end - cell) >> 1
    if half == 0:
        return hold(q, ACC, one(q) if cell == end else get(q.val, cell))
    older, younger = hold(q, ACC, get(q.val, cell)), hold(q, ACC_2, get(q.val, cell + half))
    for i in range(cell + 1, cell + half):
        older = hold(q, ACC, combine(older, get(q.val, i)))
        younger = hold(q, ACC_2, combine(younger, get(q.val, i + half)))
    if cell + 2 * half < end:
        younger = hold(q, ACC_2, combine(younger, get(q.val, end - 1)))
    return hold(q, ACC, combine(older, younger))


def inner_values(q: Any, x: int, side: int) -> Partial:
    """The values of an inner node and its children, but for those on a spine."""
    cell = first(q, x)
    kid = first_child(q, x)
    n = arity(q, x) - 1
    weight = n
    child_0 = 0 + q.child[kid]
    if side & LEFT:
        combined = hold(q, ACC, get(q.val, cell))
    else:
        weight += load(q, child_0)
        combined = hold(q, ACC, combine(get(q.agg, child_0), get(q.val, cell)))
    for i in range(1, n):
        c = 0 + q.child[kid + i]
        weight += load(q, c)
        combined = hold(q, ACC, combine(combine(combined, get(q.agg, c)), get(q.val, cell + i)))
    if not side & RIGHT:
        c = 0 + q.child[kid + n]
        weight += load(q, c)
        combined = hold(q, ACC, combine(combined, get(q.agg, c)))
    set_weight(q, x, weight)
    return combined


def load(q: Any, x: int) -> int:
    """How many entries an up aggregate combines."""
    return arity(q, x) - 1 if is_leaf(q, x) else weight_of(q, x)


def dirty(q: Any, x: int, level: int) -> None:
    """Node x is on a spine and changed: the pass down begins there, or above."""
    side = side_of(q, x)
    if side & LEFT and level > q.head[TOP_LEFT]:
        q.head[TOP_LEFT] = level
    if side & RIGHT and level > q.head[TOP_RIGHT]:
        q.head[TOP_RIGHT] = level


@outlined
def pass_down(q: Any, x: int) -> None:
    """Repair the spines from TOP_LEFT and TOP_RIGHT on; x is on the left one, at TOP_LEFT."""
    root, height = q.head[ROOT], q.head[HEIGHT]
    left, right = q.head[TOP_LEFT], q.head[TOP_RIGHT]
    if left == height or right == height:
        aggregate(q, root)
    if left >= 0:
        pass_down_left(q, x)
    if right >= 0:
        pass_down_right(q, right)
    q.head[TOP_LEFT] = -1
    q.head[TOP_RIGHT] = -1


def pass_down_left(q: Any, x: int) -> None:
    """Set flags and left aggregates from x down to the left finger, which may be another."""
    while True:
        if x != q.head[ROOT]:
            touch(q, x)
            set_side(q, x, LEFT)
        if is_leaf(q, x):
            break
        if x != q.head[ROOT]:
            aggregate(q, x)
        x = child(q, x, 0)
    q.head[LEFT_LEAF] = x
    q.head[FRONT] = 0


def pass_down_right(q: Any, level: int) -> None:
    """Set right aggregates from `level` down to the right finger."""
    x = q.head[RIGHT_LEAF]
    for _ in range(level):
        x = parent(q, x)
    while True:
        if x != q.head[ROOT]:
            aggregate(q, x)
        if is_leaf(q, x):
            break
        x = child(q, x, arity(q, x) - 1)


def left_spine(q: Any) -> int:
    """The node of the left spine at TOP_LEFT, if there is one."""
    x = q.head[LEFT_LEAF]
    for _ in range(q.head[TOP_LEFT]):
        x = parent(q, x)
    return 0 + x


@outlined
def make_front(q: Any) -> None:
    """The left finger's aggregates, one for each of its entries that could be the oldest."""
    x = q.head[LEFT_LEAF]
    cell, i = first(q, x), arity(q, x) - 2
    above = parent(q, x)
    if above == q.head[ROOT]:
        combined = put(q.front, i, get(q.val, cell + i))
    else:
        combined = put(q.front, i, combine(get(q.val, cell + i), get(q.agg, above)))
    while i > q.head[SKIP]:
        i -= 1
        combined = put(q.front, i, combine(get(q.val, cell + i), combined))
    q.head[FRONT] = 1


def ready(q: Any) -> None:
    """See to it that a query finds the left finger's aggregate."""
    if q.head[FRONT] == 0 and q.head[HEIGHT] > 0:
        make_front(q)


def query(q: Any) -> Partial:
    """All entries, combined: 2 combines, if `ready`."""
    root = q.head[ROOT]
    if q.head[HEIGHT] == 0:
        return hold(q, ANSWER, get(q.agg, root))
    left, right = get(q.front, q.head[SKIP]), get(q.agg, q.head[RIGHT_LEAF])
    return hold(q, ANSWER, combine(combine(left, get(q.agg, root)), right))


def size(q: Any) -> int:
    """How many entries there are: the weights of both fingers and the root."""
    left, root, right = q.head[LEFT_LEAF], q.head[ROOT], q.head[RIGHT_LEAF]
    n = arity(q, left) - 1 - q.head[SKIP]
    if q.head[HEIGHT] == 0:
        return n
    n += arity(q, right) - 1 + weight_of(q, root)
    if parent(q, left) != root:
        n += weight_of(q, parent(q, left)) + weight_of(q, parent(q, right))
    return n


@outlined
def start(q: Any, x: int) -> None:
    """An empty tree: leaf x is all there is."""
    set_parent(q, x, 0)
    set_side(q, x, BOTH)
    set_arity(q, x, 1)
    put(q.agg, x, one(q))
    for cursor in (ROOT, LEFT_LEAF, RIGHT_LEAF):
        q.head[cursor] = x
    for cursor in (HEIGHT, SKIP, FRONT):
        q.head[cursor] = 0
