"""B-Int: which base intervals are kept, which a window is split into, what that costs."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash.swag.b_int import cell
from sash.testing import counting
from tests.conformance.cases import affine, words

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letters() -> Monoid:
    return Monoid("letters", "", str, lambda a, b: a + b)


def interval(window: swag.BInt, level: int, i: int) -> str:
    return window._q.part[cell(window._at.capacity >> level, i)]


def test_a_base_interval_is_combined_when_its_last_item_comes() -> None:
    made: list[str] = []

    def combine(a: str, b: str) -> str:
        made.append(a + b)
        return a + b

    window = swag.BInt(Monoid("traced", "", str, combine))
    steps = []
    for letter in LETTERS[:8]:
        window.insert(letter)
        steps.append(made.copy())
        made.clear()
    assert steps == [[], ["ab"], [], ["cd", "abcd"], [], ["ef"], [], ["gh", "efgh", "abcdefgh"]]
    assert interval(window, 0, 2) == "c"
    assert interval(window, 1, 3) == "gh"
    assert interval(window, 2, 0) == "abcd"


def test_an_interval_that_began_before_the_window_is_not_combined() -> None:
    counted, counter = counting(letters())
    window = swag.BInt(counted)
    window.insert("a")
    window.evict()
    window.insert("b")  # ab is not active
    assert counter.combines == 0
    window.insert("c")
    window.insert("d")  # cd is, abcd is not
    assert counter.combines == 1
    assert window.query() == "bcd"


def test_a_window_is_split_into_longer_then_shorter_intervals() -> None:
    taken: list[tuple[str, str]] = []

    def combine(a: str, b: str) -> str:
        taken.append((a, b))
        return a + b

    window = swag.BInt(Monoid("traced", "", str, combine))
    for letter in LETTERS[:15]:
        window.insert(letter)
    for _ in range(3):
        window.evict()
    taken.clear()
    assert window.query() == "defghijklmno"
    assert taken == [  # d, efgh; then ijkl, mn, o from the end on
        ("", "d"), ("d", "efgh"), ("o", ""), ("mn", "o"), ("ijkl", "mno"), ("defgh", "ijklmno"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100])
def test_combines_are_as_the_card_says(size: int) -> None:
    counted, counter = counting(letters())
    window = swag.BInt(counted)
    inserting = 0
    levels = max(1, (size - 1).bit_length())
    for i in range(600):
        counter.reset()
        if len(window) == size:
            window.evict()
        assert counter.combines == 0
        window.insert("x")
        assert counter.combines <= levels
        inserting += counter.combines
        counter.reset()
        assert len(window.query()) == min(i + 1, size)
        assert counter.combines <= 2 * levels + 1
    assert inserting <= 600


def test_growing_and_shrinking_move_intervals_without_a_combine() -> None:
    counted, counter = counting(letters())
    window = swag.BInt(counted)
    for i in range(300):
        window.insert(LETTERS[i % 26])
    assert window._at.capacity == 512
    assert counter.combines <= 300
    counter.reset()
    for _ in range(290):
        window.evict()
    assert counter.combines == 0
    assert window._at.capacity == 32
    window.check()
    assert window.query() == "".join(LETTERS[i % 26] for i in range(290, 300))


@pytest.mark.parametrize("compiled", [True, False])
def test_random_runs_agree_with_recalculation(compiled: bool) -> None:
    random = Random(7)
    window: Any = swag.BInt(affine(), compiled=compiled)
    oracle: Any = swag.Recalc(affine(), compiled=False)
    for _ in range(60):
        xs = [random.randrange(1000) for _ in range(random.randint(1, 50))]
        size = random.randint(1, 90)
        got = window.slide(np.array(xs), size) if compiled else window.slide(xs, size)
        expected = oracle.slide(xs, size)
        assert [tuple(a) for a in got] == [tuple(a) for a in expected]
        k = random.randint(0, len(window))
        window.evict_many(k)
        oracle.evict_many(k)
        window.check()
        assert window.query() == oracle.query()


def test_a_snapshot_goes_on_where_it_was() -> None:
    window: Any = swag.BInt(words())
    window.insert_many(list(LETTERS))
    window.evict_many(5)
    restored = swag.restore(window.snapshot(), words())
    restored.check()
    for w in (window, restored):
        w.insert("!")
        w.evict()
    assert restored.query() == window.query() == LETTERS[6:] + "!"


def test_check_finds_a_broken_interval() -> None:
    window = swag.BInt(letters())
    window.insert_many(list("abcd"))
    window._q.part[cell(window._at.capacity >> 1, 1)] = "xx"
    with pytest.raises(AssertionError, match="base interval 1 of level 1"):
        window.check()
