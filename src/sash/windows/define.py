"""How users define frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from sash.windows.arguments import (
    bound_of,
    check_column,
    check_takes,
    closed_of,
    is_unbounded,
    positive_bound,
    whole_number,
)
from sash.windows.duration import Duration, positive
from sash.windows.frames import (
    Calendar,
    Closed,
    Delta,
    Frame,
    Groups,
    Lifetime,
    OwnBounds,
    Policy,
    Range,
    Rows,
    Session,
    Sliding,
    SlidingCalendar,
    Tumbling,
    Until,
    length,
)

CALENDAR = re.compile(r"(\d+)?\s*(day|week|month|quarter|year)s?", re.IGNORECASE)


def rows(n: int) -> Rows:
    """The last `n` rows, the current one included.

    >>> rows(50)
    <Rows: the last 50 rows>
    """
    if whole_number(n, "n") < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    return Rows(int(n) - 1, 0)


def rows_between(start: int | None, end: int | None, empty: bool = False) -> Rows | OwnBounds:
    """As SQL's ROWS: negative numbers precede, 0 is the current row, None is unbounded.

    `empty`: a start after the end is no mistake, and every window is without rows.

    >>> print(rows_between(-2, 2))
    rows from 2 before to 2 after
    """
    own = own_bounds("rows", start, end)
    return Rows(*_counts(start, end, empty)) if own is None else own


def own_bounds(unit: Literal["rows", "time"], start: Any, end: Any) -> OwnBounds | None:
    """The frame whose bounds are columns, as `sf.col` gives them; None where they are not."""
    names = [getattr(bound, "name", None) for bound in (start, end)]
    if names == [None, None]:
        return None
    for bound, name in zip((start, end), names, strict=True):
        if not isinstance(name, str):
            raise TypeError(
                f"start and end are both columns or neither: {bound!r} is not a column, as "
                'sf.col("before") is; add a column of constants or of an expression first'
            )
    return OwnBounds(unit, *names)  # type: ignore[arg-type]


def groups_between(start: int | None, end: int | None, empty: bool = False) -> Groups:
    """As SQL's GROUPS: rows of equal time count as one; else as `rows_between`.

    >>> print(groups_between(-2, 0))
    groups from 2 before to the current row
    """
    return Groups(*_counts(start, end, empty))


def _counts(start: Any, end: Any, empty: bool) -> tuple[int | None, int | None]:
    lo = None if is_unbounded(start, -1, "start") else whole_number(start, "start")
    hi = None if is_unbounded(end, 1, "end") else whole_number(end, "end")
    if lo is not None and hi is not None and lo > hi and not empty:
        raise ValueError(f"start={start} comes after end={end}; negative numbers precede")
    return None if lo is None else -lo, hi


def range_between(
    start: Any, end: Any, closed: Closed | None = None, empty: bool = False
) -> Range | OwnBounds:
    """As SQL's RANGE: from time + start to time + end, both numbers or both durations.

    Negative precedes; 0 is the current row and its peers; None is unbounded. `closed`: "both"
    by default, and in as-of windows what `at` says. "1 hour preceding", "current row" and
    "unbounded preceding" are understood.
    `empty`: a start after the end is no mistake, and every window is without rows. Columns
    (`sf.col("before")`) give each row bounds of its own, numbers or durations.

    >>> range_between("-1 hour", 0) == range_between("1 hour preceding", "current row")
    True
    """
    own = own_bounds("time", start, end)
    if own is not None:
        return own
    lo, hi = bound_of(start, -1, "start"), bound_of(end, 1, "end")
    if isinstance(lo, Duration) and hi == 0:
        hi = Duration(0)
    if isinstance(hi, Duration) and lo == 0:
        lo = Duration(0)
    if lo is not None and hi is not None:
        if isinstance(lo, Duration) != isinstance(hi, Duration):
            raise TypeError(f"start={start!r} and end={end!r}: one has a unit, one has none")
        if length(lo) > length(hi) and not empty:
            raise ValueError(
                f"start={start!r} comes after end={end!r}; what precedes is negative, as in '-1 h'"
            )
    ends = "both" if closed is None else closed_of(closed)
    return Range(None if lo is None else -lo, hi, ends, told=closed is not None)


def session(gap: Any) -> Session:
    """Rows with no pause longer than `gap` between them, up to the current one.

    >>> print(session("30 minutes"))
    the session so far, gap 30 minutes
    """
    return Session(positive_bound(gap, "gap"))


def delta(column: Any, d: Any) -> Delta:
    """Rows whose `column`, or an expression, is within `d` of the newest row's; see `Delta`.

    >>> print(delta("km", 5))
    km within 5 of the newest
    """
    check_column(column, "column must be")
    reach = bound_of(d, 1, "d")
    if reach is None or length(reach) < 0:
        raise ValueError(f"d must be a number or a duration of at least 0, not {d!r}")
    return Delta(column, reach)


def until(predicate: Any, column: Any = None) -> Until:
    """Rows since the last one that ended a window.

    `predicate`: a column of booleans or an expression, such as sf.col("x") > 3; or a function
    of the values of `column`, which is a name or an expression.

    >>> print(until("is_last"))
    the rows since is_last was true
    """
    if not callable(predicate):
        if column is not None:
            raise TypeError("predicate must be a function where a column is given too")
        check_column(predicate, "predicate must be a function,")
        return Until(None, predicate)
    check_takes(predicate, 1, "predicate")
    return Until(predicate, column)


def policy(function: Callable[[Any, Any], bool], of: Any = None) -> Policy:
    """Rows that `function(total, old)`, over partials, does not evict; see `Policy`.

    >>> def full(total, old): return total - old >= 100
    >>> print(policy(full))
    policy full
    """
    check_takes(function, 2, "function")
    return Policy(function, of)


def tumbling(size: Any, offset: Any = 0, closed: Closed = "left") -> Tumbling:
    """Windows of `size`, one after the other, the edges at offset + k * size.

    >>> print(tumbling("1 hour"))
    each 1 hour
    """
    made = sliding(size, size, offset, closed)
    return Tumbling(made.size, made.slide, made.offset, made.closed)


def sliding(size: Any, slide: Any, offset: Any = 0, closed: Closed = "left") -> Sliding:
    """Windows of `size`, one every `slide`, the edges at offset + k * slide.

    >>> print(sliding("24 hours", "1 minute"))
    1 day every 1 minute
    """
    whole, step = positive_bound(size, "size"), positive_bound(slide, "slide")
    start = bound_of(offset, 1, "offset")
    start = Duration(0) if start == 0 and isinstance(whole, Duration) else start
    if len({isinstance(b, Duration) for b in (whole, step, start)}) > 1:
        raise TypeError(
            f"size={size!r}, slide={slide!r} and offset={offset!r} must all be durations, "
            "or all be numbers"
        )
    if length(step) > length(whole):
        raise ValueError(
            f"the slide, {step}, is longer than the size, {whole}: rows between windows would be "
            f"lost; give {_over(step)} or more, or a shorter slide"
        )
    assert start is not None
    return Sliding(whole, step, start, closed_of(closed))


def _over(size: Any) -> str:
    return f'.over("{size}")' if isinstance(size, Duration) else f"a size of {size}"


def calendar(size: str, tz: str | None = None) -> Calendar:
    """Calendar days, weeks, months, quarters or years in a time zone; see `Calendar`.

    Over it, a row's window is the period that it is in, so far. `.every(calendar(…))` gives
    one row for each period.

    >>> print(calendar("1 month", tz="Europe/Berlin"))
    the calendar month so far, in Europe/Berlin
    """
    found = CALENDAR.fullmatch(size.strip()) if isinstance(size, str) else None
    if found is None or int(found[1] or 1) < 1:
        raise ValueError(
            f"size={size!r} is not a number of days, weeks, months, quarters or years, as in "
            "'1 month'"
        )
    if tz is not None:
        try:
            ZoneInfo(tz)
        except (ValueError, OSError, ZoneInfoNotFoundError) as problem:
            raise ValueError(f"tz={tz!r} is no time zone such as 'Europe/Berlin'") from problem
    return Calendar(int(found[1] or 1), found[2].lower(), tz)


def sliding_calendar(size: Frame | None, slide: Calendar) -> SlidingCalendar:
    """Windows for `every`: of one or more of the periods that they are apart."""
    periods = None
    if isinstance(size, Calendar) and size.tz == slide.tz:
        for whole, step in ((size.months, slide.months), (size.days, slide.days)):
            if step and whole % step == 0 and whole:
                periods = whole // step
    if periods is None:
        raise ValueError(
            f"every: windows a {slide.size} apart must be over a whole number of them, such as "
            f"sash.calendar({str(slide.count) + ' ' + slide.unit!r}), not over {size}"
        )
    return SlidingCalendar(periods, 1, 0, calendar=slide)


def lifetime() -> Lifetime:
    """All rows so far.

    >>> print(lifetime())
    all rows so far
    """
    return Lifetime()


def as_frame(thing: Any, closed: Closed | None = None) -> Frame:
    """A frame as it is; a duration d as the times from t - d to t.

    `closed` is "both" by default (as SQL's RANGE); "right" is (t - d, t], as pandas
    and polars have it.

    >>> print(as_frame("24 hours", closed="right"))
    the last 1 day, closed right
    """
    if closed is not None:
        closed_of(closed)
    if isinstance(thing, Frame):
        if closed is None:
            return thing
        if isinstance(thing, Range):
            return replace(thing, closed=closed, told=True)
        if isinstance(thing, Sliding):
            return replace(thing, closed=closed)
        raise TypeError(f"closed={closed!r} has no meaning for {thing}")
    if isinstance(thing, str | timedelta | np.timedelta64 | Duration):
        told = closed is not None
        return Range(positive(thing, "frame"), Duration(0), closed or "both", told=told)
    if isinstance(thing, int | float):
        raise TypeError(
            f"a frame of {thing!r} has no unit: rows({thing!r}) for rows, '{thing} s' for a time, "
            f"range_between(-{thing!r}, 0) where time is a number"
        )
    raise TypeError(
        f"{thing!r} is not a frame: give a duration such as '24 hours', or rows, rows_between, "
        "groups_between, range_between, session, delta, until, policy, tumbling, sliding, lifetime"
    )
