"""A shard: the windows of many keys on a stream, from one micro-batch to the next.

A micro-batch is a bulk: its rows go in as a page, sorted; what the watermark has passed is
answered by the same engine that serves tables, over the rows of the keys it concerns; what
no later row can reach goes a page at a time. So a batch reads the keys that it touches and
writes its own rows, however many rows and keys there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.columns import numbers, one_array
from sash.engine.gathered import Gathered, Reader, sorted_rows
from sash.engine.live import Live, Stats
from sash.engine.pages import KEY, LIST, ROWS, SLICES, Bytes, Listing, Pages
from sash.engine.periodic_windows import PeriodicWindows
from sash.engine.rows import HELD
from sash.engine.slices import Slices
from sash.engine.upkeep import Upkeep
from sash.plan.definition import Query
from sash.plan.plan import plan_of


class Step(NamedTuple):
    """What a micro-batch gives: rows with answers, rows that came too late, and figures."""

    rows: pa.Table
    late: pa.Table
    stats: Stats


class Shard:
    """The windows of all keys of a shard; `store` has what the last batch committed."""

    def __init__(self, live: Live, store: Bytes) -> None:
        self.live, self._store = live, store
        self._pages = Pages(store, KEY, live.query.time)
        known = store.get(LIST)
        self._list = Listing(live.described()) if known is None else Listing.load(known)
        self._list.definition = live.accept(self._list.definition)
        self._reader = Reader(live.query, self._pages, self._list)
        self._keys = 0  # looked at in this batch

    def step(self, rows: pa.Table, watermark: float | None) -> Step:
        """Take a batch's rows, at a watermark; give what is now to be answered."""
        before = self._list.watermark
        now = before if watermark is None or (before or -math.inf) > watermark else watermark
        fresh, late = self._on_time(rows.combine_chunks(), before)
        known = len(self._list.pages)
        self._take(fresh)
        found = self._answers(known, before, now)
        if rows.num_rows or now != before:
            Upkeep(self.live, self._pages, self._list).run(now)
            self._list.watermark = now
            self._store.put(LIST, self._list.dump())
        stats = Stats(
            rows.num_rows, found.num_rows, late.num_rows, self._keys, self._list.size,
            self._list.rows, self._pages.written,
        )  # fmt: skip
        return Step(found, late, stats)

    # What comes in.

    def _on_time(self, rows: pa.Table, before: float | None) -> tuple[pa.Table, pa.Table]:
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
        if not rows.num_rows:
            return
        rows = sorted_rows(rows, self.live.query.time)
        rest = rows.select(self.live.rest) if self.live.rest else None
        needed = rows.select([KEY, *self.live.needed])
        if self.live.holds:
            needed = needed.append_column(HELD, pa.array(np.zeros(rows.num_rows, np.bool_)))
        self._list.pages += self._pages.add(needed, rest, self.live.emit == "final")

    # What goes out.

    def _answers(self, known: int, before: float | None, now: float | None) -> pa.Table:
        """The answers that a batch gives; its own pages come after the `known` ones."""
        if self.live.emit == "arrival":
            return self._at_once(known)
        if now is None or now == before:
            return self.live.output.empty_table()
        if self.live.query.every is not None:
            return self._windows(before, now)
        return self._due(before, now)

    def _at_once(self, known: int) -> pa.Table:
        """The rows that have come, as known now."""
        fresh = self._list.pages[known:]
        if not fresh:
            return self.live.output.empty_table()
        keys = np.unique(np.concatenate([self._pages.keys(page) for page in fresh]))
        oldest = min(page.oldest for page in fresh) - self.live.behind
        rows = self._gather(keys, oldest, math.inf)
        return self._answered(rows, rows.page >= known)

    def _due(self, before: float | None, now: float) -> pa.Table:
        """The rows that the watermark has passed, with all that they reach."""
        live = self.live
        after = -math.inf if before is None else before - live.ahead
        keys = self._reader.keys_between(after, now if live.rows_ahead else now - live.ahead)
        if not len(keys):
            return live.output.empty_table()
        rows = self._gather(keys, after - live.behind, now)
        due = live.due(rows.times, rows.begins, now) & ~live.due(rows.times, rows.begins, before)
        return self._answered(rows, due)

    def _gather(
        self, keys: np.ndarray | None, oldest: float, youngest: float, kind: str = ROWS
    ) -> Gathered:
        rows = self._reader.gather(keys, oldest, youngest, kind)
        self._keys = len(rows.begins)
        return rows

    def _answered(self, rows: Gathered, which: np.ndarray) -> pa.Table:
        """Some of the rows, with all of their columns and their answers."""
        if not which.any():
            return self.live.output.empty_table()
        query, chosen = self.live.query, pa.array(which)
        needed = rows.table.drop_columns([KEY])
        plan = plan_of(query, needed.schema)
        batches = row_windows.run(plan, needed.to_batches(), ordered=True)
        answers = pa.Table.from_batches(list(batches)).select(list(query.aggregations))
        columns = {name: needed.column(name).filter(chosen) for name in self.live.needed}
        if self.live.rest:
            rest = self._reader.rest(rows.page[which], rows.place[which])
            columns |= {name: rest.column(name) for name in rest.column_names}
        columns |= {name: answers.column(name).filter(chosen) for name in answers.column_names}
        return self.live.as_output(columns)

    def _windows(self, before: float | None, now: float) -> pa.Table:
        """With `every`: the windows that the watermark has passed."""
        query, kind, slices = self.live.query, ROWS, self.live.slices
        if slices is not None:
            self._slice(slices, before, now)
            query, kind = slices.use, SLICES
        oldest = -math.inf if before is None else before - self.live.behind
        rows = self._gather(None, oldest, now, kind)
        found = self._slid(query, rows.table, before, now) if len(rows.times) else []
        if not found:
            return self.live.output.empty_table()
        table = pa.Table.from_batches(found)
        return self.live.as_output({name: table.column(name) for name in table.column_names})

    def _slid(
        self, query: Query, rows: pa.Table, before: float | None, now: float
    ) -> list[pa.RecordBatch]:
        work = PeriodicWindows(plan_of(query, rows.schema), ordered=True, after=before, upto=now)
        found = [given for batch in rows.to_batches() for given in work.feed(batch)]
        return [*found, *work.finish()]

    def _slice(self, slices: Slices, before: float | None, now: float) -> None:
        """Combine the rows of slices that are complete now, and keep the partials instead."""
        first, stop = slices.edge(before), slices.edge(now)
        assert stop is not None
        rows = self._reader.gather(None, -math.inf if first is None else first, stop - 1)
        if len(rows.times):
            batches = rows.table.to_batches()
            made = row_windows.run(plan_of(slices.make, rows.table.schema), batches, ordered=True)
            partials = slices.table(pa.Table.from_batches(list(made)))
            self._list.pages += self._pages.add(partials, kind=SLICES)
        for page in [p for p in self._list.pages if p.kind == ROWS and p.youngest < stop]:
            self._pages.drop(page)
            self._list.pages.remove(page)
