"""The loops of the papers' workloads do what they say: in plain Python, against recalculation."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from benchmarks.papers import trees
from benchmarks.papers.daba_windows import COMPETITORS, OTHERS
from benchmarks.papers.loops import FILL_AND_DRAIN, ROUNDS, Loop
from sash import Monoid, swag
from sash.swag.fiba.tree import DEFERRED

ALGORITHMS = {**COMPETITORS, **OTHERS}
ALGORITHMS.pop("SubtractOnEvict")  # words have no inverse


def words() -> Monoid:
    return Monoid("words", "", str, lambda a, b: a + b)


def run(window: Any, loop: Loop, xs: str, *numbers: Any) -> list[Any]:
    """The answers of a loop, run as plain Python."""
    answers: list[Any] = [None] * len(xs)
    if isinstance(window, swag.FiBA):
        window._make_room_to_slide(len(xs), len(xs), careful=True)
        window._steps.bind(loop.tree)(window._q, list(xs), *numbers, answers)
    else:
        window._memory.reserve_ring(window._at, len(xs) + 1)
        step = window._plain(loop.in_order)
        window._at = step(window._q, window._at, list(xs), *numbers, answers)
    return answers


@pytest.mark.parametrize("name", ALGORITHMS)
def test_rounds(name: str) -> None:
    """Windows that grow, shrink, lose many items at once, and go on after a break."""
    random, xs = Random(name), "".join(chr(97 + i % 26) for i in range(300))
    lo, begin = [], 0
    for i in range(len(xs)):
        begin = min(i, begin + random.choice([0, 0, 1, 1, 1, 2, 30 if i % 50 == 0 else 0]))
        lo.append(begin)
    window = ALGORITHMS[name](words())
    expected = [xs[lo[i] : i + 1] for i in range(len(xs))]
    assert run(window, ROUNDS, xs, 0, 100, lo)[:100] == expected[:100]
    assert run(window, ROUNDS, xs, 100, 300, lo)[100:] == expected[100:]
    window.check()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("n", [1, 2, 37])
def test_fill_and_drain(name: str, n: int) -> None:
    xs = "".join(chr(97 + i % 26) for i in range(n))
    window = ALGORITHMS[name](words())
    assert run(window, FILL_AND_DRAIN, xs, n, 3) == [xs[: i + 1] for i in range(n)]
    assert len(window) == 0
    window.check()


@pytest.mark.parametrize("upto", [0, 10, 500, 998])
def test_evicting_without_the_deferred_free_list(upto: int) -> None:
    """The same entries are left, and no node waits to be freed."""
    deferred, freed = (swag.FiBA(words(), 2, compiled=False) for _ in range(2))
    for tree in (deferred, freed):
        tree.bulk_insert(range(1000), [chr(97 + i % 26) for i in range(1000)])
    deferred.bulk_evict(upto)
    freed._make_room()
    freed._steps.bind(trees.evict_and_free)(freed._q, upto)
    assert list(freed) == list(deferred)
    assert freed.query() == deferred.query()
    assert freed._q.head[DEFERRED] == 0
    assert upto < 500 or deferred._q.head[DEFERRED] != 0
    freed.check()
