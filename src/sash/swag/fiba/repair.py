"""Repair of arity: move a batch from the neighbor, or merge with it (section 4, figures 2, 3).

The neighbor is the next node to the right on the same level; it need not be a sibling.
`cell` is the entry between the two, in their least common ancestor.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import move
from sash.swag.fiba.journal import touch
from sash.swag.fiba.tree import (
    arity,
    first,
    first_child,
    is_leaf,
    most,
    move_entries,
    set_arity,
    set_parent,
)


def merge(q: Any, x: int, near: int, cell: int) -> None:
    """Add what is left of node x, and the entry between, to the neighbor's front.

    The entry stays where it was as well: the ancestor is going to drop it.
    """
    touch(q, x)
    touch(q, near)
    a, n = arity(q, x), arity(q, near)
    base = first(q, near)
    move_entries(q, base + a, base, n - 1)
    move_entries(q, base, first(q, x), a - 1)
    move_entries(q, base + a - 1, cell, 1)
    set_arity(q, near, a + n)
    if not is_leaf(q, x):
        kid = first_child(q, near)
        move(q.child, kid + a, kid, n)
        adopt(q, near, 0, first_child(q, x), a)


def move_batch(q: Any, x: int, near: int, cell: int) -> None:
    """Move k entries from the neighbor through the ancestor, so that both have as many.

    The paper moves only as many as x lacks; a neighbor that is so full would soon be
    asked again.
    """
    touch(q, x)
    touch(q, near)
    touch(q, cell // (most(q) - 1))
    a, n = arity(q, x), arity(q, near)
    k = (a + n) // 2 - a
    base, end = first(q, near), first(q, x) + a - 1
    move_entries(q, end, cell, 1)
    move_entries(q, end + 1, base, k - 1)
    move_entries(q, cell, base + k - 1, 1)
    move_entries(q, base, base + k, n - 1 - k)
    set_arity(q, x, a + k)
    set_arity(q, near, n - k)
    if not is_leaf(q, x):
        kid = first_child(q, near)
        adopt(q, x, a, kid, k)
        move(q.child, kid, kid + k, n - k)


def adopt(q: Any, x: int, i: int, start: int, k: int) -> None:
    """Copy k children from cells `start` on: children i, i + 1, … of node x."""
    kid = first_child(q, x) + i
    move(q.child, kid, start, k)
    for c in range(kid, kid + k):
        set_parent(q, 0 + q.child[c], x)
