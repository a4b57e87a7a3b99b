"""`every`: each window comes out once, when the watermark has passed its end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.changed import ChangedWindows
from sash.engine.columns import numbers, one_array
from sash.engine.stream.keys import renumbered
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.row_slides import RowSlides
from sash.engine.stream.sealing import by_key, cut, due_until, joined, passed, sealed, wait
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.sliced import CLOSED_ABOVE, SlicedWindows
from sash.plan.periodic import KIND
from sash.windows.frames import Sliding

EVERY = "every"
"""The name of the tails that keys have for windows by rows."""


class FinalRowSlides:
    """Windows by rows: each once the watermark has passed its last row."""

    def __init__(self, state: ShardState, windows: RowSlides) -> None:
        self.state, self._windows = state, windows

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The windows whose last rows the watermark has passed."""
        state, found = self.state, None
        due = sealed(state, rows, now)
        if due is not None:
            tails = state.tails(EVERY)
            found = self._windows.answer(tails, due)
            self._windows.advance(tails, due)
        if found is None:
            return state.definition.output.empty_table()
        return state.definition.as_output({n: found.column(n) for n in found.column_names})

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone, without their windows."""
        due = sealed(self.state, rows, now)
        if due is not None:
            self._windows.advance(self.state.tails(EVERY), due)


class FinalWindows:
    """Rows that become slices, and windows of them."""

    def __init__(self, state: ShardState, sliced: SlicedWindows) -> None:
        self.state, self._sliced = state, sliced
        self._filled = state.work.filled

    def step(self, rows: pa.Table, before: float | None, now: float | None) -> pa.Table:
        """The windows that the watermark has passed."""
        self._take(rows, now)
        if now is None or now == before:
            return self.state.definition.output.empty_table()
        return self._windows(before, now)

    def take_in(self, rows: pa.Table, before: float | None, now: float) -> None:
        """Take rows that have come and gone, without their windows."""
        self._take(rows, now)
        if self._filled is not None and now != before:
            self._windows(before, now)  # the last ones of keys are kept

    def take_slices(self, slices: pa.Table) -> None:
        """Take slices that were made of rows elsewhere, in any order; several of a key and a slice
        are combined before they wait."""
        slices = renumbered(slices, self.state.manifest.collided)
        wait(self.state, self._merged(self._sliced.slices.in_time(slices)))

    def _take(self, rows: pa.Table, now: float | None) -> None:
        """Add what the watermark has passed to the bulks of slices, and of rows that slices do not
        answer; the others wait."""
        state, edge = self.state, self._sliced.slices.edge(now)
        if state.definition.slices_at_once:
            self._add(self._passed(rows, edge))
            return
        passed = sealed(state, rows, edge)
        if passed is None:
            return
        if self._sliced.states:
            self._add(self._slices(passed))
        if state.work.every_row is not None:
            for part in cut(state, passed.select([KEY, CHECK, *state.definition.needed])):
                state.reread.append(part)

    def _passed(self, rows: pa.Table, edge: float | None) -> pa.Table | None:
        """The slices that are complete, where rows may wait as slices."""
        state, names = self.state, self._sliced.slices.columns
        stop, known = due_until(state, rows, edge), passed(state, edge)
        self._wait(rows.slice(stop))
        collided = state.manifest.collided
        slices = [part for part in known if part.column_names == names]
        given = [part for part in known if part.column_names != names]
        given += [rows.slice(0, stop)] if stop else []
        if given:
            slices.append(self._slices(by_key(state, renumbered(joined(given), collided))))
        if len(slices) < 2 and not known:
            return slices[0] if slices else None
        return self._merged(by_key(state, renumbered(joined(slices), collided)))

    def _merged(self, slices: pa.Table) -> pa.Table:
        """Slices as one per key and slice; those are side by side."""
        made = self._sliced.slices.merged(slices)
        self._count(slices.num_rows - made.num_rows)
        return made

    def _wait(self, rows: pa.Table) -> None:
        """Let rows wait for the watermark, as slices where these are smaller."""
        state = self.state
        if not rows.num_rows:
            return
        made = self._slices(by_key(state, rows))
        if made.nbytes < rows.nbytes:
            wait(state, self._sliced.slices.in_time(made))
        else:
            wait(state, rows)

    def _slices(self, rows: pa.Table) -> pa.Table:
        """The slices of rows in order of key and time."""
        self._count(rows.num_rows)
        return self._sliced.slices.of_rows(rows)

    def _count(self, combined: int) -> None:
        self.state.pages.cost.combined += combined * len(self._sliced.states)

    def _add(self, slices: pa.Table | None) -> None:
        """Add slices, in order of key and time."""
        if slices is None:
            return
        forest = self.state.forest
        rows = forest.rows.of(slices)
        forest.prove(rows.ids, rows.checks)
        for part in cut(self.state, slices):
            forest.append(part)

    def _windows(self, before: float | None, now: float) -> pa.Table:
        state, definition = self.state, self.state.definition
        parts, since = [], before
        if before is not None and definition.kept.steps_back:
            since = before - definition.kept.steps_back  # the windows before these, once more
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
        if not definition.kept.steps_back:
            return found
        found = ChangedWindows(definition.plan).of(found)
        return found if before is None else found.filter(pa.array(self._complete(found) > before))

    def _complete(self, windows: pa.Table) -> np.ndarray:
        """From which watermark on each window is complete: one step later, where it has the rows
        at its end."""
        ends = numbers(one_array(windows.column("window_end")))
        kinds = [kind for kind in self._sliced.every.kinds if isinstance(kind, Sliding)]
        closed = [str(kind) for kind in kinds if kind.closed in CLOSED_ABOVE]
        if len(kinds) == 1:
            return ends + len(closed)
        own = pc.is_in(windows.column(KIND), pa.array(closed, pa.string()))
        return ends + np.asarray(one_array(own).cast(pa.int8()))
