"""Sketches: within their error bounds, the same bits plain and compiled, stable hashes."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.monoids.hashing import as_number, halves
from sash.monoids.sketches import cardinality


def filled(monoid: Any, items: Any) -> Any:
    out = monoid.identity.copy()
    for x in items:
        monoid.fill(out, as_number(x))
    return out


def test_hashes_follow_equality() -> None:
    def h(x: Any) -> Any:
        return halves(as_number(x))

    assert h(1) == h(1.0) == h(True) == h(Decimal(1)) == h(np.int8(1)) == h(np.float32(1))
    assert h(0.0) == h(-0.0)
    assert h(math.nan) == h(-math.nan) == h(np.float64("nan"))
    assert h(1.5) == h(Decimal("1.5"))
    assert h(2**64 - 1) == h(np.uint64(2**64 - 1))
    values = [
        0, 1, -1, 0.5, 1e300, math.inf, -math.inf, math.nan, 2**63 - 1, 2**70, "1", b"1", "", "a",
        Decimal("0.1"), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1),
        datetime.timedelta(1), np.datetime64("2024-01-01", "s"),
    ]  # fmt: skip
    assert len({h(x) for x in values}) == len(values)


def test_hashes_never_change() -> None:
    """They are in snapshots: another hash is another format."""
    assert halves(0) == (536559137, 531652009)
    assert halves(0.5) == (4185397667, 1033984590)
    assert halves(as_number("ann")) == (2745403717, 3180685392)


def test_hashes_are_even() -> None:
    high = np.array([halves(i)[0] >> 28 for i in range(8000)])
    low = np.array([halves(i)[1] & 15 for i in range(8000)])
    for bits in (high, low):
        counts = np.bincount(bits, minlength=16)
        assert ((counts - 500) ** 2 / 500).sum() < 45  # chi-squared, 15 degrees: p > 1e-4


def test_bloom_never_misses_and_seldom_errs() -> None:
    answer = filled(m.Bloom(bits=4096, hashes=4), range(400))
    assert all(m.bloom_contains(answer, x, hashes=4) for x in range(400))
    wrong = sum(m.bloom_contains(answer, x, hashes=4) for x in range(10_000, 20_000))
    expected = (1 - math.exp(-4 * 400 / 4096)) ** 4
    assert wrong / 10_000 < 1.5 * expected


def test_countmin_is_never_too_small_and_seldom_too_large() -> None:
    rng = np.random.default_rng(3)
    items = rng.zipf(1.5, 5000) % 1000
    answer = filled(m.CountMin(width=200, depth=5), items.tolist())
    true = np.bincount(items, minlength=1000)
    errors = np.array([m.countmin_estimate(answer, x, depth=5) for x in range(1000)]) - true
    assert (errors >= 0).all()
    assert (errors > math.e / 200 * 5000).mean() <= math.exp(-5)


@pytest.mark.parametrize("n", [0, 1, 10, 300, 2_000, 5_000, 30_000])
def test_hyperloglog_is_within_its_error(n: int) -> None:
    monoid = m.HyperLogLog(p=10)
    estimate = monoid.lower(filled(monoid, range(n)))
    assert isinstance(estimate, int)
    assert abs(estimate - n) <= 4 * 1.04 / math.sqrt(1 << 10) * n


def test_hyperloglog_counts_what_a_hash_of_64_bits_can() -> None:
    full = np.full(16, 50, np.uint8)
    assert cardinality(full, 16, 60) == pytest.approx(16 / math.log(2) / 2 * 2.0**50, rel=1e-9)


@pytest.mark.parametrize(
    "columns",
    [
        np.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1]),
        np.array([0.5, -0.0, math.nan, math.inf, 1e300, 2.0**63, -(2.0**63)]),
        pytest.param(np.array([True, False]), marks=pytest.mark.slow),
        pytest.param(np.array([2**64 - 1, 1], np.uint64), marks=pytest.mark.slow),
        pytest.param(np.array([0.5, 3.0], np.float32), marks=pytest.mark.slow),
    ],
    ids=lambda columns: str(columns.dtype),
)
def test_states_are_the_same_bits_plain_and_compiled(columns: np.ndarray) -> None:
    monoid = m.Bloom(bits=512, hashes=3)
    compiled = swag.TwoStacksLite(monoid, compiled=True).slide(columns, 3)
    plain = swag.Recalc(monoid, compiled=False).slide(columns.tolist(), 3)
    assert np.array_equal(compiled, np.array(plain))


def test_text_runs_as_objects() -> None:
    window = swag.DABALite(m.HyperLogLog(p=8))
    answers = window.slide(["a", "b", "a", None, "c"], 3)
    assert list(answers) == [1, 2, 2, 2, 2]


def test_quantiles_are_within_the_rank_error_and_exact_when_few() -> None:
    rng = np.random.default_rng(5)
    xs = rng.permutation(20_000)
    parts = m.Quantiles(k=200, at=None)
    total = parts.identity
    for chunk in np.array_split(xs, 40):
        partial = parts.identity
        for x in chunk[:250].tolist():
            partial = parts.combine(partial, parts.lift(x))
        total = parts.combine(total, partial)
    sketch = parts.lower(total)
    assert sketch.n == 10_000
    for rank in (0.01, 0.25, 0.5, 0.9, 0.99):
        assert abs(sketch.quantile(rank) / 20_000 - rank) < 0.05
        assert abs(sketch.rank(rank * 20_000) - rank) < 0.05
    few = m.Quantiles(at=[0.0, 0.5, 1.0])
    assert few.lower(few.combine(few.lift(2), few.lift(1))) == [1.0, 1.0, 2.0]


def test_quantiles_put_nan_above_all_and_leave_their_inputs_alone() -> None:
    parts = m.Quantiles(at=None)
    a, b = parts.lift(math.nan), parts.lift(3)
    both = parts.lower(parts.combine(a, b))
    assert (both.quantile(0.5), both.n) == (3.0, 2)
    assert math.isnan(both.quantile(0.9))
    assert math.isnan(parts.lower(a).quantile(0.5))
    assert (both.rank(3), both.rank(math.nan)) == (0.5, 1.0)
    assert (parts.lower(a).n, parts.lower(b).n) == (1, 1)
