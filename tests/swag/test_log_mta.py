"""Log MTA: the paper's figures 1 and 2, bulk evictions and a slide policy in any order."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash.swag.log_mta import extent
from tests.swag.policies import CASES, Case, affine, enforce, recalculated, total_of


def levels(window: Any) -> list[list[tuple[Any, Any]]]:
    """Each level's nodes in pairs, as the paper draws them, None for its neutral element."""
    drawn = []
    for level in range(window._at.h + 1):
        lo, hi = extent(window._at, level)
        s = window._memory.cap >> level
        nodes = [
            window._q.part[s + (j & (s - 1))] if lo <= j < hi else None
            for j in range(lo & ~1, (hi + 1) & ~1)
        ]
        drawn.append(list(zip(nodes[::2], nodes[1::2], strict=True)))
    return drawn


def add(a: Any, b: Any) -> Any:
    return a + b


def test_figure_1() -> None:
    window = swag.LogMTA(Monoid("sum", 0, int, add), compiled=False)
    window.insert_many([1, 2, 1, 2, 1, 2])
    assert levels(window) == [[(1, 2), (1, 2), (1, 2)], [(3, 3), (3, None)], [(6, 3)]]
    assert window.query() == 9


def test_figure_2() -> None:
    """Time stamp 8 evicts all others in three steps, one a level, from the root to the leaves.

    The copy of the paper has no picture: these are seven older stamps that make it three.
    """
    asked: list[tuple[Any, Any, bool]] = []

    def four_units(total: Any, old: Any) -> bool:
        says = bool(total - old >= 4)
        asked.append((total, old, says))
        return says

    window = swag.LogMTA(Monoid("max", 0, int, max), four_units, compiled=False)
    window.insert_many([1, 1, 2, 2, 3, 3, 4])
    assert levels(window) == [
        [(1, 1), (2, 2), (3, 3), (4, None)],
        [(1, 2), (3, 4)],
        [(2, 4)],
    ]
    asked.clear()
    window.insert(8)
    assert [old for _, old, says in asked if says] == [2, 3, 4]
    assert [old for _, old, says in asked if not says] == [8], "all of the window stays"
    assert levels(window) == [[(None, 8)]]
    assert window.query() == 8


def test_evicting_leaves_the_oldest_branch_right() -> None:
    window = swag.LogMTA(Monoid("sum", 0, int, add), compiled=False)
    window.insert_many([1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    window.evict()
    assert levels(window)[:3] == [
        [(None, 3), (2, 1), (2, 1), (1, 0), (3, 1)],
        [(3, 3), (3, 1), (4, None)],
        [(6, 4), (4, None)],
    ]
    window.evict_many(5)
    assert levels(window) == [[(1, 0), (3, 1)], [(None, 1), (4, None)]]
    assert window.query() == 5


@pytest.mark.parametrize("compiled", [False, True])
def test_random_operations_with_bulk_evictions(compiled: bool) -> None:
    random = Random(5)
    monoid = affine()
    window, items = swag.LogMTA(monoid, compiled=compiled), list[int]()
    for step in range(200):
        xs = [random.randrange(1000) for _ in range(random.randint(1, 40))]
        window.insert_many(np.array(xs, np.int64))
        items += xs
        k = random.choice([0, 1, len(items), random.randint(0, len(items))])
        window.evict_many(k)
        del items[:k]
        assert window.query() == recalculated(monoid, items)
        window.check()
        if step % 50 == 25:
            window = swag.restore(window.snapshot(), monoid, compiled=compiled)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_policies(case: Case) -> None:
    monoid, random = case.make(), Random(str(case))
    window, items = swag.LogMTA(monoid, case.policy, compiled=False), list[Any]()
    for x in case.draw(random, 400):
        window.insert(x)
        items = enforce(monoid, case.policy, [*items, x])
        assert len(window) == len(items)
        assert window.query() == monoid.lower(total_of(monoid, items))
    window.check()


def test_a_policy_compiled() -> None:
    case, random = CASES[0], Random(2)
    monoid = case.make()
    xs = case.draw(random, 600)
    plain = swag.LogMTA(monoid, case.policy, compiled=False)
    compiled = swag.LogMTA(monoid, case.policy, compiled=True)
    answers = compiled.slide(np.array(xs))
    assert answers.tolist() == [(plain.insert(x), plain.query())[1] for x in xs]
    compiled.check()
    assert len(compiled) == len(plain)
