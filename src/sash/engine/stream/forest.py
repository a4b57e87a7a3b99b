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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.manifest import Node, Trunk
from sash.engine.stream.pages import CHECK, KEY, Page, Pages
from sash.engine.stream.partials import Items, PartialState

SMALL = 8192
"""Two leaves that have no more rows than this together become one."""

LATE_PAGES = 8
"""So many pages of late rows, and a leaf is written again as one."""


class Collision(Exception):
    """Two keys have one number: `id`, and the second hashes of both."""

    def __init__(self, key: int, known: int, new: int) -> None:
        super().__init__(f"two keys share the number {key}")
        self.id, self.known, self.new = key, known, new


@dataclass
class KeyMap:
    """Partials by key: the keys' numbers, sorted, their proofs, their columns, an item each."""

    ids: np.ndarray
    checks: np.ndarray
    keys: pa.Table | None
    items: list[Items]

    @property
    def width(self) -> int:
        """Bytes of a key's numbers, about."""
        return 16 + sum(8 + sum(x.itemsize for x in items.leaves) for items in self.items)

    def take(self, places: np.ndarray) -> KeyMap:
        keys = None if self.keys is None else self.keys.take(pa.array(places))
        items = [each.take(places) for each in self.items]
        return KeyMap(self.ids[places], self.checks[places], keys, items)

    @staticmethod
    def concat(parts: Sequence[KeyMap]) -> KeyMap:
        keys = None
        if parts[0].keys is not None:
            keys = pa.concat_tables([part.keys for part in parts]).combine_chunks()
        return KeyMap(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.checks for part in parts]),
            keys,
            [Items.concat(each) for each in zip(*(part.items for part in parts), strict=True)],
        )


@dataclass
class Rows:
    """Rows, or slices, of leaves in order of key and time: their numbers, times and table."""

    ids: np.ndarray
    checks: np.ndarray
    times: np.ndarray
    table: pa.Table
    mixed: bool = False  # whether others of the same times are beside them


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
        """A leaf's table with its columns as numbers."""
        ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
        return Rows(ids, checks, numbers(one_array(table.column(self._time))), table)

    def gather(
        self, leaf: Node, wanted: KeyMap | None, oldest: float, youngest: float
    ) -> Iterator[Rows]:
        """The rows of a leaf of some keys, or of all, between two times; a page at a time."""
        assert leaf.rows is not None
        for page in (leaf.rows, *leaf.late):
            rows = self.pages.read(page, self.rows_of)
            places = np.arange(len(rows.ids))
            if wanted is not None:
                places, of = places_of(rows.ids, wanted.ids)
                prove(rows.checks[places], wanted.checks[of], rows.ids[places])
            if leaf.oldest < oldest or leaf.youngest > youngest:
                times = rows.times[places]
                places = places[(times >= oldest) & (times <= youngest)]
            if len(places):
                self.pages.cost.rows_read += len(places)
                width = rows.table.nbytes // max(1, rows.table.num_rows)
                self.pages.cost.bytes_read += len(places) * width
                yield replace(taken(rows, places), mixed=bool(leaf.late))

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
            self._put(made), page, beside,
        )  # fmt: skip
        self.trunk.next += 1
        self._set(node)
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
        made = self.merged([self._whole(older), self._whole(younger)])
        ends = older.oldest, max(older.youngest, younger.youngest)
        node = Node(older.level + 1, older.index >> 1, *ends, map=self._put(made))
        small = left is not None and right is not None and left.rows + right.rows <= SMALL
        if small and not (older.late or younger.late):
            assert left is not None
            assert right is not None
            tables = [self.pages.table(left), self.pages.table(right)]
            table = pa.concat_tables(tables).combine_chunks()
            order = np.argsort(numbers(one_array(table.column(KEY))), kind="stable")
            beside = None
            if older.rest is not None and younger.rest is not None:
                rests = [self.pages.table(older.rest), self.pages.table(younger.rest)]
                beside = self.pages.add(pa.concat_tables(rests).combine_chunks().take(order))
            if (older.rest is None) == (younger.rest is None):
                node = replace(node, rows=self.pages.add(table.take(order)), rest=beside)
                self._unset(older)
                self._unset(younger)
        self._set(node)
        return node

    def merged(self, maps: Sequence[KeyMap]) -> KeyMap:
        """Maps combined key by key, from older to younger."""
        if len(maps) == 1:
            return maps[0]
        both = KeyMap.concat(maps)
        order = np.argsort(both.ids, kind="stable")
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

    def middle(self, first: int, stop: int, wanted: KeyMap | None = None) -> list[KeyMap]:
        """The partials of bulks, of some keys or of all, a map per node, the oldest first."""
        found = []
        for node in self.nodes(first, stop):
            for part in [self._whole(node)] if wanted is None else self._of_keys(node, wanted):
                self.pages.cost.partials_read += len(part.ids)
                self.pages.cost.bytes_read += len(part.ids) * part.width
                found.append(part)
        return found

    def prove(self, rows: Rows) -> None:
        """Raise Collision if a key of rows, in order of key, has the number of another that is
        here: before they are added, as nothing may be answered for a while."""
        ids, checks = unique(rows.ids, rows.checks)
        if self.leaves and checks.any():  # one integer column is its own number
            self.middle(self.leaves[0].first, self.trunk.next, KeyMap(ids, checks, None, []))

    # Late rows.

    def insert(self, groups: Sequence[tuple[Node, pa.Table]]) -> None:
        """Add late rows, sorted by key and time, to the bulks that have their times.

        Bulk by bulk rows are written and read, level by level partials are combined, for all
        bulks at once.
        """
        changed: dict[tuple[int, int], KeyMap] = {}
        pieces: list[tuple[KeyMap, Rows]] = []
        for leaf, table in groups:
            rows = self.rows_of(table)
            oldest = min(leaf.oldest, rows.times.min().item())
            node = replace(leaf, late=(*leaf.late, self.pages.add(table)), oldest=oldest)
            self._set(node)
            keys = KeyMap(*unique(rows.ids, rows.checks), None, [])
            changed[leaf.level, leaf.index] = keys
            pieces += [(keys, found) for found in self.gather(node, keys, -np.inf, np.inf)]
        numbers_of = {id(keys): number for number, keys in enumerate(changed.values())}
        codes = [
            (numbers_of[id(keys)] << 40) + np.searchsorted(keys.ids, rows.ids)
            for keys, rows in pieces
        ]
        rows = joined([rows for _, rows in pieces])
        items = [self.items(i, rows) for i in range(len(self.states))]
        self._changed(changed, np.concatenate(codes), items, rows.times)
        for place, keys in changed.items():
            self._patch(place, keys)
            if len(self.trunk.nodes[place].late) > LATE_PAGES:
                self._rewrite(place)
        self._climb(changed)

    def _climb(self, changed: dict[tuple[int, int], KeyMap]) -> None:
        """Change the nodes above nodes that have changed, one level after the other."""
        level = min(level for level, _ in changed)
        while any(at >= level for at, _ in changed):
            above: dict[tuple[int, int], list[KeyMap]] = {}
            for at, index in [place for place in changed if place[0] == level]:
                if (at + 1, index >> 1) in self.trunk.nodes:
                    above.setdefault((at + 1, index >> 1), []).append(changed[at, index])
            wanted = {place: _union(keys) for place, keys in above.items()}
            if wanted:
                self._combine_children(wanted)
                for place, keys in wanted.items():
                    self._patch(place, keys)
                changed = {**changed, **wanted}
            level += 1

    def _combine_children(self, wanted: dict[tuple[int, int], KeyMap]) -> None:
        """The partials of some keys of nodes, from the two nodes below each."""
        codes, parts = [], []
        for number, ((level, index), keys) in enumerate(wanted.items()):
            for child in (2 * index, 2 * index + 1):
                node = self.trunk.nodes[level - 1, child]
                for part in self._of_keys(node, keys):
                    codes.append((number << 40) + np.searchsorted(keys.ids, part.ids))
                    parts.append(part)
            oldest = min(self.trunk.nodes[level - 1, 2 * index + k].oldest for k in (0, 1))
            self.trunk.nodes[level, index] = replace(self.trunk.nodes[level, index], oldest=oldest)
        both = KeyMap.concat(parts)
        self._changed(wanted, np.concatenate(codes), both.items)

    def _changed(
        self,
        wanted: dict[tuple[int, int], KeyMap],
        codes: np.ndarray,
        items: list[Items],
        times: np.ndarray | None = None,
    ) -> None:
        """Fold the items of nodes and keys, which have codes, and give each node its part."""
        order = np.argsort(codes, kind="stable") if times is None else np.lexsort([times, codes])
        begins = np.append(starts(codes[order]), len(order))
        folded = [s.fold(each, begins, order) for s, each in zip(self.states, items, strict=True)]
        self.pages.cost.combined += len(order) * len(self.states)
        start = 0
        for keys in wanted.values():
            places = np.arange(start, start + len(keys.ids))
            keys.items = [each.take(places) for each in folded]
            start += len(keys.ids)

    def _of_keys(self, node: Node, wanted: KeyMap) -> list[KeyMap]:
        """The partials of some keys of a node: those that late rows changed, and the others."""
        assert node.map is not None
        found = []
        ids = wanted.ids
        for page in (node.patch, node.map):
            if page is None:
                continue
            whole = self._read(page)
            if page is node.map and _alike(whole, wanted, ids):
                found.append(whole)
                continue
            places, of = places_of(whole.ids, ids)
            if len(places):
                proofs = wanted.checks[np.searchsorted(wanted.ids, ids[of])]
                prove(whole.checks[places], proofs, whole.ids[places])
                found.append(whole if len(places) == len(whole.ids) else whole.take(places))
                if page is node.patch:
                    ids = np.delete(ids, of)
        return found

    def _patch(self, place: tuple[int, int], changed: KeyMap) -> None:
        """Let some keys of a node have other partials."""
        node = self.trunk.nodes[place]
        if node.patch is not None:
            changed = overlaid(self._read(node.patch), changed)
        assert node.map is not None
        if 4 * len(changed.ids) > node.map.rows:
            whole = overlaid(self._read(node.map), changed)
            self.pages.drop(node.map, node.patch)
            self._set(replace(node, map=self._put(whole), patch=None))
            return
        self.pages.drop(node.patch)
        self._set(replace(node, patch=self._put(changed)))

    def _rewrite(self, place: tuple[int, int]) -> None:
        """Make one page of a leaf's rows and its late ones."""
        leaf = self.trunk.nodes[place]
        rows = self._sorted(list(self.gather(leaf, None, -np.inf, np.inf)))
        self.pages.drop(leaf.rows, *leaf.late)
        self._set(replace(leaf, rows=self.pages.add(rows.table), late=()))

    def _sorted(self, parts: list[Rows]) -> Rows:
        if len(parts) == 1:
            return parts[0]
        rows = joined(parts)
        return taken(rows, np.lexsort([rows.times, rows.ids]))

    # What no window needs any more.

    def evict(self, before: float) -> None:
        """Drop the leaves all of whose rows are before a time, and what stands on them."""
        for leaf in self.leaves[: self.until(before, before=True)]:
            above: Node | None = leaf
            while above is not None:
                self._unset(above)
                above = self.trunk.nodes.get((above.level + 1, above.index >> 1))

    def drop_rest(self, upto: float) -> None:
        """Drop the columns that only come out again, of leaves whose rows have all come out."""
        for node in self.leaves:
            if node.rest is not None and node.youngest <= upto:
                self.pages.drop(node.rest)
                self._set(replace(node, rest=None))

    def rebuild(self) -> None:
        """Make all maps again from the rows: they are an index, the rows are the truth."""
        leaves = list(self.leaves)
        for node in list(self.trunk.nodes.values()):
            if node.rows is None:
                self._unset(node)
            else:
                self.pages.drop(node.map, node.patch)
        for leaf in leaves:
            rows = self._sorted(list(self.gather(leaf, None, -np.inf, np.inf)))
            self._set(replace(leaf, map=self._put(self._map(rows)), patch=None))
        for leaf in leaves:
            above = self.trunk.nodes.get((leaf.level, leaf.index))
            while above and above.index & 1:
                older = self.trunk.nodes.get((above.level, above.index - 1))
                above = None if older is None else self._joined(older, above)

    # Maps as pages.

    def _whole(self, node: Node) -> KeyMap:
        assert node.map is not None
        found = self._read(node.map)
        return found if node.patch is None else overlaid(found, self._read(node.patch))

    def _put(self, made: KeyMap) -> Page:
        columns = {KEY: pa.array(made.ids), CHECK: pa.array(made.checks)}
        if made.keys is not None:
            columns |= {name: one_array(made.keys.column(name)) for name in self._by}
        for i, (state, items) in enumerate(zip(self.states, made.items, strict=True)):
            columns |= state.columns_of(items, prefix(i))
        return self.pages.add(pa.table(columns))

    def _read(self, page: Page) -> KeyMap:
        found: KeyMap = self.pages.read(page, self._decoded)
        return found

    def _decoded(self, table: pa.Table) -> KeyMap:
        ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
        keys = table.select(self._by) if self._by else None
        items = [state.items_of(table, prefix(i)) for i, state in enumerate(self.states)]
        return KeyMap(ids, checks, keys, items)

    def _set(self, node: Node) -> None:
        self.trunk.nodes[node.level, node.index] = node
        if node.rows is not None:
            place = bisect_left(self.leaves, node.first, key=_first)
            known = place < len(self.leaves) and self.leaves[place].first == node.first
            self.leaves[place : place + known] = [node]

    def _unset(self, node: Node) -> None:
        del self.trunk.nodes[node.level, node.index]
        self.pages.drop(*node.pages)
        if node.rows is not None:
            del self.leaves[bisect_left(self.leaves, node.first, key=_first)]


_first, _oldest, _youngest = attrgetter("first"), attrgetter("oldest"), attrgetter("youngest")


def _alike(whole: KeyMap, wanted: KeyMap, ids: np.ndarray) -> bool:
    """Whether a map has just the keys that are wanted, as it often does where keys are few."""
    return (
        len(whole.ids) == len(ids) == len(wanted.ids)
        and bool((whole.ids == ids).all())
        and bool((whole.checks == wanted.checks).all())
    )


def _union(maps: Sequence[KeyMap]) -> KeyMap:
    """The keys of some maps, each once."""
    ids = np.concatenate([each.ids for each in maps])
    checks = np.concatenate([each.checks for each in maps])
    order = np.argsort(ids, kind="stable")
    return KeyMap(*unique(ids[order], checks[order]), None, [])


def prefix(state: int) -> str:
    """How the columns of a state's items begin."""
    return f"_{state}_"


def starts(ids: np.ndarray) -> np.ndarray:
    """Where each key begins, of sorted numbers."""
    return (
        np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, np.int64)
    )


def unique(ids: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys of rows in order of key."""
    first = starts(ids)
    return ids[first], checks[first]


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows, one after the other."""
    return Rows(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.checks for part in parts]),
        np.concatenate([part.times for part in parts]),
        pa.concat_tables([part.table for part in parts]).combine_chunks(),
    )


def overlaid(whole: KeyMap, changed: KeyMap) -> KeyMap:
    """A map in which some keys have other partials, or are new."""
    both = KeyMap.concat([whole, changed])
    order = np.argsort(both.ids, kind="stable")
    ids = both.ids[order]
    last = np.append(starts(ids)[1:], len(ids)) - 1
    return both.take(order[last])


def places_of(ids: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where wanted keys are among sorted ones, and which wanted one each is."""
    if len(wanted) > len(ids):
        at = np.minimum(np.searchsorted(wanted, ids), max(0, len(wanted) - 1))
        places = np.flatnonzero(wanted[at] == ids) if len(wanted) else np.zeros(0, np.int64)
        return places, at[places]
    first = np.searchsorted(ids, wanted, "left")
    counts = np.searchsorted(ids, wanted, "right") - first
    shift = np.cumsum(counts) - counts
    places = np.repeat(first - shift, counts) + np.arange(int(counts.sum()))
    return places, np.repeat(np.arange(len(wanted)), counts)


def prove(known: np.ndarray, new: np.ndarray, ids: np.ndarray) -> None:
    """Raise Collision where a key's number is that of another key."""
    wrong = np.flatnonzero(known != new)
    if len(wrong):
        i = wrong[0]
        raise Collision(int(ids[i]), int(known[i]), int(new[i]))


def prove_equal(checks: np.ndarray, ids: np.ndarray) -> None:
    """Raise Collision where neighbours of one number are different keys."""
    wrong = np.flatnonzero((ids[1:] == ids[:-1]) & (checks[1:] != checks[:-1]))
    if len(wrong):
        i = wrong[0]
        raise Collision(int(ids[i]), int(checks[i]), int(checks[i + 1]))


def taken(rows: Rows, places: np.ndarray) -> Rows:
    """Some of the rows, in another order."""
    if len(places) == len(rows.ids) and (np.diff(places) == 1).all():
        return rows
    table = rows.table.take(pa.array(places))
    return Rows(rows.ids[places], rows.checks[places], rows.times[places], table)
