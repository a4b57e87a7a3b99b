"""Aggregations of values that are not numbers, and of states that are not: against polars.

    python -m benchmarks.values                    a million rows, windows of 100
    python -m benchmarks.values --only collect sketch

Text, decimals, dates and durations, lists, distinct counts, percentiles of long windows, sketches
and policies. polars is asked in its best way: rolling_max_by(...) and the like where it has them,
else frame.rolling(...).agg(...), which computes each window by itself. It has no figure for what
it cannot do. Rates are thousand rows per second, the best of several runs taken in turns;
`x polars` is how many times as fast Sash is. Times are random.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf
from sash import monoids as m


def rows(n: int) -> pa.Table:
    """Rows with values of several types, one per microsecond on average."""
    rng = np.random.default_rng(1)
    x, codes = rng.random(n), rng.integers(0, 100_000, n)
    columns = {
        "t": np.sort(rng.integers(0, n, n)).astype("datetime64[us]"),
        "x": x,
        "text": pc.utf8_lpad(pa.array(codes).cast(pa.string()), 8, "0"),
        "decimal": pa.array(codes.astype(np.int32)).cast(pa.decimal128(12, 2)),
        "date": pa.array(codes.astype(np.int32)).cast(pa.date32()),
        "duration": pa.array(codes).cast(pa.duration("us")),
    }
    return pa.table(columns)


class Asked(NamedTuple):
    """What is asked of each library, over so many times the window."""

    sash: Any
    polars: Callable[[Any, str], Any] | None  # of a frame and the size of a window
    longer: int = 1


def rolling(name: str, column: str) -> Callable[[Any, str], Any]:
    """polars' own function, over a time."""
    import polars

    def run(frame: Any, size: str) -> Any:
        asked = getattr(polars.col(column), f"rolling_{name}_by")
        return frame.select(asked("t", window_size=size, closed="both"))

    return run


def each(expression: Callable[[Any], Any]) -> Callable[[Any, str], Any]:
    """Any expression, window by window."""
    import polars

    def run(frame: Any, size: str) -> Any:
        windows = frame.rolling("t", period=size, closed="both")
        return windows.agg(expression(polars).alias("y"))

    return run


def questions(window: int) -> dict[str, Asked]:
    """All that is asked, by name."""
    over = f"{window} us"
    long = 10_000

    def more_than(total: Any, old: Any) -> bool:
        return bool(total - old >= window / 2)

    return {
        "max of text": Asked(sf.max("text").over(over), each(lambda p: p.col("text").max())),
        "max of decimals": Asked(
            sf.max("decimal").over(over), each(lambda p: p.col("decimal").max())
        ),
        "sum of decimals": Asked(
            sf.sum("decimal").over(over), each(lambda p: p.col("decimal").sum())
        ),
        "max of dates": Asked(sf.max("date").over(over), rolling("max", "date")),
        "max of durations": Asked(sf.max("duration").over(over), rolling("max", "duration")),
        "argmax of text": Asked(
            sf.argmax("text", "x").over(over),
            each(lambda p: p.col("x").sort_by("text").last()),
        ),
        "collect": Asked(sf.collect_list("x").over(over), each(lambda p: p.col("x"))),
        "distinct text": Asked(
            sf.count_distinct("text").over(over), each(lambda p: p.col("text").n_unique())
        ),
        "median": Asked(sf.median("x").over(over), rolling("median", "x")),
        f"median, {long:,} times the window": Asked(
            sf.median("x").over(f"{long * window} us"), rolling("median", "x"), long
        ),
        "quantile sketch": Asked(
            sf.apply(m.Quantiles(at=0.5), "x").over(over), rolling("median", "x")
        ),
        "distinct sketch": Asked(
            sf.approx_count_distinct("text").over(over),
            each(lambda p: p.col("text").approx_n_unique()),
        ),
        "policy": Asked(sf.sum("x").over(sash.policy(more_than, of=m.Sum())), None),
    }


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each question in both libraries."""
    import polars

    data = rows(options.rows)
    frame = polars.from_arrow(data).with_columns(polars.col("t").set_sorted())
    for name, asked in questions(options.window).items():
        if options.only and not any(word in name for word in options.only):
            continue
        runs = {"sash": lambda a=asked: sash.windowed(data, time="t").agg(y=a.sash)}
        if asked.polars is not None:
            size = f"{options.window * asked.longer}us"
            runs["polars"] = lambda a=asked, size=size: a.polars(frame, size)
        runs["sash"]()
        best = best_of(runs, options.repeat)
        row: dict[str, Any] = {"question": name}
        row |= {k: options.rows / s / 1e3 for k, s in best.items()}
        yield row | {"x polars": best["polars"] / best["sash"] if "polars" in best else None}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--only", nargs="+", help="questions whose names have one of these words")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    report("values", compare(options), options.out)


if __name__ == "__main__":
    main()
