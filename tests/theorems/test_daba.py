"""Theorems 3, 7, 10 and 13 of the DABA paper: combines of each operation, and space."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from sash import Monoid, swag
from sash.testing import counting


@dataclass(frozen=True)
class Theorem:
    """Combines: exactly, at most (None: n), on average over insertions and evictions."""

    number: int
    algorithm: type[swag.Window]
    insert_most: int
    evict_most: int | None
    insert_average: float
    evict_average: float
    partials: str  # as a function of n, in words


THEOREMS = [
    Theorem(3, swag.TwoStacks, 1, None, 1, 1, "2n"),
    Theorem(7, swag.TwoStacksLite, 1, None, 1, 1, "n + 1"),
    Theorem(10, swag.DABA, 4, 3, 2.5, 1.5, "2n"),
    Theorem(13, swag.DABALite, 3, 2, 2, 1, "n + 2"),
]
each = pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: f"theorem_{t.number}")


def words() -> Monoid:
    return Monoid("words", "", str, lambda a, b: a + b)


class Watched:
    """A window whose every operation is held to its bound."""

    def __init__(self, theorem: Theorem) -> None:
        counted, self.counter = counting(words())
        self.theorem, self.window = theorem, theorem.algorithm(counted)
        self.totals = {"insert": [0, 0], "evict": [0, 0]}

    def do(self, operation: str) -> None:
        n = len(self.window)
        self.counter.reset()
        window: Any = self.window
        window.insert("x") if operation == "insert" else window.evict()
        spent = self.counter.combines
        most = self.theorem.insert_most if operation == "insert" else self.theorem.evict_most
        assert spent <= (n if most is None else most), (operation, n, spent)
        self.totals[operation][0] += spent
        self.totals[operation][1] += 1
        self.counter.reset()
        window.query()
        assert self.counter.combines == (1 if len(window) else 0)

    def averages(self) -> tuple[float, float]:
        (inserts, a), (evicts, b) = self.totals["insert"], self.totals["evict"]
        return inserts / a, evicts / b


@each
def test_random_operations_stay_within_the_worst_case(theorem: Theorem) -> None:
    random = Random(theorem.number)
    watched = Watched(theorem)
    for step in range(4000):
        growing = step // 500 % 2 == 0
        evict = len(watched.window) > 0 and random.random() < (0.3 if growing else 0.7)
        watched.do("evict" if evict else "insert")


@each
@pytest.mark.parametrize("size", [1, 2, 3, 64, 200])
def test_fill_and_drain_stays_within_the_worst_case(theorem: Theorem, size: int) -> None:
    watched = Watched(theorem)
    for _ in range(3):
        for operation in ["insert"] * size + ["evict"] * size:
            watched.do(operation)


@each
def test_average_over_a_sliding_window(theorem: Theorem) -> None:
    watched = Watched(theorem)
    for _ in range(128):
        watched.do("insert")
    watched.totals = {"insert": [0, 0], "evict": [0, 0]}
    for _ in range(64 * 128):
        watched.do("evict")
        watched.do("insert")
    insert, evict = watched.averages()
    both = theorem.insert_average + theorem.evict_average
    assert insert + evict <= both * 1.01
    if theorem.number in (10, 13):  # of a window that neither grows nor shrinks
        assert insert + evict == pytest.approx(both, rel=0.02)


@each
def test_space(theorem: Theorem) -> None:
    window: Any = theorem.algorithm(words())
    window.insert_many(["x"] * 100)
    held = sum(isinstance(part, str) for part in window._at)
    cells = 100 * window.cells_an_item
    expected = {"2n": 200, "n + 1": 101, "n + 2": 102}[theorem.partials]
    assert cells + held == expected


def test_dabas_queue_grows_and_shrinks_by_chunks() -> None:
    """No insertion or eviction makes or frees more than one chunk, whatever the size."""
    window: Any = swag.DABALite(words())
    chunk = 1 << window._memory.cells._shift
    for grow in (True, False):
        for _ in range(20 * chunk):
            before = len(window._memory.cells)
            window.insert("x") if grow else window.evict()
            window._memory.reserve(window._at, 1)
            assert abs(len(window._memory.cells) - before) <= chunk
    assert len(window) == 0
    assert len(window._memory.cells) <= 2 * chunk
