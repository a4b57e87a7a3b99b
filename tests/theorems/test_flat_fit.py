"""FlatFIT, table 1: 3 combines a slide for one query, n - 1 for all ranges; space."""

from __future__ import annotations

from random import Random

import pytest

from sash import Monoid, swag
from sash.testing import counting


def nothing() -> Monoid:
    """The cheapest monoid: only its combines are of interest."""
    return Monoid("nothing", 0, lambda x: 0, lambda a, b: 0)


SIZES = [2, 3, 5, 8, 16, 100, 1000]


@pytest.mark.parametrize("n", SIZES)
def test_one_query_takes_3_combines_a_slide(n: int) -> None:
    monoid, counter = counting(nothing())
    window = swag.FlatFIT(monoid, size=n)
    window.insert_many([0] * n)
    window.query()
    spent = []
    for _ in range(4 * (n + 1)):
        counter.reset()
        window.insert(0)
        window.query()
        spent.append(counter.combines)
    for first in range(3 * (n + 1)):
        assert sum(spent[first : first + n + 1]) == 3 * (n - 1), "in n + 1 slides"
    assert max(spent) == n - 1, "a reset"
    if n > 3:  # around a reset 1, else 2
        assert sorted(spent[: n + 1]) == sorted([n - 1, 1, 1] + [2] * (n - 2))


@pytest.mark.parametrize("n", SIZES[:-1])
def test_all_ranges_take_n_minus_1_combines_a_slide(n: int) -> None:
    monoid, counter = counting(nothing())
    window = swag.FlatFIT(monoid, size=n)
    window.slide_many([0] * n, range(1, n + 1))
    for _ in range(2 * n + 3):
        counter.reset()
        window.slide_many([0], range(1, n + 1))
        assert counter.combines == n - 1


def test_insert_and_evict_take_none() -> None:
    monoid, counter = counting(nothing())
    window = swag.FlatFIT(monoid)
    window.insert_many([0] * 100)
    for _ in range(30):
        window.evict()
    window.evict_many(30)
    assert counter.combines == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_window_of_any_size_takes_amortized_constant_combines(seed: int) -> None:
    """Three a slide are three an insertion and a query, in whatever order they come."""
    random = Random(seed)
    monoid, counter = counting(nothing())
    window = swag.FlatFIT(monoid)
    weights = [random.random() for _ in range(3)]
    burst = random.choice([1, 5, 30])
    paid = 0
    for _ in range(300):
        operation = random.choices(["insert", "evict", "query"], weights)[0]
        for _ in range(random.randint(1, burst)):
            if operation == "insert":
                window.insert(0)
                paid += 1
            elif operation == "query":
                window.query()
                paid += 1
            elif len(window):
                window.evict()
        assert counter.combines <= 1.5 * paid


@pytest.mark.parametrize("n", [16, 1024])
def test_space_is_n_partials_and_n_pointers(n: int) -> None:
    window = swag.FlatFIT(nothing())
    window.insert_many([0] * n)
    window.query()
    assert len(window._q.part) == len(window._q.ahead) == n
