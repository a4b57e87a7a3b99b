"""The tree: nodes as rows of columns, linked by row number (section 3.2).

A row is a node: up to b - 1 times and values, side by side, and one aggregate. An
inner node has a row of children as well, its kids, which is 0 for a leaf. Row 0 of
both is no node: it is where a node that is split is copied to. Of the rest of a node
there are WORDS numbers side by side, because a node that is not in the cache should
be few misses:

    arity and side   how many children; on which spine it is: LEFT, RIGHT, the root BOTH
    parent           the node above, or the next one of a free list
    kids             the row of its children
    weight           of an inner node: how many entries its aggregate combines

All cursors are numbers of `head`: a step changes them in place, and can be undone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import FIRST_FREE, Int32, Int64, Partials, move


class Tree(NamedTuple):
    """The columns: a node's, an inner node's, and what a single tree has once."""

    head: Int64  # the cursors, see below
    time: Int64  # b - 1 a node, in order
    val: Partials  # b - 1 a node
    agg: Partials
    node: Int32  # WORDS a node: arity and side, parent, kids, weight
    mark: Int32  # the operation that last saved the node, see journal.py
    child: Int32  # b an inner node
    front: Partials  # the left finger's aggregate without its 0, 1, 2, … oldest entries
    new_time: Int64  # treelets: the bulk, then what each level sends to the next
    new_val: Partials
    new_node: Int32
    new_target: Int32
    run: Int64  # RUN numbers for each insertion site
    path: Int64  # STEP numbers for each level
    held: int


class Cursors(NamedTuple):
    """Compiled steps carry no cursors by value: they are in `head`."""

    head: int


WORDS = 4  # of column node
LEFT, RIGHT = 1, 2
BOTH = LEFT | RIGHT

# Numbers of head that an operation changes, and that undoing it gives back:
ROOT, LEFT_LEAF, RIGHT_LEAF, HEIGHT, SKIP, FRONT = range(6)
FREE_LEAF, FREE_INNER, DEFERRED, USED, USED_KIDS, BLOCK, BLOCK_END = range(6, 13)
CURSORS = 13
OLD = CURSORS  # what they were when the operation began
# Numbers that are not undone:
MIN, ROWS, KID_ROWS, TREELETS, NEED, NEED_KIDS = range(2 * CURSORS, 2 * CURSORS + 6)
EPOCH, SAVED, SAVED_KIDS, TOP_LEFT, TOP_RIGHT = range(2 * CURSORS + 6, 2 * CURSORS + 11)
HEAD = 2 * CURSORS + 11

RUN = 4  # leaf, end, cell of an equal time or -1, its level
STEP = 4  # bulk evict: node, entries that go, neighbor, cell between; search: node, bound
LEVELS = 64  # more than a tree with room for 2**31 nodes can have

TIMES = 4
"""b, the largest arity, is TIMES min_arity: the paper's is 2. See the decision on FiBA."""

ACC, ACC_2 = FIRST_FREE, FIRST_FREE + 1  # the places of `hold` where a node's aggregate grows
RANGE = FIRST_FREE + 2  # and where what a range query found is
PLACES = FIRST_FREE + 3


def most(q: Any) -> int:
    """b, the largest arity."""
    return TIMES * q.head[MIN]


def first(q: Any, x: int) -> int:
    """The cell of the node's first entry."""
    return x * (TIMES * q.head[MIN] - 1)


def arity(q: Any, x: int) -> int:
    """How many children a node has, or would have if it were not a leaf."""
    return (0 + q.node[WORDS * x]) >> 2


def set_arity(q: Any, x: int, a: int) -> None:
    """Change how many entries and children a node has."""
    q.node[WORDS * x] = 4 * a + side_of(q, x)


def side_of(q: Any, x: int) -> int:
    """The spines that a node is on: LEFT, RIGHT, BOTH for the root, 0 for none."""
    return (0 + q.node[WORDS * x]) & BOTH


def set_side(q: Any, x: int, side: int) -> None:
    """Change the spines that a node is on."""
    q.node[WORDS * x] = 4 * arity(q, x) + side


def parent(q: Any, x: int) -> int:
    """The node above."""
    return 0 + q.node[WORDS * x + 1]


def set_parent(q: Any, x: int, above: int) -> None:
    """Change the node above."""
    q.node[WORDS * x + 1] = above


def kids_of(q: Any, x: int) -> int:
    """The row of a node's children."""
    return 0 + q.node[WORDS * x + 2]


def is_leaf(q: Any, x: int) -> bool:
    """Whether a node is a leaf."""
    return q.node[WORDS * x + 2] == 0


def weight_of(q: Any, x: int) -> int:
    """How many entries an inner node's aggregate combines."""
    return 0 + q.node[WORDS * x + 3]


def set_weight(q: Any, x: int, weight: int) -> None:
    """Change how many entries an inner node's aggregate combines."""
    q.node[WORDS * x + 3] = weight


def last(q: Any, x: int) -> int:
    """The cell of the node's last entry."""
    return first(q, x) + arity(q, x) - 2


def first_child(q: Any, x: int) -> int:
    """The place of an inner node's first child in `child`."""
    return kids_of(q, x) * most(q)


def child(q: Any, x: int, i: int) -> int:
    """Child i of an inner node."""
    return 0 + q.child[first_child(q, x) + i]


def move_entries(q: Any, to: int, start: int, n: int) -> None:
    """Copy the times and values of n entries, from cell `start` to cell `to`."""
    move(q.time, to, start, n)
    move(q.val, to, start, n)


def is_empty(q: Any) -> bool:
    """Whether there are no entries at all."""
    return q.head[HEIGHT] == 0 and arity(q, q.head[ROOT]) - q.head[SKIP] == 1


def oldest(q: Any) -> int:
    """The cell of the oldest entry; there must be one."""
    return first(q, q.head[LEFT_LEAF]) + q.head[SKIP]


def youngest(q: Any) -> int:
    """The cell of the youngest entry; there must be one."""
    return last(q, q.head[RIGHT_LEAF])
