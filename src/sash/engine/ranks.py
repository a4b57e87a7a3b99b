"""Ranks: rows numbered among those whose column is not null."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.fixed import known_of, room
from sash.engine.frames import measured, time_target
from sash.engine.lengths import Lengths
from sash.engine.pieces import Pieces
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.drivers import row_at
from sash.kernel.words import IN_STEP, Int8, Int64, Memory, Windows, attach, numbers
from sash.swag.inputs import Asked


class Columns(NamedTuple):
    """The columns that the loops read and write."""

    known: Int8  # whether each row is known
    ranks: Int64  # how many known rows come before each, from row `base` on
    lo: Int64
    hi: Int64
    to_lo: Int64
    to_hi: Int64
    held: int


def count_known(memory: Memory, n: int, before: int) -> int:
    """How many known rows come before each of n rows, and before the one after them."""
    q = attach(memory)
    for i in range(n):
        q.ranks[i] = before
        before += q.known[i]
    return before


class Kept(NamedTuple):
    """The columns that `count_and_keep` reads and writes."""

    known: Int8
    ranks: Int64
    values: Int64
    kept: Int64
    held: int


def count_and_keep(memory: Memory, n: int, before: int) -> int:
    """As `count_known`; the values of known rows move to the front: each is written, and few
    stay."""
    q = attach(memory)
    count = 0
    for i in range(n):
        q.ranks[i] = before + count
        q.kept[count] = q.values[i]
        count += q.known[i]
    return before + count


def rank_windows(memory: Memory, n: int, base: int, end: int, known: int, inside: int) -> int:
    """n windows among the known rows, of which there are `known` before row `end`.

    `inside`: no end is before row `base`, or after the last one that is counted.
    """
    q = attach(memory)
    if inside:
        for i in range(n):
            q.to_lo[i] = q.ranks[q.lo[i] - base]
        for i in range(n):
            q.to_hi[i] = q.ranks[q.hi[i] - base]
        return n
    for i in range(n):
        q.to_lo[i] = rank(q, q.lo[i], base, end, known)
    for i in range(n):
        q.to_hi[i] = rank(q, q.hi[i], base, end, known)
    return n


def count_windows(memory: Memory, windows: Windows, end: int, known: int, inside: int) -> int:
    """How many known rows each window has, as `rank_windows` ranks them."""
    q = attach(memory)
    n, base, in_step = windows.n, windows.base, windows.shape == IN_STEP
    begins, ends = numbers(windows.lo), numbers(windows.hi)
    if inside and not in_step:
        for i in range(n):
            q.sizes[i] = q.ranks[ends[i] - base] - q.ranks[begins[i] - base]
        return n
    for i in range(n):
        lo, hi = row_at(windows.lo, begins, i, in_step), row_at(windows.hi, ends, i, in_step)
        q.sizes[i] = rank(q, hi, base, end, known) - rank(q, lo, base, end, known)
    return n


class Sizes(NamedTuple):
    """The columns that `count_windows` reads and writes."""

    ranks: Int64
    sizes: Int64
    held: int


def rank(q: Any, row: int, base: int, end: int, known: int) -> int:
    """How many known rows come before one; of rows before `base`, all are taken for known."""
    if row >= end:
        return known
    return q.ranks[row - base] if row >= base else q.ranks[0] + row - base


@functools.cache
def loop(driver: Callable[..., Any], columns: type = Columns) -> Any:
    """A compiled loop."""
    return compiled(driver, time_target(np.dtype(np.int64), Lengths, columns)).run


class Ranks:
    """The number of each row among the known ones, where there are nulls; itself where not."""

    def __init__(self) -> None:
        self._rows = 0
        self._tape: Tape | None = None  # from the first null on
        self._known = 0

    def take(self, column: pa.Array) -> pa.Array:
        """Count a column's rows; give its known ones."""
        if column.null_count == 0 and self._tape is None:
            self._rows += len(column)
            return column
        self.mark(known_of(column))
        return column.drop_null() if column.null_count else column

    def mark(self, known: np.ndarray) -> None:
        """Count rows, of which some are known."""
        self._count(known, loop(count_known), (0,) * 9)

    def mark_keeping(self, known: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Count rows, of which some are known; gives the cells, of 64 bits, of those."""
        kept = room(len(known) + 1, np.int64)
        places = (cells.ctypes.data, 0, kept.ctypes.data, 0, 0)
        return kept[: self._count(known, loop(count_and_keep, Kept), places)]

    def _count(self, known: np.ndarray, run: Any, more: tuple[int, ...]) -> int:
        """Count rows by a loop, with `more` that it reads and writes; gives how many are known."""
        if self._tape is None:
            self._tape = Tape(np.int64)
            self._tape.base, self._known = self._rows, self._rows
        flags, counted = np.ascontiguousarray(known).view(np.int8), room(len(known), np.int64)
        memory = (flags.ctypes.data, 0, counted.ctypes.data, 0, *more)
        before, self._known = self._known, run(memory, len(known), self._known)
        self._tape.add(counted)
        self._rows += len(known)
        return self._known - before

    @overload
    def of(self, bounds: Bounds) -> Bounds: ...

    @overload
    def of(self, bounds: Pieces) -> Pieces: ...

    def of(self, bounds: Bounds | Pieces) -> Bounds | Pieces:
        """The same windows among the known rows."""
        if self._tape is None:
            return bounds
        if isinstance(bounds, Pieces):
            return bounds.each(self.of)
        tape, n = self._tape, len(bounds.lo)
        given = (np.ascontiguousarray(side, np.int64) for side in (bounds.lo, bounds.hi))
        if len(tape) == 0:  # no row has come since
            return Bounds.of(*(np.minimum(side, tape.base) for side in given))
        lo, hi = room(n, np.int64), room(n, np.int64)
        arrays = (*given, lo, hi)
        places = (number for a in arrays for number in (a.ctypes.data, 0))
        memory = (0, 0, tape.data, 0, *places, 0)
        end = tape.base + len(tape)
        loop(rank_windows)(memory, n, tape.base, end, self._known, self._has(bounds))
        return measured(lo, hi) if bounds.grow else Bounds.of(lo, hi)

    def sizes(self, bounds: Bounds | Pieces) -> np.ndarray:
        """How many known rows windows have."""
        tape = self._tape
        if tape is None or len(tape) == 0 or isinstance(bounds, Pieces):
            return self.of(bounds).sizes
        found = room(len(bounds), np.int64)
        memory = (tape.data, 0, found.ctypes.data, 0, 0)
        windows = Asked(tape.base, *bounds.ends, bounds.longest, bounds.shape).compiled()
        end = tape.base + len(tape)
        loop(count_windows, Sizes)(memory, windows, end, self._known, self._has(bounds))
        return found

    def _has(self, bounds: Bounds) -> bool:
        """Whether both ends of all windows are rows that are counted."""
        assert self._tape is not None
        (lo, hi), first = bounds.ends, self._tape.base
        rows = len(bounds) > 0 and bounds.grow
        return bool(rows and lo[0] >= first and hi[-1] < first + len(self._tape))

    def before(self, row: int) -> int:
        """How many known rows come before one."""
        tape = self._tape
        if tape is None or (len(tape) == 0 and row < tape.base):
            return row
        place = row - tape.base
        if place >= len(tape):
            return self._known
        return int(tape.values[max(place, 0)]) + min(place, 0)

    def forget(self, row: int) -> None:
        if self._tape is not None:
            self._tape.forget(min(row, self._tape.base + len(self._tape) - 1))
