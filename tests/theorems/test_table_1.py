"""Table 1 of the FlatFIT paper: operations per slide and space, of all that it compares.

What is counted here are combines: Naive and the trees begin with the identity, which the paper
does not count. FlatFIT's own rows are in test_flat_fit.py.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import pytest

from benchmarks.papers.ranges import combines_of_ranges
from sash import Monoid, swag
from sash.testing import counting

POWERS = [2, 4, 8, 32, 128]


def nothing() -> Monoid:
    return Monoid("nothing", 0, lambda x: 0, lambda a, b: 0)


def slides(algorithm: Any, n: int) -> list[int]:
    """The combines of each of 2n slides of a full window, with one query."""
    monoid, counter = counting(nothing())
    window = algorithm(monoid, compiled=False)
    window.slide([0] * n, n)
    found = []
    for _ in range(2 * n):
        counter.reset()
        window.slide([0], n)
        found.append(counter.combines)
    return found


@pytest.mark.parametrize("n", POWERS)
def test_naive_makes_n_minus_1_operations_and_one_with_the_identity(n: int) -> None:
    assert slides(swag.Recalc, n) == [n] * (2 * n)


@pytest.mark.parametrize("n", POWERS[1:])
def test_flat_fat_updates_log_n_nodes_and_answers_with_log_n(n: int) -> None:
    """The paper counts the update alone; an inverted buffer has to be put together."""
    found = slides(swag.Reactive, n)
    assert min(found) == log2(n)  # the buffer is not inverted
    assert max(found) <= 2 * log2(n) + 1
    assert sum(found) / len(found) <= 2 * log2(n)


@pytest.mark.parametrize("n", POWERS[1:])
def test_b_int_takes_one_operation_per_insertion_and_log_n_per_query(n: int) -> None:
    found = slides(swag.BInt, n)
    assert max(found) <= 3 * log2(n) + 1
    assert sum(found) / len(found) <= log2(n) + 3


@pytest.mark.parametrize("n", POWERS)
def test_naive_answers_all_ranges_with_n_n_minus_1_by_2(n: int) -> None:
    assert combines_of_ranges(swag.Recalc, n) == n * (n - 1) / 2 + n


@pytest.mark.parametrize("n", [8, 32, 128])
def test_flat_fat_answers_all_ranges_with_about_n_log_n(n: int) -> None:
    """The paper's exact number: n log n - 3n/2 + 5/2 log n + 5/2."""
    exact = n * log2(n) - 1.5 * n + 2.5 * log2(n) + 2.5
    assert combines_of_ranges(swag.Reactive, n) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("n", [8, 32, 128])
def test_b_int_answers_all_ranges_with_about_n_log_n(n: int) -> None:
    assert combines_of_ranges(swag.BInt, n) <= 1.2 * n * log2(n)


@pytest.mark.parametrize("n", POWERS)
def test_flat_fit_answers_all_ranges_with_n_minus_1(n: int) -> None:
    assert combines_of_ranges(swag.FlatFIT, n) == n - 1


@pytest.mark.parametrize("n", [5, 8, 33, 64, 100])
@pytest.mark.parametrize("algorithm", [swag.Reactive, swag.BInt])
def test_trees_take_twice_the_power_of_two_above_n(algorithm: Any, n: int) -> None:
    window = algorithm(nothing(), compiled=False)
    window.slide([0] * n, n)
    assert len(window._q.part) == 2 ** (ceil(log2(n)) + 1)
