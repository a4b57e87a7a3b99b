"""Workers: each keeps one aggregation up to date over the bounds that its frame gives.

A worker takes the rows of its columns as they come (`take`), answers for windows of
rows (`answer`), and forgets what no window can reach any more (`forget`).
"""

from __future__ import annotations

from decimal import localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT, answers_as, filled, number_type, numbers, objects
from sash.engine.definition import Aggregation
from sash.engine.multiset import Distinct, Percentile
from sash.engine.policies import ByPolicy
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.monoids.monoid import Monoid
from sash.monoids.sums import Count
from sash.plan.choose import Need, choose
from sash.swag.registry import ALGORITHMS
from sash.swag.window import InOrder
from sash.windows.frames import Policy


def worker(a: Aggregation, kinds: list[pa.DataType], result: pa.DataType | None) -> Any:
    """The worker for an aggregation over columns of these types."""
    if isinstance(a.frame, Policy):
        return ByPolicy(a.monoid or Count(), a.frame, result)
    if a.how == "count":
        return Counter() if not kinds else Known()
    if a.how in ("first", "last"):
        return Picker(a.how, kinds[0])
    if a.how == "distinct":
        return Distinct(kinds[0])
    if a.how in ("percentile", "percentile_approx"):
        return Percentile(kinds[0], a.share, a.how == "percentile")
    assert a.monoid is not None
    if a.how == "argument" and number_type(kinds[0]) is not None:
        return ByRow(a.monoid, kinds)
    return Combiner(a.monoid, kinds, result)


class Counter:
    """Counts rows: the length of a window."""

    def take(self, columns: list[pa.Array]) -> None:
        """Nothing is needed of the columns."""

    def answer(self, bounds: Bounds) -> pa.Array:
        return pa.array(bounds.hi - bounds.lo)

    def forget(self, row: int) -> None:
        """Nothing is kept."""


class Known:
    """Counts rows whose column is not null."""

    def __init__(self) -> None:
        self._ranks = Ranks()

    def take(self, columns: list[pa.Array]) -> None:
        self._ranks.take(columns[0])

    def answer(self, bounds: Bounds) -> pa.Array:
        known = self._ranks.of(bounds)
        return pa.array(known.hi - known.lo)

    def forget(self, row: int) -> None:
        self._ranks.forget(row)


class Shelf:
    """A column's rows by number, of any type, forgotten an array at a time."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._arrays: list[pa.Array] = []
        self._base = self._rows = 0

    def add(self, column: pa.Array) -> None:
        self._arrays.append(column)
        self._rows += len(column)

    def at(self, rows: np.ndarray, nulls: np.ndarray) -> pa.Array:
        """The values of `rows`, null where told so."""
        places = pa.array(np.where(nulls, 0, rows - self._base), mask=nulls)
        taken = pa.chunked_array(self._arrays, self._kind).take(places)
        return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)

    def forget(self, row: int) -> None:
        while self._arrays and self._base + len(self._arrays[0]) <= row:
            self._base += len(self._arrays.pop(0))


class Picker:
    """The first or the last row of a window, null or not."""

    def __init__(self, which: str, kind: pa.DataType) -> None:
        self._first, self._shelf = which == "first", Shelf(kind)

    def take(self, columns: list[pa.Array]) -> None:
        self._shelf.add(columns[0])

    def answer(self, bounds: Bounds) -> pa.Array:
        lo, hi = bounds.lo, bounds.hi
        return self._shelf.at(lo if self._first else hi - 1, hi <= lo)

    def forget(self, row: int) -> None:
        self._shelf.forget(row)


class Combiner:
    """Combines a monoid over the known rows of its columns."""

    def __init__(
        self, monoid: Monoid, kinds: list[pa.DataType], result: pa.DataType | None
    ) -> None:
        dtypes = [number_type(kind) for kind in kinds]
        known = [d for d in dtypes if d is not None]
        typed = monoid
        if len(known) == len(dtypes):
            typed = monoid.of(known[0] if len(known) == 1 else tuple(known))
        self._window = new_window(typed)
        self._nothing = monoid.lower(monoid.identity)  # over objects: None where there is none
        numbers_only = self._window.is_typed and len(known) == len(dtypes)
        self._result = result
        self._ranks = Ranks()
        self._tapes = [Tape(d) for d in known] if numbers_only else None
        self._items: list[Any] = []
        self._base = 0
        self._spare, self._expected = np.empty(0), 0

    def take(self, columns: list[pa.Array]) -> None:
        if self._tapes is None:
            self._take_objects(columns)
            return
        if len(columns) > 1:  # a row counts where all of its columns are known
            columns = all_known(columns)
        ranked = self._ranks.take(columns[0])
        for tape, column in zip(self._tapes, columns, strict=True):
            same = ranked if column is columns[0] else column.drop_null()
            tape.add(numbers(same))

    def _take_objects(self, columns: list[pa.Array]) -> None:
        values = [objects(column) for column in columns]
        self._items += values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def answer(self, bounds: Bounds) -> pa.Array:
        if self._tapes is None:
            return self._answer_objects(bounds)
        known = self._ranks.of(bounds)
        arrays = tuple(tape.values if len(tape) else tape.blank for tape in self._tapes)
        xs = arrays[0] if len(arrays) == 1 else arrays
        values, nulls = self._window.follow(xs, self._tapes[0].base, *known[:3], self._room)
        for tape in self._tapes:
            tape.forget(self._window.reached)
        if known.shortest > 0:
            return answers_as(values, nulls, self._result)
        empty = known.hi <= known.lo
        values[empty] = np.zeros(1, values.dtype)[0]  # nothing was written there
        return filled(answers_as(values, nulls, self._result), empty, self._nothing)

    def expect(self, rows: int) -> None:
        """So many answers are to come: room for them is made at once, which is cheaper."""
        self._expected = rows

    def _room(self, dtype: np.dtype, n: int) -> np.ndarray:
        if len(self._spare) < n or self._spare.dtype != dtype.base:
            self._spare = np.empty(max(n, self._expected), dtype)
        part, self._spare = self._spare[:n], self._spare[n:]
        self._expected = max(0, self._expected - n)
        return part

    def _answer_objects(self, bounds: Bounds) -> pa.Array:
        with localcontext(EXACT):  # Python's own rounds decimals to 28 digits
            values, _ = self._window.follow(self._items, self._base, *bounds[:3])
        done = self._window.reached
        del self._items[: max(0, done - self._base)]
        self._base = max(self._base, done)
        if bounds.shortest <= 0:
            values = empty_as(values, bounds.hi <= bounds.lo, self._window)
        return answers_as(values, None, self._result)

    def forget(self, row: int) -> None:
        self._ranks.forget(row)


def empty_as(values: list[Any], empty: np.ndarray, window: InOrder) -> list[Any]:
    """Answers of plain Python, with that of an empty window where it is one."""
    nothing = window.monoid.lower(window.monoid.identity)
    return [nothing if e else v for v, e in zip(values, empty.tolist(), strict=True)]


def all_known(columns: list[pa.Array]) -> list[pa.Array]:
    """The columns, null wherever any of them is null."""
    valid = pc.is_valid(columns[0])
    for column in columns[1:]:
        valid = pc.and_(valid, pc.is_valid(column))
    if pc.all(valid).as_py() in (True, None):
        return columns
    return [pc.if_else(valid, column, pa.scalar(None, column.type)) for column in columns]


def new_window(monoid: Monoid) -> InOrder:
    """The window that is chosen for one range in order."""
    window = ALGORITHMS[choose(Need(monoid)).algorithm](monoid)
    assert isinstance(window, InOrder)
    return window


class ByRow:
    """The value of the second column in the row whose first one is best: ArgMax, ArgMin."""

    def __init__(self, monoid: Monoid, kinds: list[pa.DataType]) -> None:
        self._rows = 0
        self._shelf = Shelf(kinds[1])
        self._best = Combiner(monoid, [kinds[0], pa.int64()], pa.int64())

    def take(self, columns: list[pa.Array]) -> None:
        rows = np.arange(self._rows, self._rows + len(columns[0]))
        self._rows += len(rows)
        self._shelf.add(columns[1])
        self._best.take([columns[0], pa.array(rows)])

    def answer(self, bounds: Bounds) -> pa.Array:
        rows = self._best.answer(bounds)
        nulls = np.asarray(pc.is_null(rows))
        return self._shelf.at(rows.fill_null(0).to_numpy(), nulls)

    def forget(self, row: int) -> None:
        self._best.forget(row)
        self._shelf.forget(row)
