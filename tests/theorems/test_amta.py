"""The MTA paper's costs: amortized O(1), O(log n) for bulk evictions and policies, in combines."""

from __future__ import annotations

from math import log2
from random import Random
from typing import Any

import pytest

from sash import Monoid, swag
from sash.swag import amta
from sash.testing import counting
from sash.testing.counting import Counter

both = pytest.mark.parametrize("algorithm", [swag.LogMTA, swag.AMTA])


def count() -> Monoid:
    """How many items: what policies here are about."""
    return Monoid("count", 0, lambda x: 1, lambda a, b: a + b)


def most(algorithm: Any, n: int) -> float:
    """The most combines of one operation on a window of n items, insertion and eviction."""
    height = log2(n + 1)
    return 4 * height + 3 if algorithm is swag.AMTA else height + 1


def spent(counter: Counter, operation: Any, *arguments: Any) -> int:
    counter.reset()
    operation(*arguments)
    return counter.combines


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 31, 32, 33, 100, 1000])
def test_amta_slides_in_constant_time(n: int) -> None:
    """Whatever the window's size: insert 2, evict 1 and query 1 on average."""
    monoid, counter = counting(count())
    window = swag.AMTA(monoid)
    window.insert_many(range(n))
    slides = 4096 + 4 * n
    inserts = evicts = 0
    for _ in range(slides):
        inserts += spent(counter, window.insert, 0)
        evicts += spent(counter, window.evict)
        assert spent(counter, window.query) == 1
    assert inserts / slides <= 2.5
    assert evicts / slides <= 1.25


@pytest.mark.parametrize("seed", range(20))
def test_amta_takes_amortized_constant_combines_in_any_order(seed: int) -> None:
    random = Random(seed)
    monoid, counter = counting(count())
    window = swag.AMTA(monoid)
    weights, burst = [random.random(), random.random()], random.choice([1, 5, 30, 100])
    combines = paid = 0
    for _ in range(200):
        insert = random.choices([True, False], weights)[0]
        for _ in range(random.randint(1, burst)):
            if insert:
                combines += spent(counter, window.insert, 0)
                paid += 2
            elif len(window):
                combines += spent(counter, window.evict)
                paid += 1
        assert combines <= 1.25 * paid


@both
@pytest.mark.parametrize("seed", range(5))
def test_any_operation_takes_log_n(algorithm: Any, seed: int) -> None:
    random = Random(seed)
    monoid, counter = counting(count())
    window = algorithm(monoid)
    for _ in range(300):
        for _ in range(random.choice([1, 10, 200])):
            assert spent(counter, window.insert, 0) <= most(algorithm, len(window))
        for _ in range(random.choice([1, 10])):
            if len(window):
                n = len(window)
                assert spent(counter, window.evict) <= most(algorithm, n)
        n = len(window)
        k = random.choice([0, min(n, 1), n // 2, n, random.randint(0, n)])
        assert spent(counter, window.evict_many, k) <= most(algorithm, n)
        assert len(window) == n - k
        assert spent(counter, window.query) <= 1


@both
def test_a_bulk_eviction_costs_no_more_than_a_single_one_at_worst(algorithm: Any) -> None:
    """From 2^12 items, 1 to all of them: the combines do not grow with how many go."""
    n = 1 << 12
    monoid, counter = counting(count())
    for k in [1, 2, 3, 10, 11, 12, 13, 14, 100, 2047, 2048, 2049, 4000, n - 1, n]:
        window = algorithm(monoid)
        window.insert_many(range(n))
        assert spent(counter, window.evict_many, k) <= most(algorithm, n)
        assert window.query() == n - k


@both
def test_a_policy_is_enforced_in_log_n(algorithm: Any) -> None:
    """The search asks O(log n) times, and what it evicts is one bulk eviction."""
    asked, wanted = 0, 0

    def above(total: int, old: int) -> bool:
        nonlocal asked
        asked += 1
        return total - old >= wanted

    monoid, counter = counting(count())
    random = Random(1)
    window = algorithm(monoid, above)
    for _ in range(30):
        wanted = 1 << 14
        for _ in range(random.randint(1, 400)):
            window.insert(0)
        n = len(window) + 1
        wanted = random.choice([n - 1, n // 2, n // 100 + 1, 1, n])
        asked = 0
        combines = spent(counter, window.insert, 0)
        assert len(window) == min(n, wanted)
        assert asked <= 4 * log2(n + 1) + 3
        assert combines <= 2 * most(algorithm, n) + asked


def test_amta_keeps_a_maximum_size_in_constant_time() -> None:
    """A policy that evicts one item an insertion: about 3 combines more, whatever the size."""
    for n in (10, 100, 1000):
        monoid, counter = counting(count())
        window = swag.AMTA(monoid, lambda total, old: total - old >= n)  # noqa: B023
        window.insert_many(range(n))
        slides = 4096
        assert spent(counter, window.insert_many, range(slides)) <= 8 * slides
        assert len(window) == n


@pytest.mark.parametrize(("algorithm", "rows"), [(swag.AMTA, 2), (swag.LogMTA, 4)])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_space(algorithm: Any, rows: int, compiled: bool) -> None:
    """All levels together: twice a power of two (Log MTA: four times), and less again later."""
    window = algorithm(count(), compiled=compiled)
    window.insert_many([0] * 1024)
    assert len(window._q.part) == rows * 1024
    window.evict_many(1000)
    assert len(window._q.part) <= 4 * rows * 24


@both
def test_an_answer_is_kept_until_the_window_changes(algorithm: Any) -> None:
    """Section 5.2: a query after a query combines nothing."""
    monoid, counter = counting(Monoid("words", "", str, lambda a, b: a + b))
    window = algorithm(monoid)
    words = "".join(chr(97 + i % 26) for i in range(100))
    window.insert_many(words)
    for k in range(1, 90):
        window.evict()
        assert window.query() == words[k:]
        assert spent(counter, window.query) == 0
        assert window.query() == words[k:]


@pytest.mark.parametrize("seed", range(5))
def test_one_recomputation_per_update(seed: int) -> None:
    """Section 5.2: an insertion and its policy set the result pair from scratch once, not twice."""
    random, most = Random(seed), 40

    def too_long(total: str, old: str) -> bool:
        return len(total) - len(old) >= most

    monoid, counter = counting(Monoid("words", "", str, lambda a, b: a + b))
    once, twice = (swag.AMTA(monoid, too_long, compiled=False) for _ in range(2))
    insert, enforce = twice._plain(amta.insert), twice._plain(amta.enforce)
    saved = 0
    for i in range(3000):
        most = random.choice([most, most, most, 3, 20, 40])
        word = chr(97 + i % 26)
        combines = spent(counter, once.insert, word)
        counter.reset()
        twice._memory.reserve(twice._at, 1)
        twice._at = enforce(twice._q, insert(twice._q, twice._at, word))
        assert combines <= counter.combines
        saved += counter.combines - combines
        assert once.query() == twice.query()
        assert len(once) == len(twice) <= most
    assert saved > 0
