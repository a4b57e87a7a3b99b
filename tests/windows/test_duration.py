"""Durations as people write them, in four dialects, and what is refused."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from sash.windows import Duration

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("90 s", 90 * SECOND),
        ("1 hour", HOUR),
        ("24 hours", 24 * HOUR),
        ("1h", HOUR),
        ("1H", HOUR),
        ("7d", 168 * HOUR),
        ("5min", 300 * SECOND),
        ("5 MINUTES", 300 * SECOND),
        ("1h30m", 90 * 60 * SECOND),
        ("1 minute 30 seconds", 90 * SECOND),
        ("1 day, 2 hours", 26 * HOUR),
        ("250 ms", 250_000_000),
        ("10 us", 10_000),
        ("10 µs", 10_000),
        ("3ns", 3),
        ("2 weeks", 336 * HOUR),
        ("1.5 h", 90 * 60 * SECOND),
        (" .5 s ", SECOND // 2),
        ("-1 hour", -HOUR),
        ("-1 hour -30 min", -90 * 60 * SECOND),
        ("02:00:00", 2 * HOUR),
        ("1 days 02:00:00.25", 26 * HOUR + SECOND // 4),
        ("PT1H30M", 90 * 60 * SECOND),
        ("P1DT0.5S", 24 * HOUR + SECOND // 2),
        ("INTERVAL 1 HOUR", HOUR),
        ("interval 1 day 2 hours", 26 * HOUR),
        ("INTERVAL '90' SECOND", 90 * SECOND),
        ("INTERVAL '1 hour'", HOUR),
        ("INTERVAL '1 02:03:04' DAY TO SECOND", 26 * HOUR + 184 * SECOND),
        ("INTERVAL '1 5' DAY TO HOUR", 29 * HOUR),
        ("INTERVAL '02:03' MINUTE TO SECOND", 123 * SECOND),
    ],
)
def test_text(text: str, ns: int) -> None:
    assert Duration.of(text).ns == ns


@pytest.mark.parametrize(
    "thing",
    [
        timedelta(hours=1, microseconds=3),
        pd.Timedelta("1h 3us"),
        np.timedelta64(3_600_000_003, "us"),
        "1 hour 3 us",
        Duration(HOUR + 3_000),
    ],
)
def test_things(thing: object) -> None:
    assert Duration.of(thing) == Duration(HOUR + 3_000)


def test_pandas_keeps_nanoseconds_and_negatives_are_exact() -> None:
    assert Duration.of(pd.Timedelta(-1, "ns")).ns == -1
    assert Duration.of(timedelta(microseconds=-1)).ns == -1_000
    assert Duration.of(np.timedelta64(2_000, "ps")).ns == 2
    assert Duration.of(np.timedelta64(2, "W")).ns == 336 * HOUR


@pytest.mark.parametrize("text", ["1 month", "2 years", "1 M", "1mo", "3 q", "P1Y", "P2M", "1 y"])
def test_months_and_years_are_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Duration.of(text)
    with pytest.raises(ValueError, match="differ in length"):
        Duration.of(np.timedelta64(1, "M"))


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        ("3 fortnights", "unknown unit 'fortnights'; known are ns .*h \\(hours\\)"),
        ("hour", "a number is missing before 'hour'"),
        ("5", "a unit is missing after '5'"),
        ("1 h 5", "a unit is missing after '5'"),
        ("", "is not a duration"),
        ("1 h; drop", "is not a duration"),
        ("1.0000000001 s", "whole number of nanoseconds"),
        ("-1 h 30 min", "its own sign"),
        (np.timedelta64("NaT"), "gap is NaT"),
        (np.timedelta64(5), "no unit"),
        (5, "write '5 s'"),
        (None, "gap must be a duration"),
    ],
)
def test_refused(thing: object, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says) as error:
        Duration.of(thing, "gap")
    assert "gap" in str(error.value)


@pytest.mark.parametrize("ns", [0, 1, 999, HOUR, 26 * HOUR + 1_000_003, -HOUR])
def test_printed_is_read_back(ns: int) -> None:
    text = str(Duration(ns))
    assert Duration.of(text).ns == ns, text
