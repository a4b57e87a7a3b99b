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
    BLOCK,
    BLOCK_END,
    DEFERRED,
    EPOCH,
    FREE_INNER,
    FREE_LEAF,
    USED,
    USED_KIDS,
    WORDS,
    arity,
    child,
    is_leaf,
    parent,
    set_arity,
    set_parent,
    set_side,
)


def push(q: Any, where: int, x: int) -> None:
    """Put a node on a free list."""
    set_parent(q, x, q.head[where])
    q.head[where] = x


def free(q: Any, x: int) -> None:
    """Give back a node whose children are elsewhere by now."""
    set_arity(q, x, 0)
    push(q, FREE_LEAF if is_leaf(q, x) else FREE_INNER, x)


def discard(q: Any, x: int) -> None:
    """Give back a node with all that hangs from it, without looking at that."""
    push(q, FREE_LEAF if is_leaf(q, x) else DEFERRED, x)


def reopen(q: Any) -> int:
    """Take an inner node off the deferred list, and put its children on a list."""
    x = q.head[DEFERRED]
    touch(q, x)
    q.head[DEFERRED] = parent(q, x)
    for i in range(arity(q, x) - 1, -1, -1):  # the oldest is reused first: it is in sequence
        discard(q, child(q, x, i))
    set_arity(q, x, 0)
    return 0 + x


@outlined
def new_leaf(q: Any) -> int:
    """A leaf without entries. Amortized O(1)."""
    while q.head[FREE_LEAF] == 0 and q.head[DEFERRED] != 0:
        push(q, FREE_INNER, reopen(q))
    x = q.head[FREE_LEAF]
    if x != 0:
        touch(q, x)
        q.head[FREE_LEAF] = parent(q, x)
    else:
        x = q.head[USED]
        q.head[USED] = x + 1
        q.mark[x] = 0
        q.node[WORDS * x + 2] = 0
    set_arity(q, x, 1)
    set_side(q, x, 0)
    return 0 + x


@outlined
def new_inner(q: Any) -> int:
    """An inner node without entries or children."""
    x = q.head[FREE_INNER]
    if x != 0:
        touch(q, x)
        q.head[FREE_INNER] = parent(q, x)
    elif q.head[DEFERRED] != 0:
        x = reopen(q)
    else:
        x = fresh_inner(q)
    set_arity(q, x, 0)
    set_side(q, x, 0)
    return 0 + x


def fresh_inner(q: Any) -> int:
    """A row for an inner node that was never used; the window has made room for it.

    Such rows are taken in blocks: a node's children, if inner nodes, lie side by side.
    """
    if q.head[BLOCK] == q.head[BLOCK_END]:
        q.head[BLOCK] = q.head[USED]
        q.head[USED] += block_size(q.head[USED_KIDS])
        q.head[BLOCK_END] = q.head[USED]
    x = q.head[BLOCK]
    q.head[BLOCK] = x + 1
    q.mark[x] = q.head[EPOCH]  # new in this operation: there is nothing to save
    q.node[WORDS * x + 2] = q.head[USED_KIDS]
    q.head[USED_KIDS] += 1
    return 0 + x


def block_size(inner: int) -> int:
    """How many rows to take for inner nodes, where there are `used` of them already."""
    return min(64, 1 + inner // 4)
