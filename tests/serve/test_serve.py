"""A sink and its readers: exactly once, whole batches, what is asked for and nothing else."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash import functions as sf
from sash import serve, stores
from sash.serve import Reader, ServingError, Sink
from sash.serve import sink as sink_module
from sash.stores.errors import StoreConflict
from tests.engine.streams import rows
from tests.serve import driver

ROOT = Path(__file__).parents[2]
TEN = sash.range_between(-10, 0)


def live(**options: Any) -> Any:
    return sash.stream("k", time="t", emit="update", **options)


@pytest.fixture(params=["memory", "lmdb", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> stores.Store:
    if request.param == "memory":
        return stores.open("memory:")
    if request.param == "lmdb":
        return stores.open(f"lmdb:{tmp_path / 'served'}")  # once in a process
    server = request.getfixturevalue("server")
    return stores.open(server.url, title=f"serve{time.monotonic_ns()}")


def test_a_reader_gives_what_the_stream_has(url: Any) -> None:
    counting = live(delay=1).agg(n=sf.count().over(TEN), who=sf.argmax("x", "s").over(TEN))
    table = rows(np.random.default_rng(1), 200, 5, 0)
    sink, reader = Sink(url), Reader(url)
    for number, start in enumerate(range(0, 200, 30)):
        assert sink(counting.feed(table.slice(start, 30)), number)
        keys = [f"k{i}" for i in range(7)]
        expected = [counting.current(k=key) for key in keys]
        assert reader.get_many(keys) == expected
        assert [reader.get(k=key) for key in keys] == expected
        assert reader.batch == number
        assert reader.watermark == table["t"][min(start + 29, 199)].as_py() - 1
    sink(counting.advance(1000), 99)
    assert reader.get(k="k1") == {"n": 0, "who": None}
    assert url.space(b"values").keys() == [b"commit", b"define"]  # keys without rows are gone


def test_a_batch_that_comes_again_is_left_out(url: Any) -> None:
    counting = live().agg(n=sf.count().over(TEN))
    sink, reader = Sink(url), Reader(url)
    first = counting.feed(pa.table({"k": ["a"], "t": [1]}))
    second = counting.feed(pa.table({"k": ["a"], "t": [2]}))
    written = [sink(first, 0), sink(second, 1), sink(first, 0), sink(first, 1)]
    assert written == [True, True, False, False]
    assert reader.get(k="a") == {"n": 2}


def test_half_a_batch_is_not_seen(url: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink fails after some of the keys; readers see the batch before, then the whole one."""
    monkeypatch.setattr(sink_module, "AT_A_TIME", 2)
    counting = live().agg(n=sf.count().over(TEN))
    sink, reader = Sink(url), Reader(url)
    keys = list("abcde")
    sink(counting.feed(pa.table({"k": keys, "t": [1] * 5})), 0)
    batch = counting.feed(pa.table({"k": keys, "t": [2] * 5}))
    broken = Sink(url)
    commit, left = broken._space.commit, [2]

    def fail(*given: Any, **more: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("killed")
        commit(*given, **more)

    monkeypatch.setattr(broken._space, "commit", fail)
    with pytest.raises(OSError, match="killed"):
        broken(batch, 1)
    assert reader.get_many(keys) == [{"n": 1}] * 5
    later = counting.feed(pa.table({"k": ["a", "b"], "t": [12, 13]}))
    assert sink(batch, 1)
    assert reader.get_many(keys) == [{"n": 2}] * 5
    assert sink(later, 2)
    assert reader.get_many(keys) == [{"n": 1}, {"n": 1}, {"n": 0}, {"n": 0}, {"n": 0}]


def test_readers_see_whole_batches_while_a_sink_writes(
    url: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_module, "AT_A_TIME", 3)
    counting = live().agg(n=sf.count().over(sash.lifetime()))
    keys = [f"k{i}" for i in range(20)]
    sink, reader = Sink(url), Reader(url)
    sink(counting.feed(pa.table({"k": keys, "t": [0] * 20})), 0)
    seen: list[set[int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append({value["n"] for value in reader.get_many(keys)})

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(1, 12):
        sink(counting.feed(pa.table({"k": keys, "t": [number] * 20})), number)
    done.set()
    thread.join()
    assert all(len(each) == 1 for each in seen)


def test_moments_ahead_of_the_watermark() -> None:
    store = stores.open("memory:")
    counting = live(lead=8).agg(n=sf.count().over(TEN), visit=sf.count().over(sash.session(3)))
    Sink(store)(counting.feed(pa.table({"k": ["a", "a", "b"], "t": [1, 5, 6]})), 0)
    reader = Reader(store)
    found = [(at, *reader.get(k="a", now=at).values()) for at in range(6, 15)]
    assert found == [(6, 2, 1), (7, 2, 1), (8, 2, 1), (9, 2, 0), (10, 2, 0), (11, 2, 0),
                     (12, 1, 0), (13, 1, 0), (14, 1, 0)]  # fmt: skip
    assert reader.get(now=7, k="nobody") == {"n": 0, "visit": 0}
    for moment in (5, 15):
        with pytest.raises(ServingError, match="served from 6 to 14"):
            reader.get(k="a", now=moment)


def test_keys_of_every_type() -> None:
    days = [datetime(2024, 1, d, tzinfo=UTC) for d in (1, 2, 3)]
    columns: dict[str, list[Any]] = {
        "i": [1, 2, None], "s": ["a", "x" * 5000, None], "f": [0.0, -0.0, float("nan")],
        "d": [d.date() for d in days], "t": days, "b": [b"\\0", b"", None],
    }  # fmt: skip
    for name, values in columns.items():
        store, table = stores.open("memory:"), pa.table({name: values, "at": [1, 1, 1]})
        counting = sash.stream(name, time="at", emit="update").agg(n=sf.count().over(TEN))
        Sink(store)(counting.feed(table), 0)
        found = [each["n"] for each in Reader(store).get_many(values)]
        assert found == ([2, 2, 1] if name == "f" else [1, 1, 1]), name


def test_several_keys_or_none() -> None:
    store, table = stores.open("memory:"), pa.table({"a": [1, 1], "b": ["x", "y"], "t": [1, 2]})
    for by, key, n in ((["a", "b"], {"b": "y", "a": 1}, 1), ([], {}, 2)):
        name = f"by {len(by)}"
        counting = sash.stream(by, time="t", emit="update").agg(n=sf.count().over(TEN))
        Sink(store, name)(counting.feed(table), 0)
        assert Reader(store, name).get(**key) == {"n": n}


def test_the_definition_is_checked() -> None:
    store, table = stores.open("memory:"), pa.table({"k": [1], "t": [1], "x": [2.0]})
    counting = live().agg(n=sf.count().over(TEN)).feed(table)
    other = live().agg(n=sf.count().over(sash.range_between(-11, 0))).feed(table)
    assert serve.fingerprint(counting) != serve.fingerprint(other)
    assert serve.fingerprint(counting) == serve.fingerprint(
        live(delay=4, history=table).agg(n=sf.count().over(TEN)).feed(table)
    )
    sink, reader = Sink(store), Reader(store, expects=serve.fingerprint(counting))
    sink(counting, 0)
    assert reader.get(k=1) == {"n": 1}
    with pytest.raises(ServingError, match="values of another definition"):
        sink(other, 1)
    sink.clear()
    sink(other, 0)
    for each in (reader, Reader(store, expects=serve.fingerprint(counting))):
        with pytest.raises(ServingError, match="the definition is another one"):
            each.get(k=1)
    assert Reader(store).fingerprint == serve.fingerprint(other)


def test_what_is_wrong_is_said() -> None:
    store = stores.open("memory:")
    sink, reader = Sink(store), Reader(store)
    with pytest.raises(ServingError, match="no batch was written yet"):
        reader.get(k=1)
    with pytest.raises(TypeError, match="a sink takes what a stream with emit='update' gives"):
        sink(pa.table({"k": [1]}), 0)
    with pytest.raises(TypeError, match="a sink takes what a stream with emit='update' gives"):
        sink(pa.table({"k": [1]}).to_pandas(), 0)
    counting = live().agg(n=sf.count().over(TEN))
    sink(counting.feed(pa.table({"k": [1], "t": [1]})), 0)
    with pytest.raises(TypeError, match="the keys are k, not user"):
        reader.get(user=7)
    with pytest.raises(TypeError, match="k: 'seven' is no int64"):
        reader.get(k="seven")
    with pytest.raises(ServingError, match="served from 1 to 1"):
        reader.get(k=1, now=2)


def test_two_sinks_at_once_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that was slow, of a batch that another one has passed, changes nothing."""
    store = stores.open("memory:")
    counting = live().agg(n=sf.count().over(TEN))
    slow, fast, reader = Sink(store), Sink(store), Reader(store)
    first, second, third = (counting.feed(pa.table({"k": ["a"], "t": [t]})) for t in (1, 2, 3))
    slow(first, 0)
    get, once = slow._space.get_many, [True]

    def late(keys: Any) -> Any:
        found = get(keys)
        if once:
            once.clear()
            fast(second, 1)
            fast(third, 2)
        return found

    monkeypatch.setattr(slow._space, "get_many", late)
    with pytest.raises(StoreConflict):
        slow(second, 1)
    assert reader.get(k="a") == {"n": 3}


def killed_and_finished(rows: Path, state: str, served: str, chance: random.Random) -> int:
    """Run the driver to its end, killing it at random times on the way; how often."""
    kills = 0
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", str(ROOT / "src"))])
    command = [sys.executable, "-m", "tests.serve.driver", str(rows), state, served]
    while True:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        if kills < 3 and process.stdout.readline():  # at work: the imports are done
            time.sleep(chance.uniform(0, 0.15))
            process.kill()
            kills += 1
        process.stdout.read()
        if process.wait() == 0:
            return kills


def as_of(table: pa.Table, moment: int, key: str) -> dict[str, Any]:
    """The values of a key at a moment, in plain Python."""
    mine = [row for row in table.to_pylist() if row["k"] == key and row["t"] <= moment]
    mine.sort(key=lambda row: row["t"])
    inside = [row for row in mine if row["t"] >= moment - 15]
    visit: list[dict[str, Any]] = []
    for row in mine:
        visit = [*visit, row] if visit and row["t"] - visit[-1]["t"] <= 4 else [row]
    visit = visit if visit and moment - visit[-1]["t"] <= 4 else []
    known = [row["x"] for row in mine[-3:] if row["x"] is not None]
    return {
        "n": len(inside),
        "list": [row["i"] for row in inside],
        "hi": max(known, default=None),
        "visit": sum(row["i"] for row in visit) if visit else None,
    }


@pytest.mark.parametrize("kind", [pytest.param("lmdb", marks=pytest.mark.slow), "redis"])
def test_after_kills_a_reader_gives_what_a_batch_gives(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = rows(np.random.default_rng(4), 1200, 6, 0)
    pq.write_table(table, tmp_path / "rows.parquet")
    served = f"lmdb:{tmp_path / 'served'}"
    if kind == "redis":
        served = request.getfixturevalue("new_server")().url
    state = f"lmdb:{tmp_path / 'state'}"
    assert killed_and_finished(tmp_path / "rows.parquet", state, served, random.Random(1)) == 3
    with Reader(served) as reader:
        moment = reader.watermark
        assert moment == table["t"][1199].as_py() - 3
        assert reader.batch == 1200 // driver.SIZE - 1
        for key in (*(f"k{i}" for i in range(6)), "nobody"):
            assert reader.get(k=key) == as_of(table, moment, key), key
