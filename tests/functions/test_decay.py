"""Decay as an aggregation: its half-life, its columns, and the unit of time it must meet."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

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
