"""Bulk split: a node and the treelets for it, interleaved into several nodes (section 5)."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import get, move, outlined, put
from sash.swag.fiba.aggregate import aggregate, dirty
from sash.swag.fiba.journal import touch
from sash.swag.fiba.nodes import new_inner, new_leaf
from sash.swag.fiba.search import added_nodes
from sash.swag.fiba.tree import (
    BOTH,
    HEIGHT,
    LEFT,
    MIN,
    RIGHT,
    RIGHT_LEAF,
    ROOT,
    arity,
    first,
    first_child,
    is_leaf,
    most,
    move_entries,
    parent,
    set_arity,
    set_parent,
    set_side,
    side_of,
)


@outlined
def split(q: Any, x: int, level: int, start: int, end: int, out: int) -> int:
    """Spread node x and treelets start..end over several nodes; send what is between up.

    Gives the end of the treelets that were written from `out` on. The node is copied to
    row 0 first, and read from there.
    """
    touch(q, x)
    n = arity(q, x) - 1
    set_aside(q, x, n)
    p = n + 1 + end - start
    pieces = added_nodes(q, p) + 1
    side = side_of(q, x)
    target = grow(q, x) if x == q.head[ROOT] else parent(q, x)
    i, j, y = 0, start, x
    before = 0 + q.child[0]  # the child before the next entry; a leaf has none
    for piece in range(pieces):
        entries = arity_of(q, p, pieces, piece, side & RIGHT) - 1
        i, j, before = fill(q, y, before, entries, i, n, j, end)
        keeps = (LEFT if piece == 0 else 0) | (RIGHT if piece == pieces - 1 else 0)
        set_side(q, y, side & keeps)
        if side & keeps:
            dirty(q, y, level)
        else:
            aggregate(q, y)
        if piece < pieces - 1:
            y = new_leaf(q) if is_leaf(q, x) else new_inner(q)
            i, j, before = promote(q, i, n, j, end, out, y, target)
            out += 1
    if is_leaf(q, x) and side & RIGHT:
        q.head[RIGHT_LEAF] = y
    return out


def set_aside(q: Any, x: int, n: int) -> None:
    """Copy the n entries of node x, and its children, to row 0."""
    move_entries(q, 0, first(q, x), n)
    if not is_leaf(q, x):
        move(q.child, 0, first_child(q, x), n + 1)


def grow(q: Any, x: int) -> int:
    """Make a new root above the old one, x."""
    root = new_inner(q)
    q.child[first_child(q, root)] = x
    set_arity(q, root, 1)
    set_side(q, root, BOTH)
    set_parent(q, root, 0)
    set_parent(q, x, root)
    q.head[ROOT] = root
    q.head[HEIGHT] += 1
    return root


def arity_of(q: Any, p: int, pieces: int, piece: int, at_end: int) -> int:
    """The arity of one of the pieces of p. Each is from min_arity to b.

    At the right end all but the last are as full as can be, because what follows
    comes in order; elsewhere they are alike. (The paper's have min_arity + 1.)
    """
    if at_end:
        full = most(q) + 1 - q.head[MIN]
        return full if piece < pieces - 1 else p - full * (pieces - 1)
    return p // pieces + (1 if piece < p % pieces else 0)


def fill(
    q: Any, y: int, before: int, entries: int, i: int, n: int, j: int, end: int
) -> tuple[int, int, int]:
    """Fill node y with the next entries: of those set aside, i to n, and treelets j to end."""
    set_arity(q, y, entries + 1)
    if is_leaf(q, y):
        i, j = fill_leaf(q, first(q, y), entries, i, n, j, end)
    else:
        i, j, before = fill_inner(q, y, before, entries, i, n, j, end)
    return i, j, before


def fill_leaf(q: Any, cell: int, entries: int, i: int, n: int, j: int, end: int) -> tuple[int, int]:
    """The merge step of merge sort, which ends when one of the two is used up."""
    stop = cell + entries
    while cell < stop and i < n and j < end:
        if q.time[i] < q.new_time[j]:
            q.time[cell] = q.time[i]
            put(q.val, cell, get(q.val, i))
            i += 1
        else:
            q.time[cell] = q.new_time[j]
            put(q.val, cell, get(q.new_val, j))
            j += 1
        cell += 1
    rest = stop - cell
    if i < n:
        move_entries(q, cell, i, rest)
        return i + rest, j
    for k in range(rest):  # two loops: each becomes vector instructions
        q.time[cell + k] = q.new_time[j + k]
    for k in range(rest):
        put(q.val, cell + k, get(q.new_val, j + k))
    return i, j + rest


def fill_inner(
    q: Any, y: int, before: int, entries: int, i: int, n: int, j: int, end: int
) -> tuple[int, int, int]:
    """As fill_leaf, with the child that follows each entry."""
    cell, kid = first(q, y), first_child(q, y)
    q.child[kid] = before
    set_parent(q, before, y)
    for k in range(entries):
        if j == end or (i < n and q.time[i] < q.new_time[j]):
            q.time[cell + k] = q.time[i]
            put(q.val, cell + k, get(q.val, i))
            i += 1
            c = 0 + q.child[i]
        else:
            q.time[cell + k] = q.new_time[j]
            put(q.val, cell + k, get(q.new_val, j))
            c = 0 + q.new_node[j]
            j += 1
        q.child[kid + k + 1] = c
        set_parent(q, c, y)
    return i, j, before


def promote(
    q: Any, i: int, n: int, j: int, end: int, out: int, y: int, target: int
) -> tuple[int, int, int]:
    """Send the next entry up, with y as the child after it; give the child before y's first."""
    q.new_target[out] = target
    if j == end or (i < n and q.time[i] < q.new_time[j]):
        q.new_time[out] = q.time[i]
        put(q.new_val, out, get(q.val, i))
        i += 1
        before = 0 + q.child[i]
    else:
        q.new_time[out] = q.new_time[j]
        put(q.new_val, out, get(q.new_val, j))
        before = 0 + q.new_node[j]
        j += 1
    q.new_node[out] = y
    return i, j, before
