"""The language of windows: what a filter, an expression and an exclusion cost next to none.

    python -m benchmarks.language                   2 million rows, windows of 1,000 rows
    python -m benchmarks.language --keys 1000 --windows 100
    python -m benchmarks.language --times distinct  no two rows have one time
    python -m benchmarks.language --frame centred   as many rows after the row as before it
    python -m benchmarks.language --passing 0.01    one row in a hundred passes the filter

Figures are the time of each over that of the plain aggregation (`plain ns`: nanoseconds per
row), the best of several runs taken in turns; 1.3 is what is promised, except where rows on both
sides of those that are left out stay, as in a centred frame. Times are random, so that most rows
have peers, or with --times distinct none have.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf

NAMES = ["max", "sum", "mean", "stddev"]
EXCLUDED = ["current row", "group", "ties"]


def rows(options: argparse.Namespace) -> pa.Table:
    """Rows in order of time, one per microsecond on average; a share of them passes `ok`."""
    rng, n = np.random.default_rng(1), options.rows
    gaps = rng.integers(1, 3, n) if options.times == "distinct" else rng.poisson(1.0, n)
    columns = {
        "t": np.cumsum(gaps).astype("datetime64[us]"),
        "x": rng.random(n),
        "ok": rng.random(n) < options.passing,
    }
    if options.keys:
        columns["k"] = rng.integers(0, options.keys, n)
    return pa.table(columns)


def asked(name: str, frame: Any) -> dict[str, Any]:
    """One aggregation in every form that the language gives it."""
    of = getattr(sf, name)
    forms = {
        "plain": of("x").over(frame),
        "derived input": of(sf.col("x") * 2).over(frame),
        "derived result": of("x").over(frame) * 2,
        "filter": of("x").where(sf.col("ok")).over(frame),
    }
    return forms | {f"without {rows}": of("x").over(frame, exclude=rows) for rows in EXCLUDED}


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each aggregation and window, in each of its forms."""
    data, by = rows(options), ["k"] if options.keys else []
    for window in options.windows:
        size = window * max(1, options.keys)
        frame: Any = f"{size} us"
        if options.frame == "centred":
            frame = sash.range_between(f"-{size // 2} us", f"{size // 2} us")
        for name in options.aggregations:
            work = sash.windowed(data, by, time="t")
            runs: dict[str, Callable[[], Any]] = {
                form: partial(work.agg, y=one)
                for form, one in asked(name, frame).items()
                if options.forms is None or form in ("plain", *options.forms)
            }
            for run in runs.values():
                run()
            best = best_of(runs, options.repeat)
            plain = best.pop("plain")
            row = {"aggregation": name, "window": window, "plain ns": plain / options.rows * 1e9}
            yield row | {form: seconds / plain for form, seconds in best.items()}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--windows", nargs="+", type=int, default=[1000])
    parser.add_argument("--aggregations", nargs="+", default=NAMES, choices=[*NAMES, "count"])
    parser.add_argument("--times", choices=["random", "distinct"], default="random")
    parser.add_argument("--frame", choices=["past", "centred"], default="past")
    parser.add_argument("--keys", type=int, default=0, help="how many; 0: rows have none")
    parser.add_argument("--passing", type=float, default=0.5, help="the share of rows that pass")
    parser.add_argument("--forms", nargs="+", help="only these of each aggregation, and plain")
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    name = f"language_{options.times}_{options.frame}"
    name += f"_{options.keys}_keys" * bool(options.keys)
    name += f"_{options.passing}_pass" * (options.passing != 0.5)
    report(name, compare(options), options.out)


if __name__ == "__main__":
    main()
