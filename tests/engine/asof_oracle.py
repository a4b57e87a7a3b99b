"""As-of windows by brute force: which events are in the window of a spine row at time t."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sash.plan.definition import Query
from sash.windows import Frame
from sash.windows.frames import (
    Calendar,
    Delta,
    Groups,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    Until,
)
from tests.engine.oracle import answer
from tests.windows.oracle import in_range, in_window, is_in, number, sliding_windows

Row = dict[str, Any]


def expected(query: Query, events: list[Row], spine: list[Row]) -> dict[str, list[Any]]:
    """Each aggregation's answers for the rows of a spine; events of equal time are in order."""
    at = query.spine
    assert at is not None
    known = [row for row in events if row[query.time] is not None]
    known.sort(key=lambda row: tick(row[query.time]))
    found: dict[str, list[Any]] = {out: [] for out in query.aggregations}
    for asked in spine:
        key = [asked[name] for name in at.by]
        mine = [row for row in known if [row[name] for name in query.by] == key]
        t = asked[at.time]
        for out, a in query.aggregations.items():
            assert a.frame is not None
            inside = [] if t is None else window(a.frame, mine, query.time, t, at.with_moment)
            found[out].append(answer(a, inside))
    return found


def tick(time: Any) -> Any:
    """A time as a number, in nanoseconds since 1970."""
    if not isinstance(time, dt.datetime):
        return time
    return (time - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) * 1000


def window(frame: Frame, events: list[Row], time: str, t: Any, with_moment: bool) -> list[Row]:
    """The events of a key, in order, that are in the window at t."""
    times, now = [tick(row[time]) for row in events], tick(t)
    before = sum(x <= now if with_moment else x < now for x in times)
    inside = sorted(_inside(frame, events, time, times, (t, now), before))
    chosen = inside if frame.most is None else inside[-frame.most :]
    return [events[i] for i in chosen]


def _inside(
    frame: Frame, events: list[Row], time: str, times: list[Any], at: Any, before: int
) -> list[int]:
    (t, now), every, last = at, range(len(times)), before - 1
    match frame:
        case Range(p, f, closed):
            return [i for i in every if in_range(times[i] - now, p, f, closed)]
        case Rows(p, f):
            low = [i for i in every if p is None or last - i <= p]
            return [i for i in low if f is None or i - last <= f]
        case Groups(p, f):
            groups = sorted(set(times))
            here = groups.index(times[last]) if before else -1
            return [
                i
                for i in every
                if (p is None or here - groups.index(times[i]) <= p)
                and (f is None or groups.index(times[i]) - here <= f)
            ]
        case Lifetime():
            return list(range(before))
        case Session(gap):
            goes_on = before and now - times[last] <= number(gap)
            return [i for i in in_window(frame, last, times) if i < before] if goes_on else []
        case Calendar():
            assert frame.unit == "day"
            return [i for i in range(before) if events[i][time].date() == t.date()]
        case Sliding():
            having = [w for w in sliding_windows(frame, now, now) if is_in(now, *w, frame.closed)]
            start, _ = min(having, key=lambda w: w[1])
            return [i for i in range(before) if is_in(times[i], start, now + 1, frame.closed)]
        case Delta() | Until():
            column = [row[frame.columns[0]] for row in events]
            return in_window(frame, last, times, column=column) if before else []
    raise TypeError(frame)
