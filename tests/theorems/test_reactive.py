"""Theorem 4.2 of the RA paper, and what its section 5 says of resizing: combines counted."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from sash import Monoid, swag
from sash.testing import counting

SIZES = [1, 2, 4, 8, 64, 256]


def words() -> Monoid:
    return Monoid("words", "", str, lambda a, b: a + b)


def update_most(m: int, n: int) -> int:
    """Theorem 4.2 (ii): m (1 + ceil(log2(n / m))), in whole numbers."""
    levels = 0
    while m << levels < n:
        levels += 1
    return m * (1 + levels)


def log2(n: int) -> int:
    return n.bit_length() - 1


def location_sets(n: int, random: Random) -> Iterator[list[int]]:
    """Random locations, and those that share the fewest and the most nodes above them."""
    for m in {1, 2, 3, n // 4, n // 2, n - 1, n} - {0, -1}:
        if m > n:
            continue
        yield random.sample(range(n), m)
        yield [i * n // m for i in range(m)]  # spread: paths meet as late as they can
        start = random.randrange(n - m + 1)
        yield list(range(start, start + m))  # side by side
        yield list(range((n - m) // 2, (n - m) // 2 + m))  # across the middle


@pytest.mark.parametrize("n", SIZES)
def test_i_new_makes_n_minus_1_combines(n: int) -> None:
    counted, counter = counting(words())
    swag.FlatFAT(counted, ["x"] * n)
    assert counter.combines == n - 1


@pytest.mark.parametrize("n", SIZES)
def test_ii_update_stays_within_its_bound_and_renews_each_node_above_once(n: int) -> None:
    random = Random(n)
    counted, counter = counting(words())
    fat = swag.FlatFAT(counted, ["x"] * n)
    for locations in location_sets(n, random):
        counter.reset()
        fat.update(locations, ["y"] * len(locations))
        above = {(n + i) >> level for i in locations for level in range(1, log2(n) + 1)}
        assert counter.combines == len(above) <= update_most(len(locations), n), locations


def test_ii_is_tight_when_the_locations_are_spread() -> None:
    counted, counter = counting(words())
    fat = swag.FlatFAT(counted, ["x"] * 256)
    counter.reset()
    fat.update(range(0, 256, 16), ["y"] * 16)
    assert counter.combines == 16 * log2(16) + 15 == update_most(16, 256) - 1


@pytest.mark.parametrize("n", SIZES)
def test_iii_prefix_and_suffix_make_at_most_log2_n_and_aggregate_none(n: int) -> None:
    counted, counter = counting(words())
    fat = swag.FlatFAT(counted, ["x"] * n)
    counter.reset()
    assert fat.aggregate() == "x" * n
    assert counter.combines == 0
    for i in range(n):
        for ask in (fat.prefix, fat.suffix):
            counter.reset()
            ask(i)
            assert counter.combines <= log2(n)


def fill(capacity: int, items: int) -> tuple[Any, Any]:
    """A window of some capacity and size, up to date, and its counter."""
    counted, counter = counting(words())
    window = swag.Reactive(counted)
    for _ in range(capacity):
        window.insert("x")
    for _ in range(capacity - items):
        window.evict()
    window.query()
    assert window._at.capacity == capacity
    counter.reset()
    return window, counter


@pytest.mark.parametrize("capacity", [8, 64, 256])
def test_a_firing_after_m_events_costs_an_update_of_m_and_a_query(capacity: int) -> None:
    random = Random(capacity)
    window, counter = fill(capacity, 3 * capacity // 4)
    for _ in range(200):
        evictions = random.randint(0, capacity // 2)
        insertions = min(max(0, evictions + random.randint(-3, 3)), capacity - len(window))
        for _ in range(evictions):
            window.evict() if len(window) > capacity // 4 else None
        for _ in range(insertions):
            window.insert("x")
        assert counter.combines == 0  # what comes and goes is only noted
        window.query()
        most = update_most(max(1, evictions + insertions), capacity)
        assert counter.combines <= most + 2 * log2(capacity) + 1
        counter.reset()
        window.query()  # nothing came: no update
        assert counter.combines <= 2 * log2(capacity) + 1
        counter.reset()


@pytest.mark.parametrize("m", [1, 4, 16, 64, 256])
def test_coarse_slides_refill_the_slots_they_emptied(m: int) -> None:
    """m evictions and m insertions in a full window change m slots, not 2 m."""
    window, counter = fill(256, 256)
    for _ in range(20):
        for _ in range(m):
            window.evict()
        for _ in range(m):
            window.insert("x")
        assert counter.combines == 0
        window._trigger()
        assert counter.combines <= update_most(m, 256)
        counter.reset()


def test_removals_in_one_batch_are_one_update() -> None:
    window, counter = fill(256, 256)
    window.remove(*range(3, 256, 16))
    assert counter.combines == 16 * log2(16) + 15


def test_resizing_is_amortized_where_the_capacity_oscillates() -> None:
    """As in figure 9: the capacity goes from 2n to n and back, with 3n events or fewer."""
    n, (window, counter) = 256, fill(512, 512)
    events = 0
    for _ in range(10):
        while window._at.capacity == 2 * n:
            window.evict()
            events += 1
        window.query()
        while window._at.capacity == n:
            window.insert("x")
            events += 1
        window.query()
        for _ in range(n - 1):
            window.insert("x")
            events += 1
    assert window._at.capacity == 2 * n == len(window)
    assert counter.combines <= 2 * events  # n - 1 and 2n - 1 a turn


def test_compaction_is_amortized_over_the_removals_that_made_holes() -> None:
    window, counter = fill(256, 256)
    random, removals = Random(1), 0
    for _ in range(20):
        while 4 * len(window) > 3 * 256:
            window.remove(random.randrange(1, len(window)))  # the front stays: no slot is free
            removals += 1
        counter.reset()
        window.insert("x")
        assert (window._at.holes, window._at.capacity) == (0, 256)  # compacted
        window.query()
        assert counter.combines <= 255 + 2 * log2(256) + 1
        while len(window) < 256:
            window.insert("x")
        window.query()
    assert removals >= 20 * 64


def test_without_firings_growing_costs_nothing_and_the_first_firing_n() -> None:
    counted, counter = counting(words())
    window = swag.Reactive(counted)
    for _ in range(1000):
        window.insert("x")
    assert counter.combines == 0
    assert window.query() == "x" * 1000
    assert counter.combines == 1000 - 1  # unused slots are skipped


@pytest.mark.parametrize("n", [5, 33, 48, 100, 200])
def test_unused_slots_of_a_fifo_window_are_not_combined(n: int) -> None:
    """Section 5.2: a slide renews the paths of the front and of the back without unused nodes:
    one combine where both children are used, none elsewhere."""
    counted, counter = counting(words())
    window = swag.Reactive(counted)
    window.slide(["x"] * n, n)
    capacity = window._at.capacity
    assert n < capacity
    for i in range(3 * capacity):
        window.evict()
        window.insert(chr(97 + i % 26))
        counter.reset()
        window._trigger()
        f, back = window._at.f % capacity, (window._at.e - 1) % capacity
        assert counter.combines == combines_of_two_paths(capacity, f, back)
    window.check()


def combines_of_two_paths(capacity: int, front: int, back: int) -> int:
    """Nodes above the front or the back both of whose children are used."""
    slots = range(front, back + 1)
    used = {*slots} if front <= back else {*range(front, capacity), *range(back + 1)}
    found = 0
    for level in range(1, log2(capacity) + 1):
        below = {slot >> (level - 1) for slot in used}
        for v in {front >> level, back >> level}:
            found += 2 * v in below and 2 * v + 1 in below
    return found


def test_evictions_alone_renew_the_path_of_the_front() -> None:
    """Not that of each slot that was emptied."""
    for k in (1, 2, 50, 100, 130):
        window, counter = fill(256, 256)
        for _ in range(k):
            window.evict()
        window._trigger()
        assert counter.combines <= log2(256)
        assert window.query() == "x" * (256 - k)


def test_a_fixed_capacity_is_never_resized() -> None:
    """Section 6.2: no firing costs more than a path and a query, from the first item on."""
    counted, counter = counting(words())
    window = swag.Reactive(counted, capacity=200)
    spent = []
    for step in range(1200):
        window.insert("x") if step % 400 < 200 else window.evict()
        assert window._at.capacity == 256
        counter.reset()
        window.query()
        spent.append(counter.combines)
    assert max(spent) <= 4 * log2(256) + 1
    assert len(window) == 0


def test_with_a_firing_after_each_event_growing_costs_a_constant_more() -> None:
    counted, counter = counting(words())
    window = swag.Reactive(counted)
    for _ in range(1024):
        window.insert("x")
        window.query()
    paths = sum(log2(max(4, 1 << i.bit_length())) for i in range(1024))
    assert counter.combines <= paths + 2 * 1024
