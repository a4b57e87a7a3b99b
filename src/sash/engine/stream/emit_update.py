"""`emit="update"`: no rows come out, but the values of the keys for which they have changed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.engine.stream.current import distinct
from sash.engine.stream.emit_final import FinalRows
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.row_answers import advance
from sash.engine.stream.sealing import seal, sealed
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.updates import Changes, Updates


class ChangedValues:
    """The values of keys, as of the watermark."""

    def __init__(self, state: ShardState, changes: Changes) -> None:
        self.state, self._changes = state, changes

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The values that have changed."""
        state = self.state
        found = sealed(state, rows, now)
        if now is None or now == before:
            return state.definition.output.empty_table()
        updates = Updates(self._changes, state.values, before, now, state.work.dtype)
        new = [state.pages.table(page) for page in state.manifest.unseen]
        keys = updates.keys(found, new)
        old = updates.known(keys)
        if found is not None:
            seal(state, found)
            advance(state, found)
        state.pages.drop(*state.manifest.unseen)
        state.manifest.unseen = []
        state.pages.cost.keys = keys.num_rows
        is_new = np.zeros(keys.num_rows, np.bool_)
        for each in new:
            is_new |= np.isin(keys.column(KEY), each.column(KEY))
        return updates.changed(keys, old, is_new)

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone; their keys come out with the next batch."""
        state = self.state
        due = FinalRows(state).passed(rows, before, now)
        if due is None:
            return
        keys = due.select([KEY, CHECK, *state.definition.plan.query.by])
        state.manifest.unseen.append(state.pages.add(distinct(keys)))
        advance(state, due)
