"""Tails: what each key leaves behind for its next row, read for the keys that a batch touches.

A tail is some last items of a key: the rows that a later window can reach, or one item with
the partial of the window so far. A batch writes what is new; `live` says how many items, from
the youngest back, still count. Pages are merged as they grow, a few at a time (a log-structured
merge), so a key is looked for in O(log n) pages, and what no longer counts goes on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY, Page, Pages
from sash.engine.stream.sorted_keys import places_of, prove, prove_equal, starts

LIVE = "_live"
"""The column that says how many items of a key count, from its youngest back."""

Gone = Callable[[np.ndarray], np.ndarray]
"""From the times of keys' youngest items, which keys can be forgotten."""


@dataclass
class Tails:
    """The tails of one structure of a shard."""

    name: str
    manifest: Manifest
    pages: Pages
    time: str

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
        order = np.argsort(ids, kind="stable")
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
        order = np.argsort(numbers(one_array(whole.column(KEY))), kind="stable")
        return whole.take(pa.array(order)).drop_columns([LIVE])

    def write(self, table: pa.Table, live: np.ndarray) -> None:
        """Add the new items of keys, in order of key and time; `live`: per key."""
        ids = numbers(one_array(table.column(KEY)))
        prove_equal(numbers(one_array(table.column(CHECK))), ids)
        counts = np.diff(np.append(starts(ids), len(ids)))
        kept = _last(counts, np.minimum(counts, np.maximum(live, 1)))
        marked = table.append_column(LIVE, pa.array(np.repeat(live, counts)))
        self._list.append(self.pages.add(marked.take(pa.array(kept))))

    def merge(self, gone: Gone | None = None) -> None:
        """Make one page of pages of about a size; what no longer counts goes."""
        pages = self._list
        while len(pages) > 1 and pages[-2].rows < 2 * pages[-1].rows:
            younger, older = pages.pop(), pages.pop()
            both = pa.concat_tables([self.pages.table(older), self.pages.table(younger)])
            merged = self._trimmed(both.combine_chunks(), oldest=not pages, gone=gone)
            self.pages.drop(older, younger)
            if merged.num_rows:
                pages.append(self.pages.add(merged))

    def _trimmed(self, table: pa.Table, oldest: bool, gone: Gone | None) -> pa.Table:
        ids = numbers(one_array(table.column(KEY)))
        order = np.argsort(ids, kind="stable")
        table, ids = table.take(pa.array(order)), ids[order]
        begins = starts(ids)
        counts = np.diff(np.append(begins, len(ids)))
        last = begins + counts - 1
        live = numbers(one_array(table.column(LIVE)))[last]
        keep = np.minimum(counts, np.maximum(live, 0 if oldest else 1))
        if gone is not None and oldest:
            times = numbers(one_array(table.column(self.time)))[last]
            keep = np.where(gone(times), 0, keep)
        place = table.column_names.index(LIVE)
        table = table.set_column(place, LIVE, pa.array(np.repeat(live, counts)))
        return table.take(pa.array(_last(counts, keep)))


def _last(counts: np.ndarray, take: np.ndarray) -> np.ndarray:
    """The places of the last few of each run."""
    begins = np.cumsum(counts) - counts
    number = np.arange(int(counts.sum())) - np.repeat(begins, counts)
    return np.flatnonzero(number >= np.repeat(counts - take, counts))
