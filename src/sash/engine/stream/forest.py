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
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.blocks import Blocks, Cuts, are_small, blocks_of
from sash.engine.stream.buffer import NODE, Buffer
from sash.engine.stream.bulk_rows import Rows, taken
from sash.engine.stream.carried import Carried
from sash.engine.stream.items import Items
from sash.engine.stream.manifest import Node, Trunk
from sash.engine.stream.maps import KeyMap, Located, Part, located, part_of, prefix, whole_of
from sash.engine.stream.pages import CHECK, KEY, Page, Pages
from sash.engine.stream.partials import PartialState
from sash.engine.stream.selected import Folding, Selected, Wanted, selected
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts, unique

SMALL = 8192
"""Two leaves that have no more rows than this together become one."""


class Forest:
    """The tree of a shard: bulks in, middles of windows out.

    `time`: the column with the rows' times; `by`: key columns that maps carry along (where
    answers are given for keys that have no rows in a batch); `lifted` gives the items of a
    state for rows of a leaf.
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
        self._time, self._by, self._sliced = time, list(by), sliced
        found = [node for node in trunk.nodes.values() if node.rows is not None]
        self.leaves = sorted(found, key=_first)  # in order of time; their times are disjoint
        read = {name for state in states for name in state.reads}
        self._read = [time, *sorted(read - {time})]
        small = are_small(self.states) and not sliced
        self.is_commutative = all(state.is_commutative for state in states)
        self._folding = Folding(self._blocks, not self.is_commutative) if small else None
        self._kept: dict[str, Blocks] = {}  # of pages of leaves, by their names
        self._carried: dict[Hashable, Carried] = {}
        self._buffers: list[tuple[Page | None, Any]] = [(None, None), (None, None)]
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

    def rows_of(self, table: pa.Table) -> Rows:
        """The rows that a leaf's table has."""
        return Rows(table, self._time)

    def wanted(
        self,
        leaf: Node,
        keys: KeyMap | None,
        between: tuple[np.ndarray, np.ndarray] | None = None,
        cuts: Cuts | None = None,
    ) -> Wanted:
        """The rows of a leaf, of some keys, each between two times, or all rows; blocks of rows
        where there are cuts."""
        assert leaf.rows is not None
        pages = [self.pages.read(page, self.rows_of) for page in (leaf.rows, *leaf.late)]
        if cuts is not None and pages[0].blocks is None:
            pages[0].page = leaf.rows.name
            pages[0].blocks = self._kept.get(leaf.rows.name)
        buffer = self.late_rows
        late = None if buffer is None else buffer.at(leaf)
        return Wanted(pages if late is None else [*pages, late], keys, between, cuts)

    def waiting(
        self, keys: KeyMap | None, between: tuple[np.ndarray, np.ndarray] | None = None
    ) -> list[Wanted]:
        """The late rows that are in no leaf yet, if there are any."""
        page = self.trunk.waiting
        if page is None:
            return []
        return [Wanted([self.pages.read(page, self.rows_of)], keys, between, late=True)]

    def wait(self, rows: Rows | None) -> None:
        """Let late rows, in order of key and time, be in no leaf, instead of those that are not."""
        self.pages.drop(self.trunk.waiting)
        self.trunk.waiting = self.pages.add(rows.table) if rows is not None and len(rows) else None

    def rows_between(
        self, oldest: float, youngest: float, keys: KeyMap | None = None
    ) -> Rows | None:
        """The rows between two times, both included, of some keys or of all, leaf by leaf."""
        leaves, waiting = self.between(oldest, youngest), self.waiting(keys)
        wanted = [*(self.wanted(leaf, keys) for leaf in leaves), *waiting]
        if not wanted:
            return None
        rows = self.rows(wanted).rows
        if waiting or leaves[0].oldest < oldest or leaves[-1].youngest > youngest:
            inside = (rows.times >= oldest) & (rows.times <= youngest)
            rows = taken(rows, np.flatnonzero(inside))
        return rows if len(rows) else None

    def rows(self, asked: Sequence[Wanted], columns: Sequence[str] | None = None) -> Selected:
        """Rows of leaves; `columns`: those that states read, and these, instead of all."""
        names = None if columns is None else [*self._read, *columns]
        found = selected(asked, names, self._folding)
        cost, blocks = self.pages.cost, len(found.of) - len(found.rows)
        cost.rows_read += len(found.rows) + blocks  # a block is read like a row
        cost.bytes_read += len(found.rows) * asked[0].pages[0].width
        cost.bytes_read += blocks * sum(8 + (state.width or 0) for state in self.states)
        return found

    def _blocks(self, rows: Rows) -> Blocks:
        """The blocks of the rows of a page."""
        cost, made = self.pages.cost, blocks_of(self.states, rows.table, rows.ids)
        cost.rows_read += len(rows)
        cost.bytes_read += len(rows) * rows.width
        cost.combined += sum(len(rows) + len(each) for each in made.items)
        self._kept[rows.page] = made
        if len(self._kept) > self.pages.keep:
            del self._kept[next(iter(self._kept))]
        return made

    def found_items(self, state: int, found: Selected) -> Items:
        """The items of a state for what was found: those of rows, then those of blocks."""
        items = self.items(state, found.rows)
        if found.folded is None:
            return items
        return Items.concat([items, found.folded.items[state]])

    def items(self, state: int, rows: Rows) -> Items:
        """The items of a state for rows of a leaf."""
        if self._sliced:
            return self.states[state].items_of(rows.table, prefix(state))
        return self.states[state].lifted(rows.table)

    # A new bulk.

    def append(self, table: pa.Table, rest: pa.Table | None = None) -> None:
        """Add a bulk, sorted by key and time, all of it later than what is there."""
        rows = self.rows_of(table)
        page = self.pages.add(table)
        beside = None if rest is None else self.pages.add(rest)
        made = self._map(rows)
        node = Node(
            0, self.trunk.next, rows.times.min().item(), rows.times.max().item(), (),
            self.pages.add(self.encoded(made)), page, beside,
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
        items = [s.fold(self.items(i, rows), begins) for i, s in enumerate(self.states)]
        self.pages.cost.combined += len(rows.ids) * len(self.states)
        keys = rows.table.select(self._by).take(pa.array(first)) if self._by else None
        return KeyMap(rows.ids[first], rows.checks[first], keys, items)

    def _joined(self, older: Node, younger: Node) -> Node:
        """The node above two; a leaf where both are small ones."""
        left, right = older.rows, younger.rows
        made = self.merged([self.whole(older), self.whole(younger)])
        ends = older.oldest, max(older.youngest, younger.youngest)
        node = Node(
            older.level + 1, older.index >> 1, *ends, map=self.pages.add(self.encoded(made))
        )
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
        return bool(leaf.late) or (
            self.late_rows is not None and self.late_rows.place(leaf) is not None
        )

    def read_and_merged(self, maps: Sequence[KeyMap]) -> KeyMap:
        """All of some maps combined."""
        for each in maps:
            self.pages.cost.partials_read += len(each.ids)
            self.pages.cost.bytes_read += len(each.ids) * each.width
        return self.merged(maps)

    def merged(self, maps: Sequence[KeyMap]) -> KeyMap:
        """Maps combined key by key, from older to younger."""
        if len(maps) == 1:
            return maps[0]
        both = KeyMap.concat(maps)
        order = order_of(both.ids)
        ids = both.ids[order]
        begins = np.append(starts(ids), len(ids))
        first = order[begins[:-1]]
        prove_equal(both.checks[order], ids)
        items = [
            s.fold(each, begins, order) for s, each in zip(self.states, both.items, strict=True)
        ]
        self.pages.cost.combined += len(ids) * len(self.states)
        keys = None if both.keys is None else both.keys.take(pa.array(first))
        return KeyMap(both.ids[first], both.checks[first], keys, items)

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
        self.pages.cost.partials_read += len(made.ids)
        self.pages.cost.bytes_read += len(made.ids) * made.width
        return found, made

    def prove(self, ids: np.ndarray, checks: np.ndarray) -> None:
        """Raise Collision if a key of rows, in order of key, has the number of another among them
        or here: before they are added, as nothing may be answered for a while."""
        prove_equal(checks, ids)
        ids, checks = unique(ids, checks)
        if self.leaves and checks.any():  # one integer column is its own number
            keys = KeyMap(ids, checks, None, [])
            located([(maps, keys) for maps in self.cover(self.leaves[0].first, self.trunk.next)])
            if waiting := self.waiting(keys):
                selected(waiting, [])

    # What no window needs any more.

    def evict(self, before: float) -> None:
        """Drop the leaves all of whose rows are before a time, and what stands on them."""
        for leaf in self.leaves[: self.until(before, before=True)]:
            above: Node | None = leaf
            while above is not None:
                self._unset(above)
                above = self.trunk.nodes.get((above.level + 1, above.index >> 1))
        for wanted in self.waiting(None):
            times = wanted.pages[0].times
            if times.min() < before:
                self.wait(taken(wanted.pages[0], np.flatnonzero(times >= before)))
        self._forget_buffers()

    def _forget_buffers(self) -> None:
        """Drop the buffers if all of their nodes are gone."""
        if self.late_rows is not None and not self.late_rows.any_of(self.trunk.nodes):
            self.pages.drop(self.trunk.late)
            self.trunk.late = None
        if self.changed is not None and not self.changed.any_of(self.trunk.nodes):
            self.pages.drop(self.trunk.changed)
            self.trunk.changed = None

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
            rows = self.rows([self.wanted(leaf, None)]).rows
            rows = taken(rows, np.lexsort([rows.times, rows.ids]))
            self.set(replace(leaf, map=self.pages.add(self.encoded(self._map(rows))), patch=None))
        for leaf in leaves:
            above = self.trunk.nodes.get((leaf.level, leaf.index))
            while above and above.index & 1:
                older = self.trunk.nodes.get((above.level, above.index - 1))
                above = None if older is None else self._joined(older, above)

    # Maps as pages.

    def layers(self, node: Node) -> list[Part]:
        """A node's map, and some keys that override it."""
        place = node.level, node.index
        known = self._layers.get(place)
        if known is None or known[0] is not node:
            pages = [page for page in (node.map, node.patch) if page is not None]
            known = node, [part_of(self.map_at(page)) for page in pages]
            if len(self._layers) >= self.pages.keep:
                self._layers = {}
            self._layers[place] = known
        changed = self.changed
        if changed is None or (span := changed.place(node)) is None:
            return known[1]
        return [*known[1], Part(changed.all, *span)]

    def waits(self, node: Node) -> bool:
        """Whether a node has partials in the buffer."""
        return self.changed is not None and self.changed.place(node) is not None

    def whole(self, node: Node) -> KeyMap:
        """A node's map as it is now."""
        return whole_of(self.layers(node))

    @property
    def late_rows(self) -> Buffer[Rows] | None:
        """Late rows that are not yet in the pages of leaves."""
        return self._buffer(0, self.trunk.late, self.rows_of)

    @property
    def changed(self) -> Buffer[KeyMap] | None:
        """Partials that late rows have changed, not yet in the pages of nodes."""
        return self._buffer(1, self.trunk.changed, self._decoded)

    def _buffer(self, which: int, page: Page | None, decoded: Callable[[pa.Table], Any]) -> Any:
        if page is not self._buffers[which][0]:
            read = None if page is None else Buffer.read(self.pages.table(page), decoded)
            self._buffers[which] = page, read
        return self._buffers[which][1]

    def wait_rows(self, buffer: Buffer[Rows]) -> None:
        """Let late rows wait in the buffer, instead of those that are there."""
        self.pages.drop(self.trunk.late)
        table = buffer.all.table.append_column(NODE, pa.array(buffer.nodes))
        self.trunk.late = self.pages.add(table) if len(buffer.nodes) else None
        self._buffers[0] = self.trunk.late, buffer if len(buffer.nodes) else None

    def wait_partials(self, buffer: Buffer[KeyMap]) -> None:
        """Let partials that have changed wait in the buffer, instead of those that are there."""
        self.pages.drop(self.trunk.changed)
        table = self.encoded(buffer.all).append_column(NODE, pa.array(buffer.nodes))
        self.trunk.changed = self.pages.add(table) if len(buffer.nodes) else None
        self._buffers[1] = self.trunk.changed, buffer if len(buffer.nodes) else None

    def encoded(self, made: KeyMap) -> pa.Table:
        """A map as a page's table."""
        columns = {KEY: pa.array(made.ids), CHECK: pa.array(made.checks)}
        if made.keys is not None:
            columns |= {name: one_array(made.keys.column(name)) for name in self._by}
        for i, (state, items) in enumerate(zip(self.states, made.items, strict=True)):
            columns |= state.columns_of(items, prefix(i))
        return pa.table(columns)

    def map_at(self, page: Page) -> KeyMap:
        """The map that a page is."""
        found: KeyMap = self.pages.read(page, self._decoded)
        return found

    def _decoded(self, table: pa.Table) -> KeyMap:
        ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
        keys = table.select(self._by) if self._by else None
        items = [state.items_of(table, prefix(i)) for i, state in enumerate(self.states)]
        return KeyMap(ids, checks, keys, items)

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
            self._kept.pop(node.rows.name, None)
            del self.leaves[bisect_left(self.leaves, node.first, key=_first)]


_first, _oldest, _youngest = attrgetter("first"), attrgetter("oldest"), attrgetter("youngest")
