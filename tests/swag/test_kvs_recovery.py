"""Processes killed at random points, also inside a commit: the last committed window is there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash.stores.lmdb import LMDB
from tests.stores.conftest import Server
from tests.swag.policies import affine

SMALL = {"page": 16, "buffer": 32, "cache": 32}
MOST = 400
Open = Callable[[], stores.Store]


def words() -> Monoid:
    return Monoid("words", "", lambda x: chr(97 + x % 26), lambda a, b: a + b)


def item(i: int) -> int:
    return i * 7919 % 10_007


class Kept:
    """What a window has after its first `offset` items, by the rules of `one_by_one`."""

    def __init__(self) -> None:
        self.done, self.items = 0, list[int]()

    def at(self, offset: int) -> list[int]:
        while self.done < offset:
            self.items = after(self.done, [*self.items, item(self.done)])
            self.done += 1
        return self.items


def after(i: int, items: list[int]) -> list[int]:
    """What is left after item i: every so often only a half, and never more than MOST."""
    gone = len(items) // 2 if i % 700 == 699 else max(0, len(items) - MOST)
    return items[gone:]


def one_by_one(window: Any, say: Callable[[int], None]) -> None:
    """Insert and evict for ever; the window commits now and then, and so do we."""
    while True:
        i = window.offset
        window.insert(item(i))
        n = len(window)
        window.evict_many(n // 2 if i % 700 == 699 else max(0, n - MOST))
        if i % 97 == 0:
            say(window.commit())


def in_batches(window: Any, say: Callable[[int], None]) -> None:
    """Slide for ever, compiled."""
    while True:
        i = window.offset
        xs = np.array([item(k) for k in range(i, i + 150 + i % 300)])
        window.slide(xs, MOST)
        if i % 2 == 0:
            say(window.commit())


def kill_one(work: Callable[[Callable[[int], None]], None], commits: int, later: float) -> int:
    """Kill a process some time after it said so many commits; the last offset it said, or -1."""
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(hear)
            with open(tell, "w", buffering=1) as telling:
                work(lambda offset: print(offset, file=telling))
        finally:
            os._exit(1)
    os.close(tell)
    with open(hear, "rb") as heard:
        said = [heard.readline() for _ in range(commits)]
        time.sleep(later)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        said = [line for line in [*said, *heard.readlines()] if line]
    return int(said[-1]) if said else -1


def kill_many(open_store: Open, make: Callable[[stores.Store], Any], run: Any, times: int) -> int:
    """Kill so many processes that work on one window, one after another; its last offset."""
    dice, kept, last = Random(times), Kept(), 0
    is_slide = run is in_batches

    def work(say: Callable[[int], None]) -> None:
        run(make(open_store()), say)

    if is_slide:  # the kernel, once for all the children
        make(stores.open("memory:")).slide(np.arange(10), MOST)
    for _ in range(times):
        said = kill_one(work, dice.randrange(3), dice.random() * 0.02)
        with open_store() as store:
            window = make(store)
            offset, monoid = window.offset, window.monoid
            assert offset >= max(said, last), "what was committed is there"
            items = [item(i) for i in range(max(0, offset - MOST), offset)]
            items = items if is_slide else kept.at(offset)
            total = monoid.identity
            for x in items:
                total = monoid.combine(total, monoid.lift(x))
            assert (len(window), window.query()) == (len(items), total)
            window.check()
            last = offset
    assert last > 10 * times, "they did work before they were killed"
    return last


def make(algorithm: Any, monoid: Callable[[], Monoid], compiled: bool, store: Any) -> Any:
    return algorithm(monoid(), store=store, compiled=compiled, **SMALL)


CASES = {
    "objects": (partial(make, swag.AMTA, words, False), one_by_one),
    "plain": (partial(make, swag.LogMTA, affine, False), one_by_one),
    "compiled": (partial(make, swag.AMTA, affine, True), in_batches),
}
cases = pytest.mark.parametrize("case", CASES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


def lmdb_at(path: Path, sync: bool) -> Open:
    return lambda: stores.open(f"lmdb:{path}", sync=sync, map_size=1 << 22)


@cases
def test_killed_at_random_points(tmp_path: Path, case: str) -> None:
    kill_many(lmdb_at(tmp_path / "s", sync=case == "plain"), *CASES[case], 6)


def test_killed_at_random_points_over_redis(server: Server) -> None:
    kill_many(partial(stores.open, server.url, title="few"), *CASES["objects"], 6)


@pytest.mark.slow
@cases
@pytest.mark.parametrize("kind", ["lmdb", "redis"])
def test_killed_hundreds_of_times(tmp_path: Path, server: Server, case: str, kind: str) -> None:
    over_redis = partial(stores.open, server.url, title=case)
    place = over_redis if kind == "redis" else lmdb_at(tmp_path / "s", sync=case == "plain")
    kill_many(place, *CASES[case], 150)


def many(store: stores.Store) -> swag.Windows:
    """Windows of which few fit in memory, so that they also commit to make room."""
    return swag.Windows(swag.AMTA, words(), store=store, memory=100 << 10, compiled=False, **SMALL)


def key_and_rest(i: int) -> tuple[int, int]:
    """Which window item i goes to, and how many items it has after that, at most."""
    return i * i % 13, 30 + i % 50


def work_on_many(open_store: Open, say: Callable[[int], None]) -> None:
    windows = many(open_store())
    while True:
        i = windows.offset
        key, most = key_and_rest(i)
        window = windows[key]
        window.insert(item(i))
        window.evict_many(max(0, len(window) - most))
        if i % 97 == 0:
            say(windows.commit())


def kill_many_windows(open_store: Open, times: int) -> None:
    dice, kept, done = Random(times), {k: list[int]() for k in range(13)}, 0
    for _ in range(times):
        said = kill_one(partial(work_on_many, open_store), dice.randrange(3), dice.random() * 0.03)
        with open_store() as store:
            windows = many(store)
            assert windows.offset >= max(said, done)
            for i in range(done, windows.offset):
                key, most = key_and_rest(i)
                kept[key] = [*kept[key], item(i)][-most:]
            done = windows.offset
            for key, items in kept.items():
                assert windows[key].query() == "".join(chr(97 + x % 26) for x in items)
                windows[key].check()
    assert done > 10 * times


def test_many_windows_killed_at_random_points(tmp_path: Path) -> None:
    kill_many_windows(lmdb_at(tmp_path / "s", sync=False), 4)


@pytest.mark.slow
def test_many_windows_killed_hundreds_of_times(tmp_path: Path) -> None:
    kill_many_windows(lmdb_at(tmp_path / "s", sync=False), 200)


class Deadly(LMDB):
    """Ends the process inside a commit's transaction, when so many records of it are put."""

    left = 0

    def _commit(self, puts: Any, deletes: Any, expect: Any) -> None:
        def until_the_end() -> Iterator[Any]:
            for record in puts:
                if self.left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.left -= 1
                yield record

        super()._commit(until_the_end(), deletes, expect)  # type: ignore[arg-type]


def test_killed_inside_a_commit(tmp_path: Path) -> None:
    """After each record of a commit: before it was done, nothing of it is there."""
    kept, reached = Kept(), set()
    for left in range(0, 60, 3):

        def work(say: Callable[[int], None], left: int = left) -> None:
            store = Deadly(tmp_path / "s", sync=False, map_size=1 << 22)
            store.left = left
            one_by_one(CASES["objects"][0](store), say)

        kill_one(work, 50, 0)
        with stores.open(f"lmdb:{tmp_path}/s") as store:
            window = CASES["objects"][0](store)
            items = kept.at(window.offset)
            assert window.query() == "".join(chr(97 + x % 26) for x in items)
            window.check()
            reached.add(window.offset)
    assert len(reached) > 5, "some commits were done before"
