"""Decay as an aggregation: its half-life, its columns, and the unit of time it must meet."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import Monoid
from sash import functions as sf
from sash import monoids as m
from sash.testing import running

HOUR = 3600 * 10**9


@pytest.mark.parametrize("half_life", ["1 h", "60 min", datetime.timedelta(hours=1)])
def test_durations_are_nanoseconds(half_life: Any) -> None:
    a = sf.decayed_sum("x", half_life)
    assert a.columns == ("x", sf.TIME)
    assert a.monoid == m.DecayedSum(HOUR)
    assert a.needs_duration is True
    assert sf.decayed_mean("x", half_life).monoid == m.DecayedMean(HOUR)
    assert sf.decayed_count(half_life=half_life).monoid == m.DecayedCount(HOUR)


def test_numbers_are_in_the_unit_of_the_time_column() -> None:
    a = sf.decayed_count("x", half_life=2.5)
    assert (a.columns, a.needs_duration) == (("x", sf.TIME), False)
    assert sf.decayed_count(half_life=2).columns == (sf.TIME,)


@pytest.mark.parametrize("half_life", ["soon", "-1 h", 0, -3, True, None, "0 s"])
def test_a_half_life_that_is_none_is_refused(half_life: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="half_life"):
        sf.decayed_sum("x", half_life)


def test_by_category() -> None:
    found = running(
        sf.decayed_sum("x", half_life=1).by("card"), x=[8.0, 4.0, 1.0], card=["a", "b", "a"]
    )
    assert found[-1] == [("a", 3.0), ("b", 4.0)]  # each as of its own newest row


NS = np.array([0, 10**9, 5 * 10**9, 7200 * 10**9, 7201 * 10**9]) + 1_700_000_000 * 10**9
XS = [1.0, -2.0, None, 4.0, 8.0]


DECAYED = {
    "total": sf.decayed_sum("x", half_life="1 h"),
    "mean": sf.decayed_mean("x", half_life="1 h"),
    "known": sf.decayed_count("x", half_life="1 h"),
    "rows": sf.decayed_count(half_life="1 h"),
}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    ("frame", "names"),
    [
        ("2 hours", ("total", "mean", "known")),  # one state of all three
        pytest.param("2 hours", ("rows",), marks=pytest.mark.slow),
        ("lifetime", tuple(DECAYED)),
    ],
)
def test_windows_over_times_of_every_unit(unit: str, frame: str, names: tuple[str, ...]) -> None:
    table = pa.table({"ts": pa.array(NS, pa.timestamp("ns")).cast(pa.timestamp(unit)), "x": XS})
    over = sash.lifetime() if frame == "lifetime" else frame
    found = sash.windowed(table, time="ts").agg(**{n: DECAYED[n].over(over) for n in names})
    for i, now in enumerate(NS):
        first = now - 2 * HOUR if frame != "lifetime" else NS[0]
        inside = [j for j in range(i + 1) if NS[j] >= first]
        kept = [j for j in inside if XS[j] is not None]
        newest = NS[max(kept)]
        weights = {j: 0.5 ** (float(newest - NS[j]) / HOUR) for j in inside}
        row = {name: found[name][i].as_py() for name in names}
        total, known = sum(XS[j] * weights[j] for j in kept), sum(weights[j] for j in kept)
        every = sum(0.5 ** (float(now - NS[j]) / HOUR) for j in inside)
        expected = {"total": total, "mean": total / known, "known": known, "rows": every}
        assert row == pytest.approx({name: expected[name] for name in names}, rel=1e-12)


@pytest.mark.parametrize(
    "frame", [sash.rows(2), pytest.param(sash.range_between(-15, 0), marks=pytest.mark.slow)]
)
def test_windows_over_numbers_as_times(frame: Any) -> None:
    table = pa.table({"t": [0, 10, 20], "x": [8, 0, 1]})
    found = sash.windowed(table, time="t").agg(y=sf.decayed_sum("x", half_life=10).over(frame))
    assert found["y"].to_pylist() == [8.0, 4.0, 1.0]


def test_a_half_life_must_fit_the_time_column() -> None:
    numbers, times = (
        pa.table({"t": [1], "x": [1]}),
        pa.table({"t": pa.array([1], "timestamp[s]"), "x": [1]}),
    )
    with pytest.raises(TypeError, match="is a duration, but the time column 't' is int64"):
        sash.windowed(numbers, time="t").agg(
            y=sf.decayed_sum("x", half_life="1 h").over(sash.rows(2))
        )
    with pytest.raises(TypeError, match="is a plain number, but the time column 't' is timestamp"):
        sash.windowed(times, time="t").agg(y=sf.decayed_sum("x", half_life=5).over(sash.rows(2)))


def test_a_monoid_of_ones_own_takes_the_rows_time() -> None:
    """In nanoseconds since 1970, whatever the unit of the column."""
    latest = Monoid("latest", 0, lambda x, time: time, max)
    table = pa.table({"ts": pa.array([1, 2], pa.timestamp("ms")), "x": [1.0, 2.0]})
    found = sash.windowed(table, time="ts").agg(
        by_place=sf.apply(latest, "x", sf.TIME).over(sash.rows(2)),
        by_name=sf.apply(latest, time=sf.TIME, x="x").over(sash.rows(2)),
        run=sf.apply(m.LongestRun(), sf.TIME, "x").over(sash.rows(2)),
    )
    assert found["by_place"].to_pylist() == found["by_name"].to_pylist() == [10**6, 2 * 10**6]
    assert found["run"][1].as_py()["interval"] == 10**6
