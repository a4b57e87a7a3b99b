"""Decay against 50 digits: years of half-lives, long streams, disorder, and no drift."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.testing import alike

HOUR = 3600 * 10**9
YEAR = 365 * 24 * HOUR
NOW = 1_700_000_000 * 10**9
rng = np.random.default_rng(23)


def exact(items: Any, half_life: Any) -> tuple[float, float, float]:
    """Decayed sum, count, and the sum of sizes, which the sum may be a small difference of."""
    with localcontext(prec=50):
        newest = max(Decimal(t) for _, t in items)
        half, two = Decimal(half_life), Decimal(2)
        weights = [two ** ((Decimal(t) - newest) / half) for _, t in items]
        values = [Decimal(float(x)) for x, _ in items]
        total = sum((x * w for x, w in zip(values, weights, strict=True)), Decimal(0))
        size = sum((abs(x) * w for x, w in zip(values, weights, strict=True)), Decimal(0))
        return float(total), float(sum(weights)), float(size)


STREAMS: dict[str, tuple[Any, Any, Any]] = {
    "hours": (rng.normal(size=300), NOW + np.cumsum(rng.integers(0, HOUR, 300)), HOUR),
    "thirty years": (rng.normal(size=300), NOW - 15 * YEAR + np.arange(300) * YEAR // 10, HOUR),
    "a half-life of years": (rng.normal(size=300), NOW + np.arange(300) * 10**9, 2 * YEAR),
    "before 1970": (rng.normal(size=300), np.arange(-150, 150) * HOUR // 7, HOUR),
    "a half-life of a nanosecond": (rng.normal(size=300), NOW + np.arange(300), 1),
    "large values": (1e300 * rng.random(300), NOW + np.arange(300) * HOUR, HOUR),
    "numbers as times": (rng.normal(size=300), np.cumsum(rng.random(300)) - 70, 0.1),
    "far apart": (rng.normal(size=4), np.array([-(2**62), 0, 1, 2**62]), 1000),
    "at both ends": (rng.normal(size=3), np.array([-(2**63), 0, 2**63 - 1]), 1),
    "one time": (rng.normal(size=50), np.full(50, NOW), HOUR),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("way", ["objects", "typed"])
def test_it_is_right_to_the_last_digits(name: str, way: str) -> None:
    xs, times, half_life = STREAMS[name]
    dtype = None if way == "objects" else ("float64", times.dtype)
    items = list(zip(xs.tolist(), times.tolist(), strict=True))
    for size in (1, 7, 200):
        for i in (0, len(items) // 2, len(items) - 1):
            window = items[max(0, i + 1 - size) : i + 1]
            total, count, scale = exact(window, half_life)
            for factory, correct, most in (
                (m.DecayedSum, total, scale),
                (m.DecayedCount, count, count),
                (m.DecayedMean, total / count, scale / count),
            ):
                kept = swag.DABALite(factory(half_life, dtype=dtype), compiled=False)
                kept.insert_many(window)
                assert abs(kept.query() - correct) <= 4e-14 * most, (factory.__name__, size, i)


def test_a_long_stream_does_not_drift() -> None:
    """One combine per row: a factor per row would be off by a part of a millionth of 1e-9 each."""
    n, half_life = 100_000, YEAR
    times = NOW + np.arange(n) * 60 * 10**9
    window = swag.TwoStacksLite(m.DecayedCount(half_life, dtype="int64"), compiled=True)
    found = window.slide(times, n)[-1]
    step = 60 * 10**9 / half_life
    with localcontext(prec=50):
        ratio = Decimal(2) ** (Decimal(-60 * 10**9) / Decimal(half_life))
        correct = float((1 - ratio**n) / (1 - ratio))
    assert step < 1e-5
    assert found == pytest.approx(correct, rel=1e-12)


def test_rows_may_come_in_any_order() -> None:
    xs, times, half_life = STREAMS["hours"]
    items = list(zip(xs.tolist(), times.tolist(), strict=True))
    monoid = m.DecayedSum(half_life)
    total, _, size = exact(items, half_life)
    for _ in range(5):
        mixed = [items[i] for i in rng.permutation(len(items))]
        window = swag.Recalc(monoid, compiled=False)
        window.insert_many(mixed)
        assert abs(window.query() - total) <= 1e-13 * size


def test_it_never_overflows_on_the_way() -> None:
    largest = 1.7e308
    items = [(largest, NOW), (0.0, NOW + 3000 * HOUR), (1.0, NOW + 3000 * HOUR + HOUR // 2)]
    window = swag.Recalc(m.DecayedSum(HOUR), compiled=False)
    window.insert_many(items)
    assert window.query() == 1.0
    fresh = swag.Recalc(m.DecayedSum(HOUR), compiled=False)
    fresh.insert_many([(math.inf, NOW), (1.0, NOW + 5000 * HOUR)])
    assert fresh.query() == math.inf  # half of it is as much


def test_nulls_are_not_counted_and_empty_windows_are_null() -> None:
    for monoid, empty in ((m.DecayedSum(1), None), (m.DecayedMean(1), None)):
        assert monoid.lower(monoid.identity) is empty
        assert monoid.lower(monoid.lift((None, 5))) is empty
    count = m.DecayedCount(1)
    assert count.lower(count.lift((None, 5))) == 0.0
    assert alike(count.lower(count.combine(count.lift((None, 9)), count.lift(("x", 5)))), 1.0)


def test_sum_mean_and_count_share_a_state() -> None:
    monoids = [m.DecayedSum(HOUR), m.DecayedMean(HOUR), m.DecayedCount(HOUR)]
    typed = [monoid.of(("float64", "int64")) for monoid in monoids]
    assert len({monoid.state_digest for monoid in typed}) == 1
    assert m.DecayedSum(1, dtype=("f8", "i8")).state_digest != typed[0].state_digest
