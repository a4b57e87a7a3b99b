"""Workers: each keeps one state of a plan up to date over the bounds that its frame gives.

A worker takes the rows of its columns as they come (`take`), answers for windows of
rows (`answer`: an array for each aggregation that reads the state), and forgets what no
window can reach any more (`forget`). One file per kind of worker where it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.collected import Collected
from sash.engine.combiners import Combiner
from sash.engine.decimals import DecimalSum, unscaled
from sash.engine.excluding import combiner_of
from sash.engine.inputs import SharedInputs
from sash.engine.masks import taken_of
from sash.engine.multiset import Distinct
from sash.engine.percentiles import Percentile
from sash.engine.pieces import Pieces
from sash.engine.policies import ByPolicy
from sash.engine.ranks import Ranks
from sash.engine.row_ranks import RowRank
from sash.engine.rows_by_number import ColumnBuffer
from sash.engine.slice_partials import SliceCombiner, SlicePartials
from sash.engine.tape import Tape
from sash.engine.window_functions import WindowFunction
from sash.plan.plan import Plan, State
from sash.plan.types import is_short_decimal, number_type


class Worker(Protocol):
    """Runs a state of a plan."""

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
    partials: dict[Any, SlicePartials] = {}
    for state in plan.states:
        if state.slices is not None:
            assert state.monoid is not None
            same = (state.slices, state.condition, state.columns, state.monoid.state_digest)
            if same not in partials:
                partials[same] = SlicePartials(plan, state, inputs[state.read_where])
            found.append(SliceCombiner(plan, state, partials[same]))
            continue
        made = WORKERS[state.kind](plan, state)
        if isinstance(made, Combiner):
            made.share(inputs[state.read_where], state.reads)
        found.append(made)
    return found


class RowCount:
    """Counts rows: the length of a window."""

    def __init__(self, plan: Plan, state: State) -> None:
        pass

    def take(self, columns: list[pa.Array]) -> None:
        """Nothing is needed of the columns."""

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        return [pa.array(bounds.sizes)]

    def forget(self, row: int) -> None:
        """Nothing is kept."""


class NonNullCount:
    """Counts the rows whose column is not null, all or those that pass a filter."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._ranks, self._masked = Ranks(), state.filtering == "identity"

    def take(self, columns: list[pa.Array]) -> None:
        if self._masked:
            self._ranks.mark(taken_of(columns))
        else:
            self._ranks.take(columns[0])

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        return [pa.array(self._ranks.sizes(bounds))]

    def forget(self, row: int) -> None:
        self._ranks.forget(row)


class GroupCount:
    """Counts the groups of peers in a window of rows one after the other."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._groups = Tape(np.int64)

    def take(self, columns: list[pa.Array]) -> None:
        self._groups.add(columns[0].to_numpy())

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        groups, base, some = self._groups.values, self._groups.base, bounds.sizes > 0
        first, last = (np.where(some, rows, base) - base for rows in (bounds.lo, bounds.hi - 1))
        return [pa.array(np.where(some, groups[last] - groups[first] + 1, 0))]

    def forget(self, row: int) -> None:
        self._groups.forget(row)


class RowByPlace:
    """The first, the last or the n-th row of a window, null or not."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._place = {"first": 1, "last": -1}.get(state.kind, state.asked[0].place)
        self._rows = ColumnBuffer(plan.schema.field(state.columns[0]).type)

    def take(self, columns: list[pa.Array]) -> None:
        self._rows.add(columns[0])

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        return [self._rows.at(*bounds.place(self._place))]

    def forget(self, row: int) -> None:
        self._rows.forget(row)


class ArgBest:
    """The value of the second column in the row whose first one is best: ArgMax, ArgMin.

    Of measures that are not numbers, such as text, all rows come at once, and ranks are compared.
    """

    def __init__(self, plan: Plan, state: State) -> None:
        self._rows = 0
        measure, argument = (plan.schema.field(name).type for name in state.columns)
        self._arguments = ColumnBuffer(argument)
        self._by_rank = number_type(measure) is None
        kinds = [pa.int64() if self._by_rank else measure, pa.int64()]
        self._best = combiner_of(plan, state, kinds)

    def take(self, columns: list[pa.Array]) -> None:
        rows = np.arange(self._rows, self._rows + len(columns[0]))
        self._rows += len(rows)
        self._arguments.add(columns[1])
        measures = ranks_of(columns[0]) if self._by_rank else columns[0]
        self._best.take([measures, pa.array(rows)])

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known: Any = self._best.known(bounds)
        rows, _ = self._best.follow(known)
        empty = known.sizes == 0
        return [self._arguments.at(np.where(empty, 0, rows), empty)]

    def forget(self, row: int) -> None:
        self._best.forget(row)
        self._arguments.forget(row)


def ranks_of(column: pa.Array) -> pa.Array:
    """For each value its rank among all of the column's, equal ones alike; null for a null.

    Decimals that fit in 64 bits are ranks as they are.
    """
    if is_short_decimal(column.type):
        return unscaled(column)
    coded = column.dictionary_encode()
    order = np.asarray(pc.sort_indices(coded.dictionary))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return pa.array(ranks).take(coded.indices)


WORKERS: dict[str, Callable[[Plan, State], Worker]] = {
    "count": RowCount,
    "known": NonNullCount,
    "groups": GroupCount,
    "first": RowByPlace,
    "last": RowByPlace,
    "nth": RowByPlace,
    "combine": combiner_of,
    "argument": ArgBest,
    "decimal": DecimalSum,
    "collect": Collected,
    "distinct": Distinct,
    "percentile": Percentile,
    "rank": RowRank,
    "function": WindowFunction,
    "policy": ByPolicy,
}
"""A worker for each kind of state."""
