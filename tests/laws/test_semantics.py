"""Spark's semantics: null, NaN, signed zero, overflow, samples of one; and exact types."""

from __future__ import annotations

import datetime
import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.testing import Oracle, alike

NAN = math.nan


def over(monoid: Any, items: list[Any]) -> Any:
    oracle = Oracle(monoid)
    oracle.insert_many(items)
    return oracle.query()


@pytest.mark.parametrize("dtype", [None, "float64"])
@pytest.mark.parametrize(
    ("factory", "items", "expected"),
    [
        (m.Max, [1.0, NAN, 2.0], NAN),
        (m.Max, [NAN, math.inf], NAN),
        (m.Min, [NAN, 1.0, NAN], 1.0),
        (m.Min, [NAN, math.inf], math.inf),
        (m.Min, [NAN], NAN),
        (m.Max, [-math.inf], -math.inf),
        (m.MaxCount, [NAN, 1.0, NAN], 2),
        (m.MaxCount, [0.0, -0.0], 2),
        (m.MaxCount, [-math.inf, -math.inf], 2),
        (m.MinCount, [NAN, NAN], 2),
        (m.Range, [1.0, NAN], NAN),
        (m.Mean, [1.0, NAN], NAN),
        (m.Var, [1.0], None),
        (lambda **d: m.Var(ddof=0, **d), [1.0], 0.0),
        (m.StdDev, [1.0], None),
        (lambda **d: m.StdDev(ddof=0, **d), [1.0], 0.0),
        (lambda **d: m.StdDev(ddof=3, **d), [1.0, 2.0, 3.0], None),
        (lambda **d: m.Var(ddof=0, **d), [math.inf], NAN),
        (m.Var, [1.0, math.inf, 2.0], NAN),
        (m.StdDev, [1.0, NAN], NAN),
        (m.GeoMean, [2.0, 0.0], 0.0),
        (m.GeoMean, [2.0, -1.0], NAN),
        (m.GeoMean, [2.0, NAN], NAN),
        (m.GeoMean, [2.0, math.inf], math.inf),
        (m.RelativeVariation, [-1.0, 0.0], None),
        (m.M4, [NAN, 1.0], (1.0, NAN, NAN, 1.0)),
        (m.M4, [NAN], (NAN, NAN, NAN, NAN)),
        (m.First, [NAN, 1.0], NAN),
        (m.LongestRun, [1.0, 2.0, NAN, NAN], (1.0, NAN, NAN, 3)),
    ],
)
def test_nan_infinity_and_samples_of_one(
    factory: Any, items: list[Any], expected: Any, dtype: str | None
) -> None:
    assert alike(over(factory(dtype=dtype), items), expected, 1e-12)


@pytest.mark.parametrize("dtype", [None, ("float64", "int64")])
def test_arguments_of_extremes(dtype: Any) -> None:
    first, last = (-math.inf, 1), (-math.inf, 2)
    assert over(m.ArgMax(dtype=dtype), [first, last]) == 1  # the identity's argument does not leak
    assert over(m.ArgMin(dtype=dtype), [(NAN, 1), (NAN, 2)]) == 1
    assert over(m.ArgMin(dtype=dtype), [(NAN, 1), (3.0, 2)]) == 2
    assert over(m.ArgMax(dtype=dtype), [(3.0, 1), (NAN, 2), (NAN, 3)]) == 2
    assert over(m.ArgMax(dtype=dtype), [(0.0, 1), (-0.0, 2)]) == 1


def test_null_measures_are_skipped_but_arguments_may_be_null() -> None:
    assert over(m.ArgMax(), [(None, "a"), (1, None)]) is None
    assert over(m.ArgMax(), [(None, "a"), (1, "b"), (None, "c")]) == "b"
    assert over(m.ArgMax(), [(None, "a")]) is None
    assert over(m.LinearRegression(), [(1, None), (None, 1)]) is None
    assert over(m.LongestRun(), [(1, 1), (2, None), (3, 2)]).count == 2


def test_integer_sums_overflow_with_an_error_plain_and_compiled() -> None:
    big = np.array([2**62, 2**62, -5, 2**62])
    for size in (2, 4):
        for compiled in (False, True):
            window = swag.DABALite(m.Sum(dtype="int64"), compiled=compiled)
            with pytest.raises(OverflowError, match=r"Sum: .* cast the column"):
                window.slide(big, size)
    assert over(m.Sum(), big.tolist()) == 3 * 2**62 - 5  # objects are exact
    assert over(m.Sum(), list(big)) == 3 * 2**62 - 5  # NumPy's numbers too
    low = m.Sum(dtype="int64")
    with pytest.raises(OverflowError):
        low.combine(-(2**62), -(2**62) - 1)
    assert low.combine(-(2**62), -(2**62)) == -(2**63)
    assert low.inverse is not None
    with pytest.raises(OverflowError):
        low.inverse(2**62, -(2**62))
    with pytest.raises(OverflowError, match=r"Range: .* cast the column"):
        over(m.Range(dtype="int64"), [-(2**62), 2**62])


def test_variance_is_numerically_careful() -> None:
    xs = [1e9 + x for x in (4.0, 7.0, 13.0, 16.0)]
    for dtype in (None, "float64"):
        assert over(m.Var(dtype=dtype), xs) == pytest.approx(30.0, rel=1e-12)
    points = [(x, 2 * x + 1) for x in xs]
    slope, _, r2 = over(m.LinearRegression(), points)
    assert slope == pytest.approx(2, rel=1e-12)
    assert r2 == pytest.approx(1, rel=1e-12)


def test_geometric_mean_does_not_overflow() -> None:
    assert over(m.GeoMean(), [1e300] * 10) == pytest.approx(1e300, rel=1e-9)
    largest = sys.float_info.max
    for n in range(1, 30):
        assert over(m.GeoMean(), [largest] * n) == pytest.approx(largest, rel=1e-9)


def test_objects_of_other_types() -> None:
    prices = [Decimal("0.10"), Decimal("0.20")]
    assert over(m.Sum(), prices) == Decimal("0.30")
    assert over(m.Mean(), prices) == Decimal("0.15")
    assert over(m.Var(), prices) == pytest.approx(0.005)
    days = [datetime.date(2024, 1, 3), datetime.date(2024, 1, 1)]
    assert over(m.Max(), days) == days[0]
    assert over(m.Range(), days) == datetime.timedelta(days=2)
    assert over(m.Sum(), [True, True]) == 2
    assert over(m.Sum(), [True]) is not True
    run = over(m.LongestRun(), [(days[1], 1), (days[0], 2)])
    assert run.interval == datetime.timedelta(days=2)


def test_distinct_items_are_told_apart_by_value() -> None:
    items = [NAN, float("nan"), 0.0, -0.0, None, 1.0]
    assert over(m.CountDistinct(), items) == 3
    assert alike(over(m.CollectDistinct(), items), [NAN, 0.0, 1.0])
    assert repr(over(m.CollectDistinct(), [2, 1.0, 2.0, 1])) == "[2, 1.0]"  # the first of equals
    assert over(m.CountDistinct(), [[1, 2], [1, 2], {"a": 1}, {"a": 1}]) == 2


def test_zeros_are_positive_where_values_are_told_apart() -> None:
    """As in Spark; -0.0 and 0.0 are one value, whichever comes first."""
    assert repr(over(m.CollectDistinct(), [-0.0, 0.0])) == "[0.0]"
    assert repr(over(m.CollectDistinct(), [[-0.0], [0.0]])) == "[[0.0]]"
    assert repr(over(m.Mode(), [-0.0])) == "0.0"
    assert repr(over(m.Histogram(), [-0.0, 0.0])) == "[(0.0, 2)]"
    assert repr(over(m.LastDistinct(2), [0.0, -0.0])) == "[0.0]"
    assert repr(over(m.ByCategory(m.Count(), 0), [-0.0])) == "[(0.0, 1)]"
    assert repr(over(m.Collect(), [-0.0])) == "[-0.0]"


def test_means_of_64_bit_integers_do_not_overflow() -> None:
    assert over(m.Mean(dtype="int64"), [2**62] * 4) == float(2**62)


@pytest.mark.parametrize(
    ("monoid", "item", "message"),
    [
        (m.Sum(), "a", "cannot add up 'a': give numbers; Concat"),
        (m.Mean(), [1], "cannot add up"),
        (m.Concat(), 1, "Concat takes strings, not 1"),
        (m.ArgMax(), 1, r"ArgMax takes pairs \(measure, argument\), not 1"),
        (m.ArgMin(), (1, 2, 3), "ArgMin takes pairs"),
        (m.CountDistinct(), {1}, "not hashable"),
        (m.HllSketch(), True, "a sketch takes integers, floats or text, not True"),
        (m.FrequentItems(), None.__class__, "FrequentItems takes text, integers or floats"),
        (m.DecayedSum(1), 1, r"DecayedSum takes pairs \(value, time\)"),
        (m.DecayedCount(1), (1, "noon"), "with times as numbers"),
        (m.Bloom(8, 1), object(), "a sketch cannot hash"),
    ],
)
def test_items_of_the_wrong_kind_are_named(monoid: Any, item: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        monoid.lift(item)
