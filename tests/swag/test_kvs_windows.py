"""Many windows in one store: bounded memory for all together, one offset, no garbage."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash import monoids as m
from sash.stores import StoreConflict, StoreFull
from tests.swag.policies import affine, recalculated

SMALL: dict[str, Any] = {"page": 16, "buffer": 32, "cache": 32}
MEMORY = 400 << 10


def windows(store: stores.Store, algorithm: Any = swag.AMTA, **options: Any) -> swag.Windows:
    return swag.Windows(algorithm, affine(), store=store, **{"memory": MEMORY, **SMALL, **options})


def test_the_offset_goes_on_where_a_window_takes_items_of_another_type() -> None:
    """Empty after text, it begins again with numbers; the items before still count."""
    store = stores.open("memory:")
    many = swag.Windows(swag.AMTA, m.Max(), store=store)
    many["a"].insert_many(["x", "y"])
    many["a"].evict_many(2)
    assert many.commit() == 2
    many["a"].insert_many(np.array([3, 1, 2]))
    assert (many.offset, many["a"].query()) == (5, 3)
    assert many.commit() == 5
    again = swag.Windows(swag.AMTA, m.Max(), store=store)
    assert (again.offset, again["a"].query()) == (5, 3)


@pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])
def test_random_keys(tmp_path: Path, algorithm: Any) -> None:
    """More windows than fit: they come and go, and after a restart it goes on from the offset."""
    random, kept, offset = Random(3), dict[str, list[int]](), 0
    saved = {key: list(items) for key, items in kept.items()}
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        many = windows(store, algorithm, compiled=False)
        most = 0
        for step in range(1200):
            key = f"user {int(random.expovariate(0.05))}"
            window, items = many[key], kept.setdefault(key, [])
            x = random.randrange(1000)
            window.insert(x)
            items.append(x)
            offset += 1
            if len(items) > 150 or random.random() < 0.01:
                window.evict_many(len(items) // 2)
                del items[: len(items) // 2]
            if step % 20 == 0:
                assert window.query() == recalculated(affine(), items)
            if random.random() < 0.01:
                saved = {key: list(items) for key, items in kept.items()}
                assert many.commit() == offset
            if random.random() < 0.002:
                saved = {key: list(items) for key, items in kept.items()}
                many.commit()
                many = windows(store, algorithm, compiled=False)
                assert many.offset == offset
            most = max(most, many.nbytes - window._memory.nbytes)
        assert most <= MEMORY, "all together but for the one in use"
        assert many.resident < len(kept)
        many.commit()
        again = windows(store, algorithm, compiled=False)
        assert set(again) == {key for key, items in kept.items() if items}
        for key, items in kept.items():
            assert again[key].query() == recalculated(affine(), items)
            again[key].check()
        assert saved


def test_making_room_commits_all_or_nothing() -> None:
    """Whatever is in the store belongs to one offset, though nobody said commit."""
    store = stores.open("memory:")
    many, given = windows(store, memory=60 << 10), list[tuple[int, int]]()
    for i in range(500):
        key = i * 7 % 23
        many[key].insert(i)
        given.append((key, i))
        seen = windows(store)
        if i % 50 == 0 and seen.offset:
            for k in range(23):
                items = [x for key, x in given[: seen.offset] if key == k]
                assert seen[k].query() == recalculated(affine(), items)
    assert windows(store).offset > 0


def test_a_window_that_made_room_says_so() -> None:
    many = windows(stores.open("memory:"), memory=60 << 10)
    first = many["first"]
    first.insert(1)
    for i in range(20):
        many[i].insert(i)
    with pytest.raises(RuntimeError, match=r"made room for others: ask for windows\['first'\]"):
        first.insert(2)
    assert len(many["first"]) == 1
    assert "first" in many
    assert "second" not in many


def test_keys_that_come_and_go_leave_nothing() -> None:
    store = stores.open("memory:")
    many = windows(store, memory=200 << 10)
    sizes = []
    for i in range(300):
        window = many[i]
        window.insert_many([1] * 100)
        if i >= 10:
            many[i - 10].evict_many(100)
        if i % 20 == 19:
            many.commit()
            sizes.append(len(store.keys()))
    assert max(sizes[5:]) <= max(sizes[:5])
    for i in range(300):
        many[i].evict_many(len(many[i]))
    many.commit()
    assert len(store.keys()) == 1, "the offset"
    assert (list(many), many.offset) == ([], 30_000)


def test_one_commit_for_all_when_the_store_is_full(tmp_path: Path) -> None:
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 18, max_size=1 << 18, sync=False) as store:
        many = windows(store, memory=10 << 20)
        for i in range(100):
            many[i % 20].insert(i)
        many.commit()

        def fill() -> None:
            for i in range(100, 1_000_000):
                many[i % 20].insert(i)
                if i % 200 == 0:
                    many.commit()

        with pytest.raises(StoreFull, match="lmdb:"):
            fill()
        seen = windows(store)
        for k in range(20):
            items = [i for i in range(seen.offset) if i % 20 == k]
            assert seen[k].query() == recalculated(affine(), items)


def test_evictions_make_room_in_a_store_that_is_full(tmp_path: Path) -> None:
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 19, max_size=1 << 19, sync=False) as store:
        many, n = windows(store, memory=10 << 20), 0

        def fill() -> None:
            nonlocal n
            while True:
                many[n % 20].insert(n)
                n += 1
                if n % 200 == 0:
                    many.commit()

        for _ in range(3):
            with pytest.raises(StoreFull, match="lmdb:"):
                fill()
            n = many.offset
            sizes = {k: 9 * k if k % 3 else len(many[k]) // 8 for k in range(20)}
            for k, size in sizes.items():
                many[k].evict_many(max(0, len(many[k]) - size))
            assert many.commit() == n
            seen = windows(store)
            assert seen.offset == n
            for k in range(20):
                items = [i for i in range(n) if i % 20 == k]
                size = len(many[k])
                assert len(seen[k]) == size
                wanted = recalculated(affine(), items[len(items) - size :])
                assert seen[k].query() == many[k].query() == wanted
                seen[k].check()


def test_two_owners(tmp_path: Path) -> None:
    store = stores.open("memory:")
    first, second = windows(store), windows(store)
    first["a"].insert(1)
    second["b"].insert(2)
    first.commit()
    with pytest.raises(StoreConflict, match="another writer"):
        second.commit()
    assert (list(windows(store)), windows(store).offset) == (["a"], 1)


def test_keys_and_bad_input() -> None:
    store = stores.open("memory:")
    many = windows(store)
    for key in ("a", b"a", 5, -5):
        many[key].insert(1)
    many.commit(offset=99)
    again = windows(store)
    assert (set(again), again.offset) == ({"a", b"a", 5, -5}, 99)
    with pytest.raises(TypeError, match="a key is a str, bytes or an int, not float"):
        many[1.5]  # type: ignore[index]
    with pytest.raises(swag.SnapshotError, match="windows of monoid"):
        swag.Windows(swag.AMTA, m.Sum(), store=store)
    with pytest.raises(swag.SnapshotError, match="windows of algorithm AMTA, not of LogMTA"):
        windows(store, swag.LogMTA)


def test_objects() -> None:
    """Text, which does not commute."""
    words = Monoid("words", "", str, lambda a, b: a + b)
    store, text = stores.open("memory:"), "the quick brown fox jumps over the lazy dog" * 20
    many = swag.Windows(swag.AMTA, words, store=store, memory=100 << 10, **SMALL)
    for i, letter in enumerate(text):
        many[i % 7].insert(letter)
    for k in range(7):
        assert many[k].query() == text[k::7]
