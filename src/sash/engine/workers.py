"""Workers: each keeps one state of a plan up to date over the bounds that its frame gives.

A worker takes the rows of its columns as they come (`take`), answers for windows of
rows (`answer`: an array for each aggregation that reads the state), and forgets what no
window can reach any more (`forget`). One file per kind of worker where it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import localcontext
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT, with_empty
from sash.engine.inputs import Inputs, ObjectInputs, SharedInputs
from sash.engine.multiset import Distinct, Percentile
from sash.engine.policies import ByPolicy
from sash.engine.ranks import Ranks
from sash.plan.plan import Plan, State
from sash.swag.registry import ALGORITHMS


class Worker(Protocol):
    """What runs a state of a plan."""

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch."""

    def answer(self, bounds: Any) -> list[pa.Array]:
        """For windows of rows, an array for each aggregation that reads the state."""

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""


def workers_of(plan: Plan, inputs: Mapping[str | None, SharedInputs]) -> list[Worker]:
    """A worker for each state of a plan.

    Columns that several combine are in `inputs` once, for each condition that filters them.
    """
    found: list[Worker] = []
    for state in plan.states:
        made = WORKERS[state.kind](plan, state)
        if isinstance(made, Combiner):
            made.share(inputs[state.condition], state.columns)
        found.append(made)
    return found


class RowCount:
    """Counts rows: the length of a window."""

    def __init__(self, plan: Plan, state: State) -> None:
        pass

    def take(self, columns: list[pa.Array]) -> None:
        """Nothing is needed of the columns."""

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        return [pa.array(bounds.hi - bounds.lo)]

    def forget(self, row: int) -> None:
        """Nothing is kept."""


class NonNullCount:
    """Counts the rows whose column is not null."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._ranks = Ranks()

    def take(self, columns: list[pa.Array]) -> None:
        self._ranks.take(columns[0])

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        known = self._ranks.of(bounds)
        return [pa.array(known.hi - known.lo)]

    def forget(self, row: int) -> None:
        self._ranks.forget(row)


class ColumnBuffer:
    """A column's rows by number, of any type, forgotten an array at a time."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._arrays: list[pa.Array] = []
        self._base = 0

    def add(self, column: pa.Array) -> None:
        self._arrays.append(column)

    def at(self, rows: np.ndarray, nulls: np.ndarray) -> pa.Array:
        """The values of `rows`, null where told so."""
        places = pa.array(np.where(nulls, 0, rows - self._base), mask=nulls)
        taken = pa.chunked_array(self._arrays, self._kind).take(places)
        return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)

    def forget(self, row: int) -> None:
        while self._arrays and self._base + len(self._arrays[0]) <= row:
            self._base += len(self._arrays.pop(0))


class FirstLast:
    """The first or the last row of a window, null or not."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._first = state.kind == "first"
        self._rows = ColumnBuffer(plan.schema.field(state.columns[0]).type)

    def take(self, columns: list[pa.Array]) -> None:
        self._rows.add(columns[0])

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        lo, hi = bounds.lo, bounds.hi
        return [self._rows.at(lo if self._first else hi - 1, hi <= lo)]

    def forget(self, row: int) -> None:
        self._rows.forget(row)


class Combiner:
    """Combines a monoid over the known rows of its columns, by the algorithm of the plan."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        assert state.monoid is not None
        assert state.choice is not None
        kinds = kinds or [plan.schema.field(name).type for name in state.columns]
        self._window = ALGORITHMS[state.choice.algorithm](state.monoid)
        self._inputs: Inputs | ObjectInputs = (Inputs if state.typed else ObjectInputs)(kinds)
        self._shares = False  # whether others read the inputs too, and someone else fills them
        self._typed, self._nothing = state.typed, state.nothing
        asked = [a.result([plan.schema.field(c).type for c in a.columns]) for a in state.asked]
        self._results = asked
        self._spare, self._expected = np.empty(0), 0

    def share(self, inputs: SharedInputs, columns: tuple[str, ...]) -> None:
        """Read the inputs that all states over these columns read."""
        self._inputs, self._shares = inputs.join(self._inputs, columns, self), True

    def take(self, columns: list[pa.Array]) -> None:
        if not self._shares:
            self._inputs.take(columns)
        self._expected = len(columns[0])

    def known(self, bounds: Bounds) -> Bounds:
        """The windows among the rows that are known."""
        return self._inputs.known(bounds)

    @property
    def reached(self) -> int:
        """The first known row that the window has not taken in."""
        return self._window.reached

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        known = self.known(bounds)
        values, nulls = self.follow(known)
        if len(self._results) == 1:
            return [self._as_arrow(values, nulls, known, 0)]
        assert values.dtype.names is not None
        return [
            self._as_arrow(values[name], None if nulls is None else nulls[:, i : i + 1], known, i)
            for i, name in enumerate(values.dtype.names)
        ]

    def follow(self, known: Bounds) -> tuple[Any, Any]:
        """The answers over windows of known rows, and which are null."""
        inputs, window = self._inputs, self._window
        if self._typed:
            return window.follow(inputs.values, inputs.base, *known[:3], self._room)
        with localcontext(EXACT):  # Python's own rounds decimals to 28 digits
            return window.follow(inputs.values, inputs.base, *known[:3])

    def _as_arrow(self, values: Any, nulls: Any, known: Bounds, i: int) -> pa.Array:
        empty = None if known.shortest > 0 else known.hi <= known.lo
        return with_empty(values, nulls, empty, self._results[i], self._nothing[i])

    def _room(self, dtype: np.dtype, n: int) -> np.ndarray:
        """An array for answers, out of one that is made for all of a batch: that is cheaper."""
        if len(self._spare) < n or self._spare.dtype != dtype.base:
            self._spare = np.empty(max(n, self._expected), dtype)
        part, self._spare = self._spare[:n], self._spare[n:]
        self._expected = max(0, self._expected - n)
        return part

    def forget(self, row: int) -> None:
        if not self._shares:
            self._inputs.forget(row, self.reached)


class ArgBest:
    """The value of the second column in the row whose first one is best: ArgMax, ArgMin."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._rows = 0
        kinds = [plan.schema.field(name).type for name in state.columns]
        self._arguments = ColumnBuffer(kinds[1])
        self._best = Combiner(plan, state, [kinds[0], pa.int64()])

    def take(self, columns: list[pa.Array]) -> None:
        rows = np.arange(self._rows, self._rows + len(columns[0]))
        self._rows += len(rows)
        self._arguments.add(columns[1])
        self._best.take([columns[0], pa.array(rows)])

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        known = self._best.known(bounds)
        rows, _ = self._best.follow(known)
        empty = known.hi <= known.lo
        return [self._arguments.at(np.where(empty, 0, rows), empty)]

    def forget(self, row: int) -> None:
        self._best.forget(row)
        self._arguments.forget(row)


WORKERS: dict[str, Callable[[Plan, State], Worker]] = {
    "count": RowCount,
    "known": NonNullCount,
    "first": FirstLast,
    "last": FirstLast,
    "combine": Combiner,
    "argument": ArgBest,
    "distinct": Distinct,
    "percentile": Percentile,
    "policy": ByPolicy,
}
"""A worker for each kind of state."""
