"""A query in SQL and the same definition in Python: what parsing and planning of SQL costs.

    python -m benchmarks.sql                       20 window columns over 10 million rows
    python -m benchmarks.sql --rows 100000

Seconds are the best of several runs taken in turns, answers included; `SQL / Python` is what
SQL takes of Python's time, lower is better. `10 rows, ms` is the query over ten rows: what reading
and planning it takes. `agrees` is the share of columns that are equal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from sash import functions as sf

WINDOWS = {"1000": 1_000, "60000": 60_000}
CALLS: dict[str, Callable[[], Any]] = {
    "count(*)": lambda: sf.count(),
    "sum(x)": lambda: sf.sum("x"),
    "avg(x)": lambda: sf.mean("x"),
    "min(x)": lambda: sf.min("x"),
    "max(x)": lambda: sf.max("x"),
    "stddev(x)": lambda: sf.stddev("x"),
    "sum(i)": lambda: sf.sum("i"),
    "max(i)": lambda: sf.max("i"),
    "first_value(x)": lambda: sf.first("x"),
    "corr(x, i)": lambda: sf.corr("x", "i"),
}
"""Ten functions, each over two windows."""


def rows(n: int) -> pa.Table:
    """Rows of a thousand keys in order of time, at random times."""
    rng = np.random.default_rng(18)
    return pa.table(
        {
            "k": rng.integers(0, 1000, n),
            "t": np.cumsum(rng.integers(1, 20, n)),
            "x": rng.normal(size=n),
            "i": rng.integers(-1000, 1000, n),
        }
    )


def names() -> list[tuple[str, str, str]]:
    """The columns: their names, functions and windows."""
    pairs = [(call, window) for window in WINDOWS for call in CALLS]
    return [(f"c{i}", call, window) for i, (call, window) in enumerate(pairs)]


def in_sql() -> str:
    """The 20 columns in SQL."""
    frame = "(PARTITION BY k ORDER BY t RANGE BETWEEN {} PRECEDING AND CURRENT ROW)"
    columns = [f"{call} OVER {frame.format(window)} AS {out}" for out, call, window in names()]
    return f"SELECT *, {', '.join(columns)} FROM t"


def in_python(table: pa.Table) -> pa.Table:
    """The 20 columns in Python."""
    asked = {
        out: CALLS[call]().over(sash.range_between(-WINDOWS[window], 0))
        for out, call, window in names()
    }
    return sash.windowed(table, "k", time="t").agg(**asked)


def agreement(ours: pa.Table, theirs: pa.Table) -> float:
    """The share of answers that are equal."""
    same = [np.mean(ours[out].combine_chunks().equals(theirs[out].combine_chunks()))
            for out, _, _ in names()]  # fmt: skip
    return float(np.mean(same))


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The query against the definition."""
    table, query = rows(options.rows), in_sql()
    agrees = agreement(sash.sql(query, t=table), in_python(table))
    few = table.slice(0, 10)
    runs = {
        "SQL": lambda: sash.sql(query, t=table),
        "Python": lambda: in_python(table),
        "10 rows": lambda: sash.sql(query, t=few),
    }
    best = best_of(runs, options.repeat)
    yield {
        "rows": options.rows,
        "columns": len(names()),
        "SQL, s": best["SQL"],
        "Python, s": best["Python"],
        "SQL / Python": best["SQL"] / best["Python"],
        "10 rows, ms": best["10 rows"] * 1e3,
        "agrees": agrees,
    }


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    report("sql", compare(options), options.out)


if __name__ == "__main__":
    main()
