"""The forest: a shard's sealed bulks as one window over the monoid of maps from keys to partials.

Order   bulks in order of time, disjoint; late rows into a bulk that is there (`arrival`).
Cost    a bulk of m rows: m combines, and amortized as many again for the nodes above it;
        the middle of a window: O(log n) nodes, and of them the keys that are asked for;
        a late row: O(log d) nodes, d bulks from the end; evicting bulks: nothing is combined.
Paper   AMTA, 2020: the tree of complete nodes of 2^level items that a binary counter leaves,
        kept in pages of a store; late rows as in FiBA, 2023: only nodes between the row and
        the end of the tree change.
Legend  leaf: a bulk's rows, sorted by key and time. node: a partial per key over 2^level
        neighbouring bulks. Small neighbouring leaves become one leaf, so that bulks of a few
        rows do not make a tree of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.buffer import Buffers
from sash.engine.stream.bulk_rows import Rows, taken
from sash.engine.stream.carried import Carried
from sash.engine.stream.leaf_rows import LeafRows
from sash.engine.stream.manifest import Node, Trunk
from sash.engine.stream.map_pages import MapPages
from sash.engine.stream.maps import KeyMap, Located, Part, located, part_of, whole_of
from sash.engine.stream.pages import KEY, Pages
from sash.engine.stream.partials import PartialState
from sash.engine.stream.selected import selected
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts, unique

SMALL = 8192
"""Two leaves that have no more rows than this together become one."""


class Forest:
    """The tree of a shard: bulks in, middles of windows out.

    `time`: the column with the rows' times; `by`: key columns that maps carry along (where
    answers are given for keys that have no rows in a batch); `sliced`: leaves have slices.
    `rows` reads the rows of leaves, `maps` the maps of nodes, and `buffers` what late rows change.
    """

    def __init__(
        self,
        trunk: Trunk,
        pages: Pages,
        states: Sequence[PartialState],
        time: str,
        by: Sequence[str] = (),
        sliced: bool = False,
    ) -> None:
        self.trunk, self.pages, self.states = trunk, pages, list(states)
        self.is_commutative = all(state.is_commutative for state in states)
        found = [node for node in trunk.nodes.values() if node.rows is not None]
        self.leaves = sorted(found, key=_first)  # in order of time; their times are disjoint
        self.maps = MapPages(pages, self.states, by)
        self.buffers = Buffers(trunk, pages, self.maps, time)
        self.rows = LeafRows(trunk, pages, self.buffers, self.states, sliced)
        self._carried: dict[Hashable, Carried] = {}
        self._layers: dict[tuple[int, int], tuple[Node, list[Part]]] = {}

    def place(self, state: PartialState) -> int:
        """Which of the forest's states has the partials of this one."""
        return next(i for i, each in enumerate(self.states) if each.name == state.name)

    # Leaves.

    def between(self, oldest: float, youngest: float) -> list[Node]:
        """The leaves that may have rows of these times, both included."""
        return self.leaves[self.since(oldest) : self.until(youngest)]

    def since(self, time: float, after: bool = False) -> int:
        """The first leaf that has rows at a time or later, or none that are not `after` it."""
        if after:
            return bisect_right(self.leaves, time, key=_oldest)
        return bisect_left(self.leaves, time, key=_youngest)

    def until(self, time: float, before: bool = False) -> int:
        """The leaf after the last that has rows at a time or before; all of them `before` it."""
        if before:
            return bisect_left(self.leaves, time, key=_youngest)
        return bisect_right(self.leaves, time, key=_oldest)

    def rows_between(
        self, oldest: float, youngest: float, keys: KeyMap | None = None
    ) -> Rows | None:
        """The rows between two times, both included, of some keys or of all, leaf by leaf."""
        leaves, waiting = self.between(oldest, youngest), self.rows.waiting(keys)
        wanted = [*(self.rows.wanted(leaf, keys) for leaf in leaves), *waiting]
        if not wanted:
            return None
        rows = self.rows.read(wanted).rows
        if waiting or leaves[0].oldest < oldest or leaves[-1].youngest > youngest:
            inside = (rows.times >= oldest) & (rows.times <= youngest)
            rows = taken(rows, np.flatnonzero(inside))
        return rows if len(rows) else None

    # A new bulk.

    def append(self, table: pa.Table, rest: pa.Table | None = None) -> None:
        """Add a bulk, sorted by key and time, all of it later than what is there."""
        rows = self.rows.of(table)
        page = self.pages.add(table)
        beside = None if rest is None else self.pages.add(rest)
        node = Node(
            0, self.trunk.next, rows.times.min().item(), rows.times.max().item(), (),
            self.maps.add(self._map(rows)), page, beside,
        )  # fmt: skip
        self.trunk.next += 1
        self.set(node)
        while node.index & 1 and (node.level, node.index - 1) in self.trunk.nodes:
            node = self._joined(self.trunk.nodes[node.level, node.index - 1], node)

    def _map(self, rows: Rows) -> KeyMap:
        """The partials of rows in order of key and time, one per key."""
        begins = np.append(starts(rows.ids), len(rows.ids))
        first = begins[:-1]
        prove_equal(rows.checks, rows.ids)
        items = [s.fold(self.rows.items(i, rows), begins) for i, s in enumerate(self.states)]
        self.pages.cost.combined += len(rows.ids) * len(self.states)
        by = self.maps.by
        keys = rows.table.select(by).take(pa.array(first)) if by else None
        return KeyMap(rows.ids[first], rows.checks[first], keys, items)

    def _joined(self, older: Node, younger: Node) -> Node:
        """The node above two; a leaf where both are small ones."""
        left, right = older.rows, younger.rows
        made = self.maps.merged([self.whole(older), self.whole(younger)])
        ends = older.oldest, max(older.youngest, younger.youngest)
        node = Node(older.level + 1, older.index >> 1, *ends, map=self.maps.add(made))
        small = left is not None and right is not None and left.rows + right.rows <= SMALL
        if small and not (self._has_late(older) or self._has_late(younger)):
            assert left is not None
            assert right is not None
            tables = [self.pages.table(left), self.pages.table(right)]
            table = pa.concat_tables(tables).combine_chunks()
            order = order_of(numbers(one_array(table.column(KEY))))
            beside = None
            if older.rest is not None and younger.rest is not None:
                rests = [self.pages.table(older.rest), self.pages.table(younger.rest)]
                beside = self.pages.add(pa.concat_tables(rests).combine_chunks().take(order))
            if (older.rest is None) == (younger.rest is None):
                node = replace(node, rows=self.pages.add(table.take(order)), rest=beside)
                self._unset(older)
                self._unset(younger)
        self.set(node)
        return node

    def _has_late(self, leaf: Node) -> bool:
        buffer = self.buffers.late_rows
        return bool(leaf.late) or (buffer is not None and buffer.place(leaf) is not None)

    # The middle of a window.

    def nodes(self, first: int, stop: int) -> Iterator[Node]:
        """The fewest nodes that cover the bulks from the first number to the last."""
        while first < stop:
            level = 0
            best = None
            while first + (1 << level) <= stop and first & ((1 << level) - 1) == 0:
                best = self.trunk.nodes.get((level, first >> level), best)
                level += 1
            assert best is not None, (first, stop)
            yield best
            first = best.stop

    def cover(
        self, first: int, stop: int, keys: int | None = None, of: Hashable = None
    ) -> list[list[Part]]:
        """The maps that have the partials of bulks, the oldest first; of each map those that
        override it are beside it. `keys`: how many are asked for, None: all. `of`: whose middle
        it is, which may then be carried from batch to batch."""
        nodes = list(self.nodes(first, stop))
        if of is None:
            return [self.layers(node) for node in nodes]
        if of not in self._carried:  # what is asked for once is not carried
            self._carried[of] = Carried()
            return [self.layers(node) for node in nodes]
        return self._carried[of].cover(self, nodes, keys)

    def partials(self, asked: Sequence[tuple[Sequence[Part], KeyMap]]) -> tuple[Located, KeyMap]:
        """The partials of keys, each request's of the maps of a `cover` and of its keys."""
        found = located(asked)
        made = found.taken()
        self.maps.count(made)
        return found, made

    def prove(self, ids: np.ndarray, checks: np.ndarray) -> None:
        """Raise Collision if a key of rows, in order of key, has the number of another among them
        or here: before they are added, as nothing may be answered for a while."""
        prove_equal(checks, ids)
        ids, checks = unique(ids, checks)
        if self.leaves and checks.any():  # one integer column is its own number
            keys = KeyMap(ids, checks, None, [])
            located([(maps, keys) for maps in self.cover(self.leaves[0].first, self.trunk.next)])
            if waiting := self.rows.waiting(keys):
                selected(waiting, [])

    # What no window needs any more.

    def evict(self, before: float) -> None:
        """Drop the leaves all of whose rows are before a time, and what stands on them."""
        for leaf in self.leaves[: self.until(before, before=True)]:
            above: Node | None = leaf
            while above is not None:
                self._unset(above)
                above = self.trunk.nodes.get((above.level + 1, above.index >> 1))
        for wanted in self.rows.waiting(None):
            times = wanted.pages[0].times
            if times.min() < before:
                self.rows.wait(taken(wanted.pages[0], np.flatnonzero(times >= before)))
        self.buffers.forget()

    def drop_rest(self, upto: float) -> None:
        """Drop the columns that only come out again, of leaves whose rows have all come out."""
        for node in self.leaves:
            if node.rest is not None and node.youngest <= upto:
                self.pages.drop(node.rest)
                self.set(replace(node, rest=None))

    def rebuild(self) -> None:
        """Make all maps again from the rows: they are an index, the rows are the truth."""
        leaves = list(self.leaves)
        self.pages.drop(self.trunk.changed)
        self.trunk.changed = None
        for node in list(self.trunk.nodes.values()):
            if node.rows is None:
                self._unset(node)
            else:
                self.pages.drop(node.map, node.patch)
        for leaf in leaves:
            rows = self.rows.read([self.rows.wanted(leaf, None)]).rows
            rows = taken(rows, np.lexsort([rows.times, rows.ids]))
            self.set(replace(leaf, map=self.maps.add(self._map(rows)), patch=None))
        for leaf in leaves:
            above = self.trunk.nodes.get((leaf.level, leaf.index))
            while above and above.index & 1:
                older = self.trunk.nodes.get((above.level, above.index - 1))
                above = None if older is None else self._joined(older, above)

    # Nodes.

    def layers(self, node: Node) -> list[Part]:
        """A node's map, and some keys that override it."""
        place = node.level, node.index
        known = self._layers.get(place)
        if known is None or known[0] is not node:
            pages = [page for page in (node.map, node.patch) if page is not None]
            known = node, [part_of(self.maps.at(page)) for page in pages]
            if len(self._layers) >= self.pages.keep:
                self._layers = {}
            self._layers[place] = known
        changed = self.buffers.changed
        if changed is None or (span := changed.place(node)) is None:
            return known[1]
        return [*known[1], Part(changed.all, *span)]

    def waits(self, node: Node) -> bool:
        """Whether a node has partials in the buffer."""
        changed = self.buffers.changed
        return changed is not None and changed.place(node) is not None

    def whole(self, node: Node) -> KeyMap:
        """A node's map as it is now."""
        return whole_of(self.layers(node))

    def set(self, node: Node) -> None:
        """Add a node, or let it be another."""
        self.trunk.nodes[node.level, node.index] = node
        if node.rows is not None:
            place = bisect_left(self.leaves, node.first, key=_first)
            known = place < len(self.leaves) and self.leaves[place].first == node.first
            self.leaves[place : place + known] = [node]

    def _unset(self, node: Node) -> None:
        del self.trunk.nodes[node.level, node.index]
        self._layers.pop((node.level, node.index), None)
        self.pages.drop(*node.pages)
        if node.rows is not None:
            self.rows.forget(node.rows)
            del self.leaves[bisect_left(self.leaves, node.first, key=_first)]


_first, _oldest, _youngest = attrgetter("first"), attrgetter("oldest"), attrgetter("youngest")
