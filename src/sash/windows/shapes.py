"""The changes that `.over(…)` makes to a frame: rows left out, a delay, a centre, a limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict, Unpack, get_args

from sash.windows.arguments import bound_of, whole_number
from sash.windows.duration import Duration
from sash.windows.frames import Bound, Exclude, Frame, Groups, Policy, Range, Rows, length


class Shape(TypedDict, total=False):
    """The changes that `.over(…)` can make to a frame."""

    exclude: Exclude | None
    delay: Any
    center: bool
    most: int | None
    peers: bool


def shaped(frame: Frame, **shape: Unpack[Shape]) -> Frame:
    """The frame with rows excluded, moved back by a `delay`, centred, with at most `most` rows,
    or without the peers after a row; see `Frame`.

    >>> from sash.windows.define import as_frame, rows
    >>> print(shaped(as_frame("7 days"), delay="1 day", exclude="group"))
    times from 8 days before to 1 day before, without the row and its peers
    >>> print(shaped(rows(5), center=True))
    rows from 2 before to 2 after
    """
    unknown = [name for name in shape if name not in Shape.__annotations__]
    if unknown:
        raise TypeError(f"over has no {unknown[0]!r}; there are {', '.join(Shape.__annotations__)}")
    exclude, most = shape.get("exclude"), shape.get("most")
    if exclude not in (None, *get_args(Exclude)):
        raise ValueError(f"exclude must be one of {', '.join(get_args(Exclude))}, not {exclude!r}")
    if most is not None and whole_number(most, "most") < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    if shape.get("center"):
        frame = _centred(frame)
    if shape.get("delay") is not None:
        frame = _delayed(frame, shape["delay"])
    if isinstance(frame, Policy) and (exclude or most or not shape.get("peers", True)):
        raise TypeError(f"{frame} decides itself which rows are in: nothing can be left out of it")
    return replace(frame, exclude=exclude, most=most, peers=shape.get("peers", True))


def _centred(frame: Frame) -> Frame:
    """A frame that ends at the row, moved so that the row is in its middle, as in pandas."""
    if isinstance(frame, Rows) and frame.preceding is not None and frame.following == 0:
        after = frame.preceding // 2
        return replace(frame, preceding=frame.preceding - after, following=after)
    if isinstance(frame, Range) and frame.preceding is not None and frame.following is not None:
        half = _half(frame.preceding)
        if length(frame.following) == 0:
            return replace(frame, preceding=half, following=half)
    raise TypeError(f"center=True takes a duration or sash.rows(n), not {frame}")


def _half(bound: Bound) -> Bound:
    return Duration(bound.ns // 2) if isinstance(bound, Duration) else bound / 2


def _delayed(frame: Frame, delay: Any) -> Frame:
    """A frame that ends earlier: by a duration, or by a number of the frame's own unit."""
    if isinstance(frame, Rows | Groups):
        by: Any = whole_number(delay, "delay")
    elif isinstance(frame, Range):
        by = bound_of(delay, 1, "delay")
    else:
        raise TypeError(f"delay has no meaning for {frame}")
    if by is None or length(by) < 0:
        raise ValueError(f"delay must be at least 0, not {delay!r}")

    def moved(bound: Any, sign: int) -> Any:
        if bound is None:
            return None
        if isinstance(bound, Duration) != isinstance(by, Duration) and length(bound):
            raise TypeError(f"delay={delay!r} and {frame}: one has a unit, one has none")
        sum_ = length(bound) + sign * length(by)
        return Duration(int(sum_)) if isinstance(by, Duration) else sum_

    return replace(frame, preceding=moved(frame.preceding, 1), following=moved(frame.following, -1))
