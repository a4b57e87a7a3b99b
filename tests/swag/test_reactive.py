"""Reactive: the RA paper's figure 5, growing, shrinking, compacting, items removed anywhere."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.testing import counting
from tests.conformance.cases import affine, bits, words


def slots(window: Any) -> list[Any]:
    """FlatFAT's leaves; those that are not used hold anything, and are shown as empty."""
    f, e, capacity, _ = window._at
    used = {i % capacity for i in range(f, e)}
    return [window._q.part[capacity + i] if i in used else "" for i in range(capacity)]


def pointers(window: Any) -> tuple[int, int]:
    """The paper's F and B, counted from 1."""
    f, e, capacity, _ = window._at
    return f % capacity + 1, (e - 1) % capacity + 1


FIGURE_5 = [  # event, window, slots, F, B
    (4, "4", ["4", "", "", ""], 1, 1),
    (7, "47", ["4", "7", "", ""], 1, 2),
    (3, "473", ["4", "7", "3", ""], 1, 3),
    (2, "4732", ["4", "7", "3", "2"], 1, 4),
    ("4 leaves", "732", ["", "7", "3", "2"], 2, 4),
    (9, "7329", ["9", "7", "3", "2"], 2, 1),
]


def test_figure_5_a_window_of_the_latest_four() -> None:
    window = swag.Reactive(words())
    for event, contents, leaves, front, back in FIGURE_5:
        window.evict() if event == "4 leaves" else window.insert(event)
        assert window.query() == contents
        assert slots(window) == leaves
        assert pointers(window) == (front, back)
        window.check()


def test_figure_5_fires_the_same_when_only_the_last_event_does() -> None:
    window = swag.Reactive(words())
    for event, *_ in FIGURE_5:
        window.evict() if event == "4 leaves" else window.insert(event)
    assert window.query() == "7329"
    assert slots(window) == ["9", "7", "3", "2"]


def test_an_inverted_buffer_is_suffix_then_prefix() -> None:
    window = swag.Reactive(words())
    window.slide(list("4732985"), 4)
    assert slots(window) == ["9", "8", "5", "2"]
    assert window._q.part[1] == "9852"  # what aggregate would say
    assert window.query() == "2985"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 13, 16, 31, 32])
def test_every_rotation_of_the_buffer_keeps_the_order(size: int, compiled: bool) -> None:
    xs = np.random.default_rng(size).integers(0, 1000, 4 * size + 40)
    got = swag.Reactive(affine(), compiled=compiled).slide(xs, size)
    expected = swag.Recalc(affine(), compiled=False).slide(xs, size)
    assert [tuple(a) for a in got] == [tuple(a) for a in expected]


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 9, 64, 65, 100])
def test_a_slid_window_has_the_capacity_of_its_size(size: int) -> None:
    least = max(4, 1 << (size - 1).bit_length())
    xs = np.arange(300)
    for window in (swag.Reactive(affine()), swag.Reactive(affine(), compiled=False)):
        window.slide(xs, size)
        window.slide(xs[:5], size)
        assert window._at.capacity == least == window._memory.rows


def test_it_doubles_when_full_and_halves_below_a_quarter() -> None:
    window = swag.Reactive(words())
    capacities = []
    for i in range(17):
        window.insert(i)
        capacities.append(window._at.capacity)
        window.check()
    assert capacities == [4] * 4 + [8] * 4 + [16] * 8 + [32]
    capacities = []
    for _ in range(16):
        window.evict()
        capacities.append(window._at.capacity)
        window.check()
    assert capacities == [32] * 9 + [16] * 4 + [8] * 2 + [4]
    assert window.query() == "16"


def test_after_a_resize_it_is_three_eighths_to_half_full() -> None:
    random, window = Random(3), swag.Reactive(m.Count())
    for phase in range(20):
        for _ in range(random.randint(1, 400)):
            before = window._at.capacity
            growing = phase % 2 == 0 or len(window) == 0
            window.insert(1) if growing else window.evict()
            capacity = window._at.capacity
            if capacity != before:
                held = len(window) - 1 if growing else len(window)  # before this insertion
                assert 3 / 8 * capacity <= held <= 1 / 2 * capacity or capacity == 4


def test_room_is_given_back_after_a_window_has_shrunk() -> None:
    window = swag.Reactive(affine())
    window.insert_many(np.arange(100_000))
    assert window._memory.rows == 1 << 17
    window.evict_many(99_990)
    window.insert(1)
    assert window._memory.rows <= 4 * window._at.capacity <= 256
    window.check()
    fresh = swag.Reactive(affine())
    fresh.insert_many([*range(99_990, 100_000), 1])
    assert window.query() == fresh.query()


def test_items_leave_from_the_middle_and_the_order_stays() -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abcdefgh"))
    window.remove(2)
    assert window.query() == "abdefgh"
    window.remove(2, 4, 0)  # d, f, and a at the front
    assert window.query() == "begh"
    assert len(window) == 4
    window.evict()
    assert window.query() == "egh"
    window.check()


def test_a_full_buffer_with_a_quarter_of_holes_is_compacted() -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abcdefgh"))
    window.remove(2, 5)
    assert (window._at.capacity, window._at.holes, slots(window)[2]) == (8, 2, "")
    window.insert("i")
    assert window.query() == "abdeghi"
    assert (window._at.capacity, window._at.holes) == (8, 0)
    assert slots(window) == [*"abdeghi", ""]
    window.check()


def test_a_full_buffer_with_fewer_holes_is_doubled_without_them() -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abcdefgh"))
    window.remove(3)
    window.insert("i")
    assert window.query() == "abcefghi"
    assert (window._at.capacity, window._at.holes) == (16, 0)
    window.check()


def test_an_inverted_buffer_is_compacted_in_window_order() -> None:
    window = swag.Reactive(words())
    window.slide(list("abcdefghijkl"), 8)
    assert pointers(window) == (5, 4)
    window.remove(1, 6)  # f, before the turn, and k, after it
    window.insert("m")
    assert window.query() == "eghijlm"
    assert slots(window) == [*"jlm", "", *"eghi"]
    window.check()


def test_removing_most_items_shrinks_it() -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abcdefghijklmnop"))
    window.remove(*range(1, 14))
    assert (window._at.capacity, window._at.holes) == (8, 0)
    assert window.query() == "aop"
    window.remove(0, 1, 2)
    assert (len(window), window.query()) == (0, "")
    window.check()
    window.insert("z")
    assert window.query() == "z"


@pytest.mark.parametrize(
    ("case", "compiled"),
    [
        (affine, True),
        (affine, False),
        pytest.param(bits, True, marks=pytest.mark.slow),
        (words, False),
    ],
)
def test_random_runs_with_removals_agree_with_a_list(case: Any, compiled: bool) -> None:
    monoid, random = case(), Random(f"{case.__name__} {compiled}")
    window: Any = swag.Reactive(monoid, compiled=compiled)
    items: list[int] = []
    for step in range(250):
        growing = step // 40 % 2 == 0
        xs = [random.randrange(1000) for _ in range(random.randint(1, 30 if growing else 5))]
        operation = random.choice(["insert", "evict", "remove", "remove", "slide", "snapshot"])
        if operation == "insert":
            window.insert_many(np.array(xs) if compiled else xs)
            items += xs
        elif operation == "evict":
            k = random.randint(0, min(len(items), 3 if growing else 30))
            window.evict_many(k)
            del items[:k]
        elif operation == "remove":
            gone = random.sample(range(len(items)), random.randint(0, min(len(items), 9)))
            window.remove(*gone)
            items = [x for i, x in enumerate(items) if i not in gone]
        elif operation == "slide":
            size = max(1, len(items) - random.randint(-2, 5))
            window.slide(np.array(xs) if compiled else xs, size)
            items = (items + xs)[-size:]
        else:
            window = swag.restore(window.snapshot(), monoid, compiled=compiled)
        if random.random() < 0.7:  # or several events to a firing
            expected: Any = monoid.identity
            for x in items:
                expected = monoid.combine(expected, monoid.lift(x))
            assert np.all(np.asarray(window.query()) == np.asarray(expected)), (step, operation)
        assert len(window) == len(items)
        window.check()


def test_coarse_slides_agree_compiled() -> None:
    xs = np.random.default_rng(5).integers(0, 1000, 5000)
    window, oracle = swag.Reactive(affine(), compiled=True), swag.Recalc(affine())
    for k in [700, 1, 2, 33, 64, 350, 700, 5, 699]:
        for w in (window, oracle):
            w.evict_many(min(k, len(w)))
            w.insert_many(xs[:k])
        assert window.query() == oracle.query()
        window.check()


@pytest.mark.parametrize(
    ("positions", "error", "says"),
    [
        ((3,), IndexError, "remove item 3 from a window of 3"),
        ((0, -1), IndexError, "remove item -1 from a window of 3"),
        ((1, 1), ValueError, "each item once"),
        ((0.5,), TypeError, "float"),
    ],
)
def test_bad_positions_are_refused_and_nothing_changes(
    positions: Any, error: type[Exception], says: str
) -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abc"))
    with pytest.raises(error, match=says):
        window.remove(*positions)
    assert window.query() == "abc"


def test_a_snapshot_keeps_nothing_of_what_left() -> None:
    window = swag.Reactive(words())
    window.insert_many(["secret", "a", "b", "hidden", "c"])
    window.remove(3)
    window.evict()
    blob = window.snapshot()
    assert b"secret" not in blob
    assert b"hidden" not in blob
    assert swag.restore(blob, words()).query() == "abc"


def test_nothing_is_combined_before_it_is_asked_for() -> None:
    counted, counter = counting(words())
    window = swag.Reactive(counted)
    for letter in "abcdefghijkl":
        window.insert(letter)
        window.evict() if letter in "cfi" else None
    assert counter.combines == 0
    assert window.query() == "defghijkl"


def test_a_combine_that_raises_is_made_again_once_it_can_be() -> None:
    window = swag.Reactive(m.Sum(dtype=np.dtype(np.int64)))
    for x in [2**63 - 1, 1, 2, -(2**63), -5, -6]:
        window.insert(x)
    for _ in range(2):
        with pytest.raises(OverflowError):
            window.query()
    window.evict()
    with pytest.raises(OverflowError):
        window.remove(0)  # 1 is gone, but -(2**63) - 5 is not
    assert len(window) == 4
    with pytest.raises(OverflowError):
        window.query()
    window.remove(1)
    assert window.query() == 2 - 5 - 6
    window.check()


@pytest.mark.parametrize("size", [5, 8])
def test_a_window_may_turn_over_many_times_between_firings(size: int) -> None:
    for turns in range(1, 40):
        window = swag.Reactive(words())
        letters = [chr(ord("a") + i % 26) for i in range(size + 3 + turns)]
        window.slide(letters[: size + 3], size)
        for letter in letters[size + 3 :]:
            window.evict()
            window.insert(letter)
        assert window.query() == "".join(letters[-size:])
        window.check()


@pytest.mark.parametrize("broken", ["slot", "node", "holes"])
def test_check_finds_what_is_broken(broken: str) -> None:
    window = swag.Reactive(words())
    window.insert_many(list("abcde"))
    window.query()
    if broken == "slot":
        window.remove(2)
        window._q.part[8 + 2] = "x"
    elif broken == "node":
        window._q.part[2] = "x"
    else:
        window._q.hole[1] = 1
    says = {"slot": "slot of index .* is empty", "node": "node . is its", "holes": "holes"}
    with pytest.raises(AssertionError, match=says[broken]):
        window.check()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_capacity_stays_and_is_kept_in_a_snapshot(compiled: bool) -> None:
    xs = np.random.default_rng(7).integers(0, 1000, 120)
    window, oracle = swag.Reactive(affine(), 50, compiled=compiled), swag.Recalc(affine())
    assert window._at.capacity == 64
    for w in (window, oracle):
        w.slide(xs, 37)
        w.evict_many(30)
    window = swag.restore(window.snapshot(), affine())
    assert (window.capacity, window.options) == (50, {"capacity": 50})
    for w in (window, oracle):
        w.evict_many(5)
        w.insert_many(xs[:3])
    assert window.query() == oracle.query()
    assert window._at.capacity == 64
    window.insert_many(xs[:100])
    assert window._at.capacity == 128, "it grows if it must"
    window.evict_many(100)
    assert window._at.capacity == 64
    window.check()


def test_many_removals_run_compiled() -> None:
    xs = np.random.default_rng(8).integers(0, 1000, 3000)
    window, oracle = swag.Reactive(affine(), compiled=True), swag.Recalc(affine())
    window.insert_many(xs)
    left = xs
    for step in (7, 3, 5):
        gone = np.arange(1, len(left), step)
        window.remove(*gone.tolist())
        left = np.delete(left, gone)
    oracle.insert_many(left)
    assert window.query() == oracle.query()
    assert {driver.__name__ for driver, *_ in window._kernels} >= {"remove", "renew_above"}
    window.check()


@pytest.mark.parametrize("monoid", [m.Max(), pytest.param(m.Sum(), marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [3, 5, 13, 33, 100])
def test_partials_of_one_number_are_combined_without_branches(monoid: Any, size: int) -> None:
    """Unused nodes are the identity there; the answers are the same."""
    xs = np.random.default_rng(size).integers(-1000, 1000, 5 * size + 300)
    window, oracle = swag.Reactive(monoid, compiled=True), swag.Recalc(monoid, compiled=False)
    for k in (size, 2, size - 1):
        assert (window.slide(xs, k) == oracle.slide(xs, k)).all()
        window.check()
    assert window._q.fixed[1] == 1
    restored = swag.restore(window.snapshot(), monoid)
    assert (restored.slide(xs, size) == oracle.slide(xs, size)).all()
