"""The generated data has the properties that the papers publish of the real data."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import flights
from benchmarks.papers import data


@pytest.fixture(scope="module")
def readings() -> data.Readings:
    return data.debs_2012_like(300_000)


def test_debs_has_100_readings_a_second(readings: data.Readings) -> None:
    gaps = np.diff(readings.in_order().time)
    assert np.median(gaps) == pytest.approx(data.SECOND / 100, rel=0.02)


def test_debs_is_out_of_order_by_one_and_a_half_percent(readings: data.Readings) -> None:
    kept = readings.in_order()
    assert 1 - len(kept.time) / len(readings.time) == pytest.approx(0.015, abs=0.001)
    assert (np.diff(kept.time) >= 0).all()


def test_debs_has_rounds_that_evict_more_than_100_items(readings: data.Readings) -> None:
    time = readings.in_order().time
    lo = np.searchsorted(time, time - 60 * data.SECOND, side="right")
    evicted = np.diff(lo)
    assert np.median(evicted) == 1
    assert 0 < (evicted > 100).mean() < 1e-4


def test_debs_is_the_same_in_every_run(readings: data.Readings) -> None:
    again = data.debs_2012_like(300_000)
    assert (again.time == readings.time).all()
    assert (again.value == readings.value).all()
    assert (readings.value > 0).all(), "relative variation divides by the largest"


@pytest.fixture(scope="module")
def shape() -> dict[str, np.ndarray]:
    """n, m and d of windows of a day, once one is full."""
    rides = data.citi_bike_like(4)
    assert (np.diff(rides.arrival) >= 0).all()
    assert len(np.unique(rides.event)) == len(rides.event)
    found = flights.shape(rides, data.DAY)
    full = int(np.flatnonzero(found["m"])[0])
    return {name: numbers[full:] for name, numbers in found.items()}


def test_citi_bike_evicts_one_ride_mostly_and_sometimes_hundreds(
    shape: dict[str, np.ndarray],
) -> None:
    m = shape["m"]
    assert np.median(m) <= 1
    assert m.mean() == pytest.approx(1, abs=0.2)
    assert (m >= 300).any()


def test_citi_bike_is_a_little_out_of_order_mostly_and_sometimes_by_tens_of_thousands(
    shape: dict[str, np.ndarray],
) -> None:
    d = shape["d"]
    assert np.median(d) < 10
    assert 1 / 40_000 < (d > 10_000).mean() < 1 / 10_000


def test_citi_bike_has_about_55_000_rides_a_day(shape: dict[str, np.ndarray]) -> None:
    assert shape["n"].mean() == pytest.approx(55_000, rel=0.15)
