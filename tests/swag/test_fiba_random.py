"""FiBA against recalculation: random bulk and single operations, a check after each."""

from __future__ import annotations

from random import Random

import pytest

from tests.swag.fiba_oracle import Pair, affine, bits, drive, words

SPANS = [12, 300, 5000]


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("min_arity", [2, 3, 4, 8, 64])
@pytest.mark.parametrize("make", [words, affine])
def test_plain(make, min_arity, span):
    for seed in range(3):
        drive(Pair(make(), min_arity, compiled=False), Random(seed), 60, span)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("min_arity", [2, 5, 8, 64])
def test_compiled(min_arity, span):
    for seed in range(8):
        drive(Pair(affine(), min_arity, compiled=True), Random(seed), 60, span)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_vectors(compiled):
    for seed in range(6):
        drive(Pair(bits(), 2 + seed, compiled), Random(seed), 50, SPANS[seed % 3])


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_long_runs(seed, compiled):
    random = Random(1000 + seed)
    pair = Pair(affine(), random.choice([2, 2, 3, 4, 8, 16]), compiled)
    drive(pair, random, 600, random.choice(SPANS))


def test_full_neighbors_are_moved_from_not_merged_with():
    """Many entries come to the same nodes, so that neighbors are full when one underflows."""
    for seed in range(20):
        random = Random(seed)
        pair = Pair(words(), random.choice([2, 3, 4]), compiled=False)
        pair("bulk_insert", list(range(0, 4000, 100)), list(range(40)))
        for _ in range(25):
            where = random.choice(sorted(pair.oracle.entries))
            ts = [where + random.randrange(99) for _ in range(random.choice([1, 3, 6]))]
            pair("bulk_insert", ts, [0] * len(ts))
            if random.random() < 0.5:
                times = sorted(pair.oracle.entries)
                pair("bulk_evict", times[min(len(times) - 1, random.randrange(14))])
            if not pair.oracle.entries:
                break
