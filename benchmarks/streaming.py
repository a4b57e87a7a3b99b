"""Streams: batches in process, and Spark streams against Spark's own window() and a pass-through.

    python -m benchmarks.streaming --experiment flat     in process: the time and bytes of a batch
                                                         by the rows in the window, 10^5 to 10^7
    python -m benchmarks.streaming --experiment late     in process: 1 % of rows late, on arrival
    python -m benchmarks.streaming --experiment every    an hour by 10 s, against Spark's window()
    python -m benchmarks.streaming --experiment day      a day by a second, against an hour by 10 s
    python -m benchmarks.streaming --experiment rows     an answer per row over 10^7 rows in the
                                                         window, against a pass-through
    python -m benchmarks.streaming --experiment state    10,000 rows with 5 MB and 500 MB of state

`--keys` chooses one of the numbers of keys, and `--scale 0.1` a tenth of the rows.

On Spark, windows are full before anything is measured: Sash begins with a history, Spark's window()
with one micro-batch of the same rows. After that both read the same files, two per micro-batch, so
that both cores read. A stream runs for days, and Java compiles its code in the first dozen micro-
batches, so all streams have `--batches` of them (15), except Spark's window(), which reads only the
first ones (`--native-batches`): each takes it a minute or more, and has Java compile what it needs.
Streams that are compared take turns, twice (`--repeat`). Rates are thousand rows per second of the
best micro-batch after the first two (where there are two, of the second), from Parquet to the noop
sink. `reading alone` drops the rows in Python's workers:
no stream with a handler in Python is faster. `stages alone` drops them there too, and sends an
empty block per shard through the stages that Sash has: what Spark itself takes. The pass-through
has the same packing, shuffle, handler and unpacking, and hands on what it gets.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import tempfile
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
from benchmarks import stream_batches
from benchmarks.measure import report
from sash import functions as sf
from sash.spark.keys import shards_of
from sash.spark.shards import Packing, packed, shard_ids
from sash.spark.streaming import unpack

Row = dict[str, Any]
START = np.datetime64("2024-01-01", "us")
SCHEMA = "k long, ts timestamp, x double"
HOUR, DAY = 3_600, 86_400
PER_KEY = 5
"""Rows of a key in the history of `every`: nearly all of its windows of an hour have some."""


FILES = 2
"""Files of a micro-batch: a source has as many parts as there are cores."""


class Batch(NamedTuple):
    """A micro-batch as Spark saw it."""

    rows: int
    seconds: float
    figures: dict[str, int]


class Input(NamedTuple):
    """A folder of a stream: the files of micro-batches, and before them the rows of a history."""

    history: Path
    batches: Path

    def first(self, count: int) -> Input:
        """The history and the first micro-batches only."""
        found = Input(self.history.parent / "first" / "0", self.history.parent / "first" / "1")
        for folder, known in zip(found, self, strict=True):
            folder.mkdir(parents=True)
            for file in sorted(known.glob("*.parquet"))[: count * FILES]:
                shutil.copy2(file, folder)
        return found

    def stream(self, spark: SparkSession, with_history: bool = False) -> DataFrame:
        """The micro-batches; `with_history`: the history is the first of them."""
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
        folder = str(self.batches.parent if with_history else self.batches)
        read = source.option("recursiveFileLookup", True).parquet(folder)
        return read.withWatermark("ts", "10 seconds")


def table(rng: np.random.Generator, rows: int, keys: int, begin: float, seconds: float) -> pa.Table:
    """Rows in order of time, from a second on."""
    ticks = np.sort(rng.integers(0, int(seconds * 1e6), rows)) + int(begin * 1e6)
    columns = {
        "k": rng.integers(0, keys, rows),
        "ts": pa.array(START + ticks.astype("timedelta64[us]"), pa.timestamp("us", "UTC")),
        "x": rng.random(rows),
    }
    return pa.table(columns)


class Sizes(NamedTuple):
    """A history of so many rows over so many seconds, and the micro-batches after it, each of so
    many rows over so many seconds."""

    past: int
    length: int
    batches: int
    rows: int
    seconds: float


def files(folder: Path, keys: int, sizes: Sizes) -> Input:
    """The rows of a history, and of micro-batches after it."""
    rng = np.random.default_rng(1)
    made = Input(folder / "0", folder / "1")
    shutil.rmtree(folder, ignore_errors=True)
    for each in made:
        each.mkdir(parents=True)
    write(table(rng, sizes.past, keys, 0, sizes.length), made.history)
    for number in range(sizes.batches):
        begin = sizes.length + number * sizes.seconds
        write(table(rng, sizes.rows, keys, begin, sizes.seconds), made.batches)
    return made


def write(part: pa.Table, folder: Path) -> None:
    """A micro-batch's rows, every n-th one in each file; files are in order of their age."""
    known = len(list(folder.glob("*.parquet")))
    for number in range(FILES):
        path = folder / f"{known + number:04}.parquet"
        pq.write_table(part.take(np.arange(number, part.num_rows, FILES)), path)
        os.utime(path, (1_700_000_000 + int(folder.name) * 1_000 + known + number,) * 2)


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


def rate(batches: list[Batch]) -> float:
    """Thousand rows per second of the best batch after the first two, or of the second one."""
    with_rows = [b for b in batches if b.rows]
    return max(b.rows / b.seconds for b in with_rows[min(2, len(with_rows) - 1) :]) / 1000


def rates(streams: dict[str, DataFrame], repeat: int, folder: Path) -> dict[str, float]:
    """The rates of streams that take turns, each the best of some rounds."""
    found = dict.fromkeys(streams, 0.0)
    for _, (name, df) in itertools.product(range(repeat), streams.items()):
        found[name] = max(found[name], rate(run(df, folder)))
    return found


def windows(spark: SparkSession, given: Input, size: str, slide: str) -> DataFrame:
    """Windows of a size every slide, after the history."""
    past = spark.read.schema(SCHEMA).parquet(str(given.history))
    work = sash.windowed(given.stream(spark), "k", time="ts", history=past).every(slide)
    asked = {"hi": sf.max("x"), "n": sf.count(), "mean": sf.mean("x")}
    return work.agg(**{name: a.over(size) for name, a in asked.items()})


def every(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Windows of an hour every 10 seconds, against Spark's own, in batches of equal size."""
    for keys, each in itertools.product(options.keys or (100, 10_000), options.every_rows):
        count = int(each * options.scale)
        sizes = Sizes(max(50_000, PER_KEY * keys), HOUR, options.batches, count, 60)
        given = files(folder / "every", keys, sizes)
        few = given.first(options.native_batches)
        streams = {
            "sash": windows(spark, given, "1 hour", "10 seconds"),
            "window()": native(few.stream(spark, with_history=True), "1 hour", "10 seconds"),
            "reading alone": only_read(given.stream(spark)),
            "stages alone": no_work(given.stream(spark)),
        }
        found = rates(streams, options.repeat, folder)
        ratio = found["sash"] / found["window()"]
        yield {"keys": keys, "rows per batch": count} | found | {"sash / window()": ratio}


def native(df: DataFrame, size: str, slide: str) -> DataFrame:
    """The windows of Spark itself."""
    grouped = df.groupBy("k", F.window("ts", size, slide))
    return grouped.agg(F.max("x"), F.count("*"), F.avg("x"))


def only_read(df: DataFrame) -> DataFrame:
    """Rows that reach Python's workers and go no further."""

    def drop(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 0)

    return df.mapInArrow(drop, df.schema)


def no_work(df: DataFrame) -> DataFrame:
    """Rows that reach Python's workers, and an empty block per shard that goes through the same
    shuffle, stateful handler and unpacking as Sash's."""
    packing = Packing(("_sash", "_check", *df.columns), tuple(shard_ids(shards_of(df, None))))

    def drop(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from packed(packing, iter(()))

    blocks = df.mapInArrow(drop, "shard int, rows binary")
    done = blocks.groupBy("shard").transformWithStateInPandas(
        Passing(), "rows binary", "Append", "None"
    )
    return done.mapInArrow(unpack(), df.schema)


def day(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Windows of a day every second, against windows of an hour every 10 seconds."""
    for keys in options.keys or (100, 10_000):
        largest = max(options.every_rows)
        past, count = (int(n * options.scale) for n in (options.history_rows, largest))
        streams = {}
        for name, length, each in (
            ("1 hour by 10 s", HOUR, ("1 hour", "10 seconds")),
            ("1 day by 1 s", DAY, ("1 day", "1 second")),
        ):
            sizes = Sizes(past, length, options.batches, count, 60)
            given = files(folder / each[0].replace(" ", "-"), keys, sizes)
            streams[name] = windows(spark, given, *each)
        streams["pass-through"] = passed(given.stream(spark))
        found = rates(streams, options.repeat, folder)
        ratio = found["1 day by 1 s"] / found["1 hour by 10 s"]
        limit = found["pass-through"] / found["1 hour by 10 s"]
        about = {"keys": keys, "rows per batch": count}
        yield about | found | {"day / hour": ratio, "pass-through / hour": limit}


def rows(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """One answer per row over the last hour, against a handler that passes rows on."""
    for keys in options.keys or (100, 100_000):
        past, count = (int(n * options.scale) for n in (options.history_rows, options.rows))
        sizes = Sizes(past, HOUR, options.batches, count, HOUR * count / past)
        given = files(folder / "rows", keys, sizes)
        history = spark.read.schema(SCHEMA).parquet(str(given.history))
        work = sash.windowed(given.stream(spark), "k", time="ts", history=history)
        ours, theirs = work.agg(hi=sf.max("x").over("1 hour")), passed(given.stream(spark))
        found = rates({"sash": ours, "pass-through": theirs}, options.repeat, folder)
        ratio = found["sash"] / found["pass-through"]
        about = {"keys": keys, "rows in the window": past, "rows per batch": count}
        yield about | found | {"ratio": ratio}


class Passing(StatefulProcessor):
    """Hands on the blocks that it gets."""

    def init(self, handle: Any) -> None: ...

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for part in rows:
            yield pd.DataFrame({"rows": part["rows"]})

    def close(self) -> None: ...


def passed(df: DataFrame) -> DataFrame:
    """The same pipeline with nothing done in the handler."""
    packing = Packing(("_sash", "_check", *df.columns), tuple(shard_ids(shards_of(df, None))))
    hashes = F.xxhash64("k").alias("_sash"), F.hash("k").cast("long").alias("_check")
    hashed = df.select(*hashes, *df.columns)
    blocks = hashed.mapInArrow(packing.pack(), "shard int, rows binary")
    done = blocks.groupBy("shard").transformWithStateInPandas(
        Passing(), "rows binary", "Append", "None"
    )
    return done.mapInArrow(unpack(), f"_sash long, _check long, {SCHEMA}")


def state(spark: SparkSession, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Batches of 10,000 rows after a history that fills the state."""
    small, large = options.state_megabytes
    measured: dict[int, Row] = {}
    for megabytes in (small, large):
        count = int(megabytes * 1_000_000 * options.scale) // 32
        sizes = Sizes(count, 60, options.batches, 10_000, 60)
        given = files(folder / "state", max(1, count // 20), sizes)
        past = spark.read.schema(SCHEMA).parquet(str(given.history))
        work = sash.windowed(given.stream(spark), "k", time="ts", history=past)
        batches = [b for b in run(work.agg(hi=sf.max("x").over("1 day")), folder) if b.rows][2:]
        quick = min(batches, key=lambda b: b.seconds)
        most = max(b.figures.get("written", 0) for b in batches)
        kept = quick.figures["state_bytes"] / 1e6
        measured[megabytes] = {"state, MB": kept, "written, MB": most / 1e6, "s": quick.seconds}
        yield measured[megabytes]
    yield {"large / small": measured[large]["s"] / measured[small]["s"]}


IN_PROCESS = {"flat": stream_batches.flat, "late": stream_batches.late}
ON_SPARK = {"every": every, "day": day, "rows": rows, "state": state}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    names = [*IN_PROCESS, *ON_SPARK]
    parser.add_argument("--experiment", nargs="+", choices=names, default=names)
    parser.add_argument("--keys", nargs="+", type=int, help="instead of each experiment's own")
    parser.add_argument("--rows", type=int, default=1_000_000, help="per batch, of `rows`")
    parser.add_argument(
        "--every-rows", nargs="+", type=int, default=[300_000, 1_000_000],
        help="per batch of `every`; `day` has the largest",
    )  # fmt: skip
    parser.add_argument("--history-rows", type=int, default=10_000_000, help="of `rows` and `day`")
    parser.add_argument("--batches", type=int, default=15, help="micro-batches of each stream")
    parser.add_argument("--native-batches", type=int, default=2, help="of Spark's window()")
    parser.add_argument("--scale", type=float, default=1, help="of the rows on Spark")
    parser.add_argument("--state-megabytes", nargs=2, type=int, default=[5, 500])
    parser.add_argument("--repeat", type=int, default=2, help="streams per figure")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    for name in [name for name in options.experiment if name in IN_PROCESS]:
        found = IN_PROCESS[name](options.keys or (1, 100, 5_000), options.repeat)
        report(f"streaming_{name}", found, options.out)
    on_spark = [name for name in options.experiment if name in ON_SPARK]
    if not on_spark:
        return
    spark = sash.spark.session("benchmark", options.master)
    with tempfile.TemporaryDirectory(prefix="sash-streaming-") as folder:
        for name in on_spark:
            report(f"streaming_{name}", ON_SPARK[name](spark, options, Path(folder)), options.out)
    spark.stop()


if __name__ == "__main__":
    main()
