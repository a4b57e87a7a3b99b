"""Reach: how far windows reach from a row, which says what has to be kept, awaited or copied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sash.plan.definition import Query
from sash.plan.types import unit_of
from sash.windows.duration import Duration
from sash.windows.frames import (
    Bound,
    Calendar,
    Frame,
    Groups,
    OwnBounds,
    Range,
    Rows,
    Sliding,
    SlidingCalendar,
    SlidingRows,
    length,
)


@dataclass(frozen=True)
class Reach:
    """How far windows reach from a row: in the time column's steps, and in rows.

    None: without a bound, or, for `behind`, one that the rows' values decide.
    """

    behind: float | None = 0
    ahead: float | None = 0
    rows_behind: int | None = 0
    rows_ahead: int | None = 0

    @property
    def by_time(self) -> bool:
        """Whether time alone says what a row reaches before it."""
        return self.behind is not None and self.rows_behind == 0


def reach_of(query: Query, schema: pa.Schema) -> Reach:
    """How far all of a query's windows reach."""
    unit = unit_of(schema.field(query.time).type)
    frames = [a.frame for a in query.aggregations.values() if a.frame is not None]
    each = [reach_of_frame(frame, unit, query.spine is not None) for frame in frames]
    return Reach(
        _furthest(r.behind for r in each),
        _furthest(r.ahead for r in each),
        _furthest(r.rows_behind for r in each),
        _furthest(r.rows_ahead for r in each),
    )


def reach_of_frame(frame: Frame, unit: int | None, as_of: bool = False) -> Reach:
    """How far one frame reaches, in steps of `unit` nanoseconds; `as_of`: from a moment between
    rows, of which the last row before it may be any time ago."""
    if as_of and isinstance(frame, Groups):
        return Reach(None, 0 if frame.following is not None and frame.following <= 0 else None)
    if as_of and isinstance(frame, Rows) and frame.preceding is not None:
        return replace(reach_of_frame(frame, unit), rows_behind=1 + max(0, frame.preceding))
    if isinstance(frame, Range):
        behind, ahead = (
            None if bound is None else max(0, steps_of(bound, unit))
            for bound in (frame.preceding, frame.following)
        )
        return Reach(behind, ahead)
    if isinstance(frame, Groups):  # how far a number of groups reaches, rows decide
        behind, ahead = (
            0 if n is not None and n <= 0 else None for n in (frame.preceding, frame.following)
        )
        return Reach(behind, ahead)
    if isinstance(frame, Rows):
        rows = (None if n is None else max(0, n) for n in (frame.preceding, frame.following))
        return Reach(0, 0, *rows)
    if isinstance(frame, OwnBounds):
        return Reach(None, None, None, None)
    if isinstance(frame, Calendar):
        return Reach(steps_of(frame.longest, unit))
    if isinstance(frame, SlidingCalendar):
        assert isinstance(frame.size, int)
        return Reach(frame.size * steps_of(frame.calendar.longest, unit))
    if isinstance(frame, Sliding):
        return Reach(steps_of(frame.size, unit))
    if isinstance(frame, SlidingRows):
        return Reach(rows_behind=frame.size)
    return Reach(None)


def _furthest(bounds: Iterable[Any]) -> Any:
    found = list(bounds)
    known = [b for b in found if b is not None]
    return max(known) if len(known) == len(found) else None


def steps_of(bound: Bound | None, unit: int | None) -> Any:
    """A bound in the time column's own steps, `unit` nanoseconds each; as it is for numbers."""
    if bound is None:
        return 0
    size = length(bound)
    if not isinstance(bound, Duration) or not unit:
        return size
    if size % unit:
        raise ValueError(
            f"{bound} is no whole number of the time column's steps of {Duration(unit)}: give one, "
            "or cast the column to a finer type, such as a timestamp"
        )
    return size // unit
