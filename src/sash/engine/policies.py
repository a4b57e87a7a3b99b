"""Slide policies: windows whose rows are known only as they are combined.

Each key's window is an AMTA, which enforces the policy as a row comes: what is to be
evicted is found by search and leaves in one bulk. Rows of numbers run compiled, a block of
rows of many keys at a time; a row with a null brings no item, but the policy is asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import numbers, objects, with_empty
from sash.engine.inputs import all_known
from sash.engine.tape import Tape
from sash.plan.plan import Plan, State
from sash.plan.policy import beside
from sash.plan.types import number_types
from sash.swag.mta import MTA
from sash.swag.mta_steps import BEGINS, HELD, NULL
from sash.swag.registry import ALGORITHMS
from sash.windows.frames import Policy


class Run(NamedTuple):
    """Rows `begin` to `end` - 1 and the first row of each key, instead of bounds."""

    begin: int
    end: int
    keys: np.ndarray
    lo: np.ndarray  # what can be forgotten: all that came before


class ByPolicy:
    """One aggregation over a policy."""

    def __init__(self, plan: Plan, state: State) -> None:
        asked, policy = state.asked[0], plan.frames[state.frame].frame
        assert state.monoid is not None
        assert state.choice is not None
        assert isinstance(policy, Policy)
        kinds = [plan.schema.field(name).type for name in state.columns or (plan.query.time,)]
        kept, decide = beside(state.monoid, policy, kinds if state.typed else None)
        algorithm: Any = ALGORITHMS[state.choice.algorithm]
        self._window: MTA = algorithm(kept, decide, compiled=None if state.typed else False)
        self._items = Items(kinds) if state.typed else ObjectItems()
        self._flags = Tape(np.int64)
        self._result = asked.result([plan.schema.field(name).type for name in asked.columns])
        self._nothing = state.nothing[0]
        self._known = Tape(np.int64)  # the row of each item
        self._rows = 0
        self.first = np.zeros(0, np.int64)  # the first row of each window of the last answer

    def take(self, columns: list[pa.Array]) -> None:
        valid = self._items.take(columns)
        self._flags.add(np.where(valid, 0, NULL))
        self._known.add(self._rows + np.flatnonzero(valid))
        self._rows += len(valid)

    def hold(self, held: np.ndarray) -> None:
        """Which of the rows taken last make up the window as a stream left it: they stay."""
        if held.any():
            self._flags.values[-len(held) :] |= held * HELD

    def answer(self, run: Run) -> list[pa.Array]:
        flags = self._flags.values[: run.end - run.begin].copy()
        begins = run.keys[(run.keys >= run.begin) & (run.keys < run.end)]
        flags[begins - run.begin] |= BEGINS
        known = flags & NULL == 0
        items = int(known.sum())
        values, nulls, sizes = self._window.obey(self._items.next(items), flags)
        self.first = self._first_rows(np.cumsum(known) - items, sizes, run)
        self._flags.forget(run.end)
        empty = None if sizes.all() else sizes == 0
        return [with_empty(values, nulls, empty, self._result, self._nothing)]

    def _first_rows(self, items: np.ndarray, sizes: np.ndarray, run: Run) -> np.ndarray:
        """The row of the oldest item in each window; the next row where it has none.

        `items`: how many are in up to each row, less how many are in up to the last one.
        """
        known, first = self._known, np.arange(run.begin, run.end) + 1
        begins = known.base + len(known) - self._items.left + items - sizes
        some = np.flatnonzero(sizes)
        first[some] = known.values[begins[some] - known.base]
        known.forget(int(begins[-1]))
        return first

    def forget(self, row: int) -> None:
        """The window forgets by itself."""


class Items:
    """The rows in which no column is null, as numbers."""

    def __init__(self, kinds: list[pa.DataType]) -> None:
        dtypes = number_types(kinds)
        assert dtypes is not None
        self._tapes = [Tape(dtype) for dtype in dtypes]

    @property
    def left(self) -> int:
        """How many items were taken but not asked for."""
        return len(self._tapes[0])

    def take(self, columns: list[pa.Array]) -> np.ndarray:
        """Take a batch's rows; which of them are items."""
        columns = all_known(columns)
        for tape, column in zip(self._tapes, columns, strict=True):
            tape.add(numbers(column.drop_null() if column.null_count else column))
        return np.asarray(pc.is_valid(columns[0]))

    def next(self, n: int) -> Any:
        """The next n items."""
        arrays = tuple(t.values[:n] if n else t.blank for t in self._tapes)
        for tape in self._tapes:
            tape.forget(tape.base + n)
        return arrays[0] if len(arrays) == 1 else arrays


class ObjectItems:
    """All rows as Python objects, nulls and all; tuples of several columns."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    @property
    def left(self) -> int:
        """How many items were taken but not asked for."""
        return len(self._values)

    def take(self, columns: list[pa.Array]) -> np.ndarray:
        """Take a batch's rows; all of them are items."""
        values = [objects(column) for column in columns]
        self._values += values[0] if len(values) == 1 else list(zip(*values, strict=True))
        return np.ones(len(columns[0]), np.bool_)

    def next(self, n: int) -> list[Any]:
        """The next n items."""
        items, self._values = self._values[:n], self._values[n:]
        return items
