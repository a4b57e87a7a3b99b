"""Generated data in place of the data sets of the papers, with the properties that they publish.

Neither is the real data. `debs_2012_like` is for the DABA and FlatFIT papers, `citi_bike_like`
for the FiBA paper. What the papers do not say (the distribution of the values, how long pauses
are) is chosen here, and said here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.flights import Stream

SECOND = 1_000_000  # microseconds, as all times here
DAY = 86_400 * SECOND


class Readings(NamedTuple):
    """Readings of a sensor, in order of arrival."""

    time: np.ndarray  # of the reading, in microseconds
    value: np.ndarray

    def in_order(self) -> Readings:
        """Without those that are older than one that came before, as the DABA paper does it."""
        newest = np.maximum.accumulate(self.time)
        keep = np.concatenate(([True], self.time[1:] >= newest[:-1]))
        return Readings(self.time[keep], self.value[keep])


def debs_2012_like(events: int, seed: int = 1) -> Readings:
    """Readings of manufacturing equipment: about 100 a second, 1.5 % of them out of order.

    The real data has 32.3 million events. The DABA paper reports rounds that evict more than 100
    items: so there are pauses here, one in 100,000 readings on average, of about 20 seconds.
    The values are energy readings: a level that changes every 30 seconds on average, and noise.
    """
    rng = np.random.default_rng(seed)
    steps = rng.normal(10_000, 500, events).clip(1)
    pauses = rng.random(events) < 1e-5
    steps[pauses] += rng.exponential(20 * SECOND, int(pauses.sum()))
    time = np.cumsum(steps).astype(np.int64)
    late = rng.random(events) < 0.015
    time[late] -= rng.integers(11_500, 50_000, int(late.sum()))  # more than one reading before
    levels = np.cumsum(rng.random(events) < 1 / 3000)
    level = rng.uniform(5_000, 15_000, int(levels[-1]) + 1)[levels]
    return Readings(time, level + rng.normal(0, 100, events))


def citi_bike_like(days: int, seed: int = 1) -> Stream:
    """Rides of a bike-sharing system, in order of arrival.

    Published (FiBA paper, figure 15): in windows of one day the number of rides n ranges widely;
    most insertions evict one ride, and some evict hundreds or thousands; most are at a small
    distance d from the youngest, and hundreds at a distance of tens of thousands. Chosen here:
    55,000 rides a day on average, three times as many in the afternoon as at night, 40 % fewer at
    weekends; a ride in ten arrives up to some minutes late, one in 20,000 by 12 to 22 hours; an
    outage of 20 minutes on average, once a day, in which no rides begin.
    """
    rng = np.random.default_rng(seed)
    begins = [day * DAY + _rides_of(day, rng) for day in range(days)]
    event = np.sort(np.concatenate(begins)).astype(np.int64)
    event = event[~_in_outage(event, days, rng)]
    event += np.arange(len(event))  # no two at the same microsecond
    late = np.where(rng.random(len(event)) < 0.1, rng.exponential(60 * SECOND, len(event)), 0)
    far = rng.random(len(event)) < 1 / 20_000
    late[far] = rng.uniform(0.5, 0.92, int(far.sum())) * DAY
    arrival = event + late.astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    value = rng.gamma(2.0, 400.0, len(event))  # seconds of a ride
    return Stream(event[order], arrival[order], value[order])


def _rides_of(day: int, rng: np.random.Generator) -> np.ndarray:
    """When the rides of a day begin, by throwing away some of a constant rate."""
    share = 0.6 if day % 7 >= 5 else 1.0
    at = rng.uniform(0, DAY, int(rng.poisson(93_000 * share)))
    rate = 0.667 - 0.333 * np.cos(2 * np.pi * (at / DAY - 0.1))
    return at[rng.random(len(at)) < rate]


def _in_outage(event: np.ndarray, days: int, rng: np.random.Generator) -> np.ndarray:
    starts = np.sort(rng.uniform(0, days * DAY, days))
    ends = starts + rng.exponential(20 * 60 * SECOND, days)
    number = np.searchsorted(starts, event, side="right") - 1
    return (number >= 0) & (event < ends[number])
