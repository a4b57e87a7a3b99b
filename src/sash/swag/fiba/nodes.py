"""Nodes made and given back: the deferred free list (section 6).

What a bulk evict cuts off is not visited. The roots of the subtrees that go are put
on a list; a node that is taken from there puts its children on it first. So each
node is visited once, when its room is needed, and evicting m entries stays O(log m).

Leaves and inner nodes are kept apart, because only inner nodes have room for children.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import outlined
from sash.swag.fiba.journal import touch
from sash.swag.fiba.tree import (
    DEFERRED,
    FREE_INNER,
    FREE_LEAF,
    USED,
    USED_KIDS,
    arity,
    child,
    is_leaf,
)


def push(q: Any, where: int, x: int) -> None:
    """Put a node on a free list."""
    q.parent[x] = q.head[where]
    q.head[where] = x


def free(q: Any, x: int) -> None:
    """Give back a node whose children are elsewhere by now."""
    q.arity[x] = 0
    push(q, FREE_LEAF if is_leaf(q, x) else FREE_INNER, x)


def discard(q: Any, x: int) -> None:
    """Give back a node with all that hangs from it, without looking at that."""
    push(q, FREE_LEAF if is_leaf(q, x) else DEFERRED, x)


def reopen(q: Any) -> int:
    """Take an inner node off the deferred list, and put its children on a list."""
    x = q.head[DEFERRED]
    touch(q, x)
    q.head[DEFERRED] = q.parent[x]
    for i in range(arity(q, x) - 1, -1, -1):  # the oldest is reused first: it is in sequence
        discard(q, child(q, x, i))
    q.arity[x] = 0
    return 0 + x


@outlined
def new_leaf(q: Any) -> int:
    """A leaf without entries. Amortized O(1)."""
    while q.head[FREE_LEAF] == 0 and q.head[DEFERRED] != 0:
        push(q, FREE_INNER, reopen(q))
    x = q.head[FREE_LEAF]
    if x != 0:
        touch(q, x)
        q.head[FREE_LEAF] = q.parent[x]
    else:
        x = fresh(q)
        q.kids[x] = 0
    q.arity[x] = 1
    q.side[x] = 0
    return 0 + x


@outlined
def new_inner(q: Any) -> int:
    """An inner node without entries or children."""
    x = q.head[FREE_INNER]
    if x != 0:
        touch(q, x)
        q.head[FREE_INNER] = q.parent[x]
    elif q.head[DEFERRED] != 0:
        x = reopen(q)
    else:
        x = fresh(q)
        q.kids[x] = q.head[USED_KIDS]
        q.head[USED_KIDS] += 1
    q.arity[x] = 0
    q.side[x] = 0
    return 0 + x


def fresh(q: Any) -> int:
    """A row that was never used; the window has made room for it."""
    x = q.head[USED]
    q.head[USED] = x + 1
    q.mark[x] = 0
    return 0 + x
