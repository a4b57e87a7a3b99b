"""Maps from keys to partials as pages of a store: written, read and combined key by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.maps import KeyMap, prefix
from sash.engine.stream.pages import CHECK, KEY, Page, Pages
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts


class MapPages:
    """The maps of a tree; `by`: the key columns that they carry along."""

    def __init__(self, pages: Pages, states: Sequence[PartialState], by: Sequence[str]) -> None:
        self._pages, self._states, self.by = pages, states, list(by)

    def add(self, made: KeyMap) -> Page:
        """Write a map."""
        return self._pages.add(self.encoded(made))

    def at(self, page: Page) -> KeyMap:
        """The map that a page is."""
        found: KeyMap = self._pages.read(page, self.decoded)
        return found

    def encoded(self, made: KeyMap) -> pa.Table:
        """A map as a page's table."""
        columns = {KEY: pa.array(made.ids), CHECK: pa.array(made.checks)}
        if made.keys is not None:
            columns |= {name: one_array(made.keys.column(name)) for name in self.by}
        for i, (state, items) in enumerate(zip(self._states, made.items, strict=True)):
            columns |= state.columns_of(items, prefix(i))
        return pa.table(columns)

    def decoded(self, table: pa.Table) -> KeyMap:
        """The map that a page's table is."""
        ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
        keys = table.select(self.by) if self.by else None
        items = [state.items_of(table, prefix(i)) for i, state in enumerate(self._states)]
        return KeyMap(ids, checks, keys, items)

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
            s.fold(each, begins, order) for s, each in zip(self._states, both.items, strict=True)
        ]
        self._pages.cost.combined += len(ids) * len(self._states)
        keys = None if both.keys is None else both.keys.take(pa.array(first))
        return KeyMap(both.ids[first], both.checks[first], keys, items)

    def read_and_merged(self, maps: Sequence[KeyMap]) -> KeyMap:
        """All of some maps combined, counted as read."""
        for each in maps:
            self.count(each)
        return self.merged(maps)

    def count(self, read: KeyMap) -> None:
        """Count partials that are read."""
        self._pages.cost.partials_read += len(read.ids)
        self._pages.cost.bytes_read += len(read.ids) * read.width
