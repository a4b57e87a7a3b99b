"""Every operation that the papers' tables list is in the catalogue, with the same algebra."""

from __future__ import annotations

import pytest

from sash import Monoid
from sash import monoids as m

# RA tables 1 and 2: operation -> invertible, commutative
RA = {
    "Count": (m.Count(), True, True),
    "Sum": (m.Sum(), True, True),
    "Max": (m.Max(), False, True),
    "Min": (m.Min(), False, True),
    "ArithmeticMean": (m.Mean(), True, True),
    "GeometricMean": (m.GeoMean(), True, True),
    "MaxCount": (m.MaxCount(), False, True),
    "MinCount": (m.MinCount(), False, True),
    "SampleStdDev": (m.StdDev(ddof=1), True, True),
    "PopulationStdDev": (m.StdDev(ddof=0), True, True),
    "ArgMax": (m.ArgMax(), False, False),
    "ArgMin": (m.ArgMin(), False, False),
    "Collect": (m.Collect(), True, False),
}
# DABA table 1, the AMTA experiments, FlatFIT's introduction, DEBS 2012 query 2 (in DABA, 7.3)
OTHERS = {
    "daba": [
        m.Sum(), m.Count(), m.Mean(), m.GeoMean(), m.StdDev(),
        m.Max(), m.Min(), m.ArgMax(), m.MaxCount(), m.M4(),
        m.Bloom(64, 2), m.CountMin(8, 2), m.HyperLogLog(),
    ],
    "amta": [m.Sum(), m.Mean(), m.GeoMean(), m.StdDev(), m.Max(), m.LongestRun()],
    "flatfit": [
        m.Max(), m.Min(), m.Concat(), m.FirstN(3), m.LastN(3), m.CountDistinct(),
        m.CollectDistinct(), m.ArgMax(), m.ArgMin(),
    ],
    "debs": [m.RelativeVariation()],
}  # fmt: skip
INEXACT = {"GeometricMean", "SampleStdDev", "PopulationStdDev"}  # floats are never subtracted


@pytest.mark.parametrize("operation", RA)
def test_ra_tables(operation: str) -> None:
    monoid, invertible, commutative = RA[operation]
    typed = monoid.of("int32")
    assert monoid.commutative == commutative
    exact = invertible and operation not in INEXACT
    assert (typed.inverse is not None) == exact
    assert monoid.of("float64").inverse is None or operation in ("Count", "Collect")


@pytest.mark.parametrize("paper", OTHERS)
def test_the_other_papers(paper: str) -> None:
    for monoid in OTHERS[paper]:
        assert isinstance(monoid, Monoid)
        assert monoid.recipe is not None
        assert monoid.recipe.factory in m.CATALOGUE


def test_amta_runs_have_start_end_interval_and_count() -> None:
    run = m.LongestRun()
    answer = run.lower(run.combine(run.lift((10, 1.0)), run.lift((12, 2.0))))
    assert answer._asdict() == {"start": 10, "end": 12, "interval": 2, "count": 2}


def test_amta_windows_of_several_dimensions() -> None:
    weather = m.join(
        wind=m.column(0, m.Mean()), humidity=m.column(1, m.Max()), size=m.column(1, m.Count())
    )
    total = weather.combine(weather.lift((2.0, 40)), weather.lift((4.0, 60)))
    assert weather.lower(total)._asdict() == {"wind": 3.0, "humidity": 60, "size": 2}
