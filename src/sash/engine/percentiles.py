"""Percentiles: exact shares of windows, a few steps per row.

The rows of a block are sorted once, and a row's code is its place in that order; windows are
then sets of codes (`order_statistics.py`).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.arrangement import memory_of, sorted_rows
from sash.engine.bounds import Bounds
from sash.engine.columns import answers_as, numbers, objects
from sash.engine.fixed import room
from sash.engine.frames import time_target
from sash.engine.multiset import PIECES, CodeWindows, stacked
from sash.engine.order_statistics import WORD, At, Columns, Merging, Mixed, merge, mix, order
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.engine.team import Team
from sash.kernel.compiled import compiled
from sash.plan.plan import Plan, State
from sash.plan.types import number_type

FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)


@functools.cache
def loop(driver: Any, dtype: np.dtype, cursors: type, columns: type) -> Any:
    """A compiled loop over values of a dtype."""
    return compiled(driver, time_target(dtype, cursors, columns)).run


class Ordered(NamedTuple):
    """The codes of some rows, one after the other, and the values by code."""

    codes: np.ndarray
    values: np.ndarray


class NumberOrder:
    """The order of rows by value, for numbers.

    Of a long window most rows were in the last block: they are in order already, and the new ones
    are merged with them.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = {"f": FLOAT64, "u": dtype}.get(dtype.kind, INT64)
        self._values = Tape(self._dtype)
        self._rows = np.empty(0, np.int64)  # of the last block, by value

    def take(self, column: pa.Array) -> None:
        self._values.add(numbers(column).astype(self._dtype, copy=False))

    def of(self, first: int, end: int) -> Ordered:
        """The order of rows `first` to `end` - 1."""
        kept = self._rows
        live = int(np.count_nonzero(kept >= first))
        if 2 * live < end - first:
            kept, live = kept[:0], 0
        begin, base = first + live, self._values.base  # all rows up to the last block's end
        new = begin + by_value(self._values.values[begin - base : end - base])
        self._rows = room(end - first, INT64)
        codes, values = room(end - first, INT64), room(end - first, self._dtype)
        memory = (
            self._values.address, -1, *memory_of(kept, new, self._rows, codes)[:-1],
            values.ctypes.data, -1, 0,
        )  # fmt: skip
        run = loop(merge, self._dtype, At, Merging)
        run(memory, len(kept), len(new), first)
        return Ordered(codes, values)

    def forget(self, row: int) -> None:
        self._values.forget(row)


def by_value(values: np.ndarray) -> np.ndarray:
    """The places of some numbers in their order; NaN is larger than any of them."""
    if not len(values):
        return np.empty(0, np.int64)
    if values.dtype.kind == "f" and np.isnan(values).any():
        values = np.where(np.isnan(values), np.nan, values)  # one that has no sign
    elif values.dtype.kind == "u":
        values = values.astype(np.uint64).view(np.int64) ^ np.int64(-(1 << 63))
    return sorted_rows(None, values, Team(1)).places.astype(np.int64)


class ObjectOrder:
    """The same for decimals, which are compared as Python's objects."""

    def __init__(self) -> None:
        self._values = Tape(object)
        self._rows = np.empty(0, np.int64)

    def take(self, column: pa.Array) -> None:
        self._values.add(np.array(objects(column), object))

    def of(self, first: int, end: int) -> Ordered:
        """The order of rows `first` to `end` - 1; sorting takes what is in order as it is."""
        values, kept = self._values.values, self._rows[self._rows >= first]
        rows = np.concatenate([kept, np.arange(first + len(kept), end)]) - self._values.base
        rows = rows[np.argsort(values[rows], kind="stable")]
        self._rows, codes = rows + self._values.base, np.empty(end - first, np.int64)
        codes[self._rows - first] = np.arange(end - first)
        return Ordered(codes, values[rows])

    def forget(self, row: int) -> None:
        self._values.forget(row)


class Percentile:
    """A share of a window's values, exactly: a value, or what is between two of them."""

    def __init__(self, plan: Plan, state: State) -> None:
        [asked] = state.asked
        kind, interpolation = plan.schema.field(state.columns[0]).type, asked.interpolation
        dtype = number_type(kind)
        self._share, self._interpolation = asked.share, interpolation
        self._mixes = interpolation in ("linear", "midpoint")
        self._times = pa.types.is_temporal(kind)
        self._kind = asked.result([kind]) or pa.float64()
        self._ranks = Ranks()
        self._order = ObjectOrder() if dtype is None else NumberOrder(dtype)

    def take(self, columns: list[pa.Array]) -> None:
        self._order.take(self._ranks.take(columns[0]))

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._ranks.of(bounds)
        count, lo, hi = stacked(known)
        first, n = int(known.lo[0]), len(known.lo)
        end = max(first, int(hi.max()))
        if first == end:
            return [pa.nulls(n, self._kind)]
        codes, values = self._order.of(first, end)
        pairs, starts = np.zeros((2, n), np.int64), np.full((2, PIECES), first)
        words = (len(codes) >> WORD) + 2
        arrays = (np.zeros(words, np.int64), np.zeros((words >> WORD) + 2, np.int64), *starts)
        bounds_at = lo.ctypes.data, hi.ctypes.data
        windows = CodeWindows(codes.ctypes.data, first, n, count, *bounds_at)
        between = int(self._interpolation != "approx")
        run = loop(order, FLOAT64, At, Columns)
        run(memory_of(*arrays), self._at, windows, between, pairs.ctypes.data)
        found = self._answers(values, pairs, known.sizes)
        empty = known.empty
        if found.dtype == object:
            return [answers_as(found.tolist(), empty, self._kind)]
        if self._kind == pa.float64():
            found = found.astype(np.float64, copy=False)  # Arrow refuses what it has to round
        return [answers_as(found, empty, self._kind)]

    @property
    def _at(self) -> At:
        return At(np.float64(self._share))

    def _answers(self, values: np.ndarray, pairs: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """From the values at and just above the share, as `between` has it for one window."""
        if self._mixes and not self._times:
            found, by_code = room(len(counts), FLOAT64), values.astype(FLOAT64, copy=False)
            run = loop(mix, FLOAT64, At, Mixed)
            memory = memory_of(by_code, pairs, counts, found)
            run(memory, self._at, len(counts), int(self._interpolation == "midpoint"))
            return found
        lower, upper = values[pairs[0]], values[pairs[1]]
        part = self._share * (counts - 1)
        place = np.floor(part)
        part -= place
        if self._mixes:  # times: doubles would lose nanoseconds
            share = part if self._interpolation == "linear" else 0.5
            return np.where(part > 0, lower + _part_of(upper - lower, share), lower)
        above = {
            "higher": part > 0,
            "nearest": (part > 0.5) | ((part == 0.5) & (place % 2 == 1)),
        }
        return np.where(above.get(self._interpolation, False), upper, lower)

    def forget(self, row: int) -> None:
        self._order.forget(self._ranks.before(row))
        self._ranks.forget(row)


def _part_of(steps: np.ndarray, share: Any) -> np.ndarray:
    """A share of a number of steps, rounded down; a half exactly."""
    unsigned = steps.view(np.uint64)  # a difference of integers may not fit one with a sign
    part = np.floor(unsigned * share).astype(np.uint64)
    return np.where(share == 0.5, unsigned // 2, part).view(np.int64)
