"""Cases of maps, multisets, distinct and ordered items."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sash import monoids as m
from tests.laws.case import (
    FLOATS,
    INTS,
    Case,
    count_of,
    distinct,
    finite,
    floats,
    integers,
    ordered,
    same_kind,
    texts,
)

categories = st.tuples(integers, texts)


def sums(items: list[Any]) -> list[Any]:
    totals: Counter[Any] = Counter()
    for value, category in items:
        totals[category] += value
    return list(totals.items())


def counts(items: list[Any]) -> list[Any]:
    return [(x, count_of(items, x)) for x in ordered(distinct(items))]


def mode(items: list[Any]) -> Any:
    most = max(count for _, count in counts(items))
    return next(x for x, count in counts(items) if count == most)


def median_deviation(items: list[Any]) -> float:
    return float(np.median(np.abs(np.array(items) - np.median(items))))


def binned(xs: list[Any]) -> Any:
    inside = [x for x in xs if -5 <= x <= 9]
    return np.histogram(inside, [-5, 0, 0.5, 9])[0]


MAPS: dict[str, Case] = {
    "ByCategory": Case(lambda: m.ByCategory(m.Sum()), same_kind(categories), sums, []),
    "Histogram": Case(m.Histogram, same_kind(integers, floats, texts), counts, []),
    "Mode": Case(m.Mode, same_kind(integers, floats, texts), mode),
    "Percentile": Case(
        lambda: m.Percentile(0.3), same_kind(integers, finite),
        lambda xs: float(np.quantile(xs, 0.3)), tolerance=1e-9,
    ),
    "MedianDeviation": Case(m.MedianDeviation, same_kind(integers, finite), median_deviation),
    "Distinct": Case(
        lambda: m.Distinct(m.Sum()), same_kind(integers), lambda xs: sum(set(xs))
    ),
    "LastDistinct": Case(
        lambda: m.LastDistinct(2), same_kind(floats, texts),
        lambda xs: distinct(xs[::-1])[:2][::-1], [],
    ),
    "Ordered": Case(
        lambda: m.Ordered(m.Collect(), descending=True), same_kind(st.tuples(texts, integers)),
        lambda xs: [x for x, _ in sorted(xs, key=lambda x: -x[1])], [],
    ),
    "BinCounts": Case(
        lambda: m.BinCounts([-5, 0, 0.5, 9]), same_kind(integers, floats), binned,
        np.zeros(3, np.int64), columns=(FLOATS, INTS),
    ),
}  # fmt: skip
