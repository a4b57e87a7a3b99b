"""Check: every invariant of section 3.2, and that no node is lost; the tree, drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from sash.monoids.monoid import Monoid
from sash.swag.fiba.aggregate import load
from sash.swag.fiba.tree import (
    BLOCK,
    BLOCK_END,
    BOTH,
    DEFERRED,
    FREE_INNER,
    FREE_LEAF,
    FRONT,
    HEIGHT,
    KID_ROWS,
    LEFT,
    LEFT_LEAF,
    MIN,
    RIGHT,
    RIGHT_LEAF,
    ROOT,
    ROWS,
    SKIP,
    USED,
    USED_KIDS,
    arity,
    child,
    first,
    is_leaf,
    most,
    parent,
    side_of,
    weight_of,
)
from sash.swag.parts import Node, Part
from sash.swag.window import agree

SIDES = {0: "up", LEFT: "left", RIGHT: "right", BOTH: "inner"}


class Checker:
    """A walk over one tree, as plain Python, that yields what is broken."""

    def __init__(self, q: Any, monoid: Monoid) -> None:
        self.q, self.monoid = q, monoid
        self.root = q.head[ROOT]

    def entries(self, x: int) -> range:
        """The cells of a node's entries."""
        start = self.q.head[SKIP] if x == self.q.head[LEFT_LEAF] else 0
        return range(first(self.q, x) + start, first(self.q, x) + arity(self.q, x) - 1)

    def children(self, x: int) -> list[int]:
        """A node's children."""
        n = 0 if is_leaf(self.q, x) else arity(self.q, x)
        return [child(self.q, x, i) for i in range(n)]

    def fold(self, partials: Any) -> Any:
        """Partials, combined from older to younger."""
        total = self.monoid.identity
        for v in partials:
            total = self.monoid.combine(total, v)
        return total

    def expected(self, x: int) -> tuple[Any, int]:
        """The expected aggregate of a node, and how many entries it combines.

        Of its children and its parent the aggregates are taken as they are: each of
        them is checked by itself.
        """
        q, kids, side = self.q, self.children(x), side_of(self.q, x)
        parts = []
        for k, cell in enumerate(self.entries(x)):
            if kids and not (k == 0 and side & LEFT):
                parts.append((q.agg[kids[k]], load(q, kids[k])))
            parts.append((q.val[cell], 1))
        if kids and not side & RIGHT:
            parts.append((q.agg[kids[-1]], load(q, kids[-1])))
        own, weight = self.fold(v for v, _ in parts), sum(n for _, n in parts)
        above = parent(q, x)
        if side not in (LEFT, RIGHT) or above == self.root:
            return own, weight
        pair = (own, q.agg[above]) if side == LEFT else (q.agg[above], own)
        return self.monoid.combine(*pair), weight + weight_of(q, above)

    def nodes(self, x: int, level: int) -> Iterator[tuple[int, int]]:
        """All nodes from x down, with their levels."""
        yield x, level
        for c in self.children(x):
            yield from self.nodes(c, level - 1)

    def problems(self) -> Iterator[str]:
        """The broken invariants, one sentence each."""
        q = self.q
        nodes = list(self.nodes(self.root, q.head[HEIGHT]))
        for x, level in nodes:
            yield from self.of_node(x, level)
        times = [q.time[cell] for cell in self.in_order(self.root)]
        if any(not a < b for a, b in pairwise(times)):
            yield f"order: times are not ascending: {times}"
        yield from self.of_fingers()
        if q.head[USED] > q.head[ROWS] or q.head[USED_KIDS] > q.head[KID_ROWS]:
            yield "nodes: more than there is room for"
        spare = set(range(q.head[BLOCK], q.head[BLOCK_END]))
        lost = set(range(1, q.head[USED])) ^ spare ^ {x for x, _ in nodes} ^ set(self.unused())
        if lost:
            yield f"nodes neither in the tree nor free, or both: {sorted(lost)}"

    def of_node(self, x: int, level: int) -> Iterator[str]:
        """Height, arity, flags, links and the aggregate of one node."""
        q = self.q
        if is_leaf(q, x) != (level == 0):
            yield f"height: node {x} at level {level} of {q.head[HEIGHT]}"
        a = len(self.entries(x)) + 1
        least = (2 if self.children(x) else 1) if x == self.root else q.head[MIN]
        if not least <= a <= most(q):
            yield f"arity: node {x} has {a}, not {least} to {most(q)}"
        for i, c in enumerate(self.children(x)):
            if parent(q, c) != x:
                yield f"links: the parent of node {c} is {x}, not {parent(q, c)}"
            wanted = (LEFT if i == 0 else RIGHT if i == a - 1 else 0) & side_of(q, x)
            if side_of(q, c) != wanted:
                yield f"flags: node {c} is {SIDES[side_of(q, c)]}, not {SIDES[wanted]}"
        if level == 0 and x == q.head[LEFT_LEAF] != self.root:
            return  # its aggregate is in front
        combined, weight = self.expected(x)
        if not agree(q.agg[x], combined):
            yield f"aggregate: node {x} has {q.agg[x]}, not {combined}"
        if level > 0 and weight_of(q, x) != weight:
            yield f"weight: node {x} has {weight_of(q, x)}, not {weight}"

    def of_fingers(self) -> Iterator[str]:
        """Both fingers, the root's flags, and the left finger's aggregates."""
        q = self.q
        if side_of(q, self.root) != BOTH or parent(q, self.root) != 0:
            yield f"flags: the root, node {self.root}, is {SIDES[side_of(q, self.root)]}"
        ends = [self.root, self.root]
        while not is_leaf(q, ends[0]):
            ends = [self.children(ends[0])[0], self.children(ends[1])[-1]]
        if ends != [q.head[LEFT_LEAF], q.head[RIGHT_LEAF]]:
            yield f"fingers: {q.head[LEFT_LEAF]} and {q.head[RIGHT_LEAF]}, not {ends}"
        elif q.head[FRONT]:
            yield from self.of_front(ends[0])

    def of_front(self, x: int) -> Iterator[str]:
        """The left finger's aggregates, each from the one before it."""
        q, above = self.q, parent(self.q, x)
        cells, combined = self.entries(x), None
        for i in range(len(cells) - 1, -1, -1):
            v, have = q.val[cells[i]], q.front[q.head[SKIP] + i]
            if i < len(cells) - 1:
                combined = self.monoid.combine(v, combined)
            else:
                combined = v if above == self.root else self.monoid.combine(v, q.agg[above])
            if not agree(have, combined):
                yield f"front: without {i} entries it is {have}, not {combined}"

    def in_order(self, x: int) -> Iterator[int]:
        """The cells of all entries from x down."""
        kids = self.children(x)
        for k, cell in enumerate(self.entries(x)):
            if kids:
                yield from self.in_order(kids[k])
            yield cell
        if kids:
            yield from self.in_order(kids[-1])

    def tree(self, time_of: Callable[[Any], Any]) -> Iterator[Node]:
        """All nodes, from the root down."""
        q, sides = self.q, {0: "", LEFT: "left", RIGHT: "right", BOTH: "both"}
        for x, level in self.nodes(self.root, q.head[HEIGHT]):
            entries = tuple((time_of(q.time[c]), q.val[c]) for c in self.entries(x))
            yield Node(x, level, sides[side_of(q, x)], entries, tuple(self.children(x)))

    def parts(self) -> Iterator[Part]:
        """The aggregates that are in use: of all nodes but the left finger, which has its own."""
        q = self.q
        for x, _ in self.nodes(self.root, q.head[HEIGHT]):
            if x != q.head[LEFT_LEAF] or x == self.root:
                yield Part(f"{SIDES[side_of(q, x)]} aggregates", x, q.agg[x])
        if q.head[FRONT]:
            for i in range(q.head[SKIP], arity(q, q.head[LEFT_LEAF]) - 1):
                yield Part("left finger", i, q.front[i])

    def unused(self) -> Iterator[int]:
        """All nodes on the free lists and below them."""
        for where in (FREE_LEAF, FREE_INNER, DEFERRED):
            x = self.q.head[where]
            while x != 0:
                inside = self.nodes(x, 0) if where == DEFERRED else [(x, 0)]
                yield from (y for y, _ in inside)
                x = parent(self.q, x)

    def drawing(self, x: int, indent: str = "") -> Iterator[str]:
        """The tree, one line per node."""
        q = self.q
        pairs = ", ".join(f"{q.time[c]}: {q.val[c]}" for c in self.entries(x))
        yield f"{indent}node {x} {SIDES.get(side_of(q, x))} {q.agg[x]} [{pairs}]"
        for c in self.children(x):
            yield from self.drawing(c, indent + "  ")
