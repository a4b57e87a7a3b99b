"""Calendar windows across changes of daylight-saving time, and windows without rows."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf

UTC = dt.UTC


def moments(n: int = 300, seed: int = 0, tz: Any = UTC) -> list[dt.datetime]:
    random = np.random.default_rng(seed)
    hours = np.sort(random.integers(0, 3 * 365 * 24, n))
    start = dt.datetime(2022, 12, 30, tzinfo=tz)
    return [start + dt.timedelta(hours=int(h), minutes=30) for h in hours]


def period(t: dt.datetime, zone: str, unit: str, count: int) -> tuple[int, ...]:
    """The calendar period of a moment, by Python's own calendar."""
    local = t.astimezone(ZoneInfo(zone))
    months = (local.year - 1970) * 12 + local.month - 1
    days = (local.date() - dt.date(1970, 1, 1)).days
    of = {"day": days, "week": (days + 3) // 7, "month": months, "quarter": months // 3}
    return (of.get(unit, local.year - 1970) // count,)


CASES = [
    (zone, unit, count)
    for zone in ("UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia")
    for unit, count in (("day", 1), ("week", 1), ("month", 1), ("month", 2), ("quarter", 1),
                        ("year", 1), ("day", 3))
]  # fmt: skip


@pytest.mark.parametrize(("zone", "unit", "count"), CASES)
def test_a_rows_window_is_its_period_so_far(zone: str, unit: str, count: int) -> None:
    times = moments()
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "x": range(len(times))})
    frame = sash.calendar(f"{count} {unit}", tz=zone)
    found = sash.windowed(table, time="t").agg(all=sf.collect_list("x").over(frame))
    of = [period(t, zone, unit, count) for t in times]
    for i, ours in enumerate(found.column("all").to_pylist()):
        assert ours == [j for j in range(len(times)) if of[j] == of[i] and times[j] <= times[i]]


@pytest.mark.parametrize(("zone", "unit", "count"), CASES)
def test_every_period_has_its_rows_and_its_edges(zone: str, unit: str, count: int) -> None:
    times = moments()
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "x": [1] * len(times)})
    frame = sash.calendar(f"{count} {unit}", tz=zone)
    found = sash.windowed(table, time="t").every(frame).agg(n=sf.count().over(frame)).to_pylist()
    counts: dict[Any, int] = {}
    for t in times:
        counts[period(t, zone, unit, count)] = counts.get(period(t, zone, unit, count), 0) + 1
    assert [row["n"] for row in found] == list(counts.values())
    for row, number in zip(found, counts, strict=True):
        assert period(row["window_start"], zone, unit, count) == number
        assert period(row["window_end"], zone, unit, count) == (number[0] + 1,)
        before = row["window_start"] - dt.timedelta(microseconds=1)
        assert period(before, zone, unit, count) == (number[0] - 1,)


def test_a_day_has_23_and_25_hours_where_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    days = [
        dt.datetime(2024, 3, 31, 12, tzinfo=berlin),
        dt.datetime(2024, 10, 27, 12, tzinfo=berlin),
    ]
    table = pa.table({"t": pa.array(days, pa.timestamp("us", "Europe/Berlin"))})
    day = sash.calendar("1 day")
    found = sash.windowed(table, time="t").every(day).agg(n=sf.count().over(day)).to_pylist()
    lengths = [(r["window_end"].astimezone(UTC) - r["window_start"].astimezone(UTC)) for r in found]
    assert lengths == [dt.timedelta(hours=23), dt.timedelta(hours=25)]


def test_several_periods_of_a_key_one_for_each_and_without_rows() -> None:
    months = [dt.datetime(2024, m, 15) for m in (1, 2, 5)]
    table = pa.table({"k": [1, 1, 1, 2], "t": [*months, months[0]], "x": [1, 2, 4, 8]})
    month, two = sash.calendar("1 month"), sash.calendar("2 months")
    work = sash.windowed(table, "k", time="t")
    found = work.every(month, fill=True).agg(s=sf.sum("x").over(month), n=sf.count().over(month))
    assert found.column("k").to_pylist() == [1, 1, 1, 1, 1, 2]
    assert found.column("s").to_pylist() == [1, 2, None, None, 4, 8]
    assert found.column("n").to_pylist() == [1, 1, 0, 0, 1, 1]
    assert found.column("window_start").to_pylist()[:5] == [
        dt.datetime(2024, m, 1) for m in range(1, 6)
    ]
    sliding = work.every(month).agg(s=sf.sum("x").over(two)).to_pylist()
    assert [row["s"] for row in sliding] == [1, 3, 2, 4, 4, 8, 8]


def test_fill_gives_windows_by_the_clock_too() -> None:
    table = pa.table({"k": ["a", "b", "a"], "t": [0, 3, 11], "x": [1, 2, 4]})
    size = sash.range_between(-5, 0)
    found = sash.windowed(table, "k", time="t").every(5, fill=True).agg(s=sf.sum("x").over(size))
    assert found.to_pylist() == [
        {"k": "a", "window_start": 0, "window_end": 5, "s": 1},
        {"k": "a", "window_start": 5, "window_end": 10, "s": None},
        {"k": "a", "window_start": 10, "window_end": 15, "s": 4},
        {"k": "b", "window_start": 0, "window_end": 5, "s": 2},
    ]


def test_dates_and_times_without_a_zone() -> None:
    days = [dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(2024, 2, 29)]
    month = sash.calendar("month")
    found = (
        sash.windowed(pa.table({"d": days}), time="d").every(month).agg(n=sf.count().over(month))
    )
    assert found.column("window_start").to_pylist() == [dt.date(2024, 1, 1), dt.date(2024, 2, 1)]
    plain = pa.table({"t": pa.array([dt.datetime(2024, 1, 31, 23, 30)])})
    berlin = sash.calendar("month", tz="Europe/Berlin")  # there it is February already
    found = sash.windowed(plain, time="t").every(berlin).agg(n=sf.count().over(berlin))
    assert found.column("window_start").to_pylist() == [dt.datetime(2024, 1, 31, 23)]


def test_what_is_no_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a number of days"):
        sash.calendar("1 hour")
    with pytest.raises(ValueError, match="is no time zone"):
        sash.calendar("1 day", tz="Europe/Berlni")
    table = pa.table({"t": pa.array([dt.datetime(2024, 1, 1)])})
    with pytest.raises(ValueError, match="must be over a whole number of them"):
        sash.windowed(table, time="t").every(sash.calendar("month")).agg(n=sf.count().over("1 h"))
    with pytest.raises(TypeError, match="is a duration, but the time column 't' is int64"):
        sash.windowed(pa.table({"t": [1]}), time="t").agg(n=sf.count().over(sash.calendar("day")))
