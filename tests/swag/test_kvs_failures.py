"""Stores that go away, are full, or have something else: named, and the window goes on."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sash import Monoid, stores, swag
from sash import monoids as m
from sash.stores import StoreConflict, StoreError, StoreFull, StoreUnavailable
from sash.stores.encoding import decode, encode, seal, unseal
from sash.stores.memory import Memory
from sash.swag.stored.ledger import HEADER, STAMP
from sash.swag.stored.state import VERSION
from sash.testing.torture.servers import KEEPS
from tests.stores.conftest import Server, waiting
from tests.swag.policies import CASES, affine, recalculated

SMALL = {"page": 16, "buffer": 32, "cache": 32}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose records survive it."""
    server = Server(tmp_path, *KEEPS)
    server.start()
    yield server
    server.kill()


def insert_until(window: Any, error: type[Exception], start: int) -> tuple[int, str]:
    """Insert start, start + 1, … until the store does not go on: how far, and what it says."""
    for i in range(start, start + 100_000):
        try:
            window.insert(i)
        except error as problem:
            return i, str(problem)
    raise AssertionError("it went on")


def test_a_server_that_goes_away_and_comes_back(server: Server) -> None:
    with stores.open(server.url, title="away") as store:
        window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
        for i in range(100):
            window.insert(i)
        committed = window.commit()
        server.kill()
        n, text = insert_until(window, StoreUnavailable, 100)
        assert server.url in text
        assert n > 100, "it went on as long as its buffer had room"
        assert (window.offset, len(window)) == (n, n)
        assert window.query() == recalculated(affine(), list(range(n)))
        with pytest.raises(StoreUnavailable, match=server.url):
            window.commit()
        server.start()
        with stores.open(server.url, title="away") as other:
            seen = swag.AMTA(affine(), store=other)
            assert seen.offset == committed, "nothing half-written"
            seen.check()
        for i in range(n, n + 200):
            window.insert(i)
        window.check()
        assert window.query() == recalculated(affine(), list(range(n + 200)))
        window.commit()
        again = swag.AMTA(affine(), store=store)
        assert (again.offset, again.query()) == (n + 200, window.query())


algorithms = pytest.mark.parametrize(
    "algorithm", [swag.AMTA, pytest.param(swag.LogMTA, marks=pytest.mark.slow)]
)


@algorithms
def test_a_server_that_is_away_when_pages_are_needed(server: Server, algorithm: Any) -> None:
    """An eviction that reads is undone, and done when the server is back."""
    with stores.open(server.url) as store:
        window = algorithm(affine(), store=store, compiled=False, **SMALL)
        items = list(range(900))
        window.insert_many(items)
        window.commit()
        before = window.query()
        server.kill()
        with pytest.raises(StoreUnavailable, match=server.url):
            window.evict_many(400)
        assert (len(window), window.query()) == (900, before)

        def evict() -> None:
            for _ in range(200):
                window.evict()
                items.pop(0)

        with pytest.raises(StoreUnavailable, match=server.url):
            evict()
        assert window.query() == recalculated(affine(), items)
        server.start()
        window.check()
        window.evict_many(400)
        assert window.query() == recalculated(affine(), items[400:])
        window.check()


@algorithms
def test_away_in_the_middle_of_compiled_code(server: Server, algorithm: Any) -> None:
    """A search that asks for pages in a batch: the batch's piece is undone, to the last cell."""
    monoid, policy = CASES[2].make(), CASES[2].policy
    with stores.open(server.url) as store:
        window = algorithm(monoid, policy, store=store, compiled=True, **SMALL)
        in_memory = algorithm(monoid, policy, compiled=True)
        for w in (window, in_memory):
            w.insert_many(np.full(3000, 3000))
        window.commit()
        jump = np.array([3000, 1200, 1200, 1200])
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=server.url):
                window.slide(jump)
            assert (len(window), window.offset) == (3000, 3000)
            assert window.query() == in_memory.query()
        server.start()
        window.check()
        assert window.slide(jump).tolist() == in_memory.slide(jump).tolist()
        window.check()


@algorithms
def test_away_after_a_search_has_read_what_it_needed(algorithm: Any) -> None:
    """The insertion was done, so it raises nothing; the next one does, before it begins."""

    class Once(Memory):
        left = 1 << 62

        def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
            self.left -= 1
            if self.left < 0:
                raise StoreUnavailable(self.name, "away")
            return super()._get_many(keys)

    monoid, policy, away = CASES[2].make(), CASES[2].policy, 0
    for left in range(12):
        store = Once()
        window = algorithm(monoid, policy, store=store, compiled=False, **SMALL)
        in_memory = algorithm(monoid, policy, compiled=False)
        for w in (window, in_memory):
            w.insert_many([3000] * 3000)
        store.left = left
        for x in (1200, 1200, 1200):
            before = window.offset
            try:
                window.insert(x)
            except StoreUnavailable:
                away += 1
                assert window.offset == before
                store.left = 1 << 62
                window.insert(x)
            in_memory.insert(x)
            assert (len(window), window.query()) == (len(in_memory), in_memory.query())
        store.left = 1 << 62
        window.check()
    assert away > 2


def test_a_commit_whose_answer_is_lost(server: Server) -> None:
    """A server that hangs, and does the commit when nobody waits for it any more."""
    with stores.open(server.url) as store:
        window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
        for i in range(300):
            window.insert(i)
        window.commit()
        for i in range(300, 330):
            window.insert(i)
        window._stored.ledger.prepare()  # nothing is under way
        server.signal(signal.SIGSTOP)
        with waiting(store, seconds=0.2), pytest.raises(StoreUnavailable, match=server.url):
            window.commit()
        server.signal(signal.SIGCONT)
        for i in range(330, 600):
            window.insert(i)
        window.commit()
        again = swag.AMTA(affine(), store=store)
        assert (again.offset, again.query()) == (600, recalculated(affine(), list(range(600))))


def test_files_taken_away_and_put_back(tmp_path: Path) -> None:
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
        for i in range(100):
            window.insert(i)
        window.commit()
        (tmp_path / "s").rename(tmp_path / "away")
        n, text = insert_until(window, StoreUnavailable, 100)
        assert f"lmdb:{tmp_path}/s" in text
        (tmp_path / "away").rename(tmp_path / "s")
        for i in range(n, n + 100):
            window.insert(i)
        assert window.commit() == n + 100
        window.check()
        assert window.query() == recalculated(affine(), list(range(n + 100)))


@pytest.mark.parametrize("sync", [False, True])
def test_a_store_that_is_full(tmp_path: Path, sync: bool) -> None:
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 18, max_size=1 << 18, sync=sync) as store:
        window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
        n, text = insert_until(window, StoreFull, 0)
        assert f"lmdb:{tmp_path}/s" in text
        assert window.query() == recalculated(affine(), list(range(n)))
        seen = swag.AMTA(affine(), store=store)
        assert seen.offset <= n
        assert seen.query() == recalculated(affine(), list(range(seen.offset)))
        store.max_size = 1 << 24  # type: ignore[attr-defined]
        for i in range(n, n + 100):
            window.insert(i)
        assert window.commit() == n + 100
        window.check()


def check_that_evictions_make_room(window: Any, n: int, again: Callable[[], Any]) -> int:
    """A store is full after n insertions: evict, commit, and so on until it is full again."""
    window.evict_many(len(window) * 3 // 4)
    first = n - len(window)
    assert window.commit() == n
    for opened in (window, again()):
        opened.check()
        assert (opened.offset, len(opened)) == (n, n - first)
        assert opened.query() == recalculated(affine(), list(range(first, n)))
    return insert_until(window, StoreFull, n)[0]


@pytest.mark.parametrize("sync", [False, True])
def test_evictions_make_room_in_a_store_that_is_full(tmp_path: Path, sync: bool) -> None:
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 19, max_size=1 << 19, sync=sync) as store:
        window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
        n, _ = insert_until(window, StoreFull, 0)
        for _ in range(2):
            with pytest.raises(StoreFull, match="evict, then commit"):
                window.commit()
            n = check_that_evictions_make_room(window, n, lambda: swag.AMTA(affine(), store=store))


@pytest.mark.slow
def test_evictions_make_room_in_a_server_that_is_full(tmp_path: Path) -> None:
    server = Server(tmp_path, "--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    server.start()
    try:
        with stores.open(server.url) as store:
            window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
            n, _ = insert_until(window, StoreFull, 0)
            for _ in range(2):
                again = lambda: swag.AMTA(affine(), store=store)  # noqa: E731
                n = check_that_evictions_make_room(window, n, again)
    finally:
        server.kill()


def test_a_full_disk(tmp_path: Path) -> None:
    """A file system of 4 MiB, in a mount namespace of its own."""
    mount = ["unshare", "--user", "--map-root-user", "--mount"]
    disk = f"mount -t tmpfs -o size=4m none {tmp_path}"
    if not shutil.which("unshare") or subprocess.run([*mount, "sh", "-c", disk]).returncode:
        pytest.skip("no mounting here")
    code = f"""
        import pathlib
        from sash import Monoid, stores, swag
        filler = pathlib.Path({str(tmp_path)!r}) / "filler"
        filler.write_bytes(bytes(2 << 20))
        words = Monoid("words", "", lambda i: chr(97 + i % 26), lambda a, b: a[-99:] + b[-99:])
        def expected(n):
            return "".join(chr(97 + i % 26) for i in range(n))[-99:]
        with stores.open("lmdb:{tmp_path}/s", sync=False) as store:
            window, n = swag.AMTA(words, store=store), 0
            try:
                while True:
                    window.insert(n)
                    n += 1
            except stores.StoreFull as error:
                print(error)
            assert n > 1000 and window.offset == len(window) == n, n
            assert window.query()[-99:] == expected(n)
            seen = swag.AMTA(words, store=store)
            assert 0 < seen.offset <= n
            assert seen.query()[-99:] == expected(seen.offset)
            filler.unlink()
            window.insert(n)
            assert window.commit() == n + 1
        with stores.open("lmdb:{tmp_path}/s") as store:
            window = swag.AMTA(words, store=store)
            assert window.offset == n + 1 and window.query()[-99:] == expected(n + 1)
    """
    run = [*mount, "sh", "-c", f'{disk} && exec "$0" "$@"', sys.executable, "-c"]
    done = subprocess.run([*run, textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the disk did not take the commit" in done.stdout


def two_owners(store: stores.Store) -> tuple[Any, Any]:
    first = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
    for i in range(100):
        first.insert(i)
    first.commit()
    return first, swag.AMTA(affine(), store=store, compiled=False, **SMALL)


@pytest.mark.parametrize("go_on", [lambda w: w.commit(), lambda w: insert_until(w, OSError, 100)])
def test_two_owners_do_not_interleave(go_on: Callable[[Any], Any]) -> None:
    """The second one goes on; the first is refused, with a commit and with pages ahead of one."""
    store = stores.open("memory:")
    first, second = two_owners(store)
    for i in range(100, 150):
        second.insert(i)
    second.commit()
    with contextlib.suppress(StoreConflict):
        go_on(first)
    with pytest.raises(StoreConflict, match="open the window again"):
        first.commit()
    again = swag.AMTA(affine(), store=store)
    assert (again.offset, again.query()) == (150, recalculated(affine(), list(range(150))))
    again.check()


def test_what_is_another_windows_is_refused_by_name() -> None:
    store = stores.open("memory:")
    window = swag.AMTA(m.Sum(), store=store, name="here")
    window.insert(1)
    window.commit()

    def refused(text: str, algorithm: Any = swag.AMTA, monoid: Any = None, **options: Any) -> None:
        with pytest.raises(swag.SnapshotError, match=text) as raised:
            algorithm(monoid or m.Sum(), store=store, name="here", **options)
        assert "memory: (space b'here')" in str(raised.value)

    refused("of monoid 'Sum' version 1, not of 'Max' version 1", monoid=m.Max())
    refused("a window of algorithm AMTA", swag.LogMTA)
    refused("with no policy", policy=lambda total, old: False)
    other = Monoid(m.Sum().name, 0, int, lambda a, b: a + b + 1, version=m.Sum().version)
    refused("its code differs", monoid=other)

    space = store.space(b"here")
    (header,) = space.get_many([HEADER])
    assert header is not None
    stamped = bytes(unseal(header, HEADER))
    state = decode(stamped[STAMP:])
    newer = stamped[:STAMP] + encode({**state, "kept": VERSION + 1})
    space.put_many([(HEADER, seal(newer, kind=HEADER))])
    refused(f"pages of version {VERSION + 1}; this version of Sash reads {VERSION}")


def test_state_from_before_there_were_checksums_is_refused() -> None:
    store = stores.open("memory:")
    old = bytes(24) + b'{"format": 1, "algorithm": "AMTA"}'
    store.space(b"here").put_many([(HEADER, old)])
    with pytest.raises(stores.DamagedRecord, match=r"space b'here'.*another version.*rebuild"):
        swag.AMTA(m.Sum(), store=store, name="here")


def test_a_page_that_is_missing_is_named() -> None:
    store = stores.open("memory:")
    window = swag.AMTA(affine(), store=store, compiled=False, **SMALL)
    window.insert_many(list(range(1000)))
    window.commit()
    store.space(b"window").delete_range(stores.numbers(0, 30), stores.numbers(0, 40))
    with pytest.raises(StoreError, match="page 31 of level 0 of the window is not there"):
        window.evict_many(500)
    assert len(window) == 1000


@pytest.mark.parametrize(
    ("allow_pickle", "text"),
    [(True, "not this one"), (False, "Stubborn .* allow_pickle=True")],
)
def test_a_partial_that_does_not_pickle_loses_nothing(allow_pickle: bool, text: str) -> None:
    """The commit is refused; the window here is whole, and the one that was committed too."""

    class Stubborn(int):
        def __reduce__(self) -> Any:
            raise TypeError("not this one")

    store = stores.open("memory:")
    monoid = Monoid("sum", 0, lambda x: x, lambda a, b: a + b, dtype=object)
    window = swag.AMTA(monoid, store=store, allow_pickle=allow_pickle, **SMALL)
    for i in range(100):
        window.insert(i)
    window.commit()

    def insert() -> None:
        for _ in range(500):
            window.insert(Stubborn(1))

    with pytest.raises(TypeError, match=text):
        insert()
    n = len(window)
    assert window.query() == 4950 + n - 100
    with pytest.raises(TypeError, match=text):
        window.commit()
    window.check()
    assert swag.AMTA(monoid, store=store).query() == 4950
