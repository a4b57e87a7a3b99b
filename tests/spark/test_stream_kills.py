"""Whatever is killed and whenever: no row is lost, doubled or changed."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
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


def driver(base: Path, log: Path, seed: int | None = None) -> subprocess.Popen[str]:
    """The stream's driver, the leader of a group of processes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(base)]
    return subprocess.Popen(
        command + ([] if seed is None else [str(seed)]),
        cwd=ROOT, env={**kept, "PYTHONPATH": path}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=log.open("a"),
    )  # fmt: skip


def run_for(process: subprocess.Popen[str], seconds: float) -> list[str]:
    """What a driver says until it is done, or killed so many seconds after it has started."""
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: [*map(lines.put, process.stdout or ()), lines.put("")])
    reader.start()
    said, end = [], time.monotonic() + 600
    while time.monotonic() < end:
        try:
            line = lines.get(timeout=min(0.1, max(0.0, end - time.monotonic())))
        except queue.Empty:
            continue
        if not line:
            break
        said.append(line.strip())
        if said == ["started"]:
            end = time.monotonic() + seconds
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    reader.join()
    return said


def kill_drivers(base: Path, kills: int, longest: float, chance: random.Random) -> tuple[int, int]:
    """Kill drivers at random times until they are done or it is enough: drivers and workers."""
    drivers = workers = 0
    while drivers + workers < kills:
        seed = chance.randrange(1 << 30) if kills > 10 else None
        said = run_for(driver(base, base / "log", seed), chance.uniform(0, longest))
        workers += sum(line.startswith("killed worker") for line in said)
        if "done" in said:
            break
        assert "started" in said, (base / "log").read_text()[-3000:]
        drivers += 1
    return drivers, workers


def check(spark: SparkSession, base: Path, table: pa.Table) -> None:
    """What is written is what the batch gives, and every row is in it once."""
    found = streams.written(spark, base)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    numbers = found.column("i").to_pylist()
    assert len(numbers) == len(set(numbers)) == table.num_rows
    expected = stream_driver.define(streams.without(table, late))
    assert streams.differing(streams.without(found, late), expected, ["i"]) == {}


def test_the_driver_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    table = streams.rows(np.random.default_rng(8), 400)
    streams.write(tmp_path / "in", [*streams.cut(table, 6), streams.last()])
    drivers, _ = kill_drivers(tmp_path, 2, 5, random.Random(8))
    stream = streams.source(spark, tmp_path / "in")
    streams.run(stream_driver.define(stream, late="side", shards=2), tmp_path)
    assert drivers == 2
    check(spark, tmp_path, table)


@pytest.mark.slow
def test_many_kills(spark: SparkSession, tmp_path: Path) -> None:
    """SASH_KILLS=200 of drivers and their Python workers; prints how many of each there were."""
    table = streams.rows(np.random.default_rng(9), 60 * KILLS)
    streams.write(tmp_path / "in", [*streams.cut(table, 3 * KILLS), streams.last()])
    chance = random.Random(int(os.environ.get("SASH_SEED", "9")))
    drivers, workers = kill_drivers(tmp_path, KILLS, 12, chance)
    print(f"killed: {drivers} drivers, {workers} workers")
    stream = streams.source(spark, tmp_path / "in")
    streams.run(stream_driver.define(stream, late="side", shards=2), tmp_path)
    assert drivers + workers >= KILLS
    check(spark, tmp_path, table)


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
