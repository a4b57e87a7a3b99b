"""Windows of one size and slide over slices, as runs of neighbours that have the same slices.

From one window to the next a slice leaves or enters, or nothing changes: with many keys and a short
slide mostly nothing. A run is answered once, and its answer is written for each of its windows.

Cost    at most two runs per slice, one per key, and what comes out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import advance
from sash.engine.columns import answers_as, numbers
from sash.engine.frames import time_target
from sash.engine.periodic_bounds import FIRST, first_with
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, Partial, Partials, attach, get, put


class Columns(NamedTuple):
    """What `find_runs` reads and writes: slices by time, where keys begin, and the runs."""

    time: Partials
    keys: Int64
    lo: Int64
    hi: Int64
    number: Int64  # of a run's first window: it starts at offset + number * slide
    count: Int64
    held: int


class At(NamedTuple):
    """The next run: of which key, the number of its first window, and its slices so far."""

    key: int
    number: int
    lo: int
    hi: int
    least: int  # the number of the first window that is asked for
    size: Partial
    slide: Partial
    offset: Partial
    upto: Partial  # the end of the last one


def find_runs(memory: Memory, at: At, available: int, keys: int, room: int) -> Any:
    """The next runs of windows [start, end) that are complete, at most `room`; and how many."""
    q = attach(memory)
    key, number, lo, hi, least, size, slide, offset, upto = at
    n = 0
    while key < keys:
        stop = q.keys[key + 1] if key + 1 < keys else available
        lo, hi = max(lo, q.keys[key]), max(hi, q.keys[key])
        while lo < stop:
            before = first_with(get(q.time, lo), size, slide, offset, False) - 1
            number = max(number, least, before)  # floats are rounded: it may be the first
            start = offset + number * slide
            if get(q.time, lo) < start:
                lo = advance(q, lo, stop, start, False)
                continue
            if start + size > upto:
                lo = stop
                break
            if n == room:
                return At(key, number, lo, hi, least, size, slide, offset, upto), n
            hi = advance(q, hi, stop, start + size, False)
            if hi <= lo:
                number += 1
                continue
            last = int((min(get(q.time, lo), upto - size) - offset) // slide)
            if hi < stop:
                last = min(last, first_with(get(q.time, hi), size, slide, offset, False) - 1)
            last = max(last, number)
            while last > number and not same_slices(q, last, lo, hi, stop, at):
                last -= 1  # floats are rounded
            q.lo[n], q.hi[n], q.number[n], q.count[n] = lo, hi, number, last - number + 1
            n += 1
            number = last + 1
            lo = advance(q, lo, stop, offset + number * slide, False)
        key += 1
        number = FIRST
    return At(key, number, lo, hi, least, size, slide, offset, upto), n


def same_slices(q: Any, number: int, lo: int, hi: int, stop: int, at: At) -> bool:
    """Whether a window is complete, has slice lo, and does not have slice hi."""
    start = at.offset + number * at.slide
    if start > get(q.time, lo) or start + at.size > at.upto:
        return False
    return hi == stop or get(q.time, hi) >= start + at.size


class Spread(NamedTuple):
    """What `spread_windows` reads and writes: runs, and when each of their windows begins and
    ends."""

    number: Int64
    count: Int64
    begin: Partials
    end: Partials
    held: int


class Lengths(NamedTuple):
    """The kind of windows."""

    size: Partial
    slide: Partial
    offset: Partial


def spread_windows(memory: Memory, at: Lengths, runs: int) -> Lengths:
    """Write when each window of runs begins and ends."""
    q = attach(memory)
    n = 0
    for i in range(runs):
        for number in range(q.number[i], q.number[i] + q.count[i]):
            start = put(q.begin, n, at.offset + number * at.slide)
            put(q.end, n, start + at.size)
            n += 1
    return at


class Runs(NamedTuple):
    """Runs of windows: slices lo to hi - 1, the number of the first window, and how many."""

    lo: np.ndarray
    hi: np.ndarray
    number: np.ndarray
    counts: np.ndarray

    @property
    def windows(self) -> int:
        return int(self.counts.sum())

    def repeated(self, array: pa.Array) -> pa.Array:
        """A value per run as one per window."""
        plain = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
        if (plain or pa.types.is_timestamp(array.type)) and not array.null_count:
            return answers_as(np.repeat(numbers(array), self.counts), None, array.type)
        return array.take(pa.array(np.repeat(np.arange(len(self.lo)), self.counts)))


class RunFinder:
    """Finds the runs of one kind of windows."""

    def __init__(self, dtype: np.dtype, size: float, slide: float, offset: float) -> None:
        self._dtype = dtype
        self._lengths = Lengths(*(dtype.type(x) for x in (size, slide, offset)))
        self._find = compiled(find_runs, time_target(dtype, At, Columns)).run
        self._spread = compiled(spread_windows, time_target(dtype, Lengths, Spread)).run

    def find(self, times: np.ndarray, keys: np.ndarray, least: int, upto: float) -> Runs:
        """The runs over slices of these times; `keys`: where each key begins. `least`: the number
        of the first window that is asked for, `upto`: when the last one ends."""
        times, keys = np.ascontiguousarray(times, self._dtype), np.ascontiguousarray(keys)
        at, found = At(0, FIRST, 0, 0, least, *self._lengths, self._dtype.type(upto)), []
        room = 2 * len(times) + len(keys) + 1
        while True:
            made = [np.empty(room, np.int64) for _ in range(4)]
            addresses = [address for a in (keys, *made) for address in (a.ctypes.data, 0)]
            memory = (times.ctypes.data, -1, *addresses, 0)
            at, n = self._find(memory, at, len(times), len(keys), room)
            found.append([each[:n] for each in made])
            if n < room:
                break
        return Runs(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def spans(self, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
        """When each window of runs begins and ends."""
        begin, end = (np.empty(runs.windows, self._dtype) for _ in range(2))
        memory = (
            runs.number.ctypes.data, 0, runs.counts.ctypes.data, 0,
            begin.ctypes.data, -1, end.ctypes.data, -1, 0,
        )  # fmt: skip
        self._spread(memory, self._lengths, len(runs.number))
        return begin, end
