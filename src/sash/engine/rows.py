"""Rows, numbered through all batches, with their keys and times: every way of running has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.columns import changes, one_array
from sash.engine.combiners import Combiner
from sash.engine.expressions import with_derived
from sash.engine.filters import Passing
from sash.engine.fixed import Room
from sash.engine.inputs import SharedInputs
from sash.engine.order import tick_type, ticks
from sash.engine.policies import ByPolicy
from sash.engine.slice_partials import SliceCombiner, SlicePartials
from sash.engine.tape import Tape
from sash.engine.workers import GroupCount, workers_of
from sash.plan.plan import Plan, needs_groups

HELD = "_held"
"""A column of rows that a stream has kept: those of a window that was left in their middle."""


class Rows:
    """The rows of a plan as they come, sorted by key and time: their times, keys and workers."""

    def __init__(self, plan: Plan, ordered: bool = False, starts: np.ndarray | None = None) -> None:
        """`ordered`: rows are known to be sorted by key and time; `starts`: where the keys of
        the first batch, which is the only one, begin.
        """
        self._ordered = ordered
        self.plan, self.query = plan, plan.query
        self.count = 0  # rows that came
        self.dtype = tick_type(plan.schema.field(plan.query.time).type)
        self.time = Tape(self.dtype)
        self.null_times = False  # whether a row without a time came
        self.groups = Tape(np.int64)  # rows of one key and time have one number, if it is needed
        self._group = -1
        self._last_ties: list[pa.Array] = []
        self._numbers_groups = needs_groups(plan)
        self.keys = np.zeros(0, np.int64)  # the first row of each key that is not done
        self._key_starts = KeyStarts(starts)
        conditions = dict.fromkeys(state.read_where for state in plan.states)
        self._passing = {c: Passing() for c in conditions if c is not None}
        self._inputs = {c: SharedInputs() for c in conditions}
        self.workers = workers_of(plan, self._inputs)

    def take(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Take a batch's rows; give the columns that are needed."""
        wanted = [*self.plan.columns, *(HELD,) * (HELD in batch.schema.names)]
        columns = {name: one_array(batch.column(name)) for name in wanted}
        columns = with_derived(self.plan, columns)
        query = self.query
        times = ticks(columns[query.time], query.time, query.descending, query.null_times)
        self.null_times |= columns[query.time].null_count > 0
        keys = [columns[name] for name in self.query.by]
        starts = self._key_starts.find(keys, batch.num_rows)
        if not self._ordered:
            self._check_order(times, starts)
        if self._numbers_groups:
            self._add_groups(times, starts, [columns[name] for name in query.ties])
        self.time.add(times)
        self.keys = np.concatenate([self.keys, self.count + starts])
        passed = {c: self._passed(c, columns) for c in self._inputs}
        for condition, inputs in self._inputs.items():
            inputs.take(passed[condition])
        for state, worker in zip(self.plan.states, self.workers, strict=True):
            there = passed[state.read_where]
            if isinstance(worker, GroupCount):
                worker.take([pa.array(self.groups.values[-batch.num_rows :])])
                continue
            worker.take([there[name] for name in state.reads or (self.query.time,)])
            if isinstance(worker, ByPolicy):
                worker.hold(held(columns))
        self.count += batch.num_rows
        return columns

    def answers(self, bounds: Sequence[Any]) -> list[pa.Array]:
        """A column for each output of the plan, from the bounds of each frame."""
        found = [
            worker.answer(self.among(state.read_where, bounds[state.frame]))
            for state, worker in zip(self.plan.states, self.workers, strict=True)
        ]
        return [found[output.state][output.member] for output in self.plan.outputs]

    def write_to(self, outputs: Mapping[str, Room], n: int) -> None:
        """Write the n answers of each output there at once, where a worker can.

        Those that are no output are read by results, block by block.
        """
        for output in self.plan.outputs:
            worker = self.workers[output.state]
            if isinstance(worker, Combiner):
                worker.write_to(output.member, outputs.get(output.name), n)

    def forget(self, row: int, frames: Sequence[int]) -> None:
        """No later window reaches rows before `row`; of each frame, before that of `frames`."""
        for condition, inputs in self._inputs.items():
            inputs.forget(self._before(condition, row))
        for state, worker in zip(self.plan.states, self.workers, strict=True):
            worker.forget(self._before(state.read_where, frames[state.frame]))
        for passing in self._passing.values():
            passing.forget(row)

    def sliced(self, slices: int) -> list[tuple[str | None, SlicePartials]]:
        """The partials over some slices of the plan, each once, and the condition of each."""
        found = {}
        for state, worker in zip(self.plan.states, self.workers, strict=True):
            if isinstance(worker, SliceCombiner) and state.slices == slices:
                found[id(worker.partials)] = (state.read_where, worker.partials)
        return list(found.values())

    def _passed(self, condition: str | None, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """The columns that are read of the rows that pass a condition, each filtered once."""
        if condition is None:
            return columns
        states = [state for state in self.plan.states if state.read_where == condition]
        names = dict.fromkeys(name for s in states for name in s.reads or (self.query.time,))
        passing = self._passing[condition]
        return passing.take(columns[condition], {name: columns[name] for name in names})

    def among(self, condition: str | None, bounds: Any) -> Any:
        """Windows of rows as windows of those that pass a condition."""
        return bounds if condition is None else self._passing[condition].of(bounds)

    def _before(self, condition: str | None, row: int) -> int:
        return row if condition is None else self._passing[condition].before(row)

    def _add_groups(self, times: np.ndarray, starts: np.ndarray, ties: list[pa.Array]) -> None:
        begins = np.ones(len(times), np.bool_)
        begins[1:] = times[1:] != times[:-1]
        begins[0] = len(self.time) == 0 or times[0] != self.time.values[-1]
        if ties:
            begins[1:] |= changes(ties)
            begins[0] |= any(not _alike(a, b.slice(0, 1)) for a, b in zip(self._last_ties, ties))
            self._last_ties = [column.slice(len(column) - 1) for column in ties]
        begins[starts] = True
        groups = self._group + np.cumsum(begins)
        self._group = int(groups[-1])
        self.groups.add(groups)

    def keys_from(self, row: int) -> np.ndarray:
        """The first row of each key, from that of `row` on."""
        return self.keys[max(0, int(np.searchsorted(self.keys, row, "right")) - 1) :]

    def _check_order(self, times: np.ndarray, starts: np.ndarray) -> None:
        earlier = np.zeros(len(times), np.bool_)
        earlier[1:] = times[1:] < times[:-1]
        earlier[starts] = False
        wrong = np.flatnonzero(earlier)
        before = self.time.values[-1:]
        if (len(starts) == 0 or starts[0] != 0) and len(before) and times[0] < before[0]:
            wrong = np.append(0, wrong)
        if len(wrong):
            raise ValueError(
                f"rows are not sorted by {', '.join((*self.query.by, self.query.time))}: row "
                f"{self.count + int(wrong[0])} is earlier than the one before it"
            )


class KeyStarts:
    """Finds the rows that begin a key, in rows that come batch by batch."""

    def __init__(self, known: np.ndarray | None = None) -> None:
        """`known`: those of the first batch, which is the only one."""
        self._known = known
        self._last: list[pa.Array] | None = None

    def find(self, keys: list[pa.Array], n: int) -> np.ndarray:
        """Which of the n rows of a batch begin a key."""
        if self._known is not None:
            return self._known
        begins = np.zeros(n, np.bool_)
        begins[1:] = changes(keys) if keys else False
        last = self._last
        begins[0] = last is None or any(
            not _alike(a, b) for a, b in zip(last, (k.slice(0, 1) for k in keys), strict=True)
        )
        self._last = [key.slice(n - 1, 1) for key in keys]
        return np.flatnonzero(begins)


def _alike(a: pa.Array, b: pa.Array) -> bool:
    x, y = a[0].as_py(), b[0].as_py()
    return bool(x == y or (x != x and y != y))


def held(columns: dict[str, pa.Array]) -> np.ndarray:
    """Which rows a stream has kept of a window that it left."""
    if HELD not in columns:
        return np.zeros(len(next(iter(columns.values()))), np.bool_)
    return np.asarray(columns[HELD])
