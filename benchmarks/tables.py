"""Tables in process: rolling aggregations against polars, DuckDB and pandas, in one run.

    python -m benchmarks.tables                    10 million rows, windows of 1,000 and 100,000
    python -m benchmarks.tables --rows 1000000 --windows 10 1000 1000000
    python -m benchmarks.tables --rows 5000000 --keys 1000 --order random --windows 100
    python -m benchmarks.tables --experiment features --keys 1000    24 features in one call
    python -m benchmarks.tables --others pandas    without DuckDB, which takes minutes
    python -m benchmarks.tables --experiment flat  the time per row, windows of 10 to 10^6
    python -m benchmarks.tables --experiment first six aggregations in a new process, in seconds
    python -m benchmarks.tables --experiment own   users' monoids against the built-in ones

Rates are million rows per second, the best of several runs taken in turns; `x polars` is how
many times as fast Sash is. All have the same number of threads. Times are random, or with
--times regular even, which is easier for everyone. With keys, a window is so many rows of a
key, on average; rows are in order of time, or with --order random in none. polars is asked in
its best way: rolling_max_by(...).over(key).
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf

NAMES = {
    "max": ("rolling_max_by", "max"), "sum": ("rolling_sum_by", "sum"),
    "mean": ("rolling_mean_by", "avg"), "stddev": ("rolling_std_by", "stddev_samp"),
}  # fmt: skip


def rows(options: argparse.Namespace, n: int | None = None) -> pa.Table:
    """Rows of one key or of many, one per microsecond on average."""
    rng, n = np.random.default_rng(1), n or options.rows
    ticks = np.arange(n) if options.times == "regular" else np.sort(rng.integers(0, n, n))
    columns = {"t": ticks.astype("datetime64[us]"), "x": rng.random(n)}
    if options.keys:
        columns["k"] = rng.integers(0, options.keys, n)
    if options.order == "random":
        order = rng.permutation(n)
        columns = {name: column[order] for name, column in columns.items()}
    return pa.table(columns)


def in_polars(name: str, size: int, key: str | None) -> Any:
    """A rolling aggregation as an expression, over a key if there is one."""
    import polars

    rolling = getattr(polars.col("x"), NAMES[name][0])
    expression = rolling("t", window_size=f"{size}us", closed="both")
    return expression.over(key) if key else expression


def candidates(
    data: pa.Table, name: str, size: int, others: list[str]
) -> dict[str, Callable[[], Any]]:
    """The same rolling aggregation in Sash, in polars and in other libraries."""
    import polars

    key = "k" if "k" in data.column_names else None
    frame = polars.from_arrow(data)
    if bool((np.diff(data.column("t").to_numpy().astype(np.int64)) >= 0).all()):
        frame = frame.with_columns(polars.col("t").set_sorted())
    asked = getattr(sf, name)("x").over(f"{size} us")
    expression = in_polars(name, size, key)
    found = {
        "sash": lambda: sash.windowed(data, key or (), time="t").agg(y=asked),
        "polars": lambda: frame.select(expression),
    }
    made = {"duckdb": in_duckdb, "pandas": in_pandas}
    return found | {other: made[other](data, name, size, key) for other in others}


def in_duckdb(data: pa.Table, name: str, size: int, key: str | None) -> Callable[[], Any]:
    """A rolling aggregation as SQL."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads={os.cpu_count()}")
    connection.register("data", data)
    partition = f"PARTITION BY {key} " if key else ""
    frame = f"RANGE BETWEEN INTERVAL '{size} microseconds' PRECEDING AND CURRENT ROW"
    query = f"SELECT {NAMES[name][1]}(x) OVER ({partition}ORDER BY t {frame}) AS y FROM data"
    return lambda: connection.sql(query).to_arrow_table()


def in_pandas(data: pa.Table, name: str, size: int, key: str | None) -> Callable[[], Any]:
    """A rolling aggregation in pandas, which takes rows in order of time only."""
    method = "std" if name == "stddev" else name
    if key is None:
        series = data.to_pandas().set_index("t")["x"]
        return lambda: getattr(series.sort_index().rolling(f"{size}us", closed="both"), method)()
    whole = data.to_pandas()

    def run() -> Any:
        grouped = whole.sort_values("t", kind="stable").set_index("t").groupby(key)["x"]
        return getattr(grouped.rolling(f"{size}us", closed="both"), method)()

    return run


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each aggregation and window in each library."""
    data = rows(options)
    for window in options.windows:
        for name in options.aggregations:
            size = window * max(1, options.keys)
            runs = candidates(data, name, size, [] if options.quick else options.others)
            runs["sash"]()
            best = best_of(runs, options.repeat)
            row: dict[str, Any] = {"aggregation": name, "window": window}
            row |= {k: options.rows / s / 1e6 for k, s in best.items()}
            yield row | {f"x {k}": s / best["sash"] for k, s in best.items() if k != "sash"}


def features(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """24 features in one call: four aggregations over six windows."""
    import polars

    data, key = rows(options), "k" if options.keys else None
    sizes = [w * max(1, options.keys) for w in (5, 10, 20, 50, 100, 200)]
    pairs = [(name, size) for name in NAMES for size in sizes]
    asked = {f"{name}_{size}": getattr(sf, name)("x").over(f"{size} us") for name, size in pairs}
    expressions = [in_polars(name, size, key).alias(f"{name}_{size}") for name, size in pairs]
    frame = polars.from_arrow(data)
    runs = {
        "sash": lambda: sash.windowed(data, key or (), time="t").agg(**asked),
        "polars": lambda: frame.select(expressions),
    }
    runs["sash"]()
    best = best_of(runs, options.repeat)
    row: dict[str, Any] = {"features": len(pairs), "keys": options.keys, "order": options.order}
    row |= {k: options.rows / s / 1e6 for k, s in best.items()}
    yield row | {"x polars": best["polars"] / best["sash"]}


def own(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """User-defined monoids: against the same built-in ones, and against pandas' rolling.apply on
    fewer rows."""
    plain = {**vars(options), "keys": 0, "order": "time"}
    data = rows(argparse.Namespace(**plain))
    for window in options.windows:
        for name, monoid in users_own().items():
            built_in = getattr(sf, name.partition(",")[0])
            asked = {"own": sf.apply(monoid, "x"), "built in": built_in("x")}
            runs = {
                k: partial(sash.windowed(data, time="t").agg, y=a.over(f"{window} us"))
                for k, a in asked.items()
            }
            for run in runs.values():
                run()
            best = best_of(runs, options.repeat)
            row: dict[str, Any] = {"aggregation": name, "window": window}
            row |= {k: options.rows / s / 1e6 for k, s in best.items()}
            yield row | {"own to built in": best["own"] / best["built in"]}
    yield against_apply(plain, options)


def against_apply(plain: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """A user's own monoid against pandas' rolling.apply, on a tenth of the rows."""
    n = max(10_000, options.rows // 10)
    data = rows(argparse.Namespace(**plain), n)
    asked = sf.apply(spread_of(), "x").over("1000 us")
    rolling = data.to_pandas().set_index("t")["x"].rolling("1000us", closed="both")
    runs = {
        "own": lambda: sash.windowed(data, time="t").agg(y=asked),
        "pandas apply": lambda: rolling.apply(lambda x: x.max() - x.min(), raw=True),
    }
    runs["own"]()
    best = best_of(runs, options.repeat)
    row: dict[str, Any] = {"aggregation": "spread", "window": 1000}
    row |= {k: n / s / 1e6 for k, s in best.items()}
    return row | {"x pandas apply": best["pandas apply"] / best["own"]}


Moments = tuple[int, float, float]  # how many, their mean, their squared deviations


def users_own() -> dict[str, sash.Monoid]:
    """Monoids that a user might write, by the names of the built-in ones.

    The standard deviation is written in two ways: as the formula is usually given, and as the
    built-in one is, where no division waits for the row before.
    """
    return {
        "sum": sash.Monoid("own sum", 0.0, float, lambda a, b: a + b),
        "max": sash.Monoid("own max", -np.inf, float, max),
        "stddev": sash.Monoid("own stddev", (0, 0.0, 0.0), one_of, merged, deviation),
        "stddev, division first": sash.Monoid(
            "own stddev", (0, 0.0, 0.0), one_of, merged_division_first, deviation
        ),
    }


def one_of(x: float) -> Moments:
    return (1, x, 0.0)


def merged(a: Moments, b: Moments) -> Moments:
    """Counts, means and squared deviations of two sets, as Chan, Golub and LeVeque merge them."""
    n = a[0] + b[0]
    if n == 0:
        return a
    d = b[1] - a[1]
    part = d * b[0] / n
    return (n, a[1] + part, a[2] + b[2] + d * part * a[0])


def merged_division_first(a: Moments, b: Moments) -> Moments:
    """As `merged`; the counts are divided first, which needs no mean of the row before."""
    n = a[0] + b[0]
    if n == 0:
        return a
    d = b[1] - a[1]
    part = d * (b[0] / n)
    return (n, a[1] + part, a[2] + b[2] + d * part * a[0])


def deviation(v: Moments) -> float | None:
    return math.sqrt(v[2] / (v[0] - 1)) if v[0] > 1 else None


def spread_of() -> sash.Monoid:
    """A user's own monoid: how far apart the extremes are."""
    return sash.Monoid("spread", (np.inf, -np.inf), both, wider, apart)


def apart(v: tuple[float, float]) -> float:
    return v[1] - v[0]


def both(x: float) -> tuple[float, float]:
    return (x, x)


def wider(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (min(a[0], b[0]), max(a[1], b[1]))


def flat(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The time per row, over windows of 10 to 10^6 rows."""
    data = rows(argparse.Namespace(**{**vars(options), "keys": 0, "order": "time"}))
    windows = [10, 1000, 100_000, 1_000_000]
    for name in options.aggregations:
        runs = {str(w): partial(slide, data, name, w) for w in windows}
        for run in runs.values():
            run()
        best = best_of(runs, options.repeat)
        row: dict[str, Any] = {"aggregation": name}
        row |= {f"ns per row, {w}": best[str(w)] / options.rows * 1e9 for w in windows}
        yield row | {"10^6 to 10": best["1000000"] / best["10"]}


def slide(data: pa.Table, name: str, window: int) -> Any:
    return sash.windowed(data, time="t").agg(y=getattr(sf, name)("x").over(f"{window} us"))


SIX = """
import time
import pandas as pd
loaded = time.perf_counter()
import sash
from sash import functions as sf

times = pd.date_range("2026-01-01", periods=1000, freq="s")
df = pd.DataFrame({"t": times, "x": [float(i % 7) for i in range(1000)]})
asked = (sf.max("x"), sf.sum("x"), sf.mean("x"), sf.stddev("x"), sf.count("x"), sf.median("x"))
named = {f"y{i}": a.over("1 minute") for i, a in enumerate(asked)}
sash.windowed(df, time="t").agg(**named)
print(time.perf_counter() - loaded)
"""


def first(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Seconds from `import sash` to the answers of six built-in aggregations over a pandas table,
    in new processes: each with an empty kernel cache, and with one that has been filled."""
    seconds: dict[str, list[float]] = {"empty": [], "filled": []}
    with tempfile.TemporaryDirectory() as filled:
        in_new_process(filled)
        for _ in range(max(5, options.repeat)):
            with tempfile.TemporaryDirectory() as empty:
                seconds["empty"].append(in_new_process(empty))
            seconds["filled"].append(in_new_process(filled))
    best = {f"{name} cache, s": min(found) for name, found in seconds.items()}
    yield best | {"empty to filled": min(seconds["empty"]) / min(seconds["filled"])}


def in_new_process(cache: str) -> float:
    """The seconds that six aggregations take in a new process."""
    environment = {**os.environ, "SASH_CACHE_DIR": cache}
    command = [sys.executable, "-c", SIX]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


EXPERIMENTS = {"compare": compare, "features": features, "own": own, "flat": flat, "first": first}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--experiment", choices=EXPERIMENTS, default="compare")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--windows", nargs="+", type=int, default=[1000, 100_000])
    parser.add_argument("--aggregations", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--times", choices=["random", "regular"], default="random")
    parser.add_argument("--keys", type=int, default=0, help="how many; 0: rows have none")
    parser.add_argument("--order", choices=["time", "random"], default="time")
    others = ["duckdb", "pandas"]
    parser.add_argument("--others", nargs="+", default=others, choices=others)
    parser.add_argument("--quick", action="store_true", help="leave out DuckDB and pandas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    name = f"tables_{options.experiment}_{options.times}"
    if options.keys:
        name += f"_{options.keys}_keys_{options.order}_order"
    report(name, EXPERIMENTS[options.experiment](options), options.out)


if __name__ == "__main__":
    main()
