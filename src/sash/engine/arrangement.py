"""Arrangement: rows brought in order of key and time, and their answers back.

Rows that are in order of time already, as tables mostly are, need only be brought together
by key. Each row's place is then known as rows are read from first to last, and both ways
touch one cache line per key. Others are sorted: by key and the first bits of their time at
once, then each of the short runs that this gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import partition as loops
from sash.engine.team import Team

INT64 = np.dtype(np.int64)


class Codes(NamedTuple):
    """A number for the key of each row, all below `size`."""

    values: np.ndarray
    size: int


class Arrangement:
    """Where each row goes, or where each comes from, in order of key and time."""

    def __init__(
        self, places: np.ndarray, begins: np.ndarray, team: Team, by_rank: bool = False
    ) -> None:
        """`places`: where each row of those in order comes from; `by_rank`: where each goes.
        `begins`: where the rows of each code begin, in order."""
        self._places, self._by_rank, self._team = places, by_rank, team
        self._begins = begins

    def into(self, column: pa.Array) -> pa.Array:
        """A column's rows in order."""
        if not is_fixed(column.type):
            return column.take(pa.array(self.order))
        return rebuilt(column, lambda cells: self._move(cells, self._by_rank))

    def back(self, column: pa.Array) -> pa.Array:
        """A column of answers in the order that rows had."""
        if not is_fixed(column.type):
            return column.take(pa.array(self.ranks))
        return rebuilt(column, lambda cells: self._move(cells, not self._by_rank))

    @property
    def codes(self) -> np.ndarray:
        """The code of each row, in order."""
        counts = np.diff(self._begins, append=len(self._places))
        return np.repeat(np.arange(len(counts)), counts)

    @property
    def order(self) -> np.ndarray:
        """The rows, in order."""
        return self._turned() if self._by_rank else self._places

    @property
    def ranks(self) -> np.ndarray:
        """Where each row is, in order."""
        return self._places if self._by_rank else self._turned()

    def _turned(self) -> np.ndarray:
        return self._move(np.arange(len(self._places)), scatters=True)

    def _move(self, cells: np.ndarray, scatters: bool) -> np.ndarray:
        to = np.empty_like(cells)
        driver = loops.scatter if scatters else loops.gather
        run = loops.kernel(driver, loops.Cells, cells.dtype)
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
        return Arrangement(*ranks_of(codes, team), team, by_rank=True)
    return Arrangement(*sorted_rows(codes, times, team), team)


FIRST_LOOK = 1 << 14
"""Rows that are looked at first: rows in no order at all are seen for what they are."""


def in_order(codes: Codes | None, times: np.ndarray, team: Team) -> tuple[bool, bool]:
    """Whether rows are in order of code and time, and in order of time alone."""
    run = loops.kernel(loops.disorder, loops.Steps, times.dtype)
    keys = 0 if codes is None else codes.values.ctypes.data
    memory = (times.ctypes.data, -1, keys, 0, 0)

    def look(begin: int, end: int) -> Any:
        return run(memory, max(1, begin), end, codes is not None)

    n = len(times)
    both, time = look(0, min(n, FIRST_LOOK))
    if both and time:
        return False, False
    found = np.array(team.over(n, look)).reshape(-1, 2).sum(axis=0)
    return not found[0], not found[1]


def ranks_of(codes: Codes, team: Team) -> tuple[np.ndarray, np.ndarray]:
    """Where each row goes to be with the others of its code, in the order they have; and
    where each code begins."""
    ranks = np.empty(len(codes.values), np.int64)
    starts, parts = starts_of(codes, team)
    begins = starts[0].copy()
    run = loops.kernel(loops.place, loops.Rows, INT64)

    def place(k: int) -> None:
        addresses = (codes.values.ctypes.data, starts[k].ctypes.data, ranks.ctypes.data)
        run((addresses[0], 0, addresses[1], 0, addresses[2], 0, 0), *parts[k])

    team.map(place, range(len(parts)))
    return ranks, begins


def starts_of(codes: Codes, team: Team) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """For each part of the rows, where its first row of each code goes; and the parts."""
    parts = team.parts(len(codes.values))
    counts = np.zeros((len(parts), codes.size), np.int64)
    run = loops.kernel(loops.count, loops.Rows, INT64)

    def count(k: int) -> None:
        run((codes.values.ctypes.data, 0, counts[k].ctypes.data, 0, 0, 0, 0), *parts[k])

    team.map(count, range(len(parts)))
    flat = counts.T.ravel()
    ends = np.cumsum(flat)
    starts = (ends - flat).reshape(codes.size, len(parts))
    return np.ascontiguousarray(starts.T), parts


RUN = 512
"""Rows of a run, about: sorting them stays in the nearest cache."""

WIDTH = 8
"""Bits of a digit, at most."""


def sorted_rows(
    codes: Codes | None, times: np.ndarray, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """The rows in order of code and time, ties as they come; and where each code begins."""
    n = len(times)
    fine, values, rest = finer(codes, *from_zero(times, team), team)
    starts, parts = starts_of(fine, team)
    begins = np.append(starts[0], n)
    pairs, spare = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    digits = -(-rest // WIDTH)
    width = -(-rest // max(1, digits))

    def memory(starts: np.ndarray, counts: np.ndarray) -> tuple[int, ...]:
        arrays = (values, fine.values, starts, pairs, spare, begins, counts)
        return (*(number for a in arrays for number in (a.ctypes.data, 0)), 0)

    def place(k: int) -> None:
        run = loops.kernel(loops.place_pairs, loops.Pairs, INT64)
        run(memory(starts[k], begins), *parts[k])

    def sort(first: int, last: int) -> None:
        run = loops.kernel(loops.sort_runs, loops.Pairs, INT64)
        runs = np.searchsorted(begins[:-1], (first, last))  # those that begin in these rows
        counts = np.empty(max(1, digits) << width, np.int64)
        run(memory(begins, counts), int(runs[0]), int(runs[1]), digits, width)

    team.map(place, range(len(parts)))
    team.over(n, sort)
    every = 1 if codes is None else fine.size // codes.size
    return np.ascontiguousarray(pairs[1::2]), begins[:-1:every]


def from_zero(times: np.ndarray, team: Team) -> tuple[np.ndarray, int]:
    """Numbers from 0 on in the order of times, and how many bits they have."""
    if times.dtype.kind == "f":  # floats as integers in their order; -0.0 is 0.0
        bits = (times.astype(np.float64) + 0.0).view(np.int64)
        times = bits ^ ((bits >> 63) & np.int64((1 << 63) - 1))
    n = len(times)
    least = min(team.over(n, lambda a, b: int(times[a:b].min())))
    most = max(team.over(n, lambda a, b: int(times[a:b].max())))
    values, zero = np.empty(n, np.uint64), np.uint64(least & ((1 << 64) - 1))
    team.over(n, lambda a, b: np.subtract(times[a:b].view(np.uint64), zero, values[a:b]))
    return values, (most - least).bit_length()


def finer(
    codes: Codes | None, values: np.ndarray, bits: int, team: Team
) -> tuple[Codes, np.ndarray, int]:
    """Codes of key and time together, so that runs are short; what is left of the times, and
    how many bits that has: 63 at most, as runs are compared with a sign."""
    n = len(values)
    given = Codes(np.zeros(n, np.int64), 1) if codes is None else codes
    more = max(bits - 63, min(bits, (n // (RUN * given.size)).bit_length()))
    if more <= 0:
        return given, values.view(np.int64), bits
    rest, fine = bits - more, np.empty(n, np.int64)

    def refine(a: int, b: int) -> None:
        np.right_shift(values[a:b], np.uint64(rest), fine.view(np.uint64)[a:b])
        fine[a:b] += given.values[a:b] << more
        values[a:b] &= np.uint64((1 << rest) - 1)

    team.over(n, refine)
    return Codes(fine, given.size << more), values.view(np.int64), rest


def is_fixed(kind: pa.DataType) -> bool:
    """Whether a column's values are cells of 1, 2, 4 or 8 bytes."""
    simple = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    return simple and kind.bit_width in (8, 16, 32, 64)


def rebuilt(column: pa.Array, move: Any) -> pa.Array:
    """A column whose values, and what says which are null, have been moved."""
    n, (_, data) = len(column), column.buffers()
    cells = np.dtype(f"u{column.type.bit_width // 8}")
    values = np.frombuffer(data, cells, n, column.offset * cells.itemsize)
    valid = None
    if column.null_count:
        known = np.asarray(pc.is_valid(column)).view(np.uint8)
        valid = pa.py_buffer(np.packbits(move(known), bitorder="little"))
    return pa.Array.from_buffers(column.type, n, [valid, pa.py_buffer(move(values))])
