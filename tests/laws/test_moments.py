"""Moments and co-moments: 50 digits on hard inputs, Spark's edges, one state for many answers."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.plan.sharing import share, view
from sash.testing import alike

NAN, INF = math.nan, math.inf
rng = np.random.default_rng(11)
SPREAD = rng.normal(size=200).round(6)
HARD = {
    "plain": SPREAD,
    "large offset": 1e9 + SPREAD,
    "larger offset": 1e15 + SPREAD.round(1) * 8,
    "tiny variance": 1.0 + SPREAD * 1e-12,
    "negative offset": -1e12 + SPREAD,
    "tiny numbers": SPREAD * 1e-60,
    "large numbers": SPREAD * 1e60,
    "an outlier": np.append(-1e12, SPREAD),
    "growing": np.cumsum(np.abs(SPREAD)) * 1e6,
}


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def exact(xs: Any) -> dict[str, float]:
    """The statistics in rational numbers, and their roots in 50 digits."""
    values = [Fraction(float(x)) for x in xs]
    n, mean = len(values), sum(values) / len(values)
    two, three, four = (sum((x - mean) ** k for x in values) for k in (2, 3, 4))
    with localcontext(prec=50):
        root = decimal(two / n).sqrt()
        return {
            "Var": float(two / (n - 1)),
            "StdDev": float(decimal(two / (n - 1)).sqrt()),
            "StdError": float((decimal(two / (n - 1)) / n).sqrt()),
            "Skewness": float(decimal(three / n) / root**3),
            "Kurtosis": float(n * four / two**2 - 3),
        }


MOMENTS = (m.Var, m.StdDev, m.StdError, m.Skewness, m.Kurtosis)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(
    ("compiled", "factories"),
    [
        (False, MOMENTS),
        (True, (m.StdDev, m.Kurtosis)),  # of two moments, and of four
        pytest.param(True, MOMENTS, marks=pytest.mark.slow),
    ],
)
def test_moments_have_full_precision_on_hard_inputs(
    name: str, compiled: bool, factories: Any
) -> None:
    xs, size = HARD[name], 150
    expected = exact(xs[-size:])
    for factory in factories:
        window = swag.DABALite(factory(dtype="float64"), compiled=compiled)
        found = list(window.slide(xs, size))[-1]
        correct = expected[factory.__name__]
        assert found == pytest.approx(correct, rel=1e-12, abs=1e-12 if abs(correct) < 9 else 0), (
            factory.__name__
        )


@pytest.mark.parametrize("name", HARD)
def test_comoments_have_full_precision_on_hard_inputs(name: str) -> None:
    xs = HARD[name][-150:]
    noise = rng.normal(size=150).round(6)
    ys = 1e12 - 8 * noise.round(1)
    x, y = ([Fraction(float(v)) for v in column] for column in (xs, ys))
    mean_x, mean_y = sum(x) / 150, sum(y) / 150
    xx, yy = sum((a - mean_x) ** 2 for a in x), sum((b - mean_y) ** 2 for b in y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    with localcontext(prec=50):
        r = float(decimal(xy) / (decimal(xx) * decimal(yy)).sqrt())
    scale = math.sqrt(float(xx)) * math.sqrt(float(yy))  # what xy is a difference within
    found = {
        "cov": (m.Covariance(ddof=0), float(xy / 150), scale / 150),
        "corr": (m.Correlation(), r, 1.0),
        "slope": (m.Regression("slope"), float(xy / yy), scale / float(yy)),
        "sxy": (m.Regression("sxy"), float(xy), scale),
        "syy": (m.Regression("syy"), float(xx), float(xx)),
        "sxx": (m.Regression("sxx"), float(yy), float(yy)),
        "avgy": (m.Regression("avgy"), float(mean_x), abs(float(mean_x)) + float(np.ptp(xs))),
    }
    for what, (monoid, correct, size) in found.items():
        window = swag.DABALite(monoid.of(("float64", "float64")), compiled=False)
        answer = list(window.slide((xs, ys), 150))[-1]
        assert abs(answer - correct) <= 1e-12 * size, what


GROUPS: dict[str, list[Any]] = {
    "empty": [(None, None), (None, 1.0)],
    "one": [(2.0, 3.0)],
    "nulls": [(2.0, 3.0), (None, 1.0), (4.0, None)],
    "two": [(1.0, 2.0), (3.0, 5.0)],
    "first alike": [(1.0, 2.0), (1.0, 5.0), (1.0, 1.0)],
    "second alike": [(1.0, 2.0), (3.0, 2.0), (4.0, 2.0)],
    "both alike": [(1.0, 2.0), (1.0, 2.0)],
    "nan": [(1.0, 2.0), (NAN, 3.0), (2.0, 5.0)],
    "inf": [(1.0, 2.0), (INF, 3.0), (2.0, 5.0)],
    "one inf": [(INF, 1.0)],
    "many": [(1.0, 2.0), (2.0, 3.5), (4.0, 1.0), (8.0, 9.0), (16.0, -3.0)],
}
SPARK: dict[str, tuple[Any, list[Any]]] = {  # what Spark 4.3 gives, group by group
    "corr": (m.Correlation(),
        [None, None, None, 1.0, None, None, None, NAN, NAN, None, -0.38084368743811425]),
    "covar_pop": (m.Covariance(0), [None, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, NAN, NAN, NAN, -8.1]),
    "covar_samp": (m.Covariance(),
        [None, None, None, 3.0, 0.0, 0.0, 0.0, NAN, NAN, None, -10.125]),
    "regr_count": (m.Regression("count"), [0, 1, 1, 2, 3, 3, 2, 3, 3, 1, 5]),
    "regr_slope": (m.Regression("slope"),
        [None, None, None, 2 / 3, 0.0, None, None, NAN, NAN, None, -0.5328947368421053]),
    "regr_intercept": (m.Regression("intercept"),
        [None, None, None, -1 / 3, 1.0, None, None, NAN, NAN, None, 7.532236842105263]),
    "regr_r2": (m.Regression("r2"),
        [None, None, None, 1.0, 1.0, None, None, NAN, NAN, None, 0.14504191426146007]),
    "regr_avgx": (m.Regression("avgx"),
        [None, 3.0, 3.0, 3.5, 8 / 3, 2.0, 2.0, 10 / 3, 10 / 3, 1.0, 2.5]),
    "regr_avgy": (m.Regression("avgy"),
        [None, 2.0, 2.0, 2.0, 1.0, 8 / 3, 1.0, NAN, INF, INF, 6.2]),
    "regr_sxx": (m.Regression("sxx"),
        [None, 0.0, 0.0, 4.5, 26 / 3, 0.0, 0.0, 14 / 3, 14 / 3, 0.0, 76.0]),
    "regr_syy": (m.Regression("syy"),
        [None, 0.0, 0.0, 2.0, 0.0, 14 / 3, 0.0, NAN, NAN, NAN, 148.8]),
    "regr_sxy": (m.Regression("sxy"),
        [None, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, NAN, NAN, NAN, -40.5]),
    "skewness": (m.column(0, m.Skewness()),
        [None, None, 0.0, 0.0, None, -0.3818017741606064, None, NAN, NAN, NAN,
         0.8890481348169543]),
    "kurtosis": (m.column(0, m.Kurtosis()),
        [None, None, -2.0, -2.0, None, -1.5, None, NAN, NAN, NAN, -0.6740591397849469]),
    "var_samp": (m.column(0, m.Var()),
        [None, None, 2.0, 2.0, 0.0, 7 / 3, 0.0, NAN, NAN, None, 37.2]),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARK)
def test_edges_are_sparks(name: str) -> None:
    monoid, expected = SPARK[name]
    for (group, items), answer in zip(GROUPS.items(), expected, strict=True):
        window = swag.Recalc(monoid, compiled=False)
        window.insert_many(items)
        assert alike(window.query(), answer, 1e-12), group


def test_a_mean_that_is_infinite_stays_so() -> None:
    for values, mean in (([1, -INF, 2], -INF), ([-INF, 1], -INF), ([INF, 1, -INF], NAN)):
        window = swag.Recalc(m.Regression("avgy"), compiled=False)
        window.insert_many([(x, 0) for x in values])
        assert alike(window.query(), mean)


def test_samples_are_corrected_as_in_pandas() -> None:
    pd = pytest.importorskip("pandas")
    xs = pd.Series(SPREAD)
    skew = swag.DABALite(m.Skewness(bias=False), compiled=False).slide(SPREAD.tolist(), 9)
    kurt = swag.DABALite(m.Kurtosis(bias=False), compiled=False).slide(SPREAD.tolist(), 9)
    assert np.allclose(np.array(skew, float), xs.rolling(9, min_periods=1).skew(), equal_nan=True)
    assert np.allclose(np.array(kurt, float), xs.rolling(9, min_periods=1).kurt(), equal_nan=True)


def test_one_state_answers_for_many() -> None:
    first = [m.Var(), m.StdDev(ddof=0), m.StdError()]
    fourth = [m.Skewness(), m.Kurtosis(bias=False)]
    pairs = [m.Covariance(), m.Correlation(), m.LinearRegression(), m.Regression("r2")]
    for family, dtype in ((first, "float64"), (fourth, "int64"), (pairs, ("int32", "float64"))):
        for monoids in (family, [monoid.of(dtype) for monoid in family]):
            assert len(share(monoids).kept) == 1
            assert all(view(a, b) is not None for a in monoids for b in monoids)
