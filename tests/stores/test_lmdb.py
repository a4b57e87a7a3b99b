"""LMDB: killed writers, full disks, maps that grow, directories that are something else."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest
from lmdb.verify import verify

from sash import stores
from sash.stores import NotAStore, StoreError, StoreFull, StoreUnavailable, numbers

PAGES, KEPT = 5, 8  # pages a commit puts; commits whose pages stay


def batch(i: int) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
    """Commit i of a window: its pages, those that leave, the header that says i."""
    pages = [(numbers(i, p), b"%d/%d " % (i, p) * 300) for p in range(PAGES)]
    return [*pages, (b"header", b"%d" % i)], [(numbers(0), numbers(max(0, i - KEPT + 1)))]


def check_whole(store: stores.Store) -> int:
    """The last commit that is there; all of it is, and of those before it what must be."""
    header = store.get_many([b"header"])[0]
    last = -1 if header is None else int(header)
    want = {}
    for i in range(max(0, last - KEPT + 1), last + 1):
        want.update(batch(i)[0])
    assert store.keys() == sorted(want)
    assert store.get_many(sorted(want)) == [want[k] for k in sorted(want)]
    return last


def in_child(work) -> int:
    """Run `work` in a forked process; its status, 0 when it returned."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writer(spec: str, first: int, tell: int, sync: bool) -> None:
    with stores.open(spec, map_size=1 << 16, sync=sync) as store:
        for i in range(first, 1 << 30):
            store.commit(*batch(i))
            os.write(tell, b"%d\n" % i)


def kill_one(spec: str, first: int, sync: bool, commits: int, after: float) -> int:
    """Kill a writer some seconds after it said that so many commits were done; the last said."""
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(hear)
            writer(spec, first, tell, sync)
        finally:
            os._exit(1)
    os.close(tell)
    with open(hear, "rb") as heard:
        said = [heard.readline() for _ in range(commits)]
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        said += heard.readlines()
    return int(said[-1]) if said else first - 1


def kill_writers(path: Path, times: int, sync: bool) -> None:
    dice, done = random.Random(times), -1
    for _ in range(times):
        # None: while it opens, or later; the commits themselves take a millisecond or so.
        commits = dice.randrange(4)
        said = kill_one(f"lmdb:{path}", done + 1, sync, commits, dice.random() * 0.005)
        if (path / "data.mdb").exists() and (path / "data.mdb").stat().st_size:
            assert verify(str(path)) == []
        with stores.open(f"lmdb:{path}") as store:
            done = check_whole(store)
        assert done in (said, said + 1)


@pytest.mark.parametrize("sync", [False, True])
def test_a_writer_killed_at_random_points(tmp_path, sync):
    kill_writers(tmp_path / "s", 30, sync)


@pytest.mark.slow
def test_a_writer_killed_hundreds_of_times(tmp_path):
    kill_writers(tmp_path / "s", 600, sync=False)


def test_killed_inside_a_commit(tmp_path):
    """The writer dies by its own hand when a commit is half put; only the ones before are there."""

    def die() -> None:
        store = stores.open(f"lmdb:{tmp_path}/s")
        store.commit(*batch(0))

        def puts():
            yield from batch(1)[0]
            os.kill(os.getpid(), signal.SIGKILL)

        with store._env.begin(db=store._db, write=True) as txn:
            txn.cursor().putmulti(puts())

    assert in_child(die) == -signal.SIGKILL
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        assert check_whole(store) == 0
        store.commit(*batch(1))  # and the dead writer's lock does not hold
        assert check_whole(store) == 1


def test_the_map_grows(tmp_path):
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 16, sync=False) as store:
        for i in range(100):
            store.put_many([(numbers(i), os.urandom(40_000))])
        assert len(store.keys()) == 100
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 16) as store:  # smaller than it is
        assert len(store.keys()) == 100


def test_the_map_does_not_move_under_a_reader(tmp_path):
    """Its address may change as it grows: a commit that needs that waits for readers to leave."""
    entered, leave = threading.Event(), threading.Event()

    def slow(txn):
        entered.set()
        assert leave.wait(30)
        return store._value(b"k", txn.get(b"k"))

    with (
        stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 16, sync=False) as store,
        ThreadPoolExecutor() as pool,
    ):
        store.put_many([(b"k", b"v")])
        reader = pool.submit(store._read, slow)
        assert entered.wait(30)
        grown = pool.submit(store.put_many, [(b"large", bytes(1 << 20))])
        with pytest.raises(TimeoutError):
            grown.result(0.2)
        leave.set()
        assert reader.result(30) == b"v"
        grown.result(30)
        assert store.keys() == [b"k", b"large"]


def put_elsewhere(spec: str, i: int, size: int) -> None:
    code = f"""
        from sash import stores
        with stores.open({spec!r}, map_size=1 << 16, sync=False) as store:
            store.put_many([(stores.numbers({i}), bytes({size}))])
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_another_process_made_it_larger(tmp_path):
    spec = f"lmdb:{tmp_path}/s"

    with stores.open(spec, map_size=1 << 16, sync=False) as store:
        put_elsewhere(spec, 0, 500_000)
        assert store.keys() == [numbers(0)]  # a reader meets the larger map
        put_elsewhere(spec, 1, 5_000_000)
        store.put_many([(numbers(2), b"mine")])  # and a writer
        assert [len(v) for v in store.get_many([numbers(0), numbers(1), numbers(2)])] == [
            500_000,
            5_000_000,
            4,
        ]


def test_a_key_put_twice_in_a_commit_is_no_damage(tmp_path):
    with stores.open(f"lmdb:{tmp_path}/a") as store:
        store.put_many([(b"k", bytes(8000)), (b"k", b"short")])
    with stores.open(f"lmdb:{tmp_path}/a") as store:
        assert store.get_many([b"k"]) == [b"short"]


def test_deleted_ranges_make_room(tmp_path):
    """A window that slides a hundred times its size through the file keeps it small."""
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 16, sync=False) as store:
        for i in range(100 * KEPT):
            store.commit(*batch(i))
        live = sum(len(v) for v in store.get_many(store.keys()))
        assert check_whole(store) == 100 * KEPT - 1
    assert (tmp_path / "s" / "data.mdb").stat().st_size < 8 * live


def fill(store: stores.Store) -> int:
    """Commit till there is no room; what was committed is whole, and how many they were."""
    i = 0

    def put() -> None:
        nonlocal i
        while i < 10_000:
            records = [(numbers(i, p), os.urandom(20_000)) for p in range(PAGES)]
            store.put_many([*records, (b"header", b"%d" % i)])
            i += 1

    with pytest.raises(StoreFull, match=r"^lmdb:.*nothing of it was written.*intact"):
        put()
    assert store.get_many([b"header"]) == [b"%d" % (i - 1)]
    assert len(store.keys()) == i * PAGES + 1
    return i


def test_full_at_max_size(tmp_path):
    with stores.open(f"lmdb:{tmp_path}/s", map_size=1 << 16, max_size=3 << 20) as store:
        n = fill(store)
        assert n > 10
        store.delete_range(numbers(0), numbers(n // 2))  # and it goes on
        store.put_many([(numbers(n), b"more")])
        assert store.get_many([numbers(n)]) == [b"more"]
    with stores.open(f"lmdb:{tmp_path}/s", max_size=64 << 20) as store:
        store.put_many([(numbers(n, p), bytes(20_000)) for p in range(200)])
        assert len(store.keys(numbers(n, 0), numbers(n + 1))) == 200


def test_a_file_that_may_not_grow(tmp_path):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, resource.RLIM_INFINITY))
        with stores.open(f"lmdb:{tmp_path}/s") as store:
            n = fill(store)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            store.put_many([(numbers(n, p), bytes(20_000)) for p in range(100)])  # goes on
            assert len(store.keys()) == n * PAGES + 101

    assert in_child(limited) == 0
    assert verify(str(tmp_path / "s")) == []


def test_a_full_disk(tmp_path):
    """A file system of 4 MiB, in a mount namespace of its own."""
    mount = ["unshare", "--user", "--map-root-user", "--mount"]
    disk = f"mount -t tmpfs -o size=4m none {tmp_path}"
    if not shutil.which("unshare") or subprocess.run([*mount, "sh", "-c", disk]).returncode:
        pytest.skip("no mounting here")
    code = f"""
        import os, pathlib
        from sash import stores
        filler = pathlib.Path({str(tmp_path)!r}) / "filler"
        filler.write_bytes(bytes(1 << 20))
        with stores.open("lmdb:{tmp_path}/s") as store:
            i = 0
            try:
                while True:
                    store.put_many([(stores.numbers(i, p), bytes(20_000)) for p in range(5)])
                    i += 1
            except stores.StoreFull as error:
                print(error)
            assert i > 3 and len(store.keys()) == 5 * i, i
            filler.unlink()
            store.put_many([(stores.numbers(i, p), bytes(20_000)) for p in range(5)])
        with stores.open("lmdb:{tmp_path}/s") as store:
            assert len(store.keys()) == 5 * (i + 1)
    """
    run = [*mount, "sh", "-c", f'{disk} && exec "$0" "$@"', sys.executable, "-c"]
    done = subprocess.run([*run, textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the disk did not take the commit" in done.stdout


def test_files_taken_away_and_put_back(tmp_path):
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        store.commit(*batch(0))
        (tmp_path / "s").rename(tmp_path / "away")
        for call in (lambda: store.commit(*batch(1)), store.flush):
            with pytest.raises(StoreUnavailable, match="removed or replaced"):
                call()
        (tmp_path / "away").rename(tmp_path / "s")
        store.commit(*batch(1))
        assert check_whole(store) == 1


def test_paths_that_are_no_store(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.txt").write_text("text")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "data.mdb").write_bytes(b"not LMDB " * 9999)
    with lmdb.open(str(tmp_path / "other")) as env, env.begin(write=True) as txn:
        txn.put(b"someone's", b"data")
    for name, why in {
        "file": "there is a file",
        "file/inside": "there is a file",
        "papers": "thesis.txt",
        "broken": "not LMDB's",
        "other": "something else",
    }.items():
        with pytest.raises(NotAStore, match=why) as error:
            stores.open(f"lmdb:{tmp_path}/{name}")
        assert str(tmp_path / name) in str(error.value)
    assert os.listdir(tmp_path / "papers") == ["thesis.txt"]
    with lmdb.open(str(tmp_path / "other")) as env, env.begin() as txn:
        assert list(txn.cursor()) == [(b"someone's", b"data")]


def test_another_version(tmp_path):
    stores.open(f"lmdb:{tmp_path}/s").close()
    with lmdb.open(str(tmp_path / "s")) as env, env.begin(write=True) as txn:
        txn.put(b"sash", b"sash store 1 0123")
    with pytest.raises(NotAStore, match="another version: b'sash store 1"):
        stores.open(f"lmdb:{tmp_path}/s")


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9])
def test_a_file_cut_short(tmp_path, keep):
    """Refused by name; read through the map, it would end the process by SIGBUS."""
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        for i in range(KEPT):
            store.commit(*batch(i))
    file = tmp_path / "s" / "data.mdb"
    os.truncate(file, max(100, int(file.stat().st_size * keep)))

    def opened() -> None:
        with pytest.raises(NotAStore, match=r"damaged|not LMDB's"):
            stores.open(f"lmdb:{tmp_path}/s")

    assert in_child(opened) == 0


@pytest.mark.parametrize("bits", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_flipped_bits_in_the_file_are_found_or_change_nothing(tmp_path, bits):
    """Where LMDB keeps its own links, a flipped bit could end the process or hide records."""
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        for i in range(KEPT):
            store.commit(*batch(i))
        store.put_many([(b"small %d" % i, b"value %d" % i) for i in range(300)])
        keys = store.keys()
        want = {k: store.get_many([k]) for k in keys}
    file, dice = tmp_path / "s" / "data.mdb", random.Random(11)
    whole = file.read_bytes()
    found = 0
    for _ in range(bits):
        place = 4096 * dice.randrange(len(whole) // 4096) + dice.randrange(200)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << dice.randrange(8)
        file.write_bytes(damaged)

        def use() -> None:
            try:
                with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
                    keys = store.keys()
                    assert {k: store.get_many([k]) for k in keys} == want
                    store.commit([(b"new", b"value")], [(b"small", b"smalm")])
            except StoreError:
                os._exit(7)

        code = in_child(use)
        assert code in (0, 7), f"bit {place}"
        found += code == 7
    assert found > bits // 15
    with pytest.raises(NotAStore, match=r"data\.mdb is damaged"):
        check_with_a_broken_page(tmp_path, whole)


def check_with_a_broken_page(tmp_path: Path, whole: bytes) -> None:
    """`verify` decides, whatever the file's size; without it LMDB may crash, so it is not tried."""
    pages = range(2 * 4096, len(whole), 4096)
    leaf = next(p for p in pages if int.from_bytes(whole[p + 10 : p + 12], "little") == 2)
    damaged = bytearray(whole)
    damaged[leaf + 12 : leaf + 16] = b"\xff\xff\x01\x00"
    (tmp_path / "s" / "data.mdb").write_bytes(damaged)
    stores.open(f"lmdb:{tmp_path}/s", verify=True)


LAST = 144  # where a page that begins a state has the number of its transaction


def transactions(data: bytes) -> list[int]:
    """The numbers of LMDB's two states; the larger is the newer."""
    return [int.from_bytes(data[p + LAST : p + LAST + 8], "little") for p in (0, 4096)]


@pytest.mark.parametrize("damage", ["newer is older", "older is newer", "an older copy", "removed"])
def test_a_store_without_its_last_commits_is_refused(tmp_path, damage):
    """LMDB itself opens the older of its two states, which is whole, without a word."""
    file = tmp_path / "s" / "data.mdb"
    with stores.open(f"lmdb:{tmp_path}/s", sync=False) as store:
        for i in range(KEPT):
            older = file.read_bytes()
            store.commit(*batch(i))
    whole = file.read_bytes()
    states = transactions(whole)
    newer = states.index(max(states))
    assert abs(states[0] - states[1]) == 1
    damaged = bytearray(whole)
    if damage == "newer is older":
        place, number = newer, max(states) - 2
    else:
        place, number = 1 - newer, min(states) + (1 << 40)
    damaged[4096 * place + LAST : 4096 * place + LAST + 8] = number.to_bytes(8, "little")
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes(older if damage == "an older copy" else damaged)
    with pytest.raises(NotAStore, match="remove the file commits") as error:
        stores.open(f"lmdb:{tmp_path}/s")
    assert f"and there were {KEPT}" in str(error.value)
    (tmp_path / "s" / "commits").unlink()
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        assert check_whole(store) == (-1 if damage == "removed" else KEPT - 2)
        store.commit(*batch(KEPT - 1))
    file.write_bytes(whole)
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        assert check_whole(store) == KEPT - 1


def test_a_damaged_number_of_commits_is_refused_and_a_missing_one_is_made(tmp_path):
    def numbered() -> bytes:
        return (tmp_path / "s" / "commits").read_bytes()

    with stores.open(f"lmdb:{tmp_path}/s") as store:
        store.commit(*batch(0))
    whole = numbered()
    for wrong in (whole[:-1], whole + b"x", bytes([whole[0] ^ 4]) + whole[1:]):
        (tmp_path / "s" / "commits").write_bytes(wrong)
        with pytest.raises(NotAStore, match="number of commits is damaged"):
            stores.open(f"lmdb:{tmp_path}/s")
    (tmp_path / "s" / "commits").unlink()  # as in a store of an earlier version
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        assert numbered() == whole
        store.commit(*batch(1))
        assert numbered() > whole
        assert check_whole(store) == 1


def test_twice_in_one_process_and_after_a_fork(tmp_path):
    with stores.open(f"lmdb:{tmp_path}/s") as store:
        with pytest.raises(StoreError, match="already open"):
            stores.open(f"lmdb:{tmp_path}/s")

        def forked() -> None:
            with pytest.raises(StoreError, match="before a fork"):
                store.keys()

        assert in_child(forked) == 0
        store.commit(*batch(0))
        assert check_whole(store) == 0


def test_sizes_that_are_too_small(tmp_path):
    for options in ({"map_size": 1000}, {"max_size": 1000}):
        with pytest.raises(ValueError, match="65536 bytes at least"):
            stores.open(f"lmdb:{tmp_path}/s", **options)
    assert not (tmp_path / "s").exists()
