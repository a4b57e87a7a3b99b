"""Maps from keys to partials, and rows of keys: what pages hold, and lookups in many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import (
    LEAST,
    MOST,
    Column,
    cells,
    merged_order,
    narrowed,
    runs,
    sortable,
    spread,
)
from sash.engine.stream.pages import CHECK, KEY


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

    @cached_property
    def columns(self) -> list[Column]:
        """Numbers, proofs, and the numbers of all items."""
        items = [x for each in self.items for x in (each.rows, *each.leaves)]
        return [Column.of(array) for array in (self.ids, self.checks, *items)]

    @property
    def width(self) -> int:
        """Bytes of a key's numbers, about."""
        return 16 + sum(8 + sum(x.itemsize for x in items.leaves) for items in self.items)

    def take(self, places: np.ndarray) -> KeyMap:
        keys = None if self.keys is None else self.keys.take(pa.array(places))
        items = [each.take(places) for each in self.items]
        return KeyMap(self.ids[places], self.checks[places], keys, items)

    def slice(self, first: int, stop: int) -> KeyMap:
        """Neighbouring keys; nothing is copied."""
        keys = None if self.keys is None else self.keys.slice(first, stop - first)
        items = [each.slice(first, stop) for each in self.items]
        return KeyMap(self.ids[first:stop], self.checks[first:stop], keys, items)

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
    """Rows, or slices, of leaves in order of key and time."""

    table: pa.Table
    time: str  # the column with their times

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> np.ndarray:
        """The numbers of their keys."""
        return numbers(one_array(self.table.column(KEY)))

    @cached_property
    def checks(self) -> np.ndarray:
        """The proofs of their keys."""
        return numbers(one_array(self.table.column(CHECK)))

    @cached_property
    def times(self) -> np.ndarray:
        """Their times, in ticks."""
        return numbers(one_array(self.table.column(self.time)))

    @cached_property
    def ticks(self) -> Column:
        """Their times as integers of the same order."""
        known = self.columns[self.time]
        whole = known is not None and known.array.dtype == np.int64
        return known if known and whole else Column.of(sortable(self.times))

    @cached_property
    def width(self) -> int:
        """Bytes of a row, about."""
        return int(self.table.nbytes // max(1, self.table.num_rows))

    @cached_property
    def columns(self) -> dict[str, Column | None]:
        """The table's columns that are numbers, none of them null."""
        return {name: _plain(self.table.column(name)) for name in self.table.column_names}

    def column(self, name: str) -> Column:
        """A column that is numbers."""
        found = self.columns[name]
        return Column.of(numbers(one_array(self.table.column(name)))) if found is None else found

    def slice(self, first: int, stop: int) -> Rows:
        """Neighbouring rows; nothing is copied."""
        made = Rows(self.table.slice(first, stop - first), self.time)
        made.columns = {
            name: None if column is None else column.slice(first, stop)
            for name, column in self.columns.items()
        }
        return made


def _plain(column: pa.ChunkedArray) -> Column | None:
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)
    return Column.of(numbers(one_array(column))) if plain and column.null_count == 0 else None


# Some keys of many maps.


class Part(NamedTuple):
    """Neighbouring keys of a map."""

    map: KeyMap
    first: int
    stop: int


class Located(NamedTuple):
    """The finds: of which request, which of its keys, in which map and where in it."""

    of: np.ndarray
    key: np.ndarray
    page: np.ndarray
    place: np.ndarray
    maps: list[KeyMap]

    def taken(self) -> KeyMap:
        """The partials that were found."""
        maps, page, place = self.maps, self.page, self.place
        keys = None
        if maps[0].keys is not None:
            tables = [each.keys for each in maps]
            columns = [
                _values([one_array(t.column(name)) for t in tables], page, place)  # type: ignore[union-attr]
                for name in maps[0].keys.column_names
            ]
            keys = pa.table(columns, names=maps[0].keys.column_names)
        known = [each.columns for each in maps]
        given = iter(cells(column, page, place) for column in zip(*known, strict=True))
        ids, checks = next(given), next(given)
        items = [
            _items(each, page, place, given) for each in zip(*(m.items for m in maps), strict=True)
        ]
        return KeyMap(ids, checks, keys, items)


def located(asked: Sequence[tuple[Sequence[Part], KeyMap]]) -> Located:
    """Where keys are. Each request names parts of maps, of which a later one overrides those
    before it, and the keys that it asks for. Raises Collision where a key's number is that of
    another."""
    counts = np.array([len(wanted.ids) for _, wanted in asked])
    begins = np.cumsum(counts) - counts
    ids = np.concatenate([wanted.ids for _, wanted in asked])
    page, place = np.full(len(ids), -1), np.zeros(len(ids), np.int64)
    maps: list[KeyMap] = []
    for layer in range(max(len(parts) for parts, _ in asked)):
        which = [i for i, (parts, _) in enumerate(asked) if len(parts) > layer]
        parts = [asked[i][0][layer] for i in which]
        columns = [part.map.columns[0].slice(part.first, part.stop) for part in parts]
        first, stop = runs(columns, ids, begins[which], counts[which])
        hit = np.flatnonzero(stop > first)
        target = hit if len(which) == len(asked) else ranges(begins[which], counts[which])[hit]
        of = np.repeat(np.arange(len(which)), counts[which])[hit]
        page[target] = len(maps) + of
        place[target] = first[hit] + np.array([part.first for part in parts])[of]
        maps += [part.map for part in parts]
    found = np.flatnonzero(page >= 0)
    of = np.repeat(np.arange(len(asked)), counts)[found]
    made = Located(of, found - begins[of], page[found], place[found], maps)
    checks = np.concatenate([wanted.checks for _, wanted in asked])
    known = cells([each.columns[1] for each in maps], made.page, made.place)
    prove(known, checks[found], ids[found])
    return made


def _items(
    parts: Sequence[Items], page: np.ndarray, place: np.ndarray, given: Iterator[np.ndarray]
) -> Items:
    """The items at places of pages; `given`: their numbers."""
    listed, values = None, None
    if parts[0].objects is not None:
        both = zip(page.tolist(), place.tolist(), strict=True)
        listed = [parts[p].objects[i] for p, i in both]
    if parts[0].values is not None:
        values = _values([each.values for each in parts], page, place)
    return Items(next(given), [next(given) for _ in parts[0].leaves], listed, values)


def _values(arrays: Sequence[pa.Array], page: np.ndarray, place: np.ndarray) -> pa.Array:
    """The values at places of pages: of page after page, then in their order."""
    if not len(page):
        return arrays[0].slice(0, 0)
    order = np.argsort(page, kind="stable")
    begins = starts(page[order])
    parts = [
        arrays[page[order[begin]]].take(pa.array(place[order[begin:stop]]))
        for begin, stop in zip(begins, np.append(begins[1:], len(order)), strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))


# Rows of many pages.


class Wanted(NamedTuple):
    """Rows that are asked for: of pages, the first of which has most, of some keys or of all.

    `between`: the first and the last time of each key, where not all of its rows are wanted;
    see `sortable`.
    """

    pages: Sequence[Rows]
    keys: KeyMap | None
    between: tuple[np.ndarray, np.ndarray] | None = None


class Selected(NamedTuple):
    """Rows that were found: of which request, which of its keys, and whether they are of
    another than its first page. Request by request, page by page, in order of key and time."""

    of: np.ndarray
    key: np.ndarray
    late: np.ndarray
    rows: Rows


def selected(asked: Sequence[Wanted], columns: Sequence[str] | None = None) -> Selected:
    """The rows that are asked for, of which some columns are read, or all of them. Raises
    Collision where a key's number is that of another."""
    every = [(i, rows, rows is not w.pages[0]) for i, w in enumerate(asked) for rows in w.pages]
    parts = [rows for _, rows, _ in every]
    of_page = np.array([i for i, _, _ in every])
    page, key, place = _places(asked, of_page, parts)
    late = np.array([late for _, _, late in every], np.bool_)[page]
    if len(place) == sum(len(rows) for rows in parts):
        return Selected(of_page[page], key, late, joined(parts))
    return Selected(of_page[page], key, late, _rows_at(parts, page, place, columns))


def _places(
    asked: Sequence[Wanted], of_page: np.ndarray, parts: list[Rows]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pages of rows, which of the keys they are of, and their places."""
    keys = [wanted for i in of_page if (wanted := asked[i].keys) is not None]
    if not keys:
        counts = np.ones(len(parts), np.int64)
        return spread(counts, 0 * counts, np.array([len(rows) for rows in parts]))
    ids, checks = (np.concatenate([getattr(k, name) for k in keys]) for name in ("ids", "checks"))
    counts = np.array([len(wanted.ids) for wanted in keys])
    begins = np.cumsum(counts) - counts
    first, stop = runs([rows.column(KEY) for rows in parts], ids, begins, counts)
    there = np.flatnonzero(stop > first)  # all rows of a page with one number are of one key
    page = np.repeat(np.arange(len(parts)), counts)[there]
    known = cells([rows.column(CHECK) for rows in parts], page, first[there])
    prove(known, checks[there], ids[there])
    if any(w.between is not None for w in asked):
        limits = [
            asked[i].between or (np.full(n, LEAST), np.full(n, MOST))
            for i, n in zip(of_page, counts, strict=True)
        ]
        least, most = (np.concatenate(side) for side in zip(*limits, strict=True))
        narrowed([rows.ticks for rows in parts], counts, (least, most), (first, stop))
    return spread(counts, first, stop)


def _rows_at(
    parts: list[Rows], page: np.ndarray, place: np.ndarray, names: Sequence[str] | None
) -> Rows:
    """Rows at places of pages, with some columns or all."""
    table = parts[0].table
    columns = {}
    for name in table.column_names if names is None else names:
        known = [rows.columns[name] for rows in parts]
        plain = [column for column in known if column is not None]
        if len(plain) == len(parts):
            made, kind = pa.array(cells(plain, page, place)), table.schema.field(name).type
            columns[name] = made if made.type == kind else made.view(kind)
        else:
            arrays = [one_array(rows.table.column(name)) for rows in parts]
            columns[name] = _values(arrays, page, place)
    return Rows(pa.table(columns), parts[0].time)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    tables = pa.concat_tables([part.table for part in parts])
    return Rows(tables.combine_chunks(), parts[0].time)


def taken(rows: Rows, places: np.ndarray) -> Rows:
    """Some of the rows, in another order."""
    if len(places) == len(rows) and (np.diff(places) == 1).all():
        return rows
    return Rows(rows.table.take(pa.array(places)), rows.time)


def in_order(codes: np.ndarray, times: np.ndarray, late: np.ndarray) -> np.ndarray:
    """The order that sorts rows by code and time; those of a code that are not late are."""
    order = np.flatnonzero(~late)
    order = order[np.argsort(codes[order], kind="stable")]
    if len(order) == len(codes):
        return order
    few = np.flatnonzero(late)
    few = few[np.lexsort([times[few], codes[few]])]
    both = np.concatenate([order, few])
    codes = codes[both]
    return both[merged_order(codes, codes, times[both], len(order))]


# Sorted numbers.


def prefix(state: int) -> str:
    """How the columns of a state's items begin."""
    return f"_{state}_"


def ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """So many numbers from each first one on, one range after the other."""
    shift = np.cumsum(counts) - counts
    return np.repeat(first - shift, counts) + np.arange(int(counts.sum()))


def starts(ids: np.ndarray) -> np.ndarray:
    """Where each key begins, of sorted numbers."""
    if not len(ids):
        return np.zeros(0, np.int64)
    first = np.empty(len(ids), np.bool_)
    first[0] = True
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    found: np.ndarray = first.nonzero()[0]
    return found


def unique(ids: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys of rows in order of key."""
    first = starts(ids)
    return ids[first], checks[first]


def overlaid(whole: KeyMap, changed: KeyMap) -> KeyMap:
    """A map in which some keys have other partials, or are new."""
    both = KeyMap.concat([whole, changed])
    order = np.argsort(both.ids, kind="stable")
    ids = both.ids[order]
    last = np.append(starts(ids)[1:], len(ids)) - 1
    return both.take(order[last])


def part_of(whole: KeyMap) -> Part:
    """All of a map."""
    return Part(whole, 0, len(whole.ids))


def whole_of(parts: Sequence[Part]) -> KeyMap:
    """Parts of maps as one map, in which a later part overrides those before it."""
    return reduce(overlaid, [m if b - a == len(m.ids) else m.slice(a, b) for m, a, b in parts])


def places_of(ids: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where wanted keys are among sorted ones, and which wanted one each is."""
    wanted = np.ascontiguousarray(wanted)
    first, stop = runs([Column.of(ids)], wanted, np.zeros(1, np.int64), np.array([len(wanted)]))
    counts = stop - first
    return ranges(first, counts), np.repeat(np.arange(len(wanted)), counts)


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
