"""Maps from keys to partials: what pages of nodes hold, and some keys of many maps at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import one_array
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import Column, cells, runs, values_at
from sash.engine.stream.sorted_keys import order_of, prove, ranges, starts


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
                values_at([one_array(t.column(name)) for t in tables], page, place)  # type: ignore[union-attr]
                for name in maps[0].keys.column_names
            ]
            keys = pa.table(columns, names=maps[0].keys.column_names)
        ids, checks = (cells([m.columns[i] for m in maps], page, place) for i in range(2))
        numbers = [each.columns[2:] for each in maps]
        return KeyMap(ids, checks, keys, items_at([m.items for m in maps], numbers, page, place))


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


def items_at(
    pages: Sequence[list[Items]],
    columns: Sequence[list[Column]],
    page: np.ndarray,
    place: np.ndarray,
) -> list[Items]:
    """The items at places of pages, which have some of each state; `columns`: the numbers of all
    items of each page."""
    given = iter([cells(column, page, place) for column in zip(*columns, strict=True)])
    return [_items(each, page, place, given) for each in zip(*pages, strict=True)]


def _items(
    parts: Sequence[Items], page: np.ndarray, place: np.ndarray, given: Iterator[np.ndarray]
) -> Items:
    """The items of a state at places of pages; `given`: their numbers."""
    listed, values = None, None
    if parts[0].objects is not None:
        both = zip(page.tolist(), place.tolist(), strict=True)
        listed = [parts[p].objects[i] for p, i in both]
    if parts[0].values is not None:
        values = values_at([each.values for each in parts], page, place)
    return Items(next(given), [next(given) for _ in parts[0].leaves], listed, values)


def prefix(state: int) -> str:
    """How the columns of a state's items begin."""
    return f"_{state}_"


def overlaid(whole: KeyMap, changed: KeyMap) -> KeyMap:
    """A map in which some keys have other partials, or are new."""
    both = KeyMap.concat([whole, changed])
    order = order_of(both.ids)
    ids = both.ids[order]
    last = np.append(starts(ids)[1:], len(ids)) - 1
    return both.take(order[last])


def part_of(whole: KeyMap) -> Part:
    """All of a map."""
    return Part(whole, 0, len(whole.ids))


def whole_of(parts: Sequence[Part]) -> KeyMap:
    """Parts of maps as one map, in which a later part overrides those before it."""
    return reduce(overlaid, [m if b - a == len(m.ids) else m.slice(a, b) for m, a, b in parts])
