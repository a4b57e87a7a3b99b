"""Maps from keys to partials: what pages of nodes hold, and some keys of many maps at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import one_array
from sash.engine.stream.cells import Numbers, cells, copied, values_at
from sash.engine.stream.items import Items
from sash.engine.stream.layers import layered
from sash.engine.stream.lookups import Column
from sash.engine.stream.sorted_keys import order_of, prove, starts


@dataclass
class KeyMap:
    """Partials by key: the keys' numbers, sorted, their proofs, their columns, an item each."""

    ids: np.ndarray
    checks: np.ndarray
    keys: pa.Table | None
    items: list[Items]

    @cached_property
    def columns(self) -> tuple[Column, Column]:
        """The keys' numbers and their proofs."""
        return Column.of(self.ids), Column.of(self.checks)

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of all items."""
        return numbers_of(self.items)

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
    """The finds: of which request, which of its keys, in which map and where in it; their keys'
    numbers and proofs."""

    of: np.ndarray
    key: np.ndarray
    ids: np.ndarray
    checks: np.ndarray
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
        items = items_at([m.items for m in maps], [m.numbers for m in maps], page, place)
        return KeyMap(self.ids, self.checks, keys, items)


def located(asked: Sequence[tuple[Sequence[Part], KeyMap]]) -> Located:
    """Where keys are. Each request names parts of maps, of which a later one overrides those
    before it, and the keys that it asks for. Raises Collision where a key's number is that of
    another."""
    counts = np.array([len(wanted.ids) for _, wanted in asked])
    ids, checks = (np.concatenate([getattr(w, n) for _, w in asked]) for n in ("ids", "checks"))
    parts = [part for layers, _ in asked for part in layers]
    maps = [part.map for part in parts]
    first = np.array([part.first for part in parts])
    sizes = np.array([part.stop for part in parts]) - first
    begin = np.array([each.columns[0].address for each in maps]) + 8 * first
    page, place = layered((begin, sizes), [len(layers) for layers, _ in asked], ids, counts)
    found = np.flatnonzero(page >= 0)
    of = np.repeat(np.arange(len(asked)), counts)[found]
    page, ids, checks = page[found], ids[found], checks[found]
    place = place[found] + first[page]
    prove(cells([each.columns[1] for each in maps], page, place), checks, ids)
    key = found - (np.cumsum(counts) - counts)[of]
    return Located(of, key, ids, checks, page, place, maps)


def items_at(
    pages: Sequence[list[Items]],
    numbers: Sequence[Numbers],
    page: np.ndarray,
    place: np.ndarray,
) -> list[Items]:
    """The items at places of pages, which have some of each state; `numbers`: those of all items
    of each page."""
    given = iter(copied(numbers, page, place))
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


def numbers_of(items: Sequence[Items]) -> Numbers:
    """The numbers of the items of all states."""
    return Numbers.of([x for each in items for x in (each.rows, *each.leaves)])


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
