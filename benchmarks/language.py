"""The language of windows: what a filter, an expression and an exclusion cost next to none.

    python -m benchmarks.language                   2 million rows, windows of 1,000 rows
    python -m benchmarks.language --keys 1000 --windows 100
    python -m benchmarks.language --times distinct  no two rows have one time
    python -m benchmarks.language --frame centred   as many rows after the row as before it
    python -m benchmarks.language --passing 0.01    one row in a hundred passes the filter

Besides built-in aggregations there are monoids of a user's own: the largest number, a sum of
squares, and a mean and a variance as most would write them, which cannot be asked for over no rows.
The filter is by a column of booleans; "condition" compares a column of numbers, and "text" one of
texts; "two conditions" are of two columns. A ratio is the row's value divided by the answer.

Figures are the time of each over that of the plain aggregation (`plain ns`: nanoseconds per
row), the best of several runs taken in turns; 1.3 is what is promised, except where rows on both
sides of those that are left out stay, as in a centred frame. Times are random, so that most rows
have peers, or with --times distinct none have.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf

OWN = {
    "own max": sash.Monoid("own max", -math.inf, lambda x: x, max),
    "own squares": sash.Monoid("own squares", 0.0, lambda x: x * x, lambda a, b: a + b),
    "own mean": sash.Monoid(
        "own mean", (0.0, 0), lambda x: (x, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda s: s[0] / s[1],
    ),
    "own variance": sash.Monoid(
        "own variance", (0, 0.0, 0.0), lambda x: (1, x, x * x),
        lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]),
        lambda s: s[2] / s[0] - (s[1] / s[0]) ** 2,
    ),
}  # fmt: skip
NAMES = ["max", "sum", "mean", "stddev", *OWN]
EXCLUDED = ["current row", "group", "ties"]


def rows(options: argparse.Namespace) -> pa.Table:
    """Rows in order of time, one per microsecond on average; a share of them passes `ok`."""
    rng, n = np.random.default_rng(1), options.rows
    gaps = rng.integers(1, 3, n) if options.times == "distinct" else rng.poisson(1.0, n)
    columns = {
        "t": np.cumsum(gaps).astype("datetime64[us]"),
        "x": rng.random(n),
        "ok": rng.random(n) < options.passing,
        "y": rng.random(n),
        "text": np.where(rng.random(n) < options.passing, "paid", "open"),
    }
    if options.keys:
        columns["k"] = rng.integers(0, options.keys, n)
    return pa.table(columns)


def asked(name: str, frame: Any, passing: float) -> dict[str, Any]:
    """One aggregation in every form that the language gives it."""
    of = partial(sf.apply, OWN[name]) if name in OWN else getattr(sf, name)
    large = sf.col("y") < passing
    forms = {
        "plain": of("x").over(frame),
        "derived input": of(sf.col("x") * 2).over(frame),
        "derived result": of("x").over(frame) * 2,
        "ratio": sf.col("x") / of("x").over(frame),
        "filter": of("x").where(sf.col("ok")).over(frame),
        "condition": of("x").where(large).over(frame),
        "two conditions": of("x").where(large & sf.col("ok")).over(frame),
        "text": of("x").where("text = 'paid'").over(frame),
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
                form: partial(work.agg, answer=one)
                for form, one in asked(name, frame, options.passing).items()
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
