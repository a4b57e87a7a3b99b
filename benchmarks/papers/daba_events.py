"""Figure 12 of the DABA paper: windows by event time, over generated readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.measure import best_of
from benchmarks.papers import data, loops
from benchmarks.papers.daba_windows import (
    COMPETITORS,
    lite_checks,
    percentiles,
    resolution,
    windows,
)
from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Point, Size
from benchmarks.papers.loops import ROUNDS, Driven


@cache
def readings(events: int) -> data.Readings:
    return data.debs_2012_like(events).in_order()


def bounds(time: np.ndarray, seconds: float) -> np.ndarray:
    """For each reading the first one that is less than so many seconds older."""
    return np.searchsorted(time, time - int(seconds * data.SECOND), side="right")


def event_count(size: Size) -> int:
    return size.pick(4000, 4_000_000, 32_300_000)


def event_time(size: Size) -> Iterator[Point]:
    """Figure 12: throughput over windows of 10 milliseconds to 6 hours, sum."""
    time, xs = readings(event_count(size))
    spans = size.pick((0.01, 1), SPANS, SPANS)
    for seconds in spans:
        lo = bounds(time, seconds)
        first = int(np.flatnonzero(lo)[0])  # not measured until one item is evicted
        longest = int((np.arange(1, len(lo) + 1) - lo).max())
        for name, make in windows(size, "sum", longest, xs).items():
            best = best_event_time(make, xs, lo, longest, first, size.pick(1, 3, 3))
            yield Point(seconds, name, (len(xs) - first) / best / 1e6)


SPANS = (0.01, 0.1, 1, 10, 100, 1000, 3600, 6 * 3600)


def best_event_time(
    make: Callable[[], Any], xs: np.ndarray, lo: np.ndarray, longest: int, first: int, repeat: int
) -> float:
    """The least seconds from item `first` on; each run has a new window."""
    found = []
    for _ in range(repeat):
        driven = Driven(make(), xs, longest)
        driven.run(ROUNDS, 0, first, lo.ctypes.data)
        rest = partial(driven.run, ROUNDS, first, len(xs), lo.ctypes.data)
        found.append(best_of({"rest": rest}, 1)["rest"])
    return min(found)


def event_latency(size: Size) -> Iterator[Point]:
    """Figure 12: the time of each round over a window of 10 seconds, relative variation."""
    time, xs = readings(event_count(size))
    lo = bounds(time, LATENCY_SECONDS)
    first = int(np.flatnonzero(lo)[0])
    for name, make in windows(size, "relative variation", 1 << 20, xs).items():
        yield from percentiles(name, loops.latencies(make(), xs, lo, first))


LATENCY_SECONDS = 10


def event_latency_checks(found: Data) -> list[Check]:
    """Section 7.3: the longest rounds are bulk evictions, so they are alike."""
    tops = [max(found[name].values()) for name in COMPETITORS if name != "FiBA"]
    ratio = max(tops) / min(tops)
    claim = "all algorithms but FiBA have similar maximum latency"
    why = "The largest of 4 million rounds depends on what else the machine does: "
    why += "DABA Lite's took 49, 140 and 203 microseconds in three runs."
    return [Check(claim, f"largest / smallest = {ratio:.1f}", ratio < 4, why)]


def event_time_checks(found: Data) -> list[Check]:
    """Section 7.3: the Lite versions are ahead; all degrade in windows of more than 10^3 s."""
    checks = lite_checks(found)
    longest = max(found["DABALite"])
    if longest > 1000:
        ratios = {name: found[name][longest] / max(found[name].values()) for name in found.names}
        slow = max(ratios, key=lambda name: ratios[name])
        said = f"at {longest:g} s at most {ratios[slow]:.2f} of the best throughput ({slow})"
        claim = "throughput degrades after 10^3 seconds"
        checks.append(Check(claim, said, ratios[slow] < 0.95, GENERATED))
    return checks


GENERATED = (
    "The data is generated: its rare events are pauses, and to evict the items before a pause "
    "costs no more per item than to evict them one by one."
)


LAST_SECONDS = f"relative variation over the last {LATENCY_SECONDS} seconds"


def generated(what: str, size: Size) -> str:
    return (
        f"{what}; {event_count(size):,} generated readings with the published properties of the "
        "DEBS 2012 data (benchmarks/papers/data.py), not the real data"
    )


FIG12 = Experiment(
    "fig12",
    "Figure 12",
    "throughput, windows by event time",
    Axis("seconds in the window"),
    Axis("million items per second"),
    tuple(COMPETITORS),
    event_time,
    partial(generated, "sum over the readings of the last seconds"),
    event_time_checks,
)
FIG12_LATENCY = Experiment(
    "fig12-latency",
    "Figure 12",
    f"latency, windows of {LATENCY_SECONDS} seconds, relative variation",
    Axis("one round in so many takes longer"),
    Axis("nanoseconds"),
    tuple(COMPETITORS),
    event_latency,
    lambda size: f"{generated(LAST_SECONDS, size)}; {resolution()}",
    event_latency_checks,
)
EXPERIMENTS = (FIG12, FIG12_LATENCY)
