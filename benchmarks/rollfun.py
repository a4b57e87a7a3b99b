"""The rolling-function questions of the public db-benchmark, in one run against the others.

    python -m benchmarks.rollfun                    10 million rows, as the public one's middle size
    python -m benchmarks.rollfun --rows 1000000 --quick    without DuckDB

Its data: prices that walk at random, an even index and two uneven ones, and weights. Windows
are a thousandth of the rows, a tenth of that (small) and ten times that (big). The question
`user function` runs on a hundredth of the rows: the others call Python for each row.

Rates are million rows per second, the best of several runs taken in turns; `x polars` is how
many times as fast Sash is. A library has no figure for what it cannot do. `agrees` is the
share of answers over full windows that are those of Sash.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

import sash
from benchmarks.measure import best_of, report
from benchmarks.tables import spread_of
from sash import functions as sf

Run = Callable[[], Any]
Columns = dict[str, pd.Series]


def walk(rng: np.random.Generator, n: int, step: float) -> np.ndarray:
    """A price that changes by about `step` of itself, and stays a number however long."""
    logarithm = np.cumsum(np.log1p(np.clip(rng.normal(0, step, n), -0.5, 0.5)))
    return np.exp(np.clip(logarithm, -500, 500))


def rows(n: int) -> pa.Table:
    """The benchmark's table."""
    rng = np.random.default_rng(108)

    def index(most: int) -> np.ndarray:
        return np.sort(rng.choice(most, n, replace=False)) + 1

    columns = {"id1": np.arange(1, n + 1), "id2": index(n + n // 10), "id3": index(2 * n)}
    prices = {"v1": walk(rng, n, 0.005), "v2": walk(rng, n, 0.001)}
    return pa.table({**columns, **prices, "weights": rng.normal(1, 0.1, n)})


class Question(NamedTuple):
    """What is asked: of each library, given the rows and the window, a function to time."""

    sash: dict[str, Any]  # the aggregations
    polars: list[Any]  # expressions
    pandas: Callable[[Columns], Any]
    duckdb: str = ""  # what is selected
    index: str = "id1"
    share: int = 1  # of the rows: one in so many


def mean_of(w: int) -> Question:
    """The mean over w rows."""
    import polars

    return Question(
        {"y": sf.mean("v1").over(sash.rows(w))},
        polars=[polars.col("v1").rolling_mean(w)],
        duckdb=f"avg(v1) OVER {by_rows(w)} AS y",
        pandas=lambda x: x["v1"].rolling(w).mean(),
    )


def by_rows(w: int) -> str:
    return f"(ORDER BY id1 ROWS BETWEEN {w - 1} PRECEDING AND CURRENT ROW)"


def uneven(index: str, w: int) -> Question:
    """The mean over the rows of the last w steps of an uneven index."""
    import polars

    over = f"(ORDER BY {index} RANGE BETWEEN {w - 1} PRECEDING AND CURRENT ROW)"
    mean = polars.col("v1").rolling_mean_by(index, window_size=f"{w - 1}i", closed="both")

    return Question(
        {"y": sf.mean("v1").over(sash.range_between(1 - w, 0))},
        [mean],
        lambda x: x[f"v1 by {index}"].rolling(f"{w}s").mean(),
        f"avg(v1) OVER {over} AS y",
        index,
    )


def several(w: int) -> Question:
    """The means of two columns over two windows each."""
    import polars

    pairs = [(name, size) for name in ("v1", "v2") for size in (w - 50, w + 50)]
    selected = [f"avg({name}) OVER {by_rows(size)} AS {name}_{size}" for name, size in pairs]
    return Question(
        {f"{name}_{size}": sf.mean(name).over(sash.rows(size)) for name, size in pairs},
        polars=[
            polars.col(name).rolling_mean(size).alias(f"{name}_{size}") for name, size in pairs
        ],
        duckdb=", ".join(selected),
        pandas=lambda x: [x[name].rolling(size).mean() for name, size in pairs],
    )


def weighted(w: int) -> Question:
    """The mean of v1, each row with its own weight."""
    import polars

    v1, weights = polars.col("v1"), polars.col("weights")
    over = by_rows(w)
    return Question(
        {"y": sf.weighted_mean("v1", "weights").over(sash.rows(w))},
        polars=[(v1 * weights).rolling_sum(w) / weights.rolling_sum(w)],
        duckdb=f"sum(v1 * weights) OVER {over} / sum(weights) OVER {over} AS y",
        pandas=lambda x: (x["v1"] * x["weights"]).rolling(w).sum() / x["weights"].rolling(w).sum(),
    )


def regression(w: int) -> Question:
    """The coefficient of determination of v2 by v1."""
    import polars

    return Question(
        {"y": sf.regr_r2("v2", "v1").over(sash.rows(w))},
        polars=[polars.rolling_corr("v1", "v2", window_size=w) ** 2],
        duckdb=f"regr_r2(v2, v1) OVER {by_rows(w)} AS y",
        pandas=lambda x: x["v1"].rolling(w).corr(x["v2"]) ** 2,
    )


def user_function(w: int) -> Question:
    """A function of a user's own: how far apart the extremes are."""
    import polars

    return Question(
        {"y": sf.apply(spread_of(), "v1").over(sash.rows(w))},
        polars=[polars.col("v1").rolling_map(lambda x: x.max() - x.min(), w)],
        pandas=lambda x: x["v1"].rolling(w).apply(lambda v: v.max() - v.min(), raw=True),
        share=100,
    )


def simple(name: str, w: int) -> Question:
    """The least, or the median, over w rows."""
    import polars

    return Question(
        {"y": getattr(sf, name)("v1").over(sash.rows(w))},
        polars=[getattr(polars.col("v1"), f"rolling_{name}")(w)],
        duckdb=f"{name}(v1) OVER {by_rows(w)} AS y",
        pandas=lambda x: getattr(x["v1"].rolling(w), name)(),
    )


def questions(w: int) -> dict[str, Question]:
    """All questions, by the names that the public benchmark has for them."""
    return {
        "mean": mean_of(w),
        "window small": mean_of(max(1, w // 10)),
        "window big": mean_of(10 * w),
        "min": simple("min", w),
        "median": simple("median", w),
        "multiroll": several(w),
        "weighted": weighted(w),
        "uneven dense": uneven("id2", w),
        "uneven sparse": uneven("id3", w),
        "regression": regression(w),
        "user function": user_function(w),
    }


class Libraries:
    """The same rows in each library."""

    def __init__(self, data: pa.Table, with_duckdb: bool) -> None:
        import duckdb
        import polars

        self.data, self.frame = data, polars.from_arrow(data)
        self.frame = self.frame.with_columns(polars.col("id1", "id2", "id3").set_sorted())
        columns = dict(data.to_pandas().items())
        for index in ("id2", "id3"):  # made beforehand, as the public benchmark does
            seconds = pd.to_timedelta(columns[index], unit="s")
            columns[f"v1 by {index}"] = columns["v1"].set_axis(seconds)
        self.columns = columns
        self.connection = duckdb.connect() if with_duckdb else None
        if self.connection is not None:
            self.connection.execute(f"SET threads={os.cpu_count()}")
            self.connection.register("x", data)

    def runs(self, question: Question) -> dict[str, Run]:
        """A function for each library that can answer; each gives its first column."""
        data, frame, connection = self.data, self.frame, self.connection
        runs: dict[str, Run] = {
            "sash": lambda: sash.windowed(data, time=question.index).agg(**question.sash),
            "polars": lambda: frame.select(question.polars),
            "pandas": lambda: question.pandas(self.columns),
        }
        if connection is not None and question.duckdb:
            sql = f"SELECT {question.duckdb} FROM x"
            runs["duckdb"] = lambda: connection.sql(sql).to_arrow_table()
        return runs


def first_column(question: Question, answer: Any) -> np.ndarray:
    """The first column of an answer as doubles."""
    if isinstance(answer, pa.Table):
        return np.asarray(answer.column(next(iter(question.sash))), np.float64)
    if hasattr(answer, "to_series"):
        return np.asarray(answer.to_series(), np.float64)
    return np.asarray(answer[0] if isinstance(answer, list) else answer, np.float64)


def agreement(question: Question, runs: dict[str, Run], skip: int) -> dict[str, float]:
    """The share of answers that each library has in common with Sash, to 1e-5 of their size.

    Libraries that subtract what leaves a window lose digits where prices have fallen since.
    """
    wanted = first_column(question, runs["sash"]())[skip:]
    found = {name: first_column(question, run())[skip:] for name, run in runs.items()}
    return {
        f"{name} agrees": float(np.isclose(other, wanted, rtol=1e-5, equal_nan=True).mean())
        for name, other in found.items()
        if name != "sash"
    }


def compare(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each question in each library."""
    whole = Libraries(rows(options.rows), not options.quick)
    part = Libraries(whole.data.slice(0, max(1000, options.rows // 100)), not options.quick)
    w = max(100, options.rows // 1000)
    for name, question in questions(w).items():
        if options.questions and name not in options.questions:
            continue
        libraries = whole if question.share == 1 else part
        runs, n = libraries.runs(question), libraries.data.num_rows
        shared = agreement(question, runs, min(n // 2, 10 * w))
        best = best_of(runs, options.repeat)
        row: dict[str, Any] = {"question": name, "rows": n}
        row |= {k: n / s / 1e6 for k, s in best.items()}
        row |= {f"x {k}": s / best["sash"] for k, s in best.items() if k != "sash"}
        yield row | shared


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--questions", nargs="+", help="only these, by name")
    parser.add_argument("--quick", action="store_true", help="leave out DuckDB")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    report("rollfun", compare(options), options.out)


if __name__ == "__main__":
    main()
