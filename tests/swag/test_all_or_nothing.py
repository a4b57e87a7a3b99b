"""insert_many that raises in the middle: all or nothing, plain and compiled, in every algorithm."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash import monoids as m
from sash.swag.raising import may_raise, returns
from sash.swag.registry import IN_ORDER

QUICK = (swag.Recalc, swag.TwoStacksLite, swag.DABALite, swag.Reactive, swag.AMTA)
"""Compiled by default: one of those whose steps are alike. All run as plain Python."""


def ways(algorithms: Any) -> list[Any]:
    """Algorithms, compiled and plain; a batch that raises is undone outside of their steps."""
    return [
        pytest.param(
            algorithm,
            compiled,
            id=f"{'compiled' if compiled else 'plain'}-{algorithm.__name__}",
            marks=pytest.mark.slow if compiled and algorithm not in QUICK else (),
        )
        for compiled in (True, False)
        for algorithm in algorithms
    ]


ALGORITHMS = [pytest.param(a, id=a.__name__) for a in IN_ORDER]
LAZY = (swag.Recalc, swag.FlatFIT, swag.Reactive)  # they combine when they are asked
BAD = 10**9
PRIME = 10_007


def brittle_lift() -> Monoid:
    """A composition of affine functions whose lift refuses one item."""

    def lift(x: int) -> tuple[int, int]:
        if x == BAD:
            raise ValueError("not this item")
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("brittle lift", (1, 0), lift, combine)


def brittle_combine() -> Monoid:
    """The same; its combine refuses what the item leads to, and the steps that meet it vary."""

    def lift(x: int) -> tuple[int, int]:
        if x == BAD:
            return (-1, -1)
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        if f[0] < 0 or g[0] < 0:
            raise ValueError("not this item")
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("brittle combine", (1, 0), lift, combine)


def brittle_sum() -> Monoid:
    """For the algorithm that needs an inverse."""

    def lift(x: int) -> int:
        if x == BAD:
            raise ValueError("not this item")
        return x

    def inverse(total: int, old: int) -> int:
        return total - old

    return Monoid("brittle sum", 0, lift, lambda a, b: a + b, inverse=inverse)


def monoids_of(algorithm: Any) -> list[Any]:
    if algorithm is swag.SubtractOnEvict:
        return [brittle_sum]
    if algorithm in LAZY:
        return [brittle_lift]
    return [brittle_lift, brittle_combine]


def brought_to(algorithm: Any, make: Any, dice: Random, compiled: bool) -> tuple[Any, list[int]]:
    """A window in some state that random operations lead to, and its items."""
    window, items = algorithm(make(), compiled=compiled), []
    for _ in range(dice.randrange(6)):
        xs = [dice.randrange(1000) for _ in range(dice.randrange(1, 40))]
        window.insert_many(np.array(xs, np.int64) if compiled else xs)
        k = dice.randrange(len(items) + len(xs) + 1)
        for _ in range(k):
            window.evict()
        items = (items + xs)[k:]
        if dice.random() < 0.5:
            window.query()
    return window, items


def folded(monoid: Monoid, items: list[int]) -> Any:
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return total


@pytest.mark.parametrize(("algorithm", "compiled"), ways(IN_ORDER))
def test_a_batch_that_raises_leaves_the_window_as_it_was(algorithm: Any, compiled: bool) -> None:
    makes = monoids_of(algorithm)
    for make in makes if not compiled or algorithm is swag.DABALite else makes[-1:]:
        for seed in range(40):
            dice = Random(seed)
            window, items = brought_to(algorithm, make, dice, compiled)
            bad = [dice.randrange(1000) for _ in range(dice.randrange(1, 80))]
            place = dice.randrange(len(bad))
            bad[place : place + 1] = [BAD, BAD]  # of two neighbours, each algorithm combines one
            with pytest.raises(ValueError, match="not this item"):
                window.insert_many(np.array(bad, np.int64) if compiled else bad)
            window.check()
            assert (len(window), window.query()) == (len(items), folded(window.monoid, items))
            more = [dice.randrange(1000) for _ in range(dice.randrange(1, 60))]
            window.insert_many(np.array(more, np.int64) if compiled else more)
            k = dice.randrange(len(items) + len(more) + 1)
            for _ in range(k):
                window.evict()
            items = (items + more)[k:]
            window.check()
            assert (len(window), window.query()) == (len(items), folded(window.monoid, items))


@pytest.mark.parametrize(("algorithm", "compiled"), ways([swag.AMTA, swag.LogMTA]))
@pytest.mark.parametrize("n", [50, 40_000])
def test_with_a_policy(algorithm: Any, compiled: bool, n: int) -> None:
    """Evictions that the batch has led to are undone too, also those of pieces before."""
    if n > 50 and not compiled:
        n = 2000

    def lift(x: int) -> int:
        if x == BAD:
            raise ValueError("not this item")
        return x

    def most_300(total: int, old: int) -> bool:
        return total - old >= 300

    for seed in range(8):
        dice = Random(seed)
        monoid = Monoid("brittle sum", 0, lift, lambda a, b: a + b)
        window = algorithm(monoid, policy=most_300, compiled=compiled)
        window.insert_many(np.array([dice.randrange(20) for _ in range(60)]))
        before = len(window), window.query(), window.snapshot()
        bad = np.array([dice.randrange(20) for _ in range(n)])
        bad[dice.randrange(n)] = BAD
        with pytest.raises(ValueError, match="not this item"):
            window.insert_many(bad if compiled else bad.tolist())
        window.check()
        assert (len(window), window.query(), window.snapshot()) == before
        window.insert_many(np.arange(100))
        window.check()


def test_flat_fit_of_a_size_evicts_nothing() -> None:
    window = swag.FlatFIT(brittle_sum(), size=5)
    window.insert_many([1, 2, 3, 4])
    for bad in ([5, 6, BAD], np.array([5, 6, 7, 8, 9, 10, BAD])):
        with pytest.raises(ValueError, match="not this item"):
            window.insert_many(bad)
        assert (len(window), window.query()) == (4, 10)
    window.insert_many(np.arange(100))
    assert (len(window), window.query()) == (5, 485)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_integer_that_does_not_fit(algorithm: Any) -> None:
    """The catalogue's sum of integers raises when it is compiled."""
    window = algorithm(m.Sum(), compiled=True)
    window.insert_many(np.arange(100))
    large = np.full(10, 2**62)
    if algorithm in LAZY:
        window.insert_many(large)
        with pytest.raises(OverflowError):
            window.query()
    else:
        with pytest.raises(OverflowError):
            window.insert_many(large)
        window.check()
        assert window.query() == 4950


@pytest.mark.slow
def test_fiba_is_undone_where_an_integer_does_not_fit() -> None:
    tree = swag.FiBA(m.Sum())
    tree.bulk_insert(np.arange(2000), np.arange(2000))
    with pytest.raises(OverflowError):
        tree.bulk_insert(np.arange(0, 4000, 2), np.full(2000, 2**62))
    tree.check()
    assert (len(tree), tree.query()) == (2000, 1999000)


@pytest.mark.parametrize(("algorithm", "compiled"), ways([swag.AMTA, swag.LogMTA]))
def test_over_a_store_a_piece_is_all_or_nothing(algorithm: Any, compiled: bool) -> None:
    store = stores.open("memory:")
    window = algorithm(brittle_combine(), store=store, compiled=compiled, page=16, buffer=32,
                       cache=32)  # fmt: skip
    items = [x % 1000 for x in range(900)]
    window.insert_many(np.array(items))
    window.evict_many(100)
    with pytest.raises(ValueError, match="not this item"):
        window.insert_many(np.array([*range(700), BAD]))
    done = window.offset - 900
    assert done in (0, 512, 700, 701)
    items = [*items[100:], *range(done)]
    window.check()
    assert (len(window), window.query()) == (len(items), folded(window.monoid, items))
    assert window.commit() == 900 + done
    again = algorithm(brittle_combine(), store=store, compiled=compiled)
    assert again.query() == window.query()


@pytest.mark.parametrize(
    ("function", "item", "does"),
    [
        (lambda x: 8 / x, 1.0, True),
        (lambda x: 8 / x, 0.0, False),
        (lambda x: x * 2**62 // 4, 1, True),
        (lambda x: (x + x) * 2**62 // 4, 1, False),  # on the way, too large for 64 bits
        (lambda x: 2**62 * (x + x) // 4, 1, False),
        (lambda x: -(x << 63), 1, False),
        (lambda x: x ** (x - 5), 1, False),  # Python has a float there
        (lambda x: int(x * 1e30), 1.0, False),
        (lambda p: (p[0] - p[1], p[0] * 2**63), (1, 1), False),
        (lambda p: (p[0] - p[1], p[0] * 2.0**63), (1, 1), True),
    ],
)
def test_what_returns_when_it_is_compiled(function: Any, item: Any, does: bool) -> None:
    assert returns(function, item) == does


def test_what_may_raise() -> None:
    floats = Monoid("largest", 0.0, lambda x: x, lambda a, b: a if a > b else b)
    assert not may_raise(floats)
    assert not may_raise(m.Max().of("float64"))
    assert not may_raise(m.Mean().of("float64"))
    assert may_raise(m.Sum().of("int64"))
    assert may_raise(brittle_lift())
    assert may_raise(Monoid("ratio", 0.0, lambda x: 1 / x, lambda a, b: a if a > b else b))


def test_a_single_insert_that_raises() -> None:
    """Where steps change nothing that is in use, the window is as it was; others refuse."""
    for algorithm in IN_ORDER:
        make = monoids_of(algorithm)[-1]
        window = algorithm(make(), compiled=False)
        for i in range(20):
            window.insert(i)
        if make is not brittle_combine:
            continue
        refuses = "insert" in algorithm.rewrites

        def insert(window: Any = window) -> None:
            for _ in range(20):
                window.insert(BAD)

        with pytest.raises(ValueError, match="not this item"):
            insert()
        if refuses:
            with pytest.raises(RuntimeError, match="half changed"):
                window.query()
        else:
            window.check()
            assert len(window) == 20
