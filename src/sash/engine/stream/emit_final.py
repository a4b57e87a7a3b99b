"""`emit="final"`: each row comes out once, when the watermark has passed all its windows reach."""

from __future__ import annotations

import pyarrow as pa

from sash.engine.stream.due import Due
from sash.engine.stream.row_answers import advance, by_time, per_key
from sash.engine.stream.sealing import due_of_bulks, seal, sealed
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.sorted_keys import starts
from sash.engine.stream.waiting import WAITING


class FinalRows:
    """Rows that wait, are sealed, and are then due."""

    def __init__(self, state: ShardState) -> None:
        self.state = state

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The rows that fall due, with their answers."""
        due = self.passed(rows, before, now)
        if due is None:
            return self.state.definition.output.empty_table()
        return self._answers(due, now)

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone, without their answers."""
        due = self.passed(rows, before, now)
        if due is None:
            return
        if self.state.work.waiting is None:
            advance(self.state, due)
        else:
            self._answers(due, now)  # rows wait with their other answers

    def passed(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table | None:
        """Seal the rows that the watermark has passed; those that are due, in order of key
        and time."""
        found = sealed(self.state, rows, now)
        if now is None or now == before:
            return None
        if found is not None:
            seal(self.state, found)
        return due_of_bulks(self.state, before, now) if self.state.definition.kept.ahead else found

    def _answers(self, due: pa.Table, now: float | None) -> pa.Table:
        """Due rows, in order of key and time, with their answers."""
        state, columns = self.state, {name: due.column(name) for name in due.column_names}
        rows = state.forest.rows.of(due)
        state.pages.cost.keys = len(starts(rows.ids))
        columns |= by_time(state, [Due.of(rows)])
        columns |= per_key(state, due)
        advance(state, due)
        if state.work.waiting is not None:
            tails, settled = state.tails(WAITING), state.settled(now)
            table = state.work.waiting.step(tails, pa.table(columns), settled)
            columns = {name: table.column(name) for name in table.column_names}
        return state.definition.as_output(columns)
