"""Arrangement: rows brought in order of key and time, and their answers back.

Rows that are in order of time already, as tables mostly are, need only be brought together
by key. Each row's place is then known as rows are read from first to last, and both ways
touch one cache line per key. Others are sorted: by key and the first bits of their time at
once, then each of the short runs that this gives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine import partition as loops
from sash.engine.filling import Filling
from sash.engine.fixed import is_movable, rebuilt, room
from sash.engine.flagged import scattered, takes_flags
from sash.engine.team import Team

INT64 = np.dtype(np.int64)


NARROW = 1 << 31
"""Rows up to which their numbers are kept in 32 bits, which are moved sooner."""


def place_type(n: int) -> np.dtype:
    """The type of the numbers of n rows."""
    return np.dtype(np.int32 if n < NARROW else np.int64)


class Codes(NamedTuple):
    """A number for the key of each row, all below `size`."""

    values: np.ndarray
    size: int


class Placed(NamedTuple):
    """Places of rows, where the rows of each code begin in order, and their times if sorted."""

    places: np.ndarray
    begins: np.ndarray
    times: np.ndarray | None = None


class Arrangement:
    """Where each row goes, or where each comes from, in order of key and time.

    `begins`: where the rows of each code begin in order; `times`: in order, if known.
    """

    def __init__(self, found: Placed, team: Team, by_rank: bool = False) -> None:
        """`by_rank`: places are where each row goes, not where each comes from."""
        self._places, self.begins, self.times = found
        self._by_rank, self._team = by_rank, team

    def into(self, column: pa.Array) -> pa.Array:
        """A column's rows in order."""
        if not is_movable(column.type):
            return column.take(pa.array(self.order))
        return rebuilt(column, lambda cells: self._move(cells, self._by_rank))

    def into_with(
        self, column: pa.Array, flags: pa.BooleanArray
    ) -> tuple[pa.Array, pa.BooleanArray] | None:
        """The rows of the column of time and of one of booleans in order, moved together; None:
        they cannot be."""
        narrow = self._by_rank and self._places.dtype == np.int32
        if not narrow or flags.null_count or not takes_flags(column):
            return None
        return scattered(column, flags, self._places, self._team)

    def back(self, column: pa.Array) -> pa.Array:
        """A column of answers in the order that rows had."""
        if not is_movable(column.type):
            return column.take(pa.array(self.ranks))
        return rebuilt(column, lambda cells: self._move(cells, not self._by_rank))

    def back_of(self, answers: Filling) -> pa.Array:
        """The answers that have been put there, in the order that rows had."""
        move = functools.partial(self._move, scatters=not self._by_rank)
        found = answers.moved(move, self._team)
        return self.back(answers.column()) if found is None else found

    @property
    def codes(self) -> np.ndarray:
        """The code of each row, in order."""
        counts = np.diff(self.begins, append=len(self._places))
        return np.repeat(np.arange(len(counts), dtype=place_type(len(counts))), counts)

    @property
    def starts(self) -> np.ndarray:
        """The first row of each code that has rows, in order."""
        counts = np.diff(self.begins, append=len(self._places))
        return np.ascontiguousarray(self.begins[counts > 0])

    @property
    def order(self) -> np.ndarray:
        """The rows, in order."""
        return self._turned() if self._by_rank else self._places

    @property
    def ranks(self) -> np.ndarray:
        """Where each row is, in order."""
        return self._places if self._by_rank else self._turned()

    def _turned(self) -> np.ndarray:
        return self._move(np.arange(len(self._places), dtype=self._places.dtype), scatters=True)

    def _move(self, cells: np.ndarray, scatters: bool) -> np.ndarray:
        to = room(len(cells), cells.dtype)
        driver = loops.scatter if scatters else loops.gather
        store = loops.Cells if self._places.dtype == np.int32 else loops.WideCells
        run = loops.kernel(driver, store, cells.dtype)
        memory = (cells.ctypes.data, -1, to.ctypes.data, -1, self._places.ctypes.data, 0, 0)
        self._team.over(len(cells), lambda begin, end: run(memory, begin, end))
        return to


def arranged(codes: Codes | None, times: np.ndarray, team: Team) -> Arrangement | None:
    """How rows come in order of code and time, ties as they are; None: they are in order."""
    by_both, by_time = in_order(codes, times, team)
    if by_both:
        return None
    if by_time:
        assert codes is not None
        return Arrangement(ranks_of(codes, team), team, by_rank=True)
    return Arrangement(sorted_rows(codes, times, team), team)


FIRST_LOOK = 1 << 14
"""Rows that are looked at first: rows in no order at all are seen for what they are."""


def in_order(codes: Codes | None, times: np.ndarray, team: Team) -> tuple[bool, bool]:
    """Whether rows are in order of code and time, and in order of time alone."""
    n = len(times)
    driver = loops.goes_back if codes is None else loops.disorder
    run = loops.kernel(driver, loops.Steps, times.dtype)
    coded = 0 if codes is None else codes.values.ctypes.data
    memory = (times.ctypes.data, -1, coded, 0, 0)

    def look(begin: int, end: int) -> Any:
        return run(memory, max(1, begin), end)

    both, time = look(0, min(n, FIRST_LOOK))
    if both and time:
        return False, False
    found = np.array(team.over(n, look)).reshape(-1, 2).sum(axis=0)
    return not found[0], not found[1]


def ranks_of(codes: Codes, team: Team) -> Placed:
    """Where each row goes to be with the others of its code, in the order they have."""
    n = len(codes.values)
    ranks = room(n, place_type(n))
    store = loops.Rows if n < NARROW else loops.WideRows

    def count(counts: np.ndarray, begin: int, end: int) -> None:
        run = loops.kernel(loops.count, store, INT64)
        run(memory_of(codes.values, counts, ranks), begin, end)

    def place(k: int) -> None:
        run = loops.kernel(loops.place, store, INT64)
        run(memory_of(codes.values, starts[k], ranks), *parts[k])

    starts, parts = starts_of(codes.size, team, n, count)
    begins = starts[0].copy()
    team.map(place, range(len(parts)))
    return Placed(ranks, begins)


def starts_of(
    size: int, team: Team, n: int, count: Callable[[np.ndarray, int, int], Any]
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """For each part of n rows, where its first row of each code goes; and the parts."""
    parts = team.parts(n)
    counts = np.zeros((len(parts), size), np.int64)
    team.map(lambda k: count(counts[k], *parts[k]), range(len(parts)))
    loops.kernel(loops.begin_codes, loops.Counts, INT64)(memory_of(counts), size, len(parts))
    return counts, parts


RUN = 512
"""Rows of a run, about: sorting them stays in the nearest cache."""

WIDTH = 8
"""Bits of a digit, at most."""


def sorted_rows(codes: Codes | None, times: np.ndarray, team: Team) -> Placed:
    """The rows in order of code and time, ties as they come."""
    n, size = len(times), 1 if codes is None else codes.size
    values = times if times.dtype.kind == "i" else sortable(times)
    zero, bits = extent(values, team)
    more = max(bits - 63, min(bits, (n // (RUN * size)).bit_length()), 0)
    shape = (codes is not None, more, bits - more, zero)  # of a fine code
    pairs = room(2 * n, np.int64)
    keys = values if codes is None else codes.values

    def memory(*arrays: np.ndarray) -> tuple[int, ...]:
        return memory_of(values, keys, arrays[0], pairs, *arrays[1:])

    def count(counts: np.ndarray, begin: int, end: int) -> None:
        run = loops.kernel(loops.count_fine, loops.Pairs, INT64)
        run(memory(counts, counts, counts, counts), begin, end, *shape)

    def place(k: int) -> None:
        run = loops.kernel(loops.place_pairs, loops.Pairs, INT64)
        run(memory(starts[k], starts, starts, starts), *parts[k], *shape)

    starts, parts = starts_of(size << more, team, n, count)
    begins = np.append(starts[0], n)
    team.map(place, range(len(parts)))
    sort_each(pairs, begins, bits - more, team)
    rows, in_order = room(n, place_type(n)), room(n, np.int64)
    unpair = loops.kernel(loops.unpair, loops.Sorted if n < NARROW else loops.WideSorted, INT64)
    team.over(n, lambda a, b: unpair(memory_of(pairs, rows, in_order), a, b, zero))
    return Placed(rows, begins[: -1 : 1 << more], in_order if values is times else None)


def sort_each(pairs: np.ndarray, begins: np.ndarray, bits: int, team: Team) -> None:
    """Sort each run of pairs by the last `bits` bits of its values."""
    digits = -(-bits // WIDTH)
    width = -(-bits // max(1, digits))
    longest = int(np.diff(begins).max())

    def sort(first: int, last: int) -> None:
        run = loops.kernel(loops.sort_runs, loops.Pairs, INT64)
        runs = np.searchsorted(begins[:-1], (first, last))  # those that begin in these rows
        counts, spare = np.empty(max(1, digits) << width, np.int64), np.empty(2 * longest, np.int64)
        memory = memory_of(pairs, pairs, pairs, pairs, spare, begins, counts)
        run(memory, int(runs[0]), int(runs[1]), digits, width)

    team.over(len(pairs) // 2, sort)


def memory_of(*arrays: np.ndarray) -> tuple[int, ...]:
    """The addresses of a loop's arrays."""
    return (*(number for a in arrays for number in (a.ctypes.data, 0)), 0)


def sortable(times: np.ndarray) -> np.ndarray:
    """Floats as integers in their order; -0.0 is 0.0."""
    bits = (times.astype(np.float64) + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64((1 << 63) - 1))


def extent(values: np.ndarray, team: Team) -> tuple[int, int]:
    """The least of some numbers, and how many bits the largest has above it."""
    least = min(team.over(len(values), lambda a, b: int(values[a:b].min())))
    most = max(team.over(len(values), lambda a, b: int(values[a:b].max())))
    return least, (most - least).bit_length()
