"""Sound: whether the arrays of a snapshot are a tree, before any step follows a link of them.

Every node is reached once from the root, at the level where it should be, and has arities,
flags and parents that steps rely on. Rows that are not reached are free, whatever the snapshot
says: so no list of them has to be trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.swag.fiba.tree import (
    BOTH,
    HEIGHT,
    LEFT,
    LEFT_LEAF,
    LEVELS,
    RIGHT,
    RIGHT_LEAF,
    ROOT,
    SKIP,
    TIMES,
    USED,
    USED_KIDS,
    WORDS,
)

MOST_ROWS = 1 << 31


class Arrays:
    """The links of a tree, as arrays: `node` and `child` are the columns of these names."""

    def __init__(self, head: list[int], node: np.ndarray, child: np.ndarray, least: int) -> None:
        """`least` is the least arity; ValueError if the arrays are not a tree."""
        self.head, self.least, self.most = head, least, TIMES * least
        self.used, self.used_kids = head[USED], head[USED_KIDS]
        words = node.reshape(-1, WORDS)
        self.arity, self.side = words[:, 0] >> 2, words[:, 0] & BOTH
        self.parent, self.kids, self.weight = words[:, 1], words[:, 2], words[:, 3]
        self.child = child.reshape(-1, self.most)
        self.reached = np.zeros(self.used, np.bool_)

    def check(self) -> None:
        """ValueError says what is not as it should be."""
        head = self.head
        require(0 <= head[HEIGHT] < LEVELS, "the height")
        require(0 < head[ROOT] < self.used, "the root")
        nodes, level = np.array([head[ROOT]]), head[HEIGHT]
        require(self.side[head[ROOT]] == BOTH and self.parent[head[ROOT]] == 0, "the root's flags")
        self._check_rows_of_children()
        while True:
            self.reached[nodes] = True
            is_leaf = self.kids[nodes] == 0
            require(bool((is_leaf == (level == 0)).all()), f"the kinds of level {level}")
            self._check_arities(nodes, level)
            if level == 0:
                break
            nodes = self._children(nodes)
            level -= 1
        ends = [int(nodes[0]), int(nodes[-1])]
        require(ends == [head[LEFT_LEAF], head[RIGHT_LEAF]], "the fingers")

    def free(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that are not in the tree: leaves, and inner nodes."""
        rows = 1 + np.flatnonzero(~self.reached[1:])
        inner = self.kids[rows] != 0
        return rows[~inner], rows[inner]

    def _check_rows_of_children(self) -> None:
        kids = self.kids[1:]
        rows = kids[kids != 0]
        inside = bool(((rows > 0) & (rows < self.used_kids)).all())
        require(inside and len(np.unique(rows)) == len(rows), "the rows of children")

    def _check_arities(self, nodes: np.ndarray, level: int) -> None:
        head = self.head
        if level == 0:
            require(nodes[0] == head[LEFT_LEAF], "the left finger")
            require(0 <= head[SKIP] < max(1, self.arity[nodes[0]]), "the entries that are skipped")
        entries = self.arity[nodes].copy()
        if level == 0:
            entries[0] -= head[SKIP]
        least = self.least if level < head[HEIGHT] else 2 if level > 0 else 1
        fits = (entries >= least) & (self.arity[nodes] <= self.most)
        require(bool(fits.all()), f"the arities of level {level}")

    def _children(self, nodes: np.ndarray) -> np.ndarray:
        """The nodes of the level below, from left to right."""
        arities = self.arity[nodes]
        rows = self.child[self.kids[nodes]]
        is_child = np.arange(self.most) < arities[:, None]
        found = rows[is_child].astype(np.int64)
        require(bool(((found > 0) & (found < self.used)).all()), "the children")
        require(not self.reached[found].any(), "the children")
        require(len(np.unique(found)) == len(found), "the children")
        require(bool((self.parent[found] == np.repeat(nodes, arities)).all()), "the parents")
        first = np.cumsum(arities) - arities
        side = np.zeros(len(found), np.int64)
        side[first], side[first + arities - 1] = LEFT, RIGHT
        wanted = side & np.repeat(self.side[nodes], arities)
        require(bool((self.side[found] == wanted).all()), "the flags")
        self._check_weights(nodes, found, first)
        return found

    def _check_weights(self, nodes: np.ndarray, found: np.ndarray, first: np.ndarray) -> None:
        """A node weighs its entries and its children but those on a spine; on a spine, its
        parent's weight too, unless that is the root."""
        is_leaf = self.kids[found] == 0
        loads = np.where(is_leaf, self.arity[found] - 1, self.weight[found]).astype(np.int64)
        loads[self.side[found] != 0] = 0
        above = self.parent[nodes]
        inherits = ((self.side[nodes] == LEFT) | (self.side[nodes] == RIGHT)) & (
            above != self.head[ROOT]
        )
        weights = self.arity[nodes] - 1 + np.add.reduceat(loads, first)
        weights += np.where(inherits, self.weight[above], 0)
        require(bool((self.weight[nodes] == weights).all()), "the weights")


def require(holds: bool, what: str) -> None:
    """ValueError unless it holds."""
    if not holds:
        raise ValueError(f"{what} of the tree cannot be so")


def counts(head: Any, least: int) -> dict[str, int]:
    """How many cells of each column are in use, if the heads of the columns can be so."""
    used, used_kids = head[USED], head[USED_KIDS]
    require(2 <= used < MOST_ROWS and 1 <= used_kids < MOST_ROWS, "the number of nodes")
    most = TIMES * least
    return {
        "time": used * (most - 1),
        "val": used * (most - 1),
        "agg": used,
        "node": used * WORDS,
        "child": used_kids * most,
    }
