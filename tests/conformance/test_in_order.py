"""Every in-order algorithm against recalculation, on random operations, in every way of running."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import swag
from sash.swag.registry import IN_ORDER
from sash.testing import Oracle
from tests.conformance.cases import CORE, Case, fitting, is_quick, pairs

ALL = [
    pytest.param(
        *pair,
        id=f"{pair[0].__name__}-{pair[1]}-{'compiled' if pair[2] else 'plain'}",
        marks=() if is_quick(pair) else pytest.mark.slow,
    )
    for pair in pairs(CORE)
]


def same(a: Any, b: Any) -> bool:
    return bool(np.all(np.asarray(plain(a)) == np.asarray(plain(b))))


def plain(answer: Any) -> Any:
    return list(answer.tolist()) if isinstance(answer, np.ndarray | np.void) else answer


@pytest.mark.parametrize(("algorithm", "case", "compiled"), ALL)
def test_random_operations_agree_with_recalculation(
    algorithm: type[swag.Window], case: Case, compiled: bool
) -> None:
    random = Random(f"{algorithm.__name__} {case}")
    monoid = case.make()
    for _ in range(2):
        window: Any = algorithm(monoid, compiled=compiled)
        run(window, Oracle(monoid), random, case, 60, compiled)


def run(
    window: Any, oracle: Oracle, random: Random, case: Case, steps: int, compiled: bool
) -> None:
    """Random operations on both; a growing phase, then a shrinking one, and so on."""
    for step in range(steps):
        growing = step // 15 % 2 == 0
        operation = random.choices(
            ["insert", "evict", "insert_many", "evict_many", "slide", "snapshot", "drain"],
            [5, 2, 4, 1, 2, 1, 0.3] if growing else [2, 5, 1, 4, 2, 1, 0.3],
        )[0]
        if operation == "snapshot":
            window = swag.restore(window.snapshot(), window.monoid, compiled=compiled)
        else:
            apply(operation, window, oracle, random, case)
        assert len(window) == len(oracle.items), operation
        assert same(window.query(), oracle.query()), (operation, oracle.items)
        window.check()


def apply(operation: str, window: Any, oracle: Oracle, random: Random, case: Case) -> None:
    def drawn(most: int) -> list[Any]:
        return [case.draw(random) for _ in range(random.randint(1, most))]

    if operation == "insert":
        (x,) = drawn(1)
        window.insert(x)
        oracle.insert(x)
    elif operation == "evict" and oracle.items:
        window.evict()
        oracle.evict()
    elif operation == "insert_many":
        xs = drawn(200)
        window.insert_many(np.array(xs) if case.compiles else xs)
        oracle.insert_many(xs)
    elif operation == "evict_many":
        k = random.randint(0, len(oracle.items))
        window.evict_many(k)
        oracle.evict_many(k)
    elif operation == "slide":
        slide(window, oracle, drawn(60), random.randint(1, 40), case)
    elif operation == "drain":
        window.evict_many(len(oracle.items))
        oracle.evict_many(len(oracle.items))


def slide(window: Any, oracle: Oracle, xs: list[Any], size: int, case: Case) -> None:
    answers = window.slide(np.array(xs) if case.compiles else xs, size)
    assert len(answers) == len(xs)
    for answer, expected in zip(answers, oracle.slide(xs, size), strict=True):
        assert same(answer, expected)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("algorithm", IN_ORDER)
def test_a_snapshot_goes_on_the_other_way(algorithm: type[swag.Window], compiled: bool) -> None:
    """A window of plain Python as a compiled one, and a compiled one as one of plain Python."""
    case, random = fitting(algorithm, CORE)[0], Random(3)
    monoid = case.make()
    window: Any = algorithm(monoid, compiled=not compiled)
    oracle = Oracle(monoid)
    apply("insert_many", window, oracle, random, case)
    window = swag.restore(window.snapshot(), monoid, compiled=compiled)
    for operation in ("evict", "insert_many", "evict_many", "slide"):
        apply(operation, window, oracle, random, case)
        assert same(window.query(), oracle.query()), (operation, oracle.items)
        window.check()


@pytest.mark.parametrize("algorithm", IN_ORDER)
def test_bad_input_is_refused_and_nothing_changes(algorithm: type[swag.Window]) -> None:
    monoid = fitting(algorithm, CORE)[0].make()
    window: Any = algorithm(monoid)
    with pytest.raises(IndexError, match="empty"):
        window.evict()
    assert window.query() == monoid.lower(monoid.identity)
    window.insert(5)
    with pytest.raises(IndexError, match="evict 2 items from a window of 1"):
        window.evict_many(2)
    with pytest.raises(ValueError, match="size must be at least 1"):
        window.slide([1, 2], 0)
    assert len(window) == 1
