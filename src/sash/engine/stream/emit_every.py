"""`every`: each window comes out once, when the watermark has passed its end."""

from __future__ import annotations

import pyarrow as pa

from sash.engine.changed import ChangedWindows
from sash.engine.columns import numbers, one_array
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sealing import cut, sealed
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.sliced import SlicedWindows


class FinalWindows:
    """Rows that become slices, and windows of them."""

    def __init__(self, state: ShardState, sliced: SlicedWindows) -> None:
        self.state, self._sliced = state, sliced
        self._filled = state.work.filled

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The windows that the watermark has passed."""
        self._add(sealed(self.state, rows, self._sliced.edge(now)))
        if now is None or now == before:
            return self.state.definition.output.empty_table()
        return self._windows(before, now)

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone, without their windows."""
        self._add(sealed(self.state, rows, self._sliced.edge(now)))
        if self._filled is not None and now != before:
            self._windows(before, now)  # the last ones of keys are kept

    def _add(self, rows: pa.Table | None) -> None:
        """Add rows to the bulks of slices, and of rows that slices do not answer."""
        if rows is None:
            return
        state = self.state
        if self._sliced.states:
            made = self._sliced.slices(state.forest, rows)
            state.forest.prove(state.forest.rows_of(made))
            for part in cut(state, made):
                state.forest.append(part)
        if state.work.every_row is not None:
            for part in cut(state, rows.select([KEY, CHECK, *state.definition.needed])):
                state.reread.append(part)

    def _windows(self, before: float | None, now: float) -> pa.Table:
        state, definition = self.state, self.state.definition
        parts, since = [], before
        if before is not None and definition.steps_back:
            since = before - definition.steps_back  # the windows before these, once more
        if self._sliced.states:
            parts.append(self._sliced.answer(state.forest, since, now))
        if state.work.every_row is not None:
            parts.append(state.work.every_row.answer(state.reread, since, now))
        if parts[0] is None:
            return definition.output.empty_table()
        columns = {name: each.column(name) for each in parts for name in each.column_names}  # type: ignore[union-attr]
        if self._filled is not None:
            filled = self._filled.of(state, pa.table(columns))
            columns = {name: filled.column(name) for name in filled.column_names}
        found = definition.as_output(columns)
        if not definition.steps_back:
            return found
        found = ChangedWindows(definition.plan).of(found)
        ends = numbers(one_array(found.column("window_end")))
        return found if before is None else found.filter(pa.array(ends > before))
