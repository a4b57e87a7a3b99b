"""Cases of moments, co-moments and regression, against the textbook's sums."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from sash import monoids as m
from tests.laws.case import FLOATS, INTS, TIMES, Case, finite, integers, same_kind, texts

points = st.tuples(integers, integers)


def deviation(power: float, ddof: int) -> Callable[[list[Any]], Any]:
    def answer(xs: list[Any]) -> Any:
        if len(xs) <= ddof:
            return None
        mean = math.fsum(xs) / len(xs)
        return (math.fsum((x - mean) ** 2 for x in xs) / (len(xs) - ddof)) ** power

    return answer


def power(xs: list[Any], k: int) -> Fraction:
    """The mean of deviations to the power of k, exactly."""
    exact = [Fraction(x) for x in xs]
    mean = sum(exact) / len(xs)
    return sum(((x - mean) ** k for x in exact), Fraction(0)) / len(xs)


def error(xs: list[Any]) -> Any:
    return None if len(xs) < 2 else statistics.stdev(map(float, xs)) / math.sqrt(len(xs))


def skewness(xs: list[Any]) -> Any:
    two = power(xs, 2)
    return None if two == 0 else float(power(xs, 3)) / float(two) ** 1.5


def kurtosis(xs: list[Any]) -> Any:
    two = power(xs, 2)
    return None if two == 0 else float(power(xs, 4) / two**2 - 3)


def covariance(points: list[Any]) -> Any:
    return statistics.covariance(*map(list, zip(*points))) if len(points) > 1 else None


def correlation(points: list[Any]) -> Any:
    columns = [list(map(float, column)) for column in zip(*points)]
    constant = any(len(set(column)) == 1 for column in columns)
    return None if constant else statistics.correlation(*columns)


def line(points: list[Any]) -> Any:
    xs, ys = [float(x) for x, _ in points], [float(y) for _, y in points]
    if len(set(xs)) == 1:
        return (None, None, None)
    slope, intercept = statistics.linear_regression(xs, ys)
    return (slope, intercept, 1.0 if len(set(ys)) == 1 else statistics.correlation(xs, ys) ** 2)


def weighted(points: list[Any]) -> Any:
    weights = sum(weight for _, weight in points)
    return None if weights == 0 else sum(x * weight for x, weight in points) / weights


def decayed(items: list[Any], half_life: float) -> tuple[float, float]:
    """The decayed sum and count of (value, time), as of the newest."""
    newest = max(time for _, time in items)
    weights = [0.5 ** ((newest - time) / half_life) for _, time in items]
    return sum(x * w for (x, _), w in zip(items, weights)), sum(weights)


STATISTICS: dict[str, Case] = {
    "Var": Case(
        m.Var, same_kind(integers, finite), deviation(1, 1), tolerance=1e-9, columns=(FLOATS,)
    ),
    "StdDev": Case(
        m.StdDev, same_kind(integers, finite), deviation(0.5, 1), tolerance=1e-9,
        columns=(INTS,), shares=True,
    ),
    "LinearRegression": Case(
        m.LinearRegression, same_kind(st.tuples(integers, integers)), line, tolerance=1e-9,
        columns=((TIMES, INTS),), shares=True,
    ),
    "StdError": Case(
        m.StdError, same_kind(integers, finite), error, tolerance=1e-9,
        columns=(FLOATS,), shares=True,
    ),
    "Skewness": Case(
        m.Skewness, same_kind(integers, finite), skewness, tolerance=1e-9, columns=(INTS, FLOATS)
    ),
    "Kurtosis": Case(
        m.Kurtosis, same_kind(integers, finite), kurtosis, tolerance=1e-9,
        columns=(FLOATS,), shares=True,
    ),
    "Covariance": Case(
        m.Covariance, same_kind(points), covariance, tolerance=1e-9,
        columns=((TIMES, INTS),), shares=True,
    ),
    "Correlation": Case(
        m.Correlation, same_kind(points), correlation, tolerance=1e-9, columns=((TIMES, FLOATS),)
    ),
    "Regression": Case(
        lambda: m.Regression("intercept"), same_kind(points),
        lambda ps: line([(x, y) for y, x in ps])[1], tolerance=1e-9,
        columns=((INTS, TIMES),), shares=True,
    ),
    "WeightedMean": Case(
        m.WeightedMean, same_kind(points), weighted, tolerance=1e-9, columns=((FLOATS, INTS),)
    ),
    "DecayedSum": Case(
        lambda: m.DecayedSum(4), same_kind(points), lambda xs: decayed(xs, 4)[0],
        tolerance=1e-12, columns=((FLOATS, TIMES),),
    ),
    "DecayedMean": Case(
        lambda: m.DecayedMean(2.5), same_kind(points, st.tuples(integers, finite)),
        lambda xs: decayed(xs, 2.5)[0] / decayed(xs, 2.5)[1],
        tolerance=1e-12, columns=((INTS, TIMES / 4),), shares=True,
    ),
    "DecayedCount": Case(
        lambda: m.DecayedCount(3), same_kind(integers, st.tuples(texts, integers)),
        lambda xs: decayed([(1, x[-1] if isinstance(x, tuple) else x) for x in xs], 3)[1],
        0.0, tolerance=1e-12, columns=(TIMES, (FLOATS, TIMES)),
    ),
}  # fmt: skip
