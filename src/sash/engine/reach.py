"""Reach: how far a query's windows reach from a row, which says what must be kept and awaited."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.engine.definition import Query, unit_of
from sash.engine.frames import steps_of
from sash.windows.frames import Frame, Range, Rows, Sliding


@dataclass(frozen=True)
class Reach:
    """How far windows reach from a row's time, in the time column's steps, and in rows.

    `behind` is None where time alone does not say what a later row can reach: frames by
    rows, sessions and the like. `ahead` and `rows_ahead` are None without a bound.
    """

    behind: float | None
    ahead: float | None
    rows_ahead: int | None


def reach_of(query: Query, schema: pa.Schema) -> Reach:
    """How far all of a query's windows reach."""
    unit = unit_of(schema.field(query.time).type)
    if query.every is not None:
        return Reach(steps_of(query.every.size, unit), 0, 0)
    frames = [a.frame for a in query.aggregations.values() if a.frame is not None]
    behind = [_behind(frame, unit) for frame in frames]
    ahead = [_ahead(frame, unit) for frame in frames]
    rows_ahead = [_rows_ahead(frame) for frame in frames]
    return Reach(
        None if None in behind else max((b for b in behind if b is not None), default=0),
        None if None in ahead else max((b for b in ahead if b is not None), default=0),
        None if None in rows_ahead else max((b for b in rows_ahead if b is not None), default=0),
    )


def _behind(frame: Frame, unit: int | None) -> float | None:
    if isinstance(frame, Range) and frame.preceding is not None:
        return max(0, steps_of(frame.preceding, unit))
    if isinstance(frame, Sliding):
        return steps_of(frame.size, unit)
    return None


def _ahead(frame: Frame, unit: int | None) -> float | None:
    if not isinstance(frame, Range):
        return 0
    return None if frame.following is None else max(0, steps_of(frame.following, unit))


def _rows_ahead(frame: Frame) -> int | None:
    if not isinstance(frame, Rows):
        return 0
    return None if frame.following is None else max(0, frame.following)


def kept_by_content(frame: Frame) -> bool:
    """Whether time alone does not say what a later row can reach."""
    return _behind(frame, None) is None
