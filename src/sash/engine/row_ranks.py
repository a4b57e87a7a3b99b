"""The rank of a row within its window: how many values are below its own, how many equal it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import numbers
from sash.engine.frames import time_target
from sash.engine.multiset import PIECES, At, CodeWindows, Columns, memory, ranks, stacked
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.plan.plan import Plan, State
from sash.plan.types import number_type


class RowRank:
    """Counts the values of a row's window that are below the row's own, and equal to it."""

    def __init__(self, plan: Plan, state: State) -> None:
        dtype = number_type(plan.schema.field(state.columns[0]).type)
        assert dtype is not None
        self._places = [a.place - 1 for a in state.asked]  # 0: below, 1: equal
        self._ranks, self._values = Ranks(), Tape(dtype)
        self._own, self._known = Tape(dtype), Tape(np.bool_)  # of rows that are not answered
        self._run = compiled(ranks, time_target(np.dtype(np.float64), At, Columns)).run

    def take(self, columns: list[pa.Array]) -> None:
        [column] = columns
        self._values.add(numbers(self._ranks.take(column)))
        self._known.add(np.asarray(column.is_valid()))
        filled = column.fill_null(_zero(column.type)) if column.null_count else column
        self._own.add(numbers(filled))

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._ranks.of(bounds)
        count, lo, hi = stacked(known)
        n, first, base = len(known.lo), int(known.lo[0]), self._values.base
        values, codes = np.unique(
            self._values.values[first - base : int(hi.max()) - base], return_inverse=True
        )
        own, there = self._own_codes(values, n)
        tree, codes = np.zeros(len(values) + 1, np.int64), np.ascontiguousarray(codes, np.int64)
        pairs, starts = np.zeros((n, 2), np.int64), np.full((2, PIECES), first)
        bounds_at = lo.ctypes.data, hi.ctypes.data
        windows = CodeWindows(codes.ctypes.data, first, n, count, *bounds_at)
        at, asked = At(0, 0, np.float64(0)), (len(values), own.ctypes.data)
        self._run(memory(tree, *starts), at, windows, *asked, pairs.ctypes.data)
        pairs[~there, 1] = 0  # no row of any window has the value
        return [pa.array(pairs[:, place], mask=own < 0) for place in self._places]

    def _own_codes(self, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The codes of the next n rows' own values, -1 for null; and which are among `values`."""
        asked, known = self._own.values[:n].copy(), self._known.values[:n].copy()
        self._own.forget(self._own.base + n)
        self._known.forget(self._known.base + n)
        codes = np.searchsorted(values, asked)
        if len(values):
            nearest = values[np.minimum(codes, len(values) - 1)]
            there = (nearest == asked) | ((nearest != nearest) & (asked != asked))
        else:
            there = np.zeros(n, np.bool_)
        last = codes >= len(values)
        return np.where(known, codes, -1), there & ~last

    def forget(self, row: int) -> None:
        self._values.forget(self._ranks.before(row))
        self._ranks.forget(row)


def _zero(kind: pa.DataType) -> pa.Scalar:
    """Any value of a type, instead of a null."""
    return (
        pa.scalar(0, pa.int64()).cast(kind) if not pa.types.is_boolean(kind) else pa.scalar(False)
    )
