"""Masks: rows of filtered states that lift all of them, and windows in which none passes.

The plan decides which states those are (`sash.plan.filtering`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import numbers, without_nulls
from sash.engine.fixed import known_of, room, true_of
from sash.engine.frames import time_target
from sash.engine.lengths import Lengths
from sash.engine.pieces import Pieces
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.drivers import row_at
from sash.kernel.words import IN_STEP, Int8, Int64, Memory, Windows, attach
from sash.kernel.words import numbers as integers
from sash.plan.types import number_types
from sash.swag.inputs import Asked

STRETCH = 1 << 10
"""Windows that are looked at together, at most, to see that none is empty."""


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
        self._taken = Tape(np.int8)  # -1, all bits, where a row is taken, else 0
        self._youngest = np.empty(0, np.int64)

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch: values, and the condition."""
        for tape, column in zip(self._tapes, columns[:-1], strict=True):
            tape.add(numbers(without_nulls(column)))
        taken = taken_of(columns).view(np.int8)
        self._taken.add(np.negative(taken, out=taken))

    def known(self, bounds: Bounds | Pieces) -> Any:
        """The windows as they are."""
        return bounds

    @property
    def values(self) -> tuple[np.ndarray, ...]:
        """The values from row `base` on, and which are taken."""
        return tuple(t.values if len(t) else t.blank for t in (*self._tapes, self._taken))

    @property
    def base(self) -> int:
        return self._taken.base

    def empty(self, bounds: Bounds | Pieces) -> np.ndarray | None:
        """Which windows have no row that is taken; None: all have some."""
        first, *others = bounds.parts if isinstance(bounds, Pieces) else (bounds,)
        none = self._empty(first)
        for piece in others:
            more = None if none is None else self._empty(piece)
            none = None if none is None or more is None else none & more
        return none

    def _empty(self, bounds: Bounds) -> np.ndarray | None:
        found = np.zeros(len(bounds), np.bool_)
        if len(self._youngest) <= len(self._taken):  # is written where windows may be empty
            self._youngest = room(len(self._taken) + 1, np.int64)
        arrays = self._taken.data, self._youngest.ctypes.data, found.ctypes.data
        memory = (*(number for address in arrays for number in (address, 0)), 0)
        ends, rows = bounds.ends, (0, 0)
        stretch = max(1, min(bounds.longest // 3, STRETCH)) if bounds.grow else 0
        if not bounds.grow and len(bounds):
            lo, hi = (np.ascontiguousarray(x, np.int64) for x in (bounds.lo, bounds.hi))
            ends, rows = (lo, hi), (int(lo.min()) - self.base, int(hi.max()) - self.base)
        windows = Asked(self.base, *ends, bounds.longest, bounds.shape).compiled()
        return found if loop(find_empty, Columns)(memory, windows, *rows, stretch) else None

    def forget(self, row: int, known: int) -> None:
        """Forget what no window reaches, and no reader has to take in."""
        for tape in (*self._tapes, self._taken):
            tape.forget(min(row, known))


@contextlib.contextmanager
def without(empty: np.ndarray, bounds: Bounds) -> Iterator[Bounds]:
    """The windows, each that is empty replaced by the one before it, or by the first one that is
    not: its answer is not to be asked for, and both ends grow as they did.

    Few are replaced for a while, in their place: to copy all would take a tenth of the time.
    """
    lo, hi, count = bounds.lo, bounds.hi, np.count_nonzero(empty)
    if count == len(empty):
        yield Bounds(lo, lo, bounds.longest, 0)
    elif count * FEW > len(empty):
        begins, ends = _replaced(empty, lo, hi)
        yield Bounds(begins, ends, bounds.longest, 1)
    else:
        few = np.flatnonzero(empty)
        is_next = np.diff(few, prepend=-1) == 1  # to an empty one, or it is the very first
        before = np.maximum.accumulate(np.where(is_next, -1, few - 1))
        before[before < 0] = np.argmin(empty)
        saved = lo[few], hi[few]
        lo[few], hi[few] = lo[before], hi[before]
        try:
            yield Bounds(lo, hi, bounds.longest, 1)
        finally:
            lo[few], hi[few] = saved


FEW = 32
"""Windows are replaced in their place where they are at most one in so many."""


class Replaced(NamedTuple):
    """The columns that `replace_empty` reads and writes."""

    empty: Int8
    lo: Int64
    hi: Int64
    to_lo: Int64
    to_hi: Int64
    held: int


def replace_empty(memory: Memory, n: int, first: int) -> int:
    """n windows, each that is empty replaced by the one before it, the first ones by `first`."""
    q = attach(memory)
    lo, hi = q.lo[first], q.hi[first]
    for i in range(n):
        keeps = int(q.empty[i]) - 1  # all bits, or none: no branch is guessed
        lo, hi = (q.lo[i] & keeps) | (lo & ~keeps), (q.hi[i] & keeps) | (hi & ~keeps)
        q.to_lo[i], q.to_hi[i] = lo, hi
    return 0


def _replaced(empty: np.ndarray, *ends: np.ndarray) -> list[np.ndarray]:
    """Both ends of windows, of which some are replaced."""
    n, found = len(empty), [room(len(empty), np.int64) for _ in ends]
    given = [np.ascontiguousarray(side, np.int64) for side in ends]
    arrays: list[np.ndarray] = [empty.view(np.int8), *given, *found]
    memory = (*(number for array in arrays for number in (array.ctypes.data, 0)), 0)
    loop(replace_empty, Replaced)(memory, n, int(np.argmin(empty)))
    return found


class Columns(NamedTuple):
    """The columns that `find_empty` reads and writes; rows are counted from the first at hand."""

    taken: Int8
    youngest: Int64  # before each row that is looked at, the youngest that is taken
    empty: Int8  # whether each window is, at first not
    held: int


def find_empty(memory: Memory, windows: Windows, start: int, stop: int, stretch: int) -> int:
    """Marks windows in which no row is taken, and counts them.

    Ends that only grow are looked at by stretches of windows: where the youngest row that is
    taken before the end of the first one is in the last one too, none of them is empty. 0: ends
    go anywhere in rows `start` to `stop`.
    """
    q = attach(memory)
    if stretch == 0:
        find_youngest(q, max(0, start), stop, -1)
        return mark_empty(q, windows, 0, windows.n)
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
        youngest = row if row >= least else youngest
        if youngest >= begin:
            seen = end
            continue
        start = max(seen, row_at(windows.lo, begins, first, in_step) - base)
        seen = max(start, row_at(windows.hi, ends, last, in_step) - base)
        youngest = find_youngest(q, start, seen, youngest)
        count += mark_empty(q, windows, first, last + 1)
    return count


def find_youngest(q: Any, row: int, end: int, youngest: int) -> int:
    """The youngest row that is taken, before each row up to `end`; and the last one."""
    q.youngest[row] = youngest
    for i in range(row, end):
        youngest = i if q.taken[i] else youngest
        q.youngest[i + 1] = youngest
    return youngest


def mark_empty(q: Any, windows: Windows, first: int, stop: int) -> int:
    """Marks the empty ones of some windows, and counts them."""
    begins, ends = integers(windows.lo), integers(windows.hi)
    in_step, base = windows.shape == IN_STEP, windows.base
    count = 0
    for i in range(first, stop):
        begin = row_at(windows.lo, begins, i, in_step) - base
        end = row_at(windows.hi, ends, i, in_step) - base
        empty = end <= begin or q.youngest[end] < begin
        q.empty[i] = empty
        count += empty
    return count


@functools.cache
def loop(driver: Callable[..., Any], columns: type) -> Any:
    """A compiled loop."""
    return compiled(driver, time_target(np.dtype(np.int64), Lengths, columns)).run
