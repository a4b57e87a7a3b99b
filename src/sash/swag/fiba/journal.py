"""The journal: an operation that fails leaves the tree as it was.

The combine of a user may raise in the middle of a step. Where it can, every node is
saved the first time that an operation changes it, in rows from the far end of the
columns; undoing copies them back. An operation without a number (EPOCH is 0) can
not fail, and saves nothing.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import move, outlined
from sash.swag.fiba.tree import (
    CURSORS,
    EPOCH,
    FRONT,
    KID_ROWS,
    OLD,
    ROWS,
    SAVED,
    SAVED_KIDS,
    TOP_LEFT,
    TOP_RIGHT,
    USED,
    WORDS,
    arity,
    child,
    first_child,
    is_leaf,
    most,
    move_entries,
    set_parent,
)


def begin(q: Any, epoch: int) -> None:
    """An operation begins; it can be undone if it has a number."""
    for i in range(CURSORS):
        q.head[OLD + i] = q.head[i]
    q.head[EPOCH] = epoch
    q.head[SAVED] = 0
    q.head[SAVED_KIDS] = 0


def touch(q: Any, x: int) -> None:
    """Node x is about to change: save it, unless it is saved or new."""
    epoch = q.head[EPOCH]
    if epoch != 0 and x < q.head[OLD + USED] and q.mark[x] != epoch:
        save(q, x)


@outlined
def save(q: Any, x: int) -> None:
    """Copy node x, and its children, to the next free row from the end."""
    q.mark[x] = q.head[EPOCH]
    row = q.head[ROWS] - 1 - q.head[SAVED]
    q.head[SAVED] += 1
    copy_row(q, row, x)
    q.mark[row] = x
    if not is_leaf(q, x):
        q.head[SAVED_KIDS] += 1
        move(q.child, (q.head[KID_ROWS] - q.head[SAVED_KIDS]) * most(q), first_child(q, x), most(q))


def copy_row(q: Any, to: int, x: int) -> None:
    """Copy a node's row, without its children."""
    cells = most(q) - 1
    move_entries(q, to * cells, x * cells, cells)
    move(q.agg, to, x, 1)
    move(q.node, WORDS * to, WORDS * x, WORDS)


def undo(q: Any) -> None:
    """Give the tree back as it was when the operation began.

    A child's parent is not saved with the parent's row: it is set again from there.
    """
    kid_row = q.head[KID_ROWS]
    for k in range(q.head[SAVED]):
        row = q.head[ROWS] - 1 - k
        x = 0 + q.mark[row]
        copy_row(q, x, row)
        if not is_leaf(q, x):
            kid_row -= 1
            move(q.child, first_child(q, x), kid_row * most(q), most(q))
    for k in range(q.head[SAVED]):
        x = 0 + q.mark[q.head[ROWS] - 1 - k]
        if not is_leaf(q, x):
            for i in range(arity(q, x)):
                set_parent(q, child(q, x, i), x)
    for i in range(CURSORS):
        q.head[i] = q.head[OLD + i]
    q.head[FRONT] = 0
    q.head[TOP_LEFT] = -1
    q.head[TOP_RIGHT] = -1
