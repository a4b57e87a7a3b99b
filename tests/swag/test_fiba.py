"""FiBA's window: what it answers, the paper's example, range queries, snapshots, check."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.swag.fiba.check import Checker
from sash.swag.fiba.tree import (
    HEIGHT,
    LEFT_LEAF,
    RIGHT,
    RIGHT_LEAF,
    ROOT,
    USED,
    first,
    set_arity,
    set_parent,
    set_side,
    set_weight,
)
from tests.swag.fiba_oracle import Oracle, affine, bits, plain, words

LETTERS = "abcdefghijklmnopqrstuv"


def concat() -> Monoid:
    return Monoid("concat", "", str, lambda a, b: a + b)


def figure_1() -> Any:
    """The window of the paper's figure 1: a to v at times 1 to 23, with a gap at 16."""
    tree = swag.FiBA(concat(), min_arity=2)
    times = [t for t in range(1, 24) if t != 16]
    tree.bulk_insert(times, list(LETTERS))
    return tree


def test_figure_1():
    tree = figure_1()
    tree.check()
    assert (tree.query(), len(tree)) == (LETTERS, 22)
    assert (tree.oldest(), tree.youngest()) == (1, 23)
    assert tree.range_query(8, 14) == "hijklmn"
    assert tree.range_query(16, 16) == ""
    q = tree._q
    parts = [q.front[0] if q.head[LEFT_LEAF] else None, q.agg[q.head[ROOT]]]
    assert "".join([*parts, q.agg[q.head[RIGHT_LEAF]]]) == LETTERS  # left, inner, right
    tree.bulk_evict(15)
    assert tree.query() == "pqrstuv"


def test_entries_of_one_time_are_combined_in_order_of_arrival():
    tree = swag.FiBA(concat())
    for x in "abc":
        tree.insert(1, x)
    tree.bulk_insert([1, 0, 1], ["d", "z", "e"])
    assert list(tree) == [(0, "z"), (1, "abcde")]


def test_an_empty_window():
    tree = swag.FiBA(m.Max())
    assert (len(tree), list(tree), tree.query(), tree.range_query(0, 9)) == (0, [], None, None)
    tree.bulk_evict(3)
    tree.bulk_insert([], [])
    for operation in (tree.evict, tree.oldest, tree.youngest):
        with pytest.raises(IndexError, match="empty FiBA"):
            operation()
    tree.check()


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 700])
@pytest.mark.parametrize("compiled", [True, False])
def test_slide_agrees_with_two_stacks_lite(size, compiled):
    xs = np.random.default_rng(size).integers(0, 1000, 2500)
    tree = swag.FiBA(affine(), compiled=compiled)
    got = [*tree.slide(xs[:40], size), *tree.slide(xs[40:], size)]
    wanted = swag.TwoStacksLite(affine(), compiled=False).slide(xs.tolist(), size)
    assert list(map(plain, got)) == wanted
    tree.check()
    assert (tree.oldest(), tree.youngest()) == (2500 - size, 2499)


def test_slide_goes_on_after_the_youngest_time():
    tree = swag.FiBA(concat())
    tree.bulk_insert([3, 9], ["a", "b"])
    assert tree.slide("cd", 3) == ["abc", "bcd"]
    assert [t for t, _ in tree] == [9, 10, 11]
    assert swag.FiBA(concat()).slide("", 3) == []


def test_range_queries_of_every_range():
    random = Random(1)
    for min_arity in (2, 3, 8):
        tree, oracle = swag.FiBA(words(), min_arity), Oracle(words())
        times = random.sample(range(400), 150)
        for window in (tree, oracle):
            window.bulk_insert(times, times)
            window.bulk_evict(sorted(times)[20])
        for _ in range(4):  # an evicted entry may still lie in the left finger
            tree.evict()
            oracle.evict()
        for lo in range(-1, 402, 3):
            for hi in range(lo - 1, 402, 7):
                assert tree.range_query(lo, hi) == oracle.range_query(lo, hi)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.slow), False])
def test_many_ranges_at_once(compiled):
    tree = swag.FiBA(affine(), 3, compiled=compiled)
    random = Random(5)
    for _ in range(5):
        times = np.array(random.sample(range(3000), 600))
        tree.bulk_insert(times, times)
        tree.bulk_evict(random.randrange(300))
        los = np.array([random.randrange(-5, 3010) for _ in range(200)])
        his = los + np.array([random.randrange(-3, 2000) for _ in range(200)])
        wanted = [tree.range_query(lo, hi) for lo, hi in zip(los, his, strict=True)]
        assert list(map(plain, tree.range_queries(los, his))) == wanted
    assert list(tree.range_queries([], [])) == []
    assert plain(tree.range_queries([0.5], [7.5])[0]) == tree.range_query(1, 7)
    with pytest.raises(ValueError, match="1 lower bounds for 2"):
        tree.range_queries([1], [2, 3])


TIMES = {
    "int": [5, -3, 2**62, 0],
    "float": [0.5, -2.25, 1e300, -0.0, float("inf"), -1e-300],
    "int and float": [1, 2.5, -3, 0.1],
    "datetime64": [np.datetime64("2024-01-02"), np.datetime64("1969-05-01")],
    "two units": [np.datetime64("2024-01-02"), np.datetime64("2024-01-02T10:00:00")],
    "datetime": [dt.datetime(2024, 1, 2), dt.datetime(1960, 1, 2)],
    "text": ["b", "a", "ab"],
    "tuples": [(1, "x"), (0, "y")],
    "large": [2**70, 5, -(2**80)],
    "large and float": [2**60 + 1, 0.5, 2**60],
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_times_of_every_kind(times):
    random = Random(3)
    singly, at_once, oracle = swag.FiBA(words(), 2), swag.FiBA(words(), 2), Oracle(words())
    for _ in range(4):
        order = random.sample(times, len(times))
        for t in order:
            singly.insert(t, t)
        at_once.bulk_insert(order, order)
        oracle.bulk_insert(order, order)
    for tree in (singly, at_once):
        tree.check()
        assert tree.oldest() == min(times)
        assert tree.youngest() == max(times)
        assert [t for t, _ in tree] == sorted(oracle.entries)
        lo, hi = sorted(times)[0], sorted(times)[-2]
        assert len(tree.range_query(lo, hi).split()) > 0
        assert tree.range_query(lo, lo).startswith(str(oracle.entries[lo])[:1])
        tree.bulk_evict(hi)
        assert [t for t, _ in tree] == [max(times)]


def test_bounds_between_times():
    """A bound need not be of the same kind as the times."""
    tree = swag.FiBA(m.Count())
    tree.bulk_insert(range(10), range(10))
    assert tree.range_query(2.5, 4.5) == 2
    assert tree.range_query(float("-inf"), float("inf")) == 10
    assert tree.range_query(float("inf"), float("inf")) == 0
    tree.bulk_evict(float("-inf"))
    tree.bulk_evict(-(2**80))
    tree.bulk_evict(3.999)
    assert tree.oldest() == 4
    floats = swag.FiBA(m.Count())
    floats.bulk_insert([0.5, 2.0**60], [1, 1])
    assert floats.range_query(1, 2**60 - 1) == 0
    floats.bulk_evict(2**60 - 1)
    assert floats.oldest() == 2.0**60


def test_an_integer_tree_becomes_one_of_floats():
    tree = swag.FiBA(words(), 2)
    tree.bulk_insert(range(0, 100, 2), range(50))
    tree.insert(3.5, "x")
    tree.check()
    assert [t for t, _ in tree][:4] == [0, 2, 3.5, 4]
    tree.insert(2**60 + 1, "y")  # no double is that number
    tree.check()
    assert tree.youngest() == 2**60 + 1


@pytest.mark.parametrize("make", [words, affine, bits])
def test_snapshot_and_restore(make):
    for kind in (int, float, str):
        tree = swag.FiBA(make(), min_arity=3)
        tree.bulk_insert([kind(i % 60) for i in range(100)], list(range(100)))
        tree.evict()
        copy = swag.restore(tree.snapshot(), make())
        for window in (tree, copy):
            window.insert(kind(7), 3)
            window.bulk_evict(kind(4))
            window.check()
        assert copy.min_arity == 3
        assert [(t, plain(v)) for t, v in copy] == [(t, plain(v)) for t, v in tree]


@pytest.mark.slow
def test_a_snapshot_keeps_the_types_of_a_window_that_was_typed():
    tree = swag.FiBA(m.Sum())
    tree.bulk_insert(np.arange(600), np.ones(600))
    copy = swag.restore(tree.snapshot(), m.Sum())
    copy.bulk_insert(np.arange(600, 1200), np.ones(600))
    assert (len(copy), copy.query(), copy._layout) == (1200, 1200.0, tree._layout)


def test_a_damaged_snapshot():
    tree = swag.FiBA(words())
    tree.bulk_insert(range(50), range(50))
    with pytest.raises(swag.SnapshotError, match="damaged"):
        swag.restore(tree.snapshot()[:-3], words())
    with pytest.raises(swag.SnapshotError, match="affine"):
        swag.restore(tree.snapshot(), affine())


BREAKS = {
    "aggregate": lambda q: q.agg.__setitem__(q.head[ROOT], "wrong"),
    "order": lambda q: q.time.__setitem__(first(q, q.head[LEFT_LEAF]), 10**6),
    "arity": lambda q: set_arity(q, q.head[LEFT_LEAF], 3),
    "flags": lambda q: set_side(q, q.head[LEFT_LEAF], RIGHT),
    "links": lambda q: set_parent(q, q.head[LEFT_LEAF], q.head[RIGHT_LEAF]),
    "height": lambda q: q.head.__setitem__(HEIGHT, 7),
    "weight": lambda q: set_weight(q, q.head[ROOT], 1),
    "fingers": lambda q: q.head.__setitem__(RIGHT_LEAF, q.head[LEFT_LEAF]),
    "front": lambda q: q.front.__setitem__(0, "wrong"),
    "nodes": lambda q: q.head.__setitem__(USED, q.head[USED] + 1),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_check_says_what_is_broken_and_draws_the_tree(broken):
    tree = swag.FiBA(words(), min_arity=4)
    tree.bulk_insert(range(100), range(100))
    tree.query()
    tree.check()
    BREAKS[broken](tree._q)
    problems = list(Checker(tree._q, tree._monoid).problems())
    assert any(problem.startswith(broken) for problem in problems)
    with pytest.raises(AssertionError, match=r"(?s)not so: .*node \d+ inner .*\n  node \d+"):
        tree.check()


def test_iterating_while_it_changes():
    tree = swag.FiBA(words())
    tree.bulk_insert(range(5), range(5))
    entries = iter(tree)
    next(entries)
    tree.insert(0.5, "x")
    with pytest.raises(RuntimeError, match="changed"):
        next(entries)


@pytest.mark.parametrize("n", [100_000, 1 << 20])
@pytest.mark.slow
def test_at_most_24_bytes_an_entry(n):
    tree = swag.FiBA(m.Sum())
    step = 1 << 16
    for start in range(0, n, step):
        times = np.arange(start, min(start + step, n))
        tree.bulk_insert(times, times.astype(float))
    assert len(tree) == n
    assert tree.nbytes <= 24 * n


@pytest.mark.parametrize("min_arity", [0, 1, -3, 2.5, "8"])
def test_min_arity(min_arity):
    with pytest.raises((ValueError, TypeError), match="min_arity must be"):
        swag.FiBA(words(), min_arity)
