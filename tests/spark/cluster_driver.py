"""Run by test_cluster.py in a process of its own: a cluster of two executors on this machine.

    python -m tests.spark.cluster_driver FOLDER batch|stream|shipped

Executors are processes of their own, each in a folder of its own, and `python` in FOLDER gives
their Python workers a temporary folder and a cache of kernels there: what one executor has
written, the others do not see.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sash
import sash.spark
from sash import functions as sf
from sash.spark.streaming import PROVIDER, ROCKSDB
from tests.spark import stream_driver, streams

KEYS, ROWS = 20, 4000


def session(base: Path, **conf: Any) -> SparkSession:
    """A session as users of a cluster make it, with what a stream needs."""
    importlib.import_module("sash.spark.session")._prepare_environment()
    os.environ["PYSPARK_PYTHON"] = str(base / "python")
    settings: dict[str, Any] = {
        PROVIDER: ROCKSDB,
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "700m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.task.maxFailures": 20,
        **conf,
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=settings)
    spark = builder.getOrCreate()
    while len(executors()) < 2:
        time.sleep(0.1)
    return spark


def executors() -> list[psutil.Process]:
    """The executors of this process: children of the JVM that it started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


class Killer(threading.Thread):
    """Kills an executor when one is at work, and says so; `when` says whether it is time."""

    def __init__(self, when: Callable[[], bool]) -> None:
        super().__init__(daemon=True)
        self._when, self.killed = when, 0

    def run(self) -> None:
        while not self._when() or not (busy := [e for e in executors() if at_work(e)]):
            time.sleep(0.02)
        os.kill(busy[0].pid, signal.SIGKILL)
        self.killed += 1


def at_work(executor: psutil.Process) -> bool:
    """Whether a Python worker of an executor computes."""
    try:
        workers = executor.children(recursive=True)
        return any(worker.status() == psutil.STATUS_RUNNING for worker in workers)
    except psutil.Error:
        return False


def slowly(x: float) -> float:
    """A lift that takes its time, so that there is a middle to be killed in."""
    time.sleep(0.002)
    return x


LONGEST = sash.Monoid("longest", 0.0, slowly, max)


def batch(base: Path) -> None:
    """Answers are those of a table in process, with an executor killed in the middle."""
    spark = session(base)
    table = streams.rows(np.random.default_rng(5), ROWS, keys=KEYS).drop_columns(["x"])
    df = spark.createDataFrame(table).repartition(4)
    asked = {
        "n": sf.count().over("20 seconds"),
        "a": sf.apply(streams.AFFINE, "v").over("1 minute"),
        "slow": sf.apply(LONGEST, "v").over(sash.rows(3)),
        "last4": sf.collect_list("i").over(sash.rows(4)),
    }
    expected = sash.windowed(table, "k", time="ts").agg(**asked)
    killer = Killer(lambda: True)
    killer.start()
    found = sash.windowed(df, "k", time="ts", partitions=4).agg(**asked).toArrow()
    print("killed", killer.killed, flush=True)
    print("differing", streams.differing(found, expected, ["i"]), flush=True)
    spark.stop()


def stream(base: Path) -> None:
    """Micro-batches on executors that come and go: each row once, answers as the batch has them."""
    spark = session(base)
    table = streams.rows(np.random.default_rng(6), 1200)
    streams.write(base / "in", [*streams.cut(table, 6), streams.last()])
    killers = [Killer(lambda n=n: committed(base) >= n) for n in (1, 3)]
    for killer in killers:
        killer.start()
    streams.run(
        stream_driver.define(streams.source(spark, base / "in"), late="side", shards=4), base
    )
    print("killed", sum(killer.killed for killer in killers), flush=True)
    found = streams.written(spark, base)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    numbers = sorted(found.column("i").to_pylist())
    expected = stream_driver.define(streams.without(table, late))
    print("rows", numbers == list(range(1200)), flush=True)
    differing = streams.differing(streams.without(found, late), expected, ["i"])
    print("differing", differing, flush=True)
    spark.stop()


def committed(base: Path) -> int:
    return len(list((base / "out.checkpoint" / "commits").glob("[0-9]*")))


def shipped(base: Path) -> None:
    """Sash and a module of the user's come with the job: executors have neither."""
    archive = f"{base / 'packages.tar.gz'}#packages"
    spark = session(base, **{"spark.archives": archive, "spark.executorEnv.PYTHONPATH": "packages"})
    sys.path.insert(0, str(base / "own"))
    import own_monoids  # type: ignore[import-not-found]

    table = streams.rows(np.random.default_rng(7), 200)
    asked = {"a": sf.apply(own_monoids.LONGEST, "w", returns=pa.string()).over("1 minute"),
             "hi": sf.max("v").over("1 minute")}  # fmt: skip
    df = spark.createDataFrame(table.drop_columns(["x"]))
    found = sash.windowed(df, "k", time="ts").agg(**asked).toArrow()
    expected = sash.windowed(table.drop_columns(["x"]), "k", time="ts").agg(**asked)
    print("differing", streams.differing(found, expected, ["i"]), flush=True)
    print("from", *sorted(origins(df)), flush=True)
    spark.stop()


def origins(df: DataFrame) -> set[str]:
    """Where executors have Sash and the user's module from."""

    def where(_: Any) -> str:
        import own_monoids

        import sash

        return f"{sash.__file__} {own_monoids.__file__}"

    return {row.at for row in df.select(F.udf(where)("i").alias("at")).distinct().collect()}


if __name__ == "__main__":
    {"batch": batch, "stream": stream, "shipped": shipped}[sys.argv[2]](Path(sys.argv[1]))
