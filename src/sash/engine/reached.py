"""Reached: the events that windows at the moments of a spine can reach.

Where keys are many and moments few, most events are in no window: their key is not asked for,
or not near their time. One pass finds the others, before anything is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine import partition as loops
from sash.engine.bounds import FURTHEST, LEAST
from sash.engine.fixed import is_fixed, rebuilt, room
from sash.engine.parts import moved
from sash.engine.team import Team
from sash.kernel.words import Int64, Memory, Partials, attach, get, prefetch
from sash.plan.reach import Reach

LOOKS, WORTH_LEAVING_OUT = 1 << 14, 0.5
"""Events that are looked at; and the share of them that windows can reach, below which it is
worth to leave the others out."""


class Store(NamedTuple):
    """What a pass reads and writes."""

    time: Partials  # of events
    codes: Int64  # of their keys
    ends: Partials  # of each code: the earliest time and the latest that windows reach
    rows: Int64  # the events that are reached
    held: int


def reach_rows(memory: Memory, begin: int, end: int, step: int, keyed: int) -> int:
    """Write which of the events `begin`, `begin` + `step`, … windows reach, from place `begin`
    on; give how many."""
    q = attach(memory)
    found = begin
    for i in range(begin, end, step):
        if i + loops.AHEAD < end and keyed:
            prefetch(q.ends, 2 * q.codes[i + loops.AHEAD])
        at, t = 2 * q.codes[i] if keyed else 0, get(q.time, i)
        q.rows[found] = i  # and again, until one is reached: no branch that is hard to foretell
        found += int(get(q.ends, at) <= t) & int(t <= get(q.ends, at + 1))
    return found - begin


@dataclass(frozen=True)
class Near:
    """For each code, the earliest time and the latest that windows reach."""

    ends: np.ndarray

    @staticmethod
    def to(times: np.ndarray, begins: np.ndarray, reach: Reach) -> Near:
        """What windows reach from moments of these times, in order of code and time.

        `begins`: the first moment of each code, and then their number.
        """
        least, most = (-np.inf, np.inf) if times.dtype.kind == "f" else (LEAST, FURTHEST)
        some = begins[:-1] < begins[1:]  # a code without moments reaches nothing
        first, last = times[begins[:-1] * some], times[begins[1:] - 1]
        is_bounded = reach.ahead is not None and reach.rows_ahead == 0
        earliest = moved(first, -reach.behind) if reach.by_time else least  # type: ignore[operator]
        latest = moved(last, reach.ahead) if is_bounded else most  # type: ignore[arg-type]
        ends = np.empty((len(some), 2), times.dtype)
        ends[:, 0], ends[:, 1] = np.where(some, earliest, most), np.where(some, latest, least)
        return Near(ends)

    def rows(self, times: np.ndarray, codes: np.ndarray | None, team: Team) -> np.ndarray | None:
        """The events that windows can reach, by their times and codes; None where that is most
        of them."""
        n, keyed = len(times), codes is not None
        run = loops.kernel(reach_rows, Store, times.dtype)
        rows, keys = room(n, np.int64), self.ends if codes is None else codes
        arrays = (times, -1), (keys, 0), (self.ends, -1), (rows, 0)
        memory = (*(number for a, kind in arrays for number in (a.ctypes.data, kind)), 0)
        step = max(1, n // LOOKS)
        if run(memory, 0, n, step, keyed) * step >= WORTH_LEAVING_OUT * n:
            return None
        parts = team.parts(n)
        counts = team.map(lambda part: run(memory, *part, 1, keyed), parts)
        return np.concatenate([rows[a : a + c] for (a, _), c in zip(parts, counts, strict=True)])


def only(column: pa.Array, rows: np.ndarray, team: Team) -> pa.Array:
    """Some rows of a column."""
    if not is_fixed(column.type):
        return column.take(pa.array(rows))
    return rebuilt(column, lambda cells: only_cells(cells, rows, team))


def only_cells(cells: np.ndarray, rows: np.ndarray, team: Team) -> np.ndarray:
    """Some of an array's numbers."""
    found = room(len(rows), cells.dtype)
    team.over(len(rows), lambda a, b: cells.take(rows[a:b], out=found[a:b], mode="clip"))
    return found
