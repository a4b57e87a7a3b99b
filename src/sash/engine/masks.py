"""Masks: filtered states over all rows, where a row that does not pass is lifted to the identity.

Windows stay those of the frame. To leave rows out, windows have to be numbered among the rows
that pass: that takes longer than a combine with the identity, where a partial is one number or
two. States with larger partials leave rows out (`filters.py`), and combine less.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import numbers, without_nulls
from sash.engine.fixed import known_of, true_of
from sash.engine.frames import time_target
from sash.engine.lengths import Lengths
from sash.engine.pieces import Pieces
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.drivers import row_at
from sash.kernel.layout import Layout
from sash.kernel.words import IN_STEP, Int8, Memory, Windows, attach
from sash.kernel.words import numbers as integers
from sash.monoids.monoid import Monoid
from sash.monoids.variants import where_true
from sash.plan.plan import Plan, State
from sash.plan.types import number_types
from sash.swag.inputs import Asked
from sash.swag.raising import function_may_raise
from sash.windows.frames import OwnBounds

FEW = 2
"""Numbers of a partial up to which rows that do not pass are lifted, too."""


@dataclass(frozen=True)
class MaskedState(State):
    """A state over all rows; its last column says which of them are taken."""


def masked(plan: Plan, state: State) -> State:
    """A filtered state as one over all rows, where that takes less time; else as it is."""
    if state.condition is None:
        return state
    given = {each.name: getattr(state, each.name) for each in fields(state)}
    given |= {"columns": (*state.columns, state.condition), "condition": None}
    if state.kind in ("count", "known"):
        return MaskedState(**given | {"kind": "known"})
    if state.kind != "combine" or isinstance(plan.frames[state.frame].frame, OwnBounds):
        return state
    monoid = state.monoid
    if monoid is None or not state.typed or state.slices is not None or not lifts_all(monoid):
        return state
    return MaskedState(**given | {"monoid": where_true(monoid, len(state.columns))})


def lifts_all(monoid: Monoid) -> bool:
    """Whether rows that do not pass are lifted, too: to the identity."""
    layout = Layout.of(monoid.identity, monoid.dtype)
    if layout is None or layout.length is not None or len(layout.leaves) > FEW:
        return False
    return not function_may_raise(monoid.lower)  # at windows in which no row passes


def taken_of(columns: list[pa.Array]) -> np.ndarray:
    """Whether each row is taken, as bytes: the last column is true, and none is null."""
    taken = true_of(columns[-1])
    for column in columns:
        if column.null_count:
            taken &= known_of(column)
    return taken


class MaskedInputs:
    """All rows of some columns as numbers, and whether each is taken: it passes, and is known."""

    def __init__(self, kinds: list[pa.DataType]) -> None:
        dtypes = number_types(kinds[:-1])
        assert dtypes is not None
        self._tapes = [Tape(dtype) for dtype in dtypes]
        self._taken = Tape(np.uint8)

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch: values, and the condition."""
        for tape, column in zip(self._tapes, columns[:-1], strict=True):
            tape.add(numbers(without_nulls(column)))
        self._taken.add(taken_of(columns))

    def known(self, bounds: Bounds | Pieces) -> Any:
        """The windows as they are."""
        return bounds

    @property
    def values(self) -> tuple[np.ndarray, ...]:
        """The values from row `base` on, and which are taken."""
        return tuple(tape.values if len(tape) else tape.blank for tape in self._both)

    @property
    def base(self) -> int:
        return self._taken.base

    @property
    def _both(self) -> list[Tape]:
        return [*self._tapes, self._taken]

    def empty(self, bounds: Bounds | Pieces) -> np.ndarray | None:
        """Which windows have no row that is taken; None: all have some."""
        first, *others = bounds.parts if isinstance(bounds, Pieces) else (bounds,)
        none = self._empty(first)
        for piece in others:
            if none is None:
                return None
            more = self._empty(piece)
            none = None if more is None else none & more
        return none if none is not None and none.any() else None

    def _empty(self, bounds: Bounds) -> np.ndarray | None:
        if not bounds.grow:
            return self._counted(bounds) == 0
        found = np.zeros(len(bounds), np.bool_)
        memory = (self._taken.data, 0, found.ctypes.data, 0, 0)
        asked = Asked(self.base, *bounds.ends, bounds.longest, bounds.shape)
        stretch = max(1, bounds.longest // 4)
        return found if search()(memory, asked.compiled(), stretch) else None

    def _counted(self, bounds: Bounds) -> np.ndarray:
        """How many rows of windows that lie anywhere are taken."""
        before = np.zeros(len(self._taken) + 1, np.int64)
        np.cumsum(self._taken.values, out=before[1:])
        lo, hi = (np.clip(side - self.base, 0, len(self._taken)) for side in (bounds.lo, bounds.hi))
        return before[np.maximum(lo, hi)] - before[lo]

    def forget(self, row: int, known: int) -> None:
        """Forget what no window reaches, and no reader has to take in."""
        for tape in self._both:
            tape.forget(min(row, known))


class Columns(NamedTuple):
    """The columns that `find_empty` reads and writes."""

    taken: Int8  # from row `base` on
    empty: Int8  # whether each window is, at first not
    held: int


def find_empty(memory: Memory, windows: Windows, stretch: int) -> int:
    """Marks windows in which no row is taken, and counts them; their ends only grow.

    Where the youngest row that is taken, of those before the end of the first window of a
    stretch, is in the last one too, no window of the stretch is empty. Few windows are looked
    at where a stretch is long; it has to be shorter than windows are.
    """
    q = attach(memory)
    begins, ends, n = integers(windows.lo), integers(windows.hi), windows.n
    in_step, base = windows.shape == IN_STEP, windows.base
    count, youngest, seen = 0, -1, 0
    for first in range(0, n, stretch):
        last = min(first + stretch, n) - 1
        begin = row_at(windows.lo, begins, last, in_step) - base
        end = row_at(windows.hi, ends, first, in_step) - base
        row, least = end - 1, max(seen, begin)
        while row >= least and not q.taken[row]:
            row -= 1
        if row >= least:
            youngest = row
        if youngest >= begin:
            seen = end
            continue
        for i in range(first, last + 1):
            begin = row_at(windows.lo, begins, i, in_step) - base
            end = row_at(windows.hi, ends, i, in_step) - base
            for row in range(max(seen, begin), end):
                youngest = row if q.taken[row] else youngest
            seen = max(seen, end)
            q.empty[i] = youngest < begin
            count += youngest < begin
    return count


@functools.cache
def search() -> Any:
    """The loop, compiled."""
    return compiled(find_empty, time_target(np.dtype(np.int64), Lengths, Columns)).run
