"""Whatever is killed and whenever: no row is lost, doubled or changed."""

from __future__ import annotations

import itertools
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import Monoid
from sash import functions as sf
from tests.spark import stream_driver, streams

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("SASH_KILLS", "200"))


def driver(base: Path, seed: int | None, url: str | None) -> subprocess.Popen[str]:
    """The stream's driver, the leader of a group of processes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(base)]
    command += [] if seed is None else ["--seed", str(seed)]
    command += [] if url is None else ["--serve", url]
    return subprocess.Popen(
        command, cwd=ROOT, env={**kept, "PYTHONPATH": path}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=(base / "log").open("a"),
    )  # fmt: skip


def run_until(
    process: subprocess.Popen[str], enough: Callable[[], bool], seconds: float
) -> list[str]:
    """What a driver says until it is done, or killed so many seconds after it was enough."""
    lines: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=lambda: [*map(lines.put, process.stdout or ()), lines.put("")])
    reader.start()
    said: list[str] = []
    end, counting = time.monotonic() + 600, False
    while time.monotonic() < end:
        if not counting and said and enough():
            end, counting = time.monotonic() + seconds, True
        try:
            line = lines.get(timeout=0.05)
        except queue.Empty:
            continue
        if not line:
            break
        said.append(line.strip())
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    reader.join()
    return said


def kill_drivers(
    base: Path, kills: int, chance: random.Random, more: Iterator[pa.Table], url: str | None = None
) -> tuple[int, int]:
    """Kill drivers at random times, and some of their workers if often; how many of both.

    A driver is killed up to 3 seconds after a few micro-batches, or none at all. There is
    always more to read: files come as the stream goes on.
    """
    drivers = workers = 0
    while drivers + workers < kills:
        files = len(list((base / "in").glob("*.parquet")))
        streams.write(base / "in", itertools.islice(more, max(0, 4 + batches(base) - files)))
        seed = chance.randrange(1 << 30) if kills > 10 and chance.random() < 0.3 else None
        goal = batches(base) + chance.randrange(5 if kills > 10 else 3)
        process = driver(base, seed, url)
        said = run_until(process, lambda n=goal: batches(base) >= n, chance.uniform(0, 3))
        assert "started" in said, (base / "log").read_text()[-3000:]
        workers += sum(line.startswith("killed worker") for line in said)
        drivers += "done" not in said
        if kills > 10:
            print(f"killed: {drivers} drivers, {workers} workers; {batches(base)} batches")
    return drivers, workers


def batches(base: Path) -> int:
    """How many micro-batches are committed."""
    found = (base / "out.checkpoint" / "commits").glob("[0-9]*")
    return max((1 + int(each.name) for each in found), default=0)


def check(spark: SparkSession, base: Path, table: pa.Table) -> None:
    """What is written is what the batch gives, and every row is in it once."""
    found = streams.written(spark, base)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    numbers = found.column("i").to_pylist()
    assert len(numbers) == len(set(numbers)) == table.num_rows
    expected = stream_driver.define(streams.without(table, late))
    assert streams.differing(streams.without(found, late), expected, ["i"]) == {}


def apart(table: pa.Table) -> pa.Table:
    """The rows with no two of one time."""
    ticks = np.asarray(table.column("ts").cast(pa.int64())) + np.arange(table.num_rows) % 1_000_000
    place = table.column_names.index("ts")
    return table.set_column(place, "ts", pa.array(ticks).cast(pa.timestamp("us", "UTC")))


def with_ties(table: pa.Table, files: int) -> list[pa.Table]:
    """A table in files; rows of one file may have one time, rows of different files have not."""
    place, found = table.column_names.index("ts"), []
    for number, file in enumerate(streams.cut(table, files)):
        ticks = np.asarray(file.column("ts").cast(pa.int64())) + number
        found.append(file.set_column(place, "ts", pa.array(ticks).cast(pa.timestamp("us", "UTC"))))
    return found


def tied(table: pa.Table) -> int:
    """Rows that have the key and the time of a row before them."""
    pairs = zip(table.column("k").to_pylist(), table.column("ts").to_pylist(), strict=True)
    return table.num_rows - len(set(pairs))


def kill_and_finish(spark: SparkSession, base: Path, kills: int, seed: int) -> tuple[int, int]:
    """A stream whose drivers are killed, and which is then finished here.

    After a kill Spark may read two files at once, in any order; within a file rows keep theirs.
    """
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    tables = with_ties(streams.rows(rng, 400 * kills), 16 * kills)
    table, files = pa.concat_tables(tables), iter(tables)
    killed = kill_drivers(base, kills, chance, files)
    rest = sum(file.num_rows for file in files)
    streams.write(base / "in", [streams.last()])
    stream = streams.source(spark, base / "in")
    streams.run(stream_driver.define(stream, late="side", shards=2), base)
    read = table.slice(0, table.num_rows - rest)
    assert tied(read) > read.num_rows / 50
    check(spark, base, read)
    return killed


@pytest.mark.slow
def test_the_driver_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    drivers, _ = kill_and_finish(spark, tmp_path, kills=2, seed=8)
    assert drivers == 2


@pytest.mark.slow
def test_many_kills(spark: SparkSession, tmp_path: Path) -> None:
    """SASH_KILLS=200 of drivers and their Python workers, SASH_SEED=9; see them with pytest -s."""
    seed = int(os.environ.get("SASH_SEED", "9"))
    drivers, workers = kill_and_finish(spark, tmp_path, KILLS, seed)
    assert drivers + workers >= KILLS


@pytest.mark.slow
def test_a_function_fails_and_a_worker_dies(spark: SparkSession, tmp_path: Path) -> None:
    """A user's lift raises once and kills its process once; the stream goes on when restarted."""
    table = streams.rows(np.random.default_rng(10), 300)
    streams.write(tmp_path / "in", [*streams.cut(table, 3), streams.last()])
    raises, dies = tmp_path / "raise", tmp_path / "die"

    def lift(word: str) -> str:
        if word == "m" and raises.exists():
            raises.unlink()
            raise RuntimeError("the marker was there")
        if word == "q" and dies.exists():
            dies.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return word

    fragile = Monoid("fragile", "", lift, lambda a, b: a + b)

    def words(data: object, **options: object) -> object:
        asked = sf.apply(fragile, "w", returns=pa.string()).over("20 seconds")
        return sash.windowed(data, "k", time="ts", **options).agg(words=asked)

    for marker, message in ((raises, "the marker was there"), (dies, "(?i)worker.*(crash|exited)")):
        marker.touch()
        with pytest.raises(Exception, match=message):
            streams.run(
                words(streams.source(spark, tmp_path / "in"), late="side", shards=2), tmp_path
            )
        assert not marker.exists()
    streams.run(words(streams.source(spark, tmp_path / "in"), late="side", shards=2), tmp_path)
    found = streams.written(spark, tmp_path)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    assert sorted(found.column("i").to_pylist()) == list(range(300))
    expected = words(streams.without(table, late))
    assert streams.differing(streams.without(found, late), expected, ["i"]) == {}
