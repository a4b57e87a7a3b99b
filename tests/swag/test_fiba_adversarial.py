"""FiBA where it hurts: at both spines, at equal times, with everything gone."""

from __future__ import annotations

from random import Random

import pytest

from tests.swag.fiba_oracle import Pair, affine, words

ARITIES = [2, 3, 4, 8, 16, 64]
arities = pytest.mark.parametrize("min_arity", ARITIES)
ways = pytest.mark.parametrize(
    ("make", "compiled"),
    [
        pytest.param(words, False, id="words"),
        pytest.param(affine, True, id="affine compiled", marks=pytest.mark.slow),
    ],
)


def filled(make, min_arity, compiled, n=700, step=3):
    pair = Pair(make(), min_arity, compiled)
    pair("bulk_insert", list(range(0, n * step, step)), list(range(n)))
    return pair


@ways
@arities
def test_evict_into_the_right_spine(make, compiled, min_arity):
    """The root goes, and a node of the right spine, or its only child, takes its place."""
    for keep in (1, 2, min_arity - 1, min_arity, min_arity + 1, 5 * min_arity, 300):
        pair = filled(make, min_arity, compiled)
        times = sorted(pair.oracle.entries)
        pair("bulk_evict", times[-keep - 1])
        pair("insert", times[-1] + 1, 1)
        pair("bulk_evict", times[-1])


@ways
@arities
def test_every_boundary(make, compiled, min_arity):
    """An entry, or a gap between entries, on every level of the tree."""
    n = 60 if min_arity < 8 else 400
    for gap in (0, 1):
        for cut in range(-1, n, max(1, n // 40)):
            pair = filled(make, min_arity, compiled, n)
            pair("bulk_evict", cut * 3 + gap)


@ways
@arities
def test_evict_everything(make, compiled, min_arity):
    for beyond in (0, 1, 10**15):
        pair = filled(make, min_arity, compiled)
        pair("bulk_evict", max(pair.oracle.entries) + beyond)
        pair("bulk_evict", 5)
        pair("bulk_insert", [7, 9, 8], [1, 2, 3])
        for _ in range(3):
            pair("evict")
        pair("bulk_insert", list(range(300)), list(range(300)))


@ways
@arities
def test_bulk_into_the_left_spine(make, compiled, min_arity):
    pair = filled(make, min_arity, compiled)
    for k in range(1, 6):
        pair("bulk_insert", list(range(-200 * k, -200 * (k - 1), k)), [k] * len(range(0, 200, k)))
        pair("evict")
    low = min(pair.oracle.entries)
    pair("bulk_insert", [low + i // 2 for i in range(40)], list(range(40)))


@ways
@arities
def test_all_times_equal(make, compiled, min_arity):
    pair = Pair(make(), min_arity, compiled)
    pair("bulk_insert", [5] * 100, list(range(100)))
    pair("insert", 5, 7)
    pair("bulk_insert", [5] * 3, [1, 2, 3])
    assert len(pair.window) == 1
    pair("evict")


@ways
@arities
def test_duplicate_times_in_one_bulk_on_every_level(make, compiled, min_arity):
    """Each entry gets two more values, in order of arrival, and between them new entries."""
    pair = filled(make, min_arity, compiled, 400)
    times = sorted(pair.oracle.entries)
    pair("bulk_insert", times[::-1] + times, list(range(800)))
    pair("bulk_insert", [t + d for t in times[::7] for d in (0, 1, 0)], list(range(3 * 58)))


@ways
@arities
def test_alternating_ends(make, compiled, min_arity):
    pair = Pair(make(), min_arity, compiled)
    for k in range(1, 60):
        pair("insert", k if k % 2 else -k, k)
    for k in range(60, 90):
        pair("evict")
        pair("insert", k if k % 3 else -k, k)
    for k in range(20):
        pair("bulk_insert", [-1000 * (k + 1) + i for i in range(9)] + [1000 * k + 500], [k] * 10)
        pair("bulk_evict", sorted(pair.oracle.entries)[8])


@ways
def test_grow_and_drain(make, compiled):
    """From nothing to many and back, one at a time and in bulks, over and over."""
    pair = Pair(make(), 2, compiled)
    for n in (1, 2, 3, 7, 8, 9, 50, 200):
        start = max(pair.oracle.entries, default=0) + 1
        pair("bulk_insert", list(range(start, start + n)), list(range(n)))
        for _ in range(n):
            pair("evict")
        assert len(pair.window) == 0


@arities
def test_what_splits_many_levels_at_once(min_arity):
    """A bulk much larger than the tree goes into one gap, or into every gap."""
    random = Random(1)
    pair = filled(affine, min_arity, False, 30, step=100_000)
    pair("bulk_insert", list(range(1_500_001, 1_503_000)), list(range(2999)))
    ts = sorted(random.sample(range(3_000_000), 2000))
    pair("bulk_insert", ts, list(range(2000)))
