"""Tables in process: rolling aggregations against polars, DuckDB and pandas, in one run.

    python -m benchmarks.tables                    10 million rows, windows of 1,000 and 100,000
    python -m benchmarks.tables --rows 1000000 --windows 10 1000 1000000
    python -m benchmarks.tables --experiment flat  the time a row takes, windows of 10 to 10^6

Rates are million rows a second, the best of several runs taken in turns; `x polars` is how
many times as fast Sash is. All have the same number of threads. Times are regular, or with
--times random uniform, which is harder for everyone: no step is like the last.
"""

from __future__ import annotations

import argparse
import os
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


def rows(n: int, times: str) -> pa.Table:
    """One key, a row a microsecond on average."""
    rng = np.random.default_rng(1)
    ticks = np.arange(n) if times == "regular" else np.sort(rng.integers(0, n, n))
    return pa.table({"t": ticks.astype("datetime64[us]"), "x": rng.random(n)})


def candidates(data: pa.Table, name: str, window: int, slow: bool) -> dict[str, Callable[[], Any]]:
    """The same rolling aggregation in each library."""
    import duckdb
    import polars

    rolling, sql = NAMES[name]
    frame = polars.from_arrow(data).with_columns(polars.col("t").set_sorted())
    expression = getattr(polars.col("x"), rolling)("t", window_size=f"{window}us", closed="both")
    asked = getattr(sf, name)("x").over(f"{window} us")
    found = {
        "sash": lambda: sash.windowed(data, time="t").agg(y=asked),
        "polars": lambda: frame.select(expression),
    }
    if slow:
        connection = duckdb.connect()
        connection.execute(f"SET threads={os.cpu_count()}")
        connection.register("data", data)
        over = (
            f"ORDER BY t RANGE BETWEEN INTERVAL '{window} microseconds' PRECEDING AND CURRENT ROW"
        )
        query = f"SELECT {sql}(x) OVER ({over}) AS y FROM data"
        found["duckdb"] = lambda: connection.execute(query).to_arrow_table()
        series = data.to_pandas().set_index("t")["x"]
        method = "std" if name == "stddev" else name
        found["pandas"] = lambda: getattr(series.rolling(f"{window}us", closed="both"), method)()
    return found


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each aggregation and window in each library."""
    data = rows(options.rows, options.times)
    for window in options.windows:
        for name in options.aggregations:
            runs = candidates(data, name, window, not options.quick)
            runs["sash"]()
            best = best_of(runs, options.repeat)
            row: dict[str, Any] = {"aggregation": name, "window": window}
            row |= {k: options.rows / s / 1e6 for k, s in best.items()}
            yield row | {f"x {k}": s / best["sash"] for k, s in best.items() if k != "sash"}


def own(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A user-defined monoid against pandas' rolling.apply, on fewer rows."""
    n = max(10_000, options.rows // 10)
    data = rows(n, options.times)
    monoid = sash.Monoid("spread", (np.inf, -np.inf), both, wider, lambda v: v[1] - v[0])
    asked = sf.apply(monoid, "x").over("1000 us")
    series = data.to_pandas().set_index("t")["x"]
    rolling = series.rolling("1000us", closed="both")
    runs = {
        "sash": lambda: sash.windowed(data, time="t").agg(y=asked),
        "pandas apply": lambda: rolling.apply(lambda x: x.max() - x.min(), raw=True),
    }
    runs["sash"]()
    best = best_of(runs, options.repeat)
    row: dict[str, Any] = {"aggregation": "a user's", "window": 1000}
    row |= {k: n / s / 1e6 for k, s in best.items()}
    yield row | {"x pandas apply": best["pandas apply"] / best["sash"]}


def both(x: float) -> tuple[float, float]:
    return (x, x)


def wider(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (min(a[0], b[0]), max(a[1], b[1]))


def flat(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The time a row takes, over windows of 10 to 10^6 rows."""
    data = rows(options.rows, options.times)
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


EXPERIMENTS = {"compare": compare, "own": own, "flat": flat}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--experiment", choices=EXPERIMENTS, default="compare")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--windows", nargs="+", type=int, default=[1000, 100_000])
    parser.add_argument("--aggregations", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--times", choices=["regular", "random"], default="regular")
    parser.add_argument("--quick", action="store_true", help="leave out DuckDB and pandas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    name = f"tables_{options.experiment}_{options.times}"
    report(name, EXPERIMENTS[options.experiment](options), options.out)


if __name__ == "__main__":
    main()
