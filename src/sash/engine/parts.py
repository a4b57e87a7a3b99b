"""Parts: sorted rows in parts that run side by side, each with the rows that its windows reach."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import FURTHEST, LEAST
from sash.engine.columns import one_array
from sash.engine.order import ticks
from sash.engine.team import Team
from sash.plan.definition import Query
from sash.plan.reach import reach_of

WORTH_A_THREAD = 1 << 18
"""Rows from which on a further thread is worth its start."""


@dataclass(frozen=True)
class Sorted:
    """Rows in order of key and time, and where those of each key begin; None: there is one."""

    table: pa.Table
    starts: np.ndarray | None

    def key_of(self, row: int) -> tuple[int, int]:
        """The first row of a row's key, and the row after its last."""
        n = self.table.num_rows
        if self.starts is None:
            return 0, n
        after = int(np.searchsorted(self.starts, row, "right"))
        end = self.starts[after] if after < len(self.starts) else n
        return int(self.starts[after - 1]), int(end)

    def starts_in(self, part: Part) -> np.ndarray:
        """Where keys begin in a part, counted from its first row, which begins its first key."""
        first = np.zeros(1, np.int64)
        if self.starts is None:
            return first
        begin, end = np.searchsorted(self.starts, (part.first, part.last - 1), "right")
        return np.append(first, self.starts[begin:end] - part.first)


@dataclass(frozen=True)
class Part:
    """Rows `begin` to `end` - 1 of a table, and the rows around them that their windows reach."""

    first: int
    begin: int
    end: int
    last: int


def split(query: Query, rows: Sorted, team: Team) -> list[Part]:
    """As many parts that can run by themselves as there are threads worth their start."""
    n = rows.table.num_rows
    parts = min(team.threads, 1 + n // WORTH_A_THREAD)
    if parts <= 1:
        return [Part(0, 0, n, n)]
    cuts = [n * k // parts for k in range(1, parts)]
    near = around(query, rows.table)
    if near is None:  # only where a key begins
        cuts = sorted({rows.key_of(cut)[0] for cut in cuts} - {0})
        return [Part(b, b, e, e) for b, e in itertools.pairwise([0, *cuts, n])]
    found = []
    for begin, end in itertools.pairwise([0, *cuts, n]):
        first = near.before(begin, rows.key_of(begin)[0])
        found.append(Part(first, begin, end, near.after(end, rows.key_of(end - 1)[1])))
    return found


@dataclass(frozen=True)
class Around:
    """Finds the rows around others that windows reach."""

    times: np.ndarray
    behind: float
    ahead: float
    rows_behind: int
    rows_ahead: int

    def before(self, row: int, key_first: int) -> int:
        """The first row that windows of `row` and later ones reach."""
        edge = moved(self.times[row], -self.behind)
        by_time = key_first + int(np.searchsorted(self.times[key_first:row], edge, "left"))
        return max(key_first, min(by_time, row - self.rows_behind))

    def after(self, row: int, key_end: int) -> int:
        """The row after the last that windows of rows before `row` reach, and its peers."""
        edge = moved(self.times[row - 1], self.ahead)
        by_time = row + int(np.searchsorted(self.times[row:key_end], edge, "right"))
        return min(key_end, max(by_time, row + self.rows_ahead))

    def before_moment(self, time: Any, first: int, stop: int) -> int:
        """The first of rows `first` to `stop` - 1 that windows at `time` and later ones reach."""
        times = self.times[first:stop]
        by_time, rank = np.searchsorted(times, (moved(time, -self.behind), time), "left")
        return first + max(0, min(int(by_time), int(rank) - self.rows_behind))

    def after_moment(self, time: Any, first: int, stop: int) -> int:
        """The row after the last of them that windows at `time` and earlier ones reach."""
        times = self.times[first:stop]
        by_time, rank = np.searchsorted(times, (moved(time, self.ahead), time), "right")
        return min(stop, first + max(int(by_time), int(rank) + self.rows_ahead))


def moved(times: Any, by: float) -> Any:
    """Times moved by so much, as a pass of bounds moves them, or further."""
    if times.dtype.kind == "f":
        return times + times.dtype.type(by)
    steps = min(max(math.floor(by) if by < 0 else math.ceil(by), LEAST), FURTHEST)
    return np.clip(times, LEAST - min(steps, 0), FURTHEST - max(steps, 0)) + np.int64(steps)


def around(query: Query, table: pa.Table) -> Around | None:
    """The rows around others in a sorted table; None where windows reach without a bound."""
    found = reach_of(query, table.schema)
    sizes = (found.behind, found.ahead, found.rows_behind, found.rows_ahead)
    if query.every is not None or None in sizes:
        return None
    column = one_array(table.column(query.time))
    times = ticks(column, query.time, query.descending, query.null_times)
    return Around(times, *sizes)  # type: ignore[arg-type]
