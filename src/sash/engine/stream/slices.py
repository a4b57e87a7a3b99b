"""Slices of a stream with `every`: rows combined to one item per key and slice.

No window begins or ends within a slice, which is as long as the greatest common divisor of sizes
and slides. A slice is complete once the watermark has passed its end; until then rows may come into
it. Where the order of rows does not matter they are combined as they come: on Spark before they are
sent to their shards, so that a shuffle moves slices instead of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.arrangement import Arrangement, Codes, ranks_of
from sash.engine.columns import answers_as, numbers, one_array, with_exact_decimals
from sash.engine.fold import Groups
from sash.engine.order import hashed, integer_codes, tick_type, ticks
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.items import Items
from sash.engine.stream.maps import prefix
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sorted_keys import Collision, order_of, prove_equal
from sash.engine.team import Team
from sash.plan.slicing import steps_within
from sash.windows.frames import Sliding

COUNT = "_rows"
"""The column with the number of rows of a slice, where slices come instead of rows."""

WORTH = 2
"""Rows per slice, on average, from which on slices are sent instead of rows."""

MOST = 1 << 62
"""Numbers of pairs of a key and a slice."""


class Slices:
    """The slices of a definition's windows."""

    def __init__(self, definition: StreamDefinition) -> None:
        self._time, self._by = definition.time, definition.plan.query.by
        self._kind = definition.plan.schema.field(definition.time).type
        self._dtype = tick_type(self._kind)
        frame = definition.plan.frames[0].frame
        assert isinstance(frame, Sliding)
        self._offset: Any = steps_within(frame, definition.plan.unit)[2]
        self.length: Any = definition.kept.slice
        self.states = definition.partials

    def edge(self, now: float | None) -> float | None:
        """The last time that is in a slice which is complete once the watermark is there."""
        if now is None:
            return None
        stop = self._offset + (now - self._offset) // self.length * self.length
        return stop - 1 if self._dtype.kind == "i" else float(np.nextafter(stop, -math.inf))

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns of slices."""
        found = [KEY, CHECK, *self._by, self._time]
        for i, state in enumerate(self.states):
            found += state.columns_of(state.none(0), prefix(i))
        return found

    def of_rows(self, rows: pa.Table) -> pa.Table:
        """Rows in order of key and time as one item per key and slice."""

        def folded(_: int, state: PartialState, groups: Groups) -> Items:
            return state.fold_rows(rows, groups)

        return self._folded(rows, self._offset + self._numbers_of(rows) * self.length, folded)

    def in_time(self, slices: pa.Table) -> pa.Table:
        """Slices in order of time and key."""
        ids, numbered = numbers(one_array(slices.column(KEY))), self._numbers_of(slices)
        order = order_of(ids)
        order = order[order_of((numbered - numbered.min())[order])]
        return slices.take(pa.array(order))

    def merged(self, slices: pa.Table) -> pa.Table:
        """Slices of which those of a key and a time are side by side, as one of each."""
        times = numbers(one_array(slices.column(self._time))).astype(self._dtype)

        def folded(i: int, state: PartialState, groups: Groups) -> Items:
            return state.fold_groups(state.items_of(slices, prefix(i)), groups)

        return self._folded(slices, times, folded)

    @with_exact_decimals
    def of_any_order(self, rows: pa.Table) -> pa.Table | None:
        """Rows in any order as one item per key and slice, with the number of its rows.

        None where slices would be hardly fewer than rows, or where two keys have one number,
        which whoever knows the shard tells apart. Of the rows, only the columns that are aggregated
        are brought in order.
        """
        ids, checks = (numbers(one_array(rows.column(name))) for name in (KEY, CHECK))
        slices = self._numbers_of(rows)
        least = slices.min()
        if (int(slices.max()) - int(least) + 1) * len(ids) >= MOST:
            return None
        arranged = _by_key_and_slice(ids, slices - least)
        first = arranged.starts
        if len(first) * WORTH > len(ids):
            return None
        try:
            if (checks != checks[0]).any():  # those of integers are all the same
                prove_equal(checks[arranged.order], ids[arranged.order])
        except Collision:
            return None
        reads = {name for state in self.states for name in state.reads}
        moved = {name: arranged.into(one_array(rows.column(name))) for name in reads}
        heads, groups = arranged.order[first], Groups(first, np.append(first[1:], len(ids)))
        found = self._table(
            rows.select([KEY, CHECK, *self._by]).take(pa.array(heads)),
            self._offset + slices[heads] * self.length,
            [state.fold_rows(pa.table(moved), groups) for state in self.states],
        )
        return found.append_column(COUNT, pa.array(groups.hi - groups.lo))

    def _numbers_of(self, rows: pa.Table) -> np.ndarray:
        """The number of the slice of each row: 0 begins at the offset."""
        times = ticks(one_array(rows.column(self._time)), self._time)
        found: np.ndarray = (times.astype(self._dtype, copy=False) - self._offset) // self.length
        return found

    def _folded(
        self,
        rows: pa.Table,
        slices: np.ndarray,
        folded: Callable[[int, PartialState, Groups], Items],
    ) -> pa.Table:
        """Rows in order of key and slice as one item per key and slice; `folded` gives those of a
        state, by its number."""
        ids, checks = (numbers(one_array(rows.column(name))) for name in (KEY, CHECK))
        prove_equal(checks, ids)
        changed = (ids[1:] != ids[:-1]) | (slices[1:] != slices[:-1])
        first = np.flatnonzero(np.append(True, changed))
        groups = Groups(first, np.append(first[1:], len(ids)))
        table = rows.select([KEY, CHECK, *self._by]).take(pa.array(first))
        found = [folded(i, state, groups) for i, state in enumerate(self.states)]
        return self._table(table, slices[first], found)

    def _table(self, keys: pa.Table, times: np.ndarray, items: list[Items]) -> pa.Table:
        """Slices as a table: their keys, their times, and the partials of each state."""
        table = keys.append_column(self._time, answers_as(times, None, self._kind))
        for i, (state, each) in enumerate(zip(self.states, items, strict=True)):
            for name, column in state.columns_of(each, prefix(i)).items():
                table = table.append_column(name, column)
        return table


def _by_key_and_slice(ids: np.ndarray, slices: np.ndarray) -> Arrangement:
    """Rows of a key and a slice side by side."""
    team = Team(1)
    keys, width = integer_codes(ids, team), int(slices.max()) + 1
    both = keys.values * width + slices
    if keys.size * width > max(1 << 16, 4 * len(ids)):
        codes = hashed(pa.array(both), team)
    else:
        codes = Codes(both, keys.size * width)
    return Arrangement(ranks_of(codes, team), team, by_rank=True)
