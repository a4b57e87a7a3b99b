"""As-of windows: events at the times of a spine, against DuckDB, polars and Spark, in one run.

    python -m benchmarks.asof                      10 million events, 1 million spine rows
    python -m benchmarks.asof --rows 1000000 --keys 1000
    python -m benchmarks.asof --spark              the same on Spark
    python -m benchmarks.asof --check              that all give the same answers, on few rows

Asked are count, sum and max over the last hour, day and 7 days before each spine row, of 30 days
of events in order of time, by 1,000 and by 1,000,000 keys. Seconds are the best of several runs
taken in turns, warm; `x …` is how many times as fast Sash is. There is a spine row for every
10 events.

DuckDB and polars are asked in two ways. `windows`: spine rows without a value are added to the
events, rolling aggregates are computed for all rows, and the spine's are kept. `join`: the range
join and group by. With 1,000 keys its pairs are too many for a whole spine, 2,300 per spine row:
it runs on two small parts of the spine, and a line through both says how long all of it would
take; `join rows` is how many spine rows were joined. In polars it is a join by key and a filter.
On Spark, `pass-through` is the union, the shuffle, the
sort and the trip through Python that Sash makes, and nothing else.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf

Row = dict[str, Any]
Runs = dict[str, Callable[[], Any]]

SPAN = 30 * 86_400_000_000  # microseconds
WINDOWS = {"1h": "1 hour", "1d": "1 day", "7d": "7 days"}
NAMES = [f"{name}_{window}" for window in WINDOWS for name in ("n", "sum", "max")]


def tables(rows: int, keys: int) -> tuple[pa.Table, pa.Table]:
    """Events and a spine, both in order of time."""
    rng = np.random.default_rng(1)

    def made(n: int) -> dict[str, Any]:
        times = np.sort(rng.integers(0, SPAN, n)).astype("datetime64[us]")
        return {"k": rng.integers(0, keys, n), "t": times}

    events = pa.table({**made(rows), "x": rng.random(rows)})
    count = max(1, rows // 10)
    return events, pa.table({**made(count), "i": np.arange(count)})


def asked() -> dict[str, Any]:
    found = {}
    for name, window in WINDOWS.items():
        found[f"n_{name}"] = sf.count().over(window)
        found[f"sum_{name}"] = sf.sum("x").over(window)
        found[f"max_{name}"] = sf.max("x").over(window)
    return found


def in_sash(events: Any, spine: Any) -> Any:
    return sash.windowed(events, "k", time="t").at(spine).agg(**asked())


def in_polars(events: Any, spine: Any) -> Any:
    """Rolling aggregates of events and spine rows together, of which the spine's are kept."""
    import polars as pl

    there = events.with_columns(i=pl.lit(None, pl.Int64), one=pl.lit(1, pl.Int64))
    here = spine.with_columns(x=pl.lit(None, pl.Float64), one=pl.lit(0, pl.Int64))
    rows = pl.concat([there, here.select(there.columns)]).sort("t")

    def rolling(name: str, column: str, window: str) -> Any:
        size = {"h": "h", "d": "d"}[window[-1]]
        made = getattr(pl.col(column), f"rolling_{name}_by")
        return made("t", window_size=f"{window[:-1]}{size}", closed="left").over("k")

    columns = {}
    for window in WINDOWS:
        columns[f"n_{window}"] = rolling("sum", "one", window)
        columns[f"sum_{window}"] = rolling("sum", "x", window)
        columns[f"max_{window}"] = rolling("max", "x", window)
    return rows.select("i", **columns).filter(pl.col("i").is_not_null())


def in_polars_join(events: Any, spine: Any) -> Any:
    """The join by key, the pairs of the longest window, and filters for the shorter ones."""
    import polars as pl

    sizes = {name: pl.duration(hours={"1h": 1, "1d": 24, "7d": 168}[name]) for name in WINDOWS}
    at, asked_at = pl.col("event_t"), pl.col("t")
    columns = {}
    for window, size in sizes.items():
        inside = pl.col("x").filter(at >= asked_at - size)
        columns[f"n_{window}"] = inside.len()
        columns[f"sum_{window}"] = inside.sum()
        columns[f"max_{window}"] = inside.max()
    there = events.lazy().rename({"t": "event_t"})
    pairs = spine.lazy().join(there, on="k")
    pairs = pairs.filter((at < asked_at) & (at >= asked_at - sizes["7d"]))
    found = pairs.group_by("i").agg(**columns)
    return spine.lazy().select("i").join(found, on="i", how="left").collect()


def windows_sql() -> str:
    """The same in SQL; a frame that ends a microsecond before a row leaves its peers out."""
    columns, frames = [], []
    for name, window in WINDOWS.items():
        before = f"INTERVAL '{window}' PRECEDING AND INTERVAL '1 microsecond' PRECEDING"
        frames.append(f"w{name} AS (PARTITION BY k ORDER BY t RANGE BETWEEN {before})")
        columns += [f"count(x) OVER w{name} AS n_{name}", f"sum(x) OVER w{name} AS sum_{name}",
                    f"max(x) OVER w{name} AS max_{name}"]  # fmt: skip
    union = "SELECT k, t, x, NULL AS i FROM events UNION ALL SELECT k, t, NULL, i FROM spine"
    inner = f"SELECT i, {', '.join(columns)} FROM ({union}) WINDOW {', '.join(frames)}"
    return f"SELECT * FROM ({inner}) WHERE i IS NOT NULL"


def join_sql() -> str:
    """The range join over the longest window; the shorter ones are filters."""
    columns = []
    for name, window in WINDOWS.items():
        inside = f"FILTER (WHERE e.t >= s.t - INTERVAL '{window}')"
        columns += [f"count(e.x) {inside} AS n_{name}", f"sum(e.x) {inside} AS sum_{name}",
                    f"max(e.x) {inside} AS max_{name}"]  # fmt: skip
    return f"""SELECT s.i, {", ".join(columns)} FROM spine s LEFT JOIN events e
               ON e.k = s.k AND e.t < s.t AND e.t >= s.t - INTERVAL '7 days' GROUP BY s.i"""


def duck(events: pa.Table, spine: pa.Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads={os.cpu_count()}")
    connection.register("arrow_events", events)
    connection.register("arrow_spine", spine)
    for name in ("events", "spine"):
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
    return connection


def in_process(options: argparse.Namespace, keys: int) -> Iterator[Row]:
    """Sash, and DuckDB and polars each in their best way."""
    import polars as pl

    events, spine = tables(options.rows, keys)
    database, frames = duck(events, spine), [pl.from_arrow(t) for t in (events, spine)]
    runs: Runs = {
        "sash": lambda: in_sash(events, spine),
        "duckdb windows": lambda: database.sql(windows_sql()).to_arrow_table(),
        "polars windows": lambda: in_polars(*frames),
    }
    runs["sash"]()
    best = best_of(runs, options.repeat)

    def join(count: int) -> float:
        part = duck(events, evenly(spine, count))
        return seconds(lambda: part.sql(join_sql()).to_arrow_table())

    def polars_join(count: int) -> float:
        part = pl.from_arrow(evenly(spine, count))
        return seconds(lambda: in_polars_join(frames[0], part))

    slow = extrapolated("duckdb join", join, keys, options)
    slow |= extrapolated("polars join", polars_join, keys, options)
    yield compared(keys, best, slow)


def evenly(spine: pa.Table, count: int) -> pa.Table:
    return spine.take(np.linspace(0, spine.num_rows - 1, count).astype(int))


def seconds(run: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def extrapolated(
    name: str, run: Callable[[int], float], keys: int, options: argparse.Namespace
) -> Row:
    """The seconds of something slow for all rows; where its pairs are too many, by a line
    through two small parts of the rows."""
    rows, pairs = options.rows // 10, options.rows / keys * 7 / 30
    large = min(rows, max(1000, int(options.pairs / pairs)))
    small = max(1, large // 4)
    if large == rows:
        return {name: min(run(rows) for _ in range(2)), f"{name} rows": rows}
    times = [min(run(count) for _ in range(2)) for count in (small, large)]
    per_row = max(0.0, times[1] - times[0]) / max(1, large - small)
    return {name: times[1] + per_row * (rows - large), f"{name} rows": large}


def compared(keys: int, best: dict[str, float], slow: Row) -> Row:
    """Seconds of each way, and how many times as fast Sash is."""
    found = {**best, **slow}
    times = {name: value for name, value in found.items() if not name.endswith("rows")}
    faster = {f"x {name}": s / best["sash"] for name, s in times.items() if name != "sash"}
    return {"keys": keys, **found, **faster}


def on_spark(options: argparse.Namespace, keys: int) -> Iterator[Row]:
    """Sash, the pass-through, and the range join with group by."""
    import sash.spark

    spark = sash.spark.session(
        "asof", "local[*]", **{"spark.sql.execution.arrow.maxRecordsPerBatch": 65536}
    )
    spark.sparkContext.setLogLevel("OFF")
    events, spine = (
        spark.createDataFrame(t).repartition(4).cache() for t in tables(options.rows, keys)
    )
    for df, name in ((events, "events"), (spine, "spine")):
        df.createOrReplaceTempView(name)
        save(df)
    runs: Runs = {
        "sash": lambda: save(in_sash(events, spine)),
        "pass-through": lambda: save(passed(events, spine)),
    }
    for run in runs.values():
        run()
    best = best_of(runs, options.repeat)

    def join(count: int) -> float:
        some = evenly(tables(options.rows, keys)[1], count)
        spark.createDataFrame(some).cache().createOrReplaceTempView("spine")
        save(spark.table("spine"))
        return seconds(lambda: save(spark.sql(join_sql())))

    yield compared(keys, best, extrapolated("range join", join, keys, options))


def save(df: Any) -> None:
    """All rows, to nowhere."""
    df.write.format("noop").mode("overwrite").save()


def passed(events: Any, spine: Any) -> Any:
    """The union, the shuffle, the sort, and spine rows back from Python with nine columns."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType, StructField, StructType

    there = events.select(
        "k", "t", "x", F.lit(None).cast("long").alias("i"), F.lit(False).alias("s")
    )
    here = spine.select(
        "k", "t", F.lit(None).cast("double").alias("x"), "i", F.lit(True).alias("s")
    )
    rows = there.unionAll(here).repartition("k").sortWithinPartitions("k", "t", "s")
    names = list(NAMES)

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.filter(batch.column("s"))
            columns = [kept.column("k"), kept.column("t"), kept.column("i")]
            columns += [kept.column("x") for _ in names]
            yield pa.RecordBatch.from_arrays(columns, names=["k", "t", "i", *names])

    fields = [spine.schema[name] for name in ("k", "t", "i")]
    schema = StructType([*fields, *(StructField(name, DoubleType()) for name in names)])
    return rows.mapInArrow(same, schema)


def check(rows: int = 20_000) -> None:
    """Raise AssertionError unless every way gives the same answers."""
    import polars as pl

    for keys in (10, rows // 10):
        events, spine = tables(rows, keys)
        wanted = in_sash(events, spine).select(["i", *NAMES]).sort_by("i")
        database = duck(events, spine)
        others = {
            "duckdb windows": database.sql(windows_sql()).to_arrow_table(),
            "duckdb join": database.sql(join_sql()).to_arrow_table(),
            "polars windows": in_polars(pl.from_arrow(events), pl.from_arrow(spine)).to_arrow(),
            "polars join": in_polars_join(*map(pl.from_arrow, (events, spine))).to_arrow(),
        }
        for way, found in others.items():
            for name in NAMES:
                ours, theirs = (t.sort_by("i").column(name).to_pandas() for t in (wanted, found))
                theirs = theirs.where(wanted.column(f"n_{name[-2:]}").to_pandas() > 0)
                ours = ours.where(wanted.column(f"n_{name[-2:]}").to_pandas() > 0)
                assert np.allclose(ours, theirs, equal_nan=True), (way, name)
    print("all ways give the same answers")


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=10_000_000, help="events; a tenth is the spine")
    parser.add_argument("--keys", nargs="+", type=int, default=[1000, 1_000_000])
    parser.add_argument("--pairs", type=float, default=5e6, help="that a join makes, at most")
    parser.add_argument("--spark", action="store_true", help="on Spark")
    parser.add_argument("--check", action="store_true", help="compare answers and end")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    if options.check:
        check()
        return
    part = on_spark if options.spark else in_process
    found = (row for keys in options.keys for row in part(options, keys))
    report("asof_spark" if options.spark else "asof", found, options.out)


if __name__ == "__main__":
    main()
