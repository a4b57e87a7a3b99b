"""Tails: what each key leaves behind for its next row, read for the keys that a batch touches.

A tail is some last items of a key: the rows that a later window can reach, or one item with
the partial of the window so far. A batch writes what is new; `live` says how many items, from
the youngest back, still count. Pages are merged as they grow, a few at a time (a log-structured
merge), so a key is looked for in O(log n) pages, and what no longer counts goes on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY, Page, Pages
from sash.engine.stream.sorted_keys import order_of, places_of, prove, prove_equal, starts

LIVE = "_live"
"""The column that says how many items of a key count, from its youngest back."""


@dataclass
class Tails:
    """The tails of one structure of a shard.

    `idle`: after how long without a row a key is forgotten. `gap`: after how long its window is
    over, so that nothing is left to remember.
    """

    name: str
    manifest: Manifest
    pages: Pages
    time: str
    idle: float = math.inf
    gap: float = math.inf

    @property
    def _list(self) -> list[Page]:
        return self.manifest.tails.setdefault(self.name, [])

    def keys(self) -> KeyMap:
        """All keys that have a tail."""
        tables = [self.pages.table(page) for page in self._list]
        ids, checks = (
            np.concatenate([numbers(one_array(table.column(name))) for table in tables])
            for name in (KEY, CHECK)
        )
        order = order_of(ids)
        first = order[starts(ids[order])]
        return KeyMap(ids[first], checks[first], None, [])

    def read(self, wanted: KeyMap) -> pa.Table | None:
        """The live items of some keys, in order of key and then from older to younger."""
        remaining = np.full(len(wanted.ids), -1)
        parts = []
        for page in reversed(self._list):
            still = np.flatnonzero(remaining != 0)
            if not len(still):
                break
            table = self.pages.table(page)
            ids, checks, live = (numbers(one_array(table.column(c))) for c in (KEY, CHECK, LIVE))
            places, of = places_of(ids, wanted.ids[still])
            if not len(places):
                continue
            of = still[of]
            prove(checks[places], wanted.checks[of], ids[places])
            begins = starts(of)
            counts = np.diff(np.append(begins, len(of)))
            known = remaining[of[begins]]
            wants = np.where(known < 0, live[places[begins]], known)
            take = np.minimum(counts, wants)
            remaining[of[begins]] = wants - take
            kept = places[_last(counts, take)]
            self.pages.cost.rows_read += len(kept)
            self.pages.cost.bytes_read += len(kept) * (table.nbytes // max(1, table.num_rows))
            if len(kept):
                parts.append(table.take(pa.array(kept)))
        if not parts:
            return None
        whole = pa.concat_tables(parts[::-1]).combine_chunks()
        order = order_of(numbers(one_array(whole.column(KEY))))
        return whole.take(pa.array(order)).drop_columns([LIVE])

    def write(self, table: pa.Table, live: np.ndarray) -> None:
        """Add the new items of keys, in order of key and time; `live`: per key."""
        ids = numbers(one_array(table.column(KEY)))
        prove_equal(numbers(one_array(table.column(CHECK))), ids)
        counts = np.diff(np.append(starts(ids), len(ids)))
        kept = _last(counts, np.minimum(counts, np.maximum(live, 1)))
        marked = table.append_column(LIVE, pa.array(np.repeat(live, counts)))
        self._list.append(self.pages.add(marked.take(pa.array(kept))))

    def merge(self, settled: float = -math.inf) -> pa.Table | None:
        """Make one page of pages of about a size; items that no longer count go. Gives those of
        keys that are forgotten: all rows up to the time `settled` are here."""
        pages, forgotten = self._list, None
        while len(pages) > 1 and pages[-2].rows < 2 * pages[-1].rows:
            younger, older = pages.pop(), pages.pop()
            both = pa.concat_tables([self.pages.table(older), self.pages.table(younger)])
            merged = self._trimmed(both.combine_chunks(), oldest=not pages)
            if not pages:
                merged, forgotten = self._without_forgotten(merged, settled)
            self.pages.drop(older, younger)
            if merged.num_rows:
                pages.append(self.pages.add(merged))
        return forgotten

    def _trimmed(self, table: pa.Table, oldest: bool) -> pa.Table:
        """The items that count, in order of key; `oldest`: there are no older pages."""
        ids = numbers(one_array(table.column(KEY)))
        order = order_of(ids)
        table, ids = table.take(pa.array(order)), ids[order]
        begins = starts(ids)
        counts = np.diff(np.append(begins, len(ids)))
        live = numbers(one_array(table.column(LIVE)))[begins + counts - 1]
        keep = np.minimum(counts, np.maximum(live, 0 if oldest else 1))
        place = table.column_names.index(LIVE)
        table = table.set_column(place, LIVE, pa.array(np.repeat(live, counts)))
        return table.take(pa.array(_last(counts, keep)))

    def _without_forgotten(self, table: pa.Table, settled: float) -> tuple[pa.Table, pa.Table]:
        """The items of keys that are remembered, and those of keys that are not."""
        if math.isinf(min(self.idle, self.gap)) or math.isinf(settled) or not table.num_rows:
            return table, table.slice(0, 0)
        begins = starts(numbers(one_array(table.column(KEY))))
        counts = np.diff(np.append(begins, table.num_rows))
        ages = settled - numbers(one_array(table.column(self.time)))[begins + counts - 1]
        self.pages.cost.forgotten += int((ages > self.idle).sum())
        gone = np.repeat(ages > min(self.idle, self.gap), counts)
        return table.filter(pa.array(~gone)), table.filter(pa.array(gone))


def spells(ids: np.ndarray, times: np.ndarray, idle: float) -> np.ndarray:
    """Numbers that differ where keys do, and where a key, its rows in order of time, was idle for
    so long that it begins without a past."""
    if math.isinf(idle):
        return ids
    return np.cumsum(np.append(0, (ids[1:] != ids[:-1]) | (times[1:] - times[:-1] > idle)))


def _last(counts: np.ndarray, take: np.ndarray) -> np.ndarray:
    """The places of the last few of each run."""
    begins = np.cumsum(counts) - counts
    number = np.arange(int(counts.sum())) - np.repeat(begins, counts)
    return np.flatnonzero(number >= np.repeat(counts - take, counts))
