"""Bounds of each row's own: two columns say where its window begins and ends.

The windows of neighbouring rows may lie anywhere among the rows of their key, so a key's rows are
answered when all of them are in memory, and each end is found by binary search.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import numbers
from sash.engine.exclusion import Block, Exclusion
from sash.engine.frames import time_target
from sash.engine.pieces import Pieces
from sash.engine.rows import Rows
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, Partials, attach, get
from sash.windows.frames import OwnBounds

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Columns(NamedTuple):
    """The times of all rows, the edges that are looked for, and the rows of each row's key."""

    times: Partials
    edges: Partials
    first: Int64
    stop: Int64
    found: Int64
    held: int


class At(NamedTuple):
    """Nothing is kept."""

    none: int


def search(memory: Memory, at: At, n: int, past: int) -> At:
    """The first row of a key at or, with `past`, after each edge."""
    q = attach(memory)
    for i in range(n):
        edge, lo, hi = get(q.edges, i), q.first[i], q.stop[i]
        while lo < hi:
            middle = (lo + hi) >> 1
            time = get(q.times, middle)
            if time < edge or (past and time == edge):
                lo = middle + 1
            else:
                hi = middle
        q.found[i] = lo
    return at


@functools.cache
def searcher(dtype: np.dtype) -> Any:
    """The search, compiled for times of a type."""
    return compiled(search, time_target(dtype, At, Columns)).run


class OwnBoundsAtWork:
    """The columns of bounds of rows that are not answered yet, and the windows that they are."""

    def __init__(self, frame: OwnBounds, rows: Rows) -> None:
        self._frame, self._rows = frame, rows
        self._kind = np.dtype(np.int64) if frame.unit == "rows" else rows.dtype
        self._bounds = {name: Tape(self._kind) for name in frame.columns}
        excludes = frame.exclude is not None
        self._exclusion = Exclusion(frame, rows.dtype) if excludes else None

    def take(self, columns: dict[str, pa.Array]) -> None:
        for name, tape in self._bounds.items():
            column = columns[name]
            if column.null_count:
                raise ValueError(
                    f"{self._frame}: column {name!r} has nulls, and a window has two ends: "
                    "fill them or drop those rows"
                )
            tape.add(numbers(self._in_steps(name, column)).astype(self._kind, copy=False))

    def _in_steps(self, name: str, column: pa.Array) -> pa.Array:
        """Durations as steps of the time column; numbers as they are."""
        unit = self._rows.plan.unit
        if self._frame.unit == "rows" or unit is None:
            return column
        own = UNITS[column.type.unit]  # durations, as the plan has checked
        steps = numbers(column).astype(np.int64)
        if own >= unit:
            return pa.array(steps * (own // unit))
        if (steps % (unit // own)).any():
            raise ValueError(f"{name}: has parts of the time column's steps: cast the times first")
        return pa.array(steps // (unit // own))

    def ready(self, times: np.ndarray, last_key: int, last: bool) -> int:
        """Rows whose key is complete."""
        return len(times) if last else last_key

    def find(self, begin: int, end: int) -> Bounds | Pieces:
        rows = self._rows
        starts, stops = (
            tape.values[begin - tape.base : end - tape.base] for tape in self._bounds.values()
        )
        first, stop = self._keys(begin, end)
        if self._frame.unit == "rows":
            at = np.arange(begin, end)
            lo, hi = np.clip(at + starts, first, stop), np.clip(at + stops + 1, first, stop)
        else:
            own = rows.time.values[begin - rows.time.base : end - rows.time.base]
            lo = self._searched(_moved(own, starts), first, stop, past=False)
            hi = self._searched(_moved(own, stops), first, stop, past=True)
        found = Bounds.of(lo, np.maximum(lo, hi))
        if self._exclusion is None:
            return found
        return self._exclusion.cut(Block(found, begin, rows.keys, rows.count), rows.time)

    def _keys(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """The first row of each row's key, and the row after its last."""
        keys = np.append(self._rows.keys_from(begin), self._rows.count)
        key = np.searchsorted(keys, np.arange(begin, end), "right") - 1
        return keys[key], keys[key + 1]

    def _searched(
        self, edges: np.ndarray, first: np.ndarray, stop: np.ndarray, past: bool
    ) -> np.ndarray:
        time, found = self._rows.time, np.empty(len(edges), np.int64)
        base = time.base
        first, stop = first - base, stop - base
        places = [time.data, *(a.ctypes.data for a in (edges, first, stop, found))]
        masks = (-1, -1, 0, 0, 0)
        memory = (*(x for pair in zip(places, masks, strict=True) for x in pair), 0)
        searcher(time.values.dtype)(memory, At(0), len(edges), past)
        return found + base

    def oldest(self, bounds: Any, done: int) -> int:
        """The first row that a later window may have: that of the key."""
        keys = self._rows.keys_from(done)
        return int(keys[0]) if len(keys) else done

    def forget(self, row: int) -> None:
        for tape in self._bounds.values():
            tape.forget(row)


def _moved(times: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Times moved by steps; where 64 bits are too few, as far as they go."""
    moved = np.ascontiguousarray(times + by)
    if times.dtype.kind == "i":
        limits = np.iinfo(times.dtype)
        moved[(by > 0) & (moved < times)] = limits.max
        moved[(by < 0) & (moved > times)] = limits.min
    return moved
