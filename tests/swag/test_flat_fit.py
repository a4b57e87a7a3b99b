"""FlatFIT: the paper's worked example, any range, resizing, many sizes at once."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.testing import counting

PRIME = 10_007


def affine() -> Monoid:
    """x -> a * x + b, composed from older to younger: not commutative."""

    def lift(x: int) -> tuple[int, int]:
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("affine", (1, 0), lift, combine)


def words() -> Monoid:
    return Monoid("words", "", str, lambda a, b: a + b)


def recalculated(monoid: Monoid, items: list[Any]) -> Any:
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return monoid.lower(total)


LOW = float("-inf")
TUPLES = [2, 4, 0, 3, 7, 6, 1, 8, 9, 5]
FIGURE_7 = [  # pointers, partials, the answers of Q1 (range 5) and Q2 (range 2)
    ([1, 0, 0, 0, 0], [LOW, 2, 2, 2, 2], 2, 2),
    ([1, 0, 0, 0, 0], [4, 2, 2, 2, 2], 4, 4),
    ([2, 2, 0, 0, 0], [4, 0, 2, 2, 2], 4, 4),
    ([3, 2, 3, 0, 0], [4, 0, 3, 2, 2], 4, 3),
    ([4, 2, 3, 4, 0], [7, 0, 3, 7, 2], 7, 7),
    ([4, 2, 3, 4, 0], [7, 0, 3, 7, 6], 7, 7),
    ([1, 2, 1, 1, 1], [1, 0, 7, 7, 6], 7, 6),
    ([1, 2, 1, 1, 1], [1, 8, 7, 7, 6], 8, 8),
    ([1, 3, 3, 1, 1], [1, 9, 9, 7, 6], 9, 9),
    ([1, 4, 3, 4, 1], [1, 9, 9, 5, 6], 9, 9),
]


def as_drawn(window: Any) -> tuple[list[int], list[float]]:
    """The paper's two arrays of five: its index 4 is where the first tuple is put, our item 5."""
    pointers, partials = [0] * 5, [0.0] * 5
    mask = window._memory.cap - 1
    for i in range(window._at.f, window._at.e):
        pointers[(i - 1) % 5] = (i - 1 + window._q.ahead[i & mask]) % 5
        partials[(i - 1) % 5] = window._q.part[i & mask]
    return pointers, partials


@pytest.mark.parametrize("queries", [(5,), (5, 2)], ids=["single query", "multi-query"])
def test_figure_7(queries: tuple[int, ...]) -> None:
    maximum, counter = counting(Monoid("max", LOW, float, max))
    window = swag.FlatFIT(maximum, size=5)
    window.insert_many([LOW] * 5)  # step 0
    spent = dict.fromkeys(queries, 0)
    for x, (pointers, partials, *answers) in zip(TUPLES, FIGURE_7, strict=True):
        window.insert(x)
        for last, answer in zip(queries, answers, strict=False):
            before = counter.combines
            assert window.query(last=last) == answer
            spent[last] += counter.combines - before
        assert as_drawn(window) == (pointers, partials)
    assert spent == {5: 21, 2: 6} if len(queries) == 2 else {5: 21}


@pytest.mark.parametrize("compiled", [False, True])
def test_any_range_at_any_time(compiled: bool) -> None:
    random = Random(7)
    monoid = affine()
    window, items = swag.FlatFIT(monoid, compiled=compiled), list[int]()
    for step in range(400):
        if random.random() < (0.7 if step // 100 % 2 == 0 else 0.3):
            xs = [random.randrange(1000) for _ in range(random.randint(1, 30))]
            window.insert_many(np.array(xs))
            items += xs
        else:
            k = random.randint(0, len(items))
            window.evict_many(k)
            del items[:k]
        for _ in range(3):
            last = random.randint(0, len(items))
            assert window.query(last=last) == recalculated(monoid, items[len(items) - last :])
        if step % 50 == 49:
            window = swag.restore(window.snapshot(), monoid, compiled=compiled)
        window.check()


def test_resizing_leaves_the_pointers_as_they_are() -> None:
    random = Random(3)
    monoid = words()
    window, items = swag.FlatFIT(monoid), list[str]()
    caps = set()
    for most in (1000, 20, 300, 1, 40):
        while len(items) != most:
            if len(items) < most:
                items.append(random.choice("abc"))
                window.insert(items[-1])
            else:
                del items[0]
                window.evict()
            if random.random() < 0.2:
                assert window.query() == "".join(items)
            window.check()
            caps.add(window._memory.cap)
            assert window._memory.cap <= max(16, 4 * len(items)), "room is within a constant factor"
        assert [window.query(last=k) for k in range(most)] == [
            "".join(items[most - k :]) for k in range(most)
        ]
    assert {16, 1024} <= caps


@pytest.mark.parametrize("compiled", [False, True])
def test_a_window_of_a_size_keeps_its_last_items(compiled: bool) -> None:
    monoid = affine()
    window = swag.FlatFIT(monoid, size=8, compiled=compiled)
    items: list[int] = []
    for n in (3, 1, 8, 5, 100, 1):
        xs = list(range(len(items), len(items) + n))
        window.insert_many(np.array(xs)) if n > 1 else window.insert(xs[0])
        items += xs
        assert len(window) == min(8, len(items))
        assert window.query() == recalculated(monoid, items[-8:])
    again = swag.restore(window.snapshot(), monoid)
    again.insert(5)
    assert len(again) == 8
    answers = again.slide(np.arange(20))
    assert tuple(answers[-1]) == recalculated(monoid, list(range(12, 20)))


SIZES = [3, 1, 17, 5, 3, 40]


@pytest.mark.parametrize("compiled", [False, True])
def test_many_sizes_at_once(compiled: bool) -> None:
    random = Random(1)
    monoid = affine()
    window = swag.FlatFIT(monoid, compiled=compiled)
    items: list[int] = []
    for n in (1, 30, 100):
        xs = [random.randrange(1000) for _ in range(n)]
        answers = window.slide_many(np.array(xs), SIZES)
        for i, row in enumerate(answers):
            known = [*items, *xs[: i + 1]]
            assert [tuple(answer) for answer in row] == [
                recalculated(monoid, known[-k:]) for k in SIZES
            ]
        items += xs
        assert len(window) == min(40, len(items))
        window.check()


def test_many_sizes_of_objects() -> None:
    answers = swag.FlatFIT(words()).slide_many(["a", "b", "c"], [1, 2])
    assert answers == [["a", "a"], ["b", "ab"], ["c", "bc"]]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="size must be at least 1, not 0"):
        swag.FlatFIT(m.Max(), size=0)
    window = swag.FlatFIT(m.Max(), size=3)
    window.insert(1)
    with pytest.raises(ValueError, match="last must be from 0 to 1, the window's size, not 2"):
        window.query(last=2)
    with pytest.raises(ValueError, match="last must be"):
        window.query(last=-1)
    with pytest.raises(ValueError, match="size must be at most 3"):
        window.slide([1, 2], 4)
    with pytest.raises(ValueError, match="slide needs a size"):
        swag.FlatFIT(m.Max()).slide([1, 2])
    for sizes in ([], [0], [4]):
        with pytest.raises(ValueError, match="sizes must be at least 1"):
            window.slide_many([1], sizes)
    assert window.query(last=0) is None
    assert window.query(last=1) == 1


def test_check_names_a_broken_pointer() -> None:
    window = swag.FlatFIT(words())
    window.insert_many("abcd")
    window.query()
    window._q.ahead[1] = 9
    with pytest.raises(AssertionError, match="1 points ahead, at most to 4"):
        window.check()
