"""Runs: the longest increasing run, the AMTA paper's example of several dimensions.

A run can go on over the border of two partials, so each knows the run it begins with
and the run it ends with. Legend of a state, n >= 1 items:

    N       n
    FIRST, LAST          the first and the last value
    HEAD, HEAD_END       the run at its beginning: count and last time
    TAIL, TAIL_START     the run at its end: count and first time
    BEST, START, END     its longest run: count, first and last time
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.order import above
from sash.monoids.recipe import entry
from sash.monoids.sums import INT64
from sash.monoids.variants import counted, has_null, nullable, number, zero

N, FIRST, LAST, HEAD, HEAD_END, TAIL, TAIL_START, BEST, START, END = range(10)


class Run(NamedTuple):
    """A run: the times of its first and last item, the time between them, its items."""

    start: Any
    end: Any
    interval: Any
    count: Any


def LongestRun(*, dtype: Any = None) -> Monoid:
    """The longest run of strictly increasing values, the earliest of equals.

    Items are (time, value); an item that is a value alone is its own time.

    >>> w = LongestRun()
    >>> runs = [w.lift((time, value)) for time, value in enumerate([5, 1, 2, 4, 3])]
    >>> total = runs[0]
    >>> for run in runs[1:]:
    ...     total = w.combine(total, run)
    >>> w.lower(total)
    Run(start=1, end=3, interval=2, count=3)
    """
    monoid = nullable("LongestRun", begun, joined, longest, skips=has_null, typed=_typed)
    return entry(LongestRun, monoid, dtype)


def RunLength(*, dtype: Any = None) -> Monoid:
    """How many items the longest run of strictly increasing values has.

    Its state is that of `LongestRun`, over values alone.

    >>> w = RunLength()
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(2), w.lift(2))))
    2
    """

    def typed(dtype: Any) -> Monoid | None:
        found = None if isinstance(dtype, tuple | list) else _typed(dtype)
        return None if found is None else found.with_(name="RunLength", lower=length)

    monoid = nullable("RunLength", begun, joined, length, empty=int, skips=has_null, typed=typed)
    return entry(RunLength, monoid, dtype)


def length(v: Any) -> Any:
    """The items of the longest run of a partial."""
    return v[BEST]


def _typed(dtype: Any) -> Monoid | None:
    pair = isinstance(dtype, tuple | list)
    kinds = [number(d) for d in dtype] if pair else [number(dtype)] * 2
    if len(kinds) != 2 or kinds[0] is None or kinds[1] is None:
        return None
    time, value = (INT64 if kinds[0].kind == "b" else kinds[0]), kinds[1]
    state = (INT64, value, value, INT64, time, INT64, time, INT64, time, time)
    identity = tuple(zero(np.dtype(d)) for d in state)
    lift = begun_at if pair else begun_alone
    return Monoid("LongestRun", identity, lift, counted(joined), longest, dtype=state)


def begun(x: Any) -> Any:
    """A run of one item."""
    return begun_at(x) if isinstance(x, tuple | list) else begun_alone(x)


def begun_alone(x: Any) -> Any:
    """A run of one item that is its own time."""
    return begun_at((x, x))


def begun_at(x: Any) -> Any:
    """A run of one item, of (time, value)."""
    time, value = x
    return (1, value, value, 1, time, 1, time, 1, time, time)


def joined(a: Any, b: Any) -> Any:
    """Two partials next to each other; where the second goes on rising, runs join."""
    if not above(b[FIRST], a[LAST]):
        best = a if a[BEST] >= b[BEST] else b
        head, tail, ends = a, b, (best[BEST], best[START], best[END])
        begins = (head[HEAD], head[HEAD_END], tail[TAIL], tail[TAIL_START])
        return _state(a, b, begins, ends)
    across = a[TAIL] + b[HEAD]
    ends = (across, a[TAIL_START], b[HEAD_END])
    if a[BEST] >= across and a[BEST] >= b[BEST]:
        ends = (a[BEST], a[START], a[END])
    elif b[BEST] > across:
        ends = (b[BEST], b[START], b[END])
    whole_a, whole_b = a[HEAD] == a[N], b[TAIL] == b[N]
    begins = (
        across if whole_a else a[HEAD],
        b[HEAD_END] if whole_a else a[HEAD_END],
        across if whole_b else b[TAIL],
        a[TAIL_START] if whole_b else b[TAIL_START],
    )
    return _state(a, b, begins, ends)


def _state(a: Any, b: Any, begins: Any, ends: Any) -> Any:
    return (
        a[N] + b[N], a[FIRST], b[LAST],
        begins[0], begins[1], begins[2], begins[3],
        ends[0], ends[1], ends[2],
    )  # fmt: skip


def longest(v: Any) -> Run:
    """The longest run of a partial."""
    return Run(v[START], v[END], v[END] - v[START], v[BEST])
