"""Each frame's definition by brute force: which rows are in the window of row i.

Rows of one key, sorted by time; rows of equal time are peers. No cleverness: every
row is asked whether it is in.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sash.monoids import Monoid
from sash.windows import (
    Delta,
    Duration,
    Frame,
    Lifetime,
    Policy,
    Range,
    Rows,
    Session,
    Sliding,
    Until,
)


def number(bound: Any) -> Any:
    return bound.ns if isinstance(bound, Duration) else bound


def in_window(
    frame: Frame,
    i: int,
    times: Sequence[Any],
    values: Sequence[Any] = (),
    column: Sequence[Any] = (),
    monoid: Monoid | None = None,
) -> list[int]:
    """The rows in the window of row i; `column` is what Delta and Until read."""
    n = len(times)
    match frame:
        case Rows(p, f):
            return [j for j in range(n) if (p is None or i - j <= p) and (f is None or j - i <= f)]
        case Range(p, f, closed):
            return [j for j in range(n) if in_range(times[j] - times[i], p, f, closed)]
        case Lifetime():
            return [j for j in range(n) if times[j] <= times[i]]
        case Session(gap):
            return session_so_far(times, i, number(gap))
        case Sliding():
            return sliding_so_far(frame, times, i)
        case Delta(_, d):
            return list(range(delta_start(column, i, number(d)), i + 1))
        case Until(predicate, _):
            ends = [bool(predicate(x)) if predicate else bool(x) for x in (column or values)]
            return [j for j in range(i + 1) if not any(ends[j:i])]
        case Policy(function, of):
            return policy_window(function, of or monoid, values, i)
    raise TypeError(frame)


def in_range(away: Any, preceding: Any, following: Any, closed: str) -> bool:
    after, before = True, True
    if preceding is not None:
        lo = -number(preceding)
        after = away >= lo if closed in ("both", "left") else away > lo
    if following is not None:
        hi = number(following)
        before = away <= hi if closed in ("both", "right") else away < hi
    return after and before


def session_so_far(times: Sequence[Any], i: int, gap: Any) -> list[int]:
    start = i
    while start > 0 and times[start] - times[start - 1] <= gap:
        start -= 1
    return [j for j in range(start, len(times)) if times[j] <= times[i]]


def sliding_windows(frame: Sliding, lo: Any, hi: Any) -> list[tuple[Any, Any]]:
    """All windows (start, end) that have a point of lo to hi, oldest first."""
    size, slide, offset = number(frame.size), number(frame.slide), number(frame.offset)
    first = int((lo - size - offset) // slide) - 1
    last = int((hi - offset) // slide) + 1
    starts = [offset + k * slide for k in range(first, last + 1)]
    return [(s, s + size) for s in starts if s <= hi and s + size >= lo]


def is_in(time: Any, start: Any, end: Any, closed: str) -> bool:
    return in_range(time - start, 0, end - start, closed)


def sliding_so_far(frame: Sliding, times: Sequence[Any], i: int) -> list[int]:
    windows = sliding_windows(frame, times[i], times[i])
    having = [w for w in windows if is_in(times[i], *w, frame.closed)]
    if not having:  # closed neither: a row on the edge of tumbling windows is in none
        return []
    start, end = min(having, key=lambda w: w[1])
    times_in = [j for j in range(len(times)) if is_in(times[j], start, end, frame.closed)]
    return [j for j in times_in if times[j] <= times[i]]


def delta_start(column: Sequence[Any], i: int, d: Any) -> int:
    start = 0
    for newest in range(i + 1):
        while start < newest and not close(column[newest], column[start], d):
            start += 1
    return start


def close(x: Any, y: Any, d: Any) -> bool:
    return x is not None and y is not None and abs(x - y) <= d


def policy_window(
    function: Callable[[Any, Any], bool], monoid: Any, values: Sequence[Any], i: int
) -> list[int]:
    window: list[int] = []
    for newest in range(i + 1):
        window.append(newest)
        total = fold(monoid, [values[j] for j in window])
        evicted = 0
        while evicted < len(window) and function(
            total, fold(monoid, [values[j] for j in window[: evicted + 1]])
        ):
            evicted += 1
        window = window[evicted:]
    return window


def fold(monoid: Monoid, values: Sequence[Any]) -> Any:
    total = monoid.identity
    for x in values:
        total = monoid.combine(total, monoid.lift(x))
    return total
