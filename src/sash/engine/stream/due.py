"""Rows that are due, and how far left and right their windows begin and end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sash.engine.columns import numbers, one_array
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.lookups import LEAST, MOST, sortable
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.sorted_keys import starts
from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Range, Sliding


class Span(NamedTuple):
    """From where to where something reaches, in ticks of time."""

    least: float
    most: float


NO_SPAN = Span(0, 0)
FURTHEST = 1 << 62
"""Lengths beyond it are without limit."""


@dataclass(frozen=True)
class Edges:
    """How far left and right the windows of rows between two times begin and end, and whether
    rows at the very ends are in."""

    behind: float
    behind_least: float
    ahead: float
    with_left: bool = True
    with_right: bool = True

    @staticmethod
    def of(frame: Frame, unit: int | None) -> Edges:
        if isinstance(frame, Range):
            behind = math.inf if frame.preceding is None else steps_of(frame.preceding, unit)
            ahead = math.inf if frame.following is None else steps_of(frame.following, unit)
            left, right = (frame.closed in ("both", side) for side in ("left", "right"))
            return Edges(behind, behind, ahead, left, right)
        assert isinstance(frame, Sliding)
        size, slide = steps_of(frame.size, unit), steps_of(frame.slide, unit)
        return Edges(size, max(0, size - slide), 0)

    def left(self, due: Span) -> Span:
        """Between which times windows of rows that are due begin."""
        return Span(due.least - self.behind, due.most - self.behind_least)

    def right(self, due: Span) -> Span:
        """Between which times they end."""
        return Span(due.least + self.ahead, due.most + self.ahead)


def keys_of(rows: Rows) -> KeyMap:
    """The keys of rows in order of key."""
    first = starts(rows.ids)
    return KeyMap(rows.ids[first], rows.checks[first], None, [])


@dataclass
class Due:
    """Rows to be answered, in order of key and time, all of neighbouring times.

    `since`: where only some of the rows of these times are due, the number of the first one.
    `is_new`: no rows that are here are younger.
    """

    rows: Rows
    keys: KeyMap
    since: int | None = None
    is_new: bool = True

    @staticmethod
    def of(rows: Rows, since: int | None = None, is_new: bool = True) -> Due:
        return Due(rows, keys_of(rows), since, is_new)

    @cached_property
    def span(self) -> Span:
        return Span(self.rows.times.min().item(), self.rows.times.max().item())

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last time of each key."""
        first = starts(self.rows.ids)
        return self.rows.times[first], self.rows.times[np.append(first[1:], len(self.rows)) - 1]

    def reached(self, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
        """From where to where the windows of each key reach, or its rows if those are further."""
        least, most = self.ends
        return moved(least, -max(0, edges.behind)), moved(most, max(0, edges.ahead))


@dataclass
class Moment(Due):
    """No row, but a time at which a key is asked for."""

    moment: Span = NO_SPAN
    is_new: bool = False

    @cached_property
    def span(self) -> Span:
        return self.moment

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        least, most = (np.full(len(self.keys.ids), time) for time in self.moment)
        return least, most


NUMBER = "_row"
"""The column that numbers rows of one time, where only some of them are due."""


def marked(due: Due, rows: Rows) -> np.ndarray:
    """Which rows are due: those of its times, and since its first number where rows have some."""
    if isinstance(due, Moment):
        return np.zeros(len(rows), np.bool_)
    marks: np.ndarray = (rows.times >= due.span.least) & (rows.times <= due.span.most)
    if due.since is not None:
        marks &= numbers(one_array(rows.table.column(NUMBER))) >= due.since
    return marks


def moved(times: np.ndarray, by: float, up: bool | None = None) -> np.ndarray:
    """Times moved by a length, as `sortable` has them. Where that is rounded, they are no further
    down than they should be, or no further up; by default no nearer to where they were."""
    up = by > 0 if up is None else up
    if math.isinf(by) or abs(by) > FURTHEST:
        return np.full(len(times), LEAST if by < 0 else MOST)
    if times.dtype.kind == "f":
        towards = math.inf if up else -math.inf
        return sortable(np.nextafter(times + by, towards)) if by else sortable(times)
    return sortable(times) + (math.ceil(by) if up else math.floor(by))
