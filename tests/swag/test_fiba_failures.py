"""FiBA and bad input: an error that says what was wrong, and the tree as it was."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from tests.swag.fiba_oracle import words


class Boom(Exception):
    """What a user's function raises."""


def state(tree):
    tree.check()
    return list(tree), len(tree)


@pytest.fixture
def tree():
    tree = swag.FiBA(words(), min_arity=2)
    tree.bulk_insert(range(100), range(100))
    return tree


NULLS = {
    "NaN": (math.nan, [1.0, math.nan]),
    "None": (None, [1, None]),
    "NaT": (np.datetime64("NaT"), np.array(["2024-01-01", "NaT"], "M8[D]")),
    "NumPy's NaN": (np.float32("nan"), np.array([0, np.nan], np.float32)),
    "NaN among objects": (math.nan, ["a", math.nan]),
}


@pytest.mark.parametrize("null", NULLS)
def test_null_times(tree, null):
    before = state(tree)
    one, several = NULLS[null]
    with pytest.raises(ValueError, match=r"the time is null.* every entry needs a time"):
        tree.insert(one, "x")
    with pytest.raises(ValueError, match="time 1 is null"):
        tree.bulk_insert(several, ["x", "y"])
    with pytest.raises(ValueError, match="null"):
        tree.bulk_evict(one)
    with pytest.raises(ValueError, match="null"):
        tree.range_query(one, 3)
    assert state(tree) == before


def test_lengths_that_differ(tree):
    before = state(tree)
    with pytest.raises(ValueError, match="2 times for 3 values"):
        tree.bulk_insert([1, 2], "abc")
    with pytest.raises(ValueError, match="3 times for 2 values"):
        tree.bulk_insert(np.arange(3), np.arange(2))
    with pytest.raises(ValueError, match="one dimension"):
        tree.bulk_insert(np.zeros((2, 2)), "ab")
    assert state(tree) == before


def test_times_that_can_not_be_compared(tree):
    before = state(tree)
    with pytest.raises(TypeError):
        tree.insert("noon", "x")
    with pytest.raises(TypeError):
        tree.bulk_insert([1, "noon"], "ab")
    assert state(tree) == before
    assert len(tree.slide("ab", 3)) == 2  # times are integers still
    tree.insert(0.5, "x")
    with pytest.raises(ValueError, match="slide numbers its items"):
        tree.slide("ab", 3)


def test_unsorted_times_are_sorted_and_equal_ones_keep_their_order():
    for compiled in (False, None):
        tree = swag.FiBA(m.FirstN(3), compiled=compiled)
        tree.bulk_insert(np.array([5, 1, 5, 1, 3]), np.array([1, 2, 3, 4, 5]))
        assert [t for t, _ in tree] == [1, 3, 5]
        assert list(tree.query()) == [2, 4, 5]


def test_a_lift_that_fails(tree):
    before = state(tree)

    def lift(x):
        if x == "bad":
            raise Boom
        return x

    tree = swag.FiBA(Monoid("picky", "", lift, lambda a, b: a + b), 2)
    tree.bulk_insert(range(100), ["x"] * 100)
    before = state(tree)
    with pytest.raises(Boom):
        tree.bulk_insert(range(50, 150), ["y"] * 60 + ["bad"] * 40)
    with pytest.raises(Boom):
        tree.insert(3, "bad")
    with pytest.raises(Boom):
        tree.slide(["y"] * 30 + ["bad"], 20)
    assert state(tree) == before


def failing(after):
    """Words whose combine fails once `after[0]` is used up."""

    def combine(a, b):
        after[0] -= 1
        if after[0] < 0:
            raise Boom
        return a + b

    return Monoid("failing", "", lambda x: f"{x} ", combine)


def operations(random, tree, span):
    """One random operation, to be tried until it does not fail."""
    n = random.choice([1, 4, 30])
    times = [random.randrange(span) for _ in range(n)]
    size = random.choice([1, 6, 40])
    return random.choice(
        [
            lambda: tree.insert(times[0], "i"),
            lambda: tree.bulk_insert(times, range(n)),
            lambda: tree.bulk_evict(times[0]),
            lambda: tree.slide(range(n), size),
            lambda: len(tree) and tree.evict(),
        ]
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_combine_that_fails_anywhere(seed):
    """Fail at the first combine of an operation, at the second, and so on until it succeeds."""
    random, left = Random(seed), [10**9]
    tree = swag.FiBA(failing(left), random.choice([2, 3]))
    span, failures = random.choice([30, 200]), 0
    for _ in range(25):
        operation, allowed = operations(random, tree, span), 0
        while True:
            left[0] = 10**9
            before = state(tree)
            left[0] = allowed
            try:
                operation()
                break
            except Boom:
                left[0], failures, allowed = 10**9, failures + 1, allowed + random.choice([1, 3])
                assert state(tree) == before
    assert failures > 50


def ones():
    tree = swag.FiBA(m.Sum(), min_arity=2)
    tree.bulk_insert(np.arange(2000), np.ones(2000, np.int64))
    for _ in range(100):
        tree.evict()
    return tree


slides = pytest.param("slide", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["bulk_insert", slides])
def test_a_sum_that_overflows_in_compiled_code(operation):
    """An integer sum raises in the middle of machine code; the tree is given back."""
    random, failures, tree = Random(1), 0, ones()
    for _ in range(60):
        before = state(tree)
        n = random.choice([3, 40, 600])
        xs = np.ones(n, np.int64)
        for i in random.sample(range(n), 2):
            xs[i] = 2**62
        start = random.randrange(2000)
        times = np.array(sorted(random.sample(range(start, start + 2 * n), n)))
        try:
            tree.bulk_insert(times, xs) if operation == "bulk_insert" else tree.slide(xs, 900)
            tree = ones()  # the two were not combined with each other
        except OverflowError:
            failures += 1
            assert state(tree) == before
    assert failures > 20
