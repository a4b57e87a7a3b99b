"""A shard: the windows of many keys on a stream, from one micro-batch to the next.

A micro-batch is a bulk: its rows go in as a page, sorted; what the watermark has passed is
answered by the same engine that serves tables, over the rows of the keys it concerns; what
no later row can reach goes a page at a time. So a batch reads the keys that it touches and
writes its own rows, however many rows and keys there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine import stream
from sash.engine.columns import changes, numbers, one_array
from sash.engine.definition import Query
from sash.engine.live import Live, Stats
from sash.engine.pages import (
    KEY,
    LIST,
    ROWS,
    SLICES,
    Bytes,
    Listing,
    Page,
    Pages,
    places_of,
    rest_of,
    runs,
)
from sash.engine.rows import HELD
from sash.engine.slices import Slices
from sash.engine.slides import Slides
from sash.engine.table import key_codes

SMALL = (16 << 10, 128 << 10)
FEW = 8
"""Eight pages of a size become one: a row is written again twice at most."""


class Step(NamedTuple):
    """What a micro-batch gives: rows with answers, rows that came too late, and figures."""

    rows: pa.Table
    late: pa.Table
    stats: Stats


class Gathered(NamedTuple):
    """Rows of some keys in order: where they are from, and where each key begins."""

    table: pa.Table
    times: np.ndarray
    page: np.ndarray
    place: np.ndarray
    begins: np.ndarray


@dataclass
class Shard:
    """The windows of all keys of a shard; `store` has what the last batch committed."""

    live: Live
    store: Bytes
    _pages: Pages = field(init=False)
    _list: Listing = field(init=False)

    def __post_init__(self) -> None:
        self._pages = Pages(self.store, KEY, self.live.query.time)
        known = self.store.get(LIST)
        self._list = Listing(self.live.described()) if known is None else Listing.load(known)
        self._list.definition = self.live.accept(self._list.definition)

    def step(self, rows: pa.Table, watermark: float | None) -> Step:
        """Take a batch's rows, at a watermark; give what is now to be answered."""
        before = self._list.watermark
        now = before if watermark is None or (before or -math.inf) > watermark else watermark
        fresh, late = self._on_time(rows, before)
        known = len(self._list.pages)
        self._take(fresh)
        found = self._answers(known, before, now)
        if rows.num_rows or now != before:
            self._expire(now)
            self._merge()
            self._sweep(now)
            self._list.watermark = now
            self.store.put(LIST, self._list.dump())
        stats = Stats(
            rows.num_rows, found.num_rows, late.num_rows, self._touched, self._list.size,
            self._list.rows, self._pages.written,
        )  # fmt: skip
        return Step(found, late, stats)

    # What comes in.

    def _on_time(self, rows: pa.Table, before: float | None) -> tuple[pa.Table, pa.Table]:
        rows = rows.combine_chunks()
        column = one_array(rows.column(self.live.query.time))
        if column.null_count:
            raise ValueError(
                f"the time column {self.live.query.time!r} has {column.null_count} null(s): drop "
                "those rows before the call, or give them a time"
            )
        times = numbers(column)
        if times.dtype.kind == "f" and np.isnan(times).any():
            raise ValueError(f"the time column {self.live.query.time!r} has NaN: drop those rows")
        if before is None or not (late := times <= before).any():
            return rows, rows.slice(0, 0)
        return rows.filter(pa.array(~late)), rows.filter(pa.array(late))

    def _take(self, rows: pa.Table) -> None:
        self._touched = 0
        if not rows.num_rows:
            return
        order = by_key_and_time(
            numbers(one_array(rows.column(KEY))), numbers(one_array(rows.column(self._time)))
        )
        rows = rows if order is None else rows.take(order)
        rest = rows.select(self.live.rest) if self.live.rest else None
        needed = rows.select([KEY, *self.live.needed])
        if self.live.holds:
            needed = needed.append_column(HELD, pa.array(np.zeros(rows.num_rows, np.bool_)))
        self._list.pages += self._pages.add(needed, rest, self.live.emit == "final")

    @property
    def _time(self) -> str:
        return self.live.query.time

    # What goes out.

    def _answers(self, known: int, before: float | None, now: float | None) -> pa.Table:
        live = self.live
        nothing = live.output.empty_table()
        if live.emit == "arrival":
            fresh = self._list.pages[known:]
            if not fresh:
                return nothing
            keys = np.unique(np.concatenate([self._pages.keys(page) for page in fresh]))
            oldest = min(page.oldest for page in fresh) - live.behind
            rows = self._gather(keys, oldest, math.inf)
            return self._answered(rows, rows.page >= known)
        if now is None or now == before:
            return nothing
        since = -math.inf if before is None else before
        if live.query.every is not None:
            query, kind = live.query, ROWS
            if live.slices is not None:
                self._slice(live.slices, before, now)
                query, kind = live.slices.use, SLICES
            rows = self._gather(None, since - live.behind, now, kind)
            return self._windows(query, rows, before, now)
        keys = self._keys_between(since - live.ahead, now if live.rows_ahead else now - live.ahead)
        if not len(keys):
            return nothing
        rows = self._gather(keys, since - live.ahead - live.behind, now)
        return self._answered(rows, self._due(rows, now) & ~self._due(rows, before))

    def _keys_between(self, after: float, upto: float) -> np.ndarray:
        """The keys of the rows of these times: after the first, up to the second."""
        found = []
        for page in self._list.pages:
            if page.youngest > after and page.oldest <= upto:
                keys, times = self._pages.keys(page), self._pages.times(page)
                found.append(keys[(times > after) & (times <= upto)])
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _gather(
        self, keys: np.ndarray | None, oldest: float, youngest: float, kind: str = ROWS
    ) -> Gathered:
        """The rows of some keys, or of all, from one time to another, in order."""
        tables, page_of, place_of = [], [], []
        for number, page in enumerate(self._list.pages):
            if page.kind != kind or page.youngest < oldest or page.oldest > youngest:
                continue
            hashes = self._pages.keys(page)
            places = np.arange(len(hashes)) if keys is None else places_of(hashes, keys)
            if page.oldest < oldest or page.youngest > youngest:
                times = self._pages.times(page)[places]
                places = places[(times >= oldest) & (times <= youngest)]
            if len(places):
                table = self._pages.table(page.name)
                tables.append(table if len(places) == page.rows else table.take(places))
                page_of.append(np.full(len(places), number))
                place_of.append(places)
        if not tables:
            none = np.zeros(0, np.int64)
            return Gathered(pa.table({}), none, none, none, none)
        table = pa.concat_tables(tables).combine_chunks()
        return self._ordered(table, np.concatenate(page_of), np.concatenate(place_of))

    def _ordered(self, table: pa.Table, page: np.ndarray, place: np.ndarray) -> Gathered:
        hashes = numbers(one_array(table.column(KEY)))
        times = numbers(one_array(table.column(self._time)))
        order = by_key_and_time(hashes, times)
        if order is not None:
            table, hashes, times = table.take(order), hashes[order], times[order]
            page, place = page[order], place[order]
        columns = [one_array(table.column(name)) for name in self.live.query.by]
        differ = changes(columns) if columns else np.zeros(max(0, len(times) - 1), np.bool_)
        if (differ & (hashes[1:] == hashes[:-1])).any():  # two keys of one hash
            codes = [key_codes(column) for column in columns]
            order = np.lexsort([times, *reversed(codes), hashes])
            table, times, page, place = table.take(order), times[order], page[order], place[order]
            differ = changes([one_array(table.column(name)) for name in self.live.query.by])
        begins = np.append(0, 1 + np.flatnonzero(differ))
        self._touched = len(begins)
        return Gathered(table, times, page, place, begins)

    def _due(self, rows: Gathered, watermark: float | None) -> np.ndarray:
        """Which rows have been answered once the watermark is there."""
        if watermark is None:
            return np.zeros(len(rows.times), np.bool_)
        due = rows.times <= watermark - self.live.ahead
        if self.live.rows_ahead:
            lengths = np.diff(np.append(rows.begins, len(rows.times)))
            settled = np.add.reduceat(rows.times <= watermark, rows.begins)
            number = np.arange(len(rows.times)) - np.repeat(rows.begins, lengths)
            due &= number < np.repeat(settled - self.live.rows_ahead, lengths)
        return due

    def _answered(self, rows: Gathered, which: np.ndarray) -> pa.Table:
        """Some of the rows, with all of their columns and their answers."""
        if not which.any():
            return self.live.output.empty_table()
        query, chosen = self.live.query, pa.array(which)
        needed = rows.table.drop_columns([KEY])
        batches = stream.run(query, needed.schema, needed.to_batches(), ordered=True)
        answers = pa.Table.from_batches(list(batches)).select(list(query.aggregations))
        columns = {name: needed.column(name).filter(chosen) for name in self.live.needed}
        if self.live.rest:
            rest = self._rest(rows.page[which], rows.place[which])
            columns |= {name: rest.column(name) for name in rest.column_names}
        columns |= {name: answers.column(name).filter(chosen) for name in answers.column_names}
        return self.live.as_output(columns)

    def _rest(self, page: np.ndarray, place: np.ndarray) -> pa.Table:
        """The other columns of rows, from their pages."""
        order = np.argsort(page, kind="stable")
        numbers_, first = np.unique(page[order], return_index=True)
        parts = [
            self._pages.table(rest_of(self._list.pages[number].name)).take(place[order[a:b]])
            for number, a, b in zip(numbers_, first, np.append(first[1:], len(order)), strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).combine_chunks().take(back)

    def _slice(self, slices: Slices, before: float | None, now: float) -> None:
        """Combine the rows of slices that are complete now, and keep the partials instead."""
        first, stop = slices.edge(before), slices.edge(now)
        assert stop is not None
        rows = self._gather(None, -math.inf if first is None else first, stop - 1)
        if len(rows.times):
            batches = rows.table.to_batches()
            made = list(stream.run(slices.make, rows.table.schema, batches, ordered=True))
            self._list.pages += self._pages.add(
                slices.table(pa.Table.from_batches(made)), kind=SLICES
            )
        for page in [p for p in self._list.pages if p.kind == ROWS and p.youngest < stop]:
            self._pages.drop(page)
            self._list.pages.remove(page)

    def _windows(self, query: Query, rows: Gathered, before: float | None, now: float) -> pa.Table:
        """With `every`: the windows that the watermark has passed since."""
        if not len(rows.times):
            return self.live.output.empty_table()
        work = Slides(query, rows.table.schema, ordered=True, after=before, upto=now)
        found = [b for batch in rows.table.to_batches() for b in work.feed(batch)]
        found += work.finish()
        if not found:
            return self.live.output.empty_table()
        table = pa.Table.from_batches(found)
        return self.live.as_output({name: table.column(name) for name in table.column_names})

    # What is kept.

    def _expire(self, now: float | None) -> None:
        """Drop the pages that no later row can reach, and the rest of those that are answered."""
        if now is None:
            return
        live, kept = self.live, []
        for page in self._list.pages:
            if page.youngest <= now - live.ahead - live.behind:
                self._pages.drop(page)
            elif page.rest and page.youngest <= now - live.ahead and not live.rows_ahead:
                self._pages.drop_rest(page)
                kept.append(replace(page, rest=0))
            else:
                kept.append(page)
        self._list.pages = kept

    def _merge(self) -> None:
        """Make one page of several small ones whose rows have all been answered."""
        for limit in SMALL:
            pages = self._list.pages
            kind = ROWS if self.live.slices is None else SLICES
            start = runs((p.kind == kind and not p.rest and p.size <= limit for p in pages), FEW)
            if start is not None:
                few = [self._pages.table(page.name) for page in pages[start : start + FEW]]
                self._rewrite(start, start + FEW, few)

    def _rewrite(self, start: int, stop: int, tables: list[pa.Table]) -> None:
        """Write rows in the place of neighbouring pages."""
        pages = self._list.pages[start:stop]
        table = pa.concat_tables(tables).combine_chunks()
        order = by_key_and_time(
            numbers(one_array(table.column(KEY))), numbers(one_array(table.column(self._time)))
        )
        table = table if order is None else table.take(order)
        new = self._pages.add(table, kind=pages[0].kind)
        for page in pages:
            self._pages.drop(page)
        self._list.pages[start:stop] = new

    def _sweep(self, now: float | None) -> None:
        """Where time does not say what can go: write pages anew once half of their rows could."""
        live, total = self.live, self._list.rows
        if live.behind < math.inf or now is None or total < 2 * self._list.kept + live.slack:
            return
        rows = self._gather(None, -math.inf, now)
        if not len(rows.times):
            return
        settled = rows.times <= now if live.emit == "arrival" else self._due(rows, now)
        for page in self._open_pages_done(rows, settled):
            self._pages.drop_rest(page)
        closed = np.array([not page.rest for page in self._list.pages])
        settled = leading(settled & closed[rows.page], rows.begins)
        first = stream.first_reached(live.query, rows.table.drop_columns([KEY]))
        dead = unreachable(first, settled, rows.begins)
        keep = [np.ones(page.rows, np.bool_) for page in self._list.pages]
        hold = [np.zeros(page.rows, np.bool_) for page in self._list.pages]
        for number in np.unique(rows.page):
            here = rows.page == number
            keep[number][rows.place[here & dead]] = False
            hold[number][rows.place[here & settled]] = True
        self._rewrite_closed(keep, hold)
        self._list.kept = self._list.rows

    def _open_pages_done(self, rows: Gathered, settled: np.ndarray) -> list[Page]:
        """Pages with a rest, all of whose rows have been answered; they are marked so."""
        answered = np.bincount(rows.page[settled], minlength=len(self._list.pages))
        found = []
        for number, page in enumerate(self._list.pages):
            if page.rest and answered[number] == page.rows:
                found.append(page)
                self._list.pages[number] = replace(page, rest=0)
        return found

    def _rewrite_closed(self, keep: list[np.ndarray], hold: list[np.ndarray]) -> None:
        stop = len(self._list.pages)
        while stop > 0:  # from the end, so that numbers before it stay as they are
            if self._list.pages[stop - 1].rest:
                stop -= 1
                continue
            start = stop - 1
            while start > 0 and not self._list.pages[start - 1].rest:
                start -= 1
            tables = []
            for number in range(start, stop):
                table = self._pages.table(self._list.pages[number].name)
                if self.live.holds:
                    place = table.column_names.index(HELD)
                    table = table.set_column(place, HELD, pa.array(hold[number]))
                tables.append(table.filter(pa.array(keep[number])))
            self._rewrite(start, stop, tables)
            stop = start


def by_key_and_time(hashes: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """The order that sorts rows by hash and time, ties as they come; None: they are sorted."""
    back = hashes[1:] < hashes[:-1]
    if not back.any():
        order, at = None, times
    else:  # runs that are sorted are merged, not sorted again
        order = np.argsort(hashes, kind="stable")
        hashes, at = hashes[order], times[order]
    earlier = (at[1:] < at[:-1]) & (hashes[1:] == hashes[:-1])
    if not earlier.any():
        return order
    if order is None:
        return np.lexsort([times, hashes])
    within = np.lexsort([at, hashes])
    return order[within]


def leading(flags: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The rows of each key before the first one whose flag is not set."""
    n = len(flags)
    places = np.arange(n)
    stop = np.minimum.reduceat(np.where(flags, n, places), begins)
    return places < np.repeat(stop, np.diff(np.append(begins, n)))


def unreachable(first: np.ndarray, settled: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The rows before the first one that the window of a key's last settled row reaches."""
    n = len(first)
    lengths = np.diff(np.append(begins, n))
    counts = np.add.reduceat(settled, begins)
    last = np.maximum(begins, begins + counts - 1)
    floor = np.where(counts > 0, first[last], begins)
    return np.arange(n) < np.repeat(floor, lengths)
