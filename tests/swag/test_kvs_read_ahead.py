"""Reading ahead: where a store waits, a thread reads the pages that evictions need next."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from sash.stores import StoreUnavailable
from sash.stores.memory import Memory
from tests.swag.policies import affine, recalculated

SMALL = {"page": 16, "buffer": 32, "cache": 32}
both = pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])


class Waiting(Memory):
    """A store that says that it waits, and notes which thread asked for how many records."""

    waits = True

    def __init__(self) -> None:
        super().__init__()
        self.asked = {"here": 0, "ahead": 0}
        self.is_away = False

    def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
        is_here = threading.current_thread() is threading.main_thread()
        self.asked["here" if is_here else "ahead"] += len(keys)
        if self.is_away:
            raise StoreUnavailable(self.name, "away")
        return super()._get_many(keys)


def filled(algorithm: Any, store: Memory, items: list[int]) -> Any:
    """A committed window of these items, in pages of 16."""
    window = algorithm(affine(), store=store, compiled=False, **SMALL)
    for x in items:
        window.insert(x)
    window.commit()
    return window


@both
def test_single_evictions_never_wait_for_pages(algorithm: Any) -> None:
    store, items = Waiting(), list(range(1500))
    window = filled(algorithm, store, items)
    store.asked = {"here": 0, "ahead": 0}
    for k in range(1, 1001):
        window.evict()
        if k % 100 == 0:
            assert window.query() == recalculated(affine(), items[k:])
    assert store.asked["here"] == window._stored.ledger.trips == 0
    assert store.asked["ahead"] >= 1000 // 16
    window.check()


@both
def test_each_page_is_read_once(algorithm: Any) -> None:
    """Reading ahead moves reads to another thread, and adds at most those of the last trip."""
    counts = []
    for store in (Waiting(), Memory()):
        window = filled(algorithm, store, list(range(1500)))
        for _ in range(1000):
            window.evict()
        counts.append(window._stored.ledger.pages_read)
        if isinstance(store, Waiting):
            window._stored.ledger.read_ahead([])  # nothing is being read from now on
            assert store.asked["ahead"] - counts[0] <= 4
    assert counts[0] == counts[1]


@both
def test_batches_read_ahead(algorithm: Any) -> None:
    store, xs = Waiting(), np.random.default_rng(1).integers(0, 1000, 40_000)
    window = algorithm(m.Sum().of(xs.dtype), store=store, page=256)
    in_memory = algorithm(m.Sum().of(xs.dtype))
    for part in np.split(xs, 8):
        assert window.slide(part, 10_000).tolist() == in_memory.slide(part, 10_000).tolist()
    here = store.asked["here"] - 2  # header and tails were read when it was opened
    assert store.asked["ahead"] > max(50, 10 * here)


@both
def test_a_bulk_eviction_leaves_what_was_read_ahead(algorithm: Any) -> None:
    store, items = Waiting(), list(range(1500))
    window = filled(algorithm, store, items)
    for k in (1, 700, 1, 300, 1, 1):
        window.evict_many(k)
        del items[:k]
        assert window.query() == recalculated(affine(), items)
    window.check()


@both
def test_a_store_that_is_away_while_reading_ahead(algorithm: Any) -> None:
    """The error comes when the page is needed, and not before; then it is read again."""
    store, items = Waiting(), list(range(900))
    window = filled(algorithm, store, items)

    def evict(k: int) -> None:
        for _ in range(k):
            window.evict()
            items.pop(0)

    store.is_away = True
    with pytest.raises(StoreUnavailable, match="away"):
        evict(400)
    assert window.query() == recalculated(affine(), items)
    store.is_away = False
    evict(len(window) - 100)
    assert window.query() == recalculated(affine(), items)
    window.check()


def test_a_window_that_begins_again_forgets_the_pages_of_the_old_one() -> None:
    """An empty window of objects takes the type of an array, and counts its pages from 0 again."""
    store = Waiting()
    window: Any = swag.AMTA(m.Sum(), store=store, **SMALL)
    for x in range(600):
        window.insert(x)
    for _ in range(50):
        window.evict()
    assert store.asked["ahead"] > 0
    window.evict_many(550)
    xs = np.random.default_rng(1).integers(0, 1000, 700)
    window.insert_many(xs)
    for k in range(1, 600):
        window.evict()
        assert window.query() == xs[k:].sum(), k
    window.check()
