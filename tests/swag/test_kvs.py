"""Windows over a store: the same answers as in memory, O(log n) memory, O(log n) pages."""

from __future__ import annotations

import re
import threading
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash import monoids as m
from sash.stores.memory import Memory
from tests.swag.policies import CASES, Case, affine, enforce, recalculated, total_of

SMALL = {"page": 16, "buffer": 32, "cache": 32}
both = pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])
compiled_first = pytest.mark.parametrize(
    "algorithm", [swag.AMTA, pytest.param(swag.LogMTA, marks=pytest.mark.slow)]
)
ways = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


def concatenation() -> Monoid:
    return Monoid("words", "", str, lambda a, b: a + b)


def insert(window: Any, xs: list[int], compiled: bool) -> None:
    if compiled:
        window.insert_many(np.array(xs))
    else:
        for x in xs:
            window.insert(x)


def listed(answers: Any) -> list[Any]:
    return answers.tolist() if isinstance(answers, np.ndarray) else answers


@both
@ways
def test_random_operations(algorithm: Any, compiled: bool) -> None:
    """Inserts, evictions one by one and in bulk, commits, and opening again."""
    random, monoid, store = Random(7), affine(), stores.open("memory:")

    def opened() -> Any:
        return algorithm(monoid, store=store, compiled=compiled, **SMALL)

    window, items, offset = opened(), list[int](), 0
    for step in range(150):
        xs = [random.randrange(1000) for _ in range(random.randint(1, 60))]
        insert(window, xs, compiled)
        items, offset = items + xs, offset + len(xs)
        k = random.choice([0, 1, 2, 7, 30, random.randint(0, len(items) // 2)])
        k = min(k, len(items)) if step % 40 else len(items)
        if random.random() < 0.5:
            window.evict_many(k)
        else:
            for _ in range(k):
                window.evict()
        del items[:k]
        assert (window.query(), len(window)) == (recalculated(monoid, items), len(items))
        if step % 10 == 0:
            window.check()
        if random.random() < 0.1:
            assert window.commit() == offset
            window = opened()
            assert (window.offset, len(window)) == (offset, len(items))
            window.check()


@both
def test_objects(algorithm: Any) -> None:
    """Text, which does not commute, in the paper's sizes: more than fits into them."""
    store = stores.open("memory:")
    window, items = algorithm(concatenation(), store=store), list[str]()
    for i in range(3000):
        items = [*items, chr(97 + i % 26)][-1500:]
        if len(window) == 1500:
            window.evict()
        window.insert(items[-1])
        if i % 97 == 0:
            assert window.query() == "".join(items)
    window.check()
    window.commit()
    again = algorithm(concatenation(), store=store)
    again.check()
    assert (again.query(), again.offset) == ("".join(items), 3000)
    again.evict_many(1400)
    assert again.query() == "".join(items[1400:])


def test_the_papers_sizes() -> None:
    """512 buffered, 512 cached, refilled at 256, a level."""
    window: Any = swag.AMTA(concatenation(), store=stores.open("memory:"))
    for i in range(5000):
        window.insert(str(i % 10))
    for _ in range(2000):
        window.evict()
    room = window._memory
    assert room.page == 128
    assert (room.levels[0].tail_size, room.levels[0].head_size) == (512, 512)
    typed: Any = swag.AMTA(affine(), store=stores.open("memory:"))
    assert typed._memory.page * 16 == 1 << 17, "numbers fill pages of 128 KiB"


@both
@ways
@pytest.mark.parametrize("size", [1, 5, 100, 1000])
def test_slides(algorithm: Any, compiled: bool, size: int) -> None:
    monoid, xs = affine(), np.random.default_rng(1).integers(0, 1000, 3000)
    window = algorithm(monoid, store=stores.open("memory:"), compiled=compiled, **SMALL)
    in_memory = algorithm(monoid, compiled=compiled)
    for part in (xs[:1700], xs[1700:]):
        assert listed(window.slide(part, size)) == listed(in_memory.slide(part, size))
        size = max(1, size - 2)  # a smaller size evicts before it slides
    window.check()


@both
@pytest.mark.parametrize("case", CASES, ids=str)
def test_policies(algorithm: Any, case: Case) -> None:
    monoid, random, store = case.make(), Random(str(case)), stores.open("memory:")
    window = algorithm(monoid, case.policy, store=store, compiled=False, **SMALL)
    items = list[Any]()
    for i, x in enumerate(case.draw(random, 1000)):
        window.insert(x)
        items = enforce(monoid, case.policy, [*items, x])
        assert len(window) == len(items)
        if i % 10 == 0:
            assert window.query() == monoid.lower(total_of(monoid, items))
        if i % 200 == 150:
            window.check()
            window.commit()
            window = algorithm(monoid, case.policy, store=store, compiled=False)


@compiled_first
def test_searches_into_the_middle_compiled(algorithm: Any) -> None:
    """Sizes that jump: the search finds its way through pages that are not here."""
    monoid, policy, random = CASES[2].make(), CASES[2].policy, Random(3)
    xs = np.array([random.choice([3000, 3000, 2000, 700]) if i % 500 == 499 else 3000
                   for i in range(20_000)])  # fmt: skip
    window = algorithm(monoid, policy, store=stores.open("memory:"), compiled=True, **SMALL)
    in_memory = algorithm(monoid, policy, compiled=True)
    assert window.slide(xs).tolist() == in_memory.slide(xs).tolist()
    assert window._stored.ledger.pages_read > 0
    assert len(window) == len(in_memory)
    window.check()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_vectors(compiled: bool) -> None:
    store = stores.open("memory:")
    window = swag.AMTA(m.Bloom(256, 2), store=store, compiled=compiled, **SMALL)
    in_memory = swag.AMTA(m.Bloom(256, 2), compiled=compiled)
    xs = np.random.default_rng(1).integers(0, 50, 2000)
    a, b = window.slide(xs, 700), in_memory.slide(xs, 700)
    assert np.array_equal(a, b)
    window.check()


def test_types_are_known_from_the_first_batch_on() -> None:
    """As in memory an empty window takes the type of its inputs; the offset goes on."""
    store = stores.open("memory:")
    window = swag.AMTA(m.Max(), store=store, **SMALL)
    window.insert(3)
    window.evict()
    window.commit()
    window.insert_many(np.arange(1000.0))
    assert (window.query(), window.offset) == (999.0, 1001)
    assert window._layout is not None
    window.commit()
    again = swag.AMTA(m.Max(), store=store, **SMALL)
    assert (again.query(), again.offset, len(again)) == (999.0, 1001, 1000)
    assert again._layout == window._layout
    again.check()
    again.evict_many(1000)
    again.commit()
    third = swag.AMTA(m.Max(), store=store, **SMALL)
    third.insert_many(np.arange(5000.0))
    assert (third.query(), third.offset, len(third)) == (4999.0, 6001, 5000)
    third.check()


def test_a_store_by_its_spec(tmp_path: Path) -> None:
    """The window opens and closes it; also when it refuses what is there."""
    spec = f"lmdb:{tmp_path}/s"
    window = swag.AMTA(affine(), store=spec)
    window.insert_many(list(range(100)))
    window.close()
    for _ in range(2):
        with pytest.raises(swag.SnapshotError, match=f"{re.escape(spec)}.*not of 'Sum'"):
            swag.AMTA(m.Sum(), store=spec)
    again = swag.AMTA(affine(), store=spec)
    assert (again.offset, again.query()) == (100, recalculated(affine(), list(range(100))))
    again.close()


@compiled_first
def test_a_bulk_eviction_reads_pages_of_a_path(algorithm: Any) -> None:
    """2^20 of 2^21 items, in pages of 256: at most four for each eight levels, in one trip."""
    window = algorithm(m.Sum().of(np.dtype("int64")), store=stores.open("memory:"), page=256)
    window.insert_many(np.arange(1 << 21))
    ledger = window._stored.ledger
    pages, trips = ledger.pages_read, ledger.trips
    window.evict_many((1 << 20) + 12345)
    assert ledger.trips - trips <= 1
    assert 0 < ledger.pages_read - pages <= 4 * 3
    window.insert(0)
    lo, hi = (1 << 20) + 12345, 1 << 21
    assert window.query() == (lo + hi - 1) * (hi - lo) // 2


def test_local_memory_is_logarithmic() -> None:
    """Twice the items: the same again a level."""
    window: Any = swag.AMTA(m.Sum().of(np.dtype("int64")), store=stores.open("memory:"), page=256)
    here = []
    for n in (16, 17, 18, 19):
        window.slide(np.arange((1 << n) - len(window) + (1 << n)), 1 << n)
        here.append(window._memory.nbytes)
    steps = [b - a for a, b in pairwise(here)]
    assert all(0 <= step <= 8 * 4 * 1024 for step in steps), here
    assert here[-1] < 8 * (1 << 19) // 4


@both
def test_the_store_does_not_grow(algorithm: Any) -> None:
    """A constant window that goes on: what was evicted is deleted."""
    store = stores.open("memory:")
    window = algorithm(affine(), store=store, **SMALL)
    most = 0
    for i in range(40):
        window.slide(np.arange(500), 1000)
        if i >= 4:
            most = max(most, len(store.keys()))
    whole = 2 * 1000 // 16
    assert most < 4 * whole
    window.evict_many(len(window))
    window.commit()
    assert len(store.keys()) == 2, "header and tails"


def test_two_windows_of_one_store_do_not_meet() -> None:
    store = stores.open("memory:")
    a = swag.AMTA(affine(), store=store, name="a", **SMALL)
    b = swag.LogMTA(affine(), store=store, name="b", **SMALL)
    xs, ys = list(range(700)), list(range(700, 1300))
    for x, y in zip(xs, ys, strict=False):
        a.insert(x)
        b.insert(y)
    a.evict_many(600)
    assert a.query() == recalculated(affine(), xs[600:600])
    assert b.query() == recalculated(affine(), ys)
    b.check()


class Slow(Memory):
    """A store whose commits wait for us."""

    waits = True

    def __init__(self) -> None:
        super().__init__()
        self.go, self.threads = threading.Event(), set[str]()

    def _commit(self, puts: Any, deletes: Any, expect: Any) -> None:
        self.threads.add(threading.current_thread().name)
        assert self.go.wait(20)
        super()._commit(puts, deletes, expect)


def test_writing_in_the_background() -> None:
    """While pages are on their way the window goes on, and reads them from memory."""
    store = Slow()
    window: Any = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
    n = 0
    while window._stored.ledger.flight is None:
        window.insert(n)
        n += 1
    pages = len(window._stored.ledger.flight.parts[0][1].pages)
    for _ in range(10):
        window.insert(n)
        n += 1
    window.evict_many(20)
    assert window.query() == recalculated(affine(), list(range(20, n)))
    assert (pages > 0, store.keys(), window._stored.ledger.pages_read) == (True, [], 0)
    store.go.set()
    window.commit()
    assert store.threads >= {"sash-store-write_0"}
    again = swag.AMTA(affine(), store=store, compiled=False)
    assert again.query() == window.query()
    again.check()


def test_offsets() -> None:
    store = stores.open("memory:")
    window = swag.AMTA(m.Sum(), store=store, autocommit=False)
    window.insert_many([1, 2, 3])
    assert window.commit(offset=700) == window.offset == 700
    window.insert(4)
    assert window.offset == 701
    again = swag.AMTA(m.Sum(), store=store)
    assert (again.offset, again.query()) == (700, 6), "what was not committed is not there"


def test_bad_input() -> None:
    store = stores.open("memory:")
    with pytest.raises(TypeError, match="store must be a store or the spec of one, not 3"):
        swag.AMTA(m.Sum(), store=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="page must be a power of two, 16 at least, not 100"):
        swag.AMTA(m.Sum(), store=store, page=100)
    with pytest.raises(TypeError, match="this one is in memory"):
        swag.AMTA(m.Sum()).commit()
    with pytest.raises(TypeError, match="kept there: commit"):
        swag.AMTA(m.Sum(), store=store).snapshot()


def test_a_failing_combine_leaves_the_window_as_it_was() -> None:
    store = stores.open("memory:")

    def picky(a: int, b: int) -> int:
        if b == 5000:
            raise ValueError("too much")
        return a + b

    monoid = Monoid("picky", 0, int, picky, dtype=object)
    window = swag.AMTA(monoid, store=store)
    for x in range(10):
        window.insert(x)
    window.commit()
    with pytest.raises(ValueError, match="too much"):
        window.insert(5000)
    window.check()
    window.insert(5)
    assert window.commit() == 11
    again = swag.AMTA(monoid, store=store)
    assert (again.query(), again.offset) == (50, 11)
