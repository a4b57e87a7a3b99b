"""Moments: times that windows are asked at, between the rows of a key, and ranks among the rows.

Moments are in order of key and time, as rows are, so that a moment's rank, how many rows come
before it, only grows. It is found by galloping from the rank of the moment before: the cost
of a moment is the logarithm of how many rows lie between the two, and rows that no moment is
near are not looked at.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sash.engine.bounds import FURTHEST, INTEGERS, LEAST, PAST
from sash.engine.frames import time_target
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import BELOW, Int64, Memory, Partial, Partials, attach, below, get, outlined

NEAR = 4 * BELOW
"""Rows after the last rank that are counted at once, before steps double."""


@dataclass(frozen=True)
class Moments:
    """Times in order of key and time; the rows of each one's key are `first` to `stop` - 1.

    `known`: which of them are times at all, None: all. The others come first in their key.
    """

    times: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    known: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.times)

    def part(self, begin: int, end: int | None) -> Moments:
        """Some of the moments."""
        known = None if self.known is None else self.known[begin:end]
        return Moments(self.times[begin:end], self.first[begin:end], self.stop[begin:end], known)

    def at(self, times: np.ndarray) -> Moments:
        """The same moments on another clock."""
        return Moments(times, self.first, self.stop, self.known)

    def within(self, begin: int, end: int) -> Moments:
        """The same moments where only rows `begin` to `end` - 1 are in memory, numbered from 0."""
        first, stop = (np.clip(rows, begin, end) - begin for rows in (self.first, self.stop))
        return Moments(self.times, first, stop, self.known)


class Store(NamedTuple):
    """The columns that a pass reads and writes."""

    time: Partials  # of rows, by row number
    at: Partials  # the moments
    first: Int64  # the first row of each moment's key
    stop: Int64  # the row after the last
    out: Int64
    held: int


class At(NamedTuple):
    """The rank of the last moment, and how far from a moment the edge is."""

    row: int
    by: Partial


def rank(memory: Memory, at: At, n: int, base: int, kind: int) -> At:
    """For each of n moments t, the first row of its key whose time is t + by or later; or
    later than that, if PAST. Rows before `base` are forgotten: no window reaches them.

    Four parts of the moments take turns, so that their loads overlap.
    """
    q = attach(memory)
    part, r0 = n // 4, max(at.row, base)
    r1 = r2 = r3 = r0
    for i in range(part):
        r0 = next_rank(q, r0, i, at.by, kind)
        r1 = next_rank(q, r1, part + i, at.by, kind)
        r2 = next_rank(q, r2, 2 * part + i, at.by, kind)
        r3 = next_rank(q, r3, 3 * part + i, at.by, kind)
    for i in range(4 * part, n):
        r3 = next_rank(q, r3, i, at.by, kind)
    return At(r3, at.by)


def next_rank(q: Any, row: int, i: int, by: Any, kind: int) -> int:
    """The rank of moment i, from that of an earlier one on."""
    row, stop, t = max(row, q.first[i]), q.stop[i], get(q.at, i)
    if kind & INTEGERS and by > 0 and t > FURTHEST - by:  # the edge is past the integers
        row = stop
    elif not (kind & INTEGERS and by < 0 and t < LEAST - by):
        row = first_not_before(q, row, stop, t + by, kind & PAST != 0)
    q.out[i] = row
    return row


def first_not_before(q: Any, row: int, stop: int, edge: Any, past: bool) -> int:
    """The first row from `row` on that is not before an edge, or `stop`.

    The next few rows are counted, without a branch that cannot be predicted (`edges.py`).
    """
    if past or row + NEAR > stop:
        return gallop(q, row, stop, edge, past)
    moves = below(q.time, row, edge) + below(q.time, row + BELOW, edge)
    moves += below(q.time, row + 2 * BELOW, edge) + below(q.time, row + 3 * BELOW, edge)
    return row + moves if moves < NEAR else gallop(q, row + NEAR, stop, edge, past)


@outlined
def gallop(q: Any, row: int, stop: int, edge: Any, past: bool) -> int:
    """The same: steps double while rows are before the edge; the last one is bisected.

    The last rows of a key are counted; many keys have no others.
    """
    while not past and row + BELOW <= stop < row + NEAR:
        moves = below(q.time, row, edge)
        row += moves
        if moves < BELOW:
            return row
    if stop < row + BELOW:
        moves = 0
        for i in range(row, stop):
            moves += int(before(get(q.time, i), edge, past))
        return row + moves
    step = 1
    while row + step <= stop and before(get(q.time, row + step - 1), edge, past):
        row += step
        step *= 2
    end = min(row + step - 1, stop)
    while row < end:
        middle = (row + end) // 2
        if before(get(q.time, middle), edge, past):
            row = middle + 1
        else:
            end = middle
    return row


def before(t: Any, edge: Any, past: bool) -> bool:
    """Whether a time is before an edge, or at it where rows at the edge are on this side."""
    return t <= edge if past else t < edge


@functools.cache
def ranking(dtype: np.dtype) -> Any:
    """The compiled pass over times of `dtype`."""
    return compiled(rank, time_target(dtype, At, Store)).run


class RankFinder:
    """Ranks of moments, moved by so much, among rows; keeps its place."""

    def __init__(self, dtype: np.dtype, by: Any = 0, past: bool = False) -> None:
        is_integer = dtype.kind == "i"
        if is_integer and past and by < FURTHEST:  # at an edge or before: before the next one
            by, past = by + 1, False
        self._kind = PAST * past | INTEGERS * is_integer
        self._at, self._dtype = At(0, dtype.type(by)), dtype
        self._run = ranking(dtype)

    def find(self, time: Tape, moments: Moments) -> np.ndarray:
        """How many rows come before each moment, in the numbers of all rows."""
        out = np.empty(len(moments), np.int64)
        arrays = (np.ascontiguousarray(moments.times, self._dtype), moments.first, moments.stop)
        given = [number for array in (*arrays, out) for number in (array.ctypes.data, 0)]
        given[1] = -1  # as cells of the times' own type
        memory = (time.address, -1, *given, 0)
        self._at = self._run(memory, self._at, len(out), time.base, self._kind)
        return out
