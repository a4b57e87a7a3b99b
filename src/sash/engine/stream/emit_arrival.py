"""`emit="arrival"`: each row comes out at once, answered by what is known then.

Rows later than all that are here become new bulks. Late rows go into the bulks that have their
times.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.bulk_rows import joined, taken
from sash.engine.stream.due import NUMBER, Due
from sash.engine.stream.late import add
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.row_answers import advance, by_time, in_order_of_key, per_key
from sash.engine.stream.sealing import by_key, cut
from sash.engine.stream.shard_state import ShardState

TOGETHER = 16
"""Bulks whose late rows are answered as one group."""


class Arrivals:
    """Rows that are answered when they come."""

    def __init__(self, state: ShardState) -> None:
        self.state = state

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The rows that have come, as known now."""
        found = self.state.definition.output.empty_table()
        if rows.num_rows:
            found = self._arrived(rows)
        if now is not None and now != before:
            self._settle(-math.inf if before is None else before, now)
        return found

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone, without their answers."""
        if rows.num_rows:
            number = self.state.manifest.arrived
            self._inserted(self._numbered(rows), number)
        self._settle(-math.inf if before is None else before, now)

    def _numbered(self, rows: pa.Table) -> pa.Table:
        """Rows with the number of each, by which those of one time are told apart."""
        manifest = self.state.manifest
        number = manifest.arrived
        manifest.arrived += rows.num_rows
        return rows.append_column(NUMBER, pa.array(np.arange(number, number + rows.num_rows)))

    def _arrived(self, rows: pa.Table) -> pa.Table:
        state = self.state
        number, rows = state.manifest.arrived, self._numbered(rows)
        groups = self._inserted(rows, number)
        due = np.concatenate([group.rows.column(NUMBER).array for group in groups])
        state.pages.cost.keys = len(np.unique(np.concatenate([g.keys.ids for g in groups])))
        columns = by_time(state, groups) | self._unsettled(groups)
        rest = rows.take(pa.array(due - number))
        columns |= {name: rest.column(name) for name in state.definition.schema.names}
        return state.definition.as_output(columns)

    def _inserted(self, rows: pa.Table, number: int) -> list[Due]:
        """Add rows in order of time. Gives them in groups, late rows of several bulks and others
        by bulk, in order of key and time; `number`: of the first row."""
        state, forest = self.state, self.state.forest
        times = state.times(rows)
        leaves = forest.leaves[forest.since(times[0].item()) :]
        ends = np.array([leaf.youngest for leaf in leaves], state.work.dtype)
        stop = int(np.searchsorted(times, ends[-1], "right")) if leaves else 0
        places = np.searchsorted(ends, times[:stop], "left")
        rows = rows.select([KEY, CHECK, NUMBER, *state.definition.needed])
        ids = numbers(one_array(rows.column(KEY)))
        groups: list[Due] = []
        if stop:
            order = np.lexsort([times[:stop], ids[:stop]])
            late = taken(forest.rows.of(rows), order)
            forest.prove(late.ids, late.checks)
            bulks, of = np.unique(places[order], return_inverse=True)
            add(forest, [leaves[i] for i in bulks.tolist()], late, of)
            together = of // TOGETHER
            for group in range(int(together.max()) + 1):
                some = taken(late, np.flatnonzero(together == group))
                groups.append(Due.of(some, number, is_new=False))
        for part in cut(state, rows.slice(stop)) if stop < len(times) else ():
            newest = by_key(state, part)
            groups.append(Due.of(forest.rows.of(newest), number))
            forest.prove(groups[-1].rows.ids, groups[-1].rows.checks)
            forest.append(newest)
        return groups

    def _unsettled(self, groups: list[Due]) -> dict[str, Any]:
        """Answers from keys' tails at the watermark and all their rows since."""
        state = self.state
        if not state.work.tails and not state.work.so_far:
            return {}
        mark = -math.inf if state.manifest.watermark is None else state.manifest.watermark
        whole = Due.of(in_order_of_key(joined([due.rows for due in groups])))
        since = state.forest.rows_between(mark, math.inf, whole.keys)
        assert since is not None
        rows = in_order_of_key(taken(since, np.flatnonzero(since.times > mark)))
        asked = numbers(one_array(pa.concat_tables([d.rows.table for d in groups]).column(NUMBER)))
        known = numbers(one_array(rows.table.column(NUMBER)))
        place = np.argsort(known, kind="stable")
        places = pa.array(place[np.searchsorted(known[place], asked)])
        return {name: a.take(places) for name, a in per_key(state, rows.table).items()}

    def _settle(self, before: float, now: float) -> None:
        """The watermark has passed rows: keys' tails end with them."""
        if not self.state.work.tails and not self.state.work.so_far:
            return
        rows = self.state.forest.rows_between(before, now)
        if rows is None:
            return
        inside = np.flatnonzero((rows.times > before) & (rows.times <= now))
        if len(inside):
            advance(self.state, in_order_of_key(taken(rows, inside)).table)
