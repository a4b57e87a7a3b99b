"""Spark streams: Sash against Spark's own window(), a pass-through, and states of two sizes.

    python -m benchmarks.streaming                      all of it, about ten minutes
    python -m benchmarks.streaming --experiment every   an hour by 10 s, a day by a second
    python -m benchmarks.streaming --experiment rows    one answer a row, 100,000 keys
    python -m benchmarks.streaming --experiment state   10,000 rows with 5 MB and 500 MB of state
    python -m benchmarks.streaming --experiment flat    in process: the time and bytes of a batch by
                                                        the rows in the window, 10^5 to 10^7

Rates are thousand rows a second of the best micro-batch after the first ones, reading Parquet,
to the noop sink. The pass-through has the same packing, shuffle, handler and unpacking, and
hands on what it gets.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import sash
import sash.spark
from benchmarks.measure import report
from sash import functions as sf
from sash.spark.shards import Packing, shard_ids
from sash.spark.streaming import SHARDS, unpack

Row = dict[str, Any]
START = np.datetime64("2024-01-01", "us")
SCHEMA = "k long, ts timestamp, x double"


class Batch(NamedTuple):
    """A micro-batch as Spark saw it."""

    rows: int
    seconds: float
    figures: dict[str, int]


def files(folder: Path, batches: int, rows: int, keys: int, seconds: float, seed: int = 1) -> None:
    """A file a micro-batch, each `seconds` of rows in order of time."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for number in range(batches):
        ticks = np.sort(rng.integers(0, int(seconds * 1e6), rows)) + int(number * seconds * 1e6)
        columns = {
            "k": rng.integers(0, keys, rows),
            "ts": pa.array(START + ticks.astype("timedelta64[us]"), pa.timestamp("us", "UTC")),
            "x": rng.random(rows),
        }
        pq.write_table(pa.table(columns), folder / f"{number:04}.parquet")


def stream(spark: SparkSession, folder: Path, delay: str = "10 seconds") -> DataFrame:
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return source.parquet(str(folder)).withWatermark("ts", delay)


def run(df: DataFrame, folder: Path) -> list[Batch]:
    """All micro-batches of a stream, one after the other."""
    place = folder / "checkpoint"
    shutil.rmtree(place, ignore_errors=True)
    writer = df.writeStream.format("noop").outputMode("append").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(place)).start()
    query.awaitTermination()
    found = []
    for progress in query.recentProgress:
        seen = [m.asDict() for name, m in progress.observedMetrics.items() if "sash" in name]
        seconds = progress.durationMs["triggerExecution"] / 1000
        found.append(Batch(progress.numInputRows, seconds, seen[0] if seen else {}))
    return found


def rate(batches: list[Batch], skip: int) -> float:
    """Thousand rows a second of the best batch after the first ones."""
    return max(b.rows / b.seconds for b in batches[skip:] if b.rows) / 1000


def every(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Windows of an hour every 10 seconds, and of a day every second."""
    for keys in (100, 10_000):
        data = folder / f"every-{keys}"
        files(data, 8, options.every_rows, keys, 60)
        files(folder / f"native-{keys}", 3, options.native_rows, keys, 60)
        sizes = {"1 hour by 10 s": ("1 hour", "10 seconds"), "1 day by 1 s": ("1 day", "1 second")}
        row: Row = {"keys": keys}
        for name, (size, slide) in sizes.items():
            asked = {"hi": sf.max("x"), "n": sf.count(), "mean": sf.mean("x")}
            work = sash.windowed(stream(spark, data), "k", time="ts").every(slide)
            out = work.agg(**{each: a.over(size) for each, a in asked.items()})
            row[name] = best(options, lambda d=out: rate(run(d, folder), 2))
        native = stream(spark, folder / f"native-{keys}")
        grouped = native.groupBy("k", F.window("ts", "1 hour", "10 seconds"))
        theirs = grouped.agg(F.max("x"), F.count("*"), F.avg("x"))
        row["native, 1 hour by 10 s"] = rate(run(theirs, folder), 1)
        row["sash / native"] = row["1 hour by 10 s"] / row["native, 1 hour by 10 s"]
        row["day / hour"] = row["1 day by 1 s"] / row["1 hour by 10 s"]
        yield row


def rows(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """One answer a row over the last hour, against a handler that passes rows on."""
    data = folder / "rows"
    files(data, 7, options.rows, 100_000, 600)
    ours = sash.windowed(stream(spark, data), "k", time="ts").agg(hi=sf.max("x").over("1 hour"))
    theirs = passed(stream(spark, data))
    yours = {"sash": ours, "pass-through": theirs}
    found: Row = dict.fromkeys(yours, 0.0)
    for _ in range(options.repeat):
        for name, df in yours.items():
            found[name] = max(found[name], rate(run(df, folder), 3))
    yield (
        {"rows per batch": options.rows} | found | {"ratio": found["sash"] / found["pass-through"]}
    )


class Passing(StatefulProcessor):
    """Hands on the blocks that it gets."""

    def init(self, handle: Any) -> None: ...

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for part in rows:
            yield pd.DataFrame({"rows": part["rows"]})

    def close(self) -> None: ...


def passed(df: DataFrame) -> DataFrame:
    """The same pipeline with nothing done in the handler."""
    packing = Packing(("_sash", "_check", *df.columns), tuple(shard_ids(SHARDS)))
    hashes = F.xxhash64("k").alias("_sash"), F.hash("k").cast("long").alias("_check")
    hashed = df.select(*hashes, *df.columns)
    blocks = hashed.mapInArrow(packing.pack(), "shard int, rows binary")
    done = blocks.groupBy("shard").transformWithStateInPandas(
        Passing(), "rows binary", "Append", "None"
    )
    return done.mapInArrow(unpack(), f"_sash long, _check long, {SCHEMA}")


def state(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Batches of 10,000 rows after a first one that fills the state."""
    small, large = options.state_megabytes
    measured: dict[int, Row] = {}
    for megabytes in (small, large):
        count = megabytes * 1_000_000 // 32
        data = folder / f"state-{megabytes}"
        files(data, 1, count, max(1, count // 20), 60)
        files(folder / "few", 8, 10_000, max(1, count // 20), 60, seed=2)
        for number, path in enumerate(sorted((folder / "few").iterdir())):
            moved = pq.read_table(path)
            later = moved.column("ts").cast(pa.int64()).to_numpy() + 60_000_000
            times = pa.array(later).cast(pa.timestamp("us", "UTC"))
            pq.write_table(moved.set_column(1, "ts", times), data / f"{number + 1:04}.parquet")
        shutil.rmtree(folder / "few")
        out = sash.windowed(stream(spark, data), "k", time="ts").agg(hi=sf.max("x").over("1 day"))
        batches = run(out, folder)[3:-1]
        quick = min((b for b in batches if b.rows), key=lambda b: b.seconds)
        most = max(b.figures.get("written", 0) for b in batches)
        kept = quick.figures["state_bytes"] / 1e6
        measured[megabytes] = {"state, MB": kept, "written, MB": most / 1e6, "s": quick.seconds}
        yield measured[megabytes]
    yield {"large / small": measured[large]["s"] / measured[small]["s"]}


def best(options: argparse.Namespace, measured: Any) -> float:
    return max(float(measured()) for _ in range(options.repeat))


def flat(options: argparse.Namespace) -> Iterator[Row]:
    """In process, windows full: batches of 10,000 rows, max and mean over one window."""
    for keys in (1, 100, 5_000):
        for emit, slide in (("final", None), ("arrival", None), ("final", 1)):
            first: Row = {}
            for number in (10, 100, 1_000):
                found = fed(keys, number, emit, slide)
                first = first or found
                ratios = {
                    "time to 10^5": found["ms a batch"] / first["ms a batch"],
                    "bytes to 10^5": found["MB read"] / first["MB read"],
                }
                yield {"emit": emit if slide is None else f"every {slide}"} | found | ratios
    for late in (0.0, 0.01):
        yield {"emit": f"arrival, {late:.0%} late"} | fed(100, 100, "arrival", None, late)


def fed(keys: int, window: int, emit: Any, slide: int | None, late: float = 0.0) -> Row:
    """The best of eight batches after a window of so many is full; late by up to ten batches."""
    rng, count, span = np.random.default_rng(1), 10_000, 1_000
    frame = sash.range_between(-window * span, 0)
    defined = sash.stream("k", time="t", emit=emit, delay=10 * span if late else 0)
    defined = defined if slide is None else defined.every(slide)
    live = defined.agg(hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame))
    seconds, read = [], []
    for number in range(window + 20):
        times = np.sort(rng.integers(number * span, (number + 1) * span, count))
        if late:
            back = np.where(rng.random(count) < late, rng.integers(0, 10 * span, count), 0)
            times = np.maximum(0, times - back)
        batch = pa.table({"k": rng.integers(0, keys, count), "t": times, "x": rng.random(count)})
        start = time.perf_counter()
        live.feed(batch)
        if number >= window + 12:
            seconds.append(time.perf_counter() - start)
            read.append(live.stats.read)
    kept = {"keys": keys, "rows in the window": window * count}
    return kept | {"ms a batch": min(seconds) * 1e3, "MB read": max(read) / 1e6}


EXPERIMENTS = {"every": every, "rows": rows, "state": state}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--experiment", nargs="+", choices=[*EXPERIMENTS, "flat"],
                        default=["flat", *EXPERIMENTS])  # fmt: skip
    parser.add_argument("--rows", type=int, default=1_000_000, help="a batch, of `rows`")
    parser.add_argument("--every-rows", type=int, default=500_000, help="a batch, of `every`")
    parser.add_argument("--native-rows", type=int, default=50_000, help="a batch of native's")
    parser.add_argument("--state-megabytes", nargs=2, type=int, default=[5, 500])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    if "flat" in options.experiment:
        report("streaming_flat", flat(options), options.out)
        options.experiment.remove("flat")
    if not options.experiment:
        return
    spark = sash.spark.session("benchmark", options.master)
    with tempfile.TemporaryDirectory(prefix="sash-streaming-") as folder:
        for name in options.experiment:
            found = EXPERIMENTS[name](spark, options, Path(folder))
            report(f"streaming_{name}", found, options.out)
    spark.stop()


if __name__ == "__main__":
    main()
