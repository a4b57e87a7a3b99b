"""Window queries from a grammar, and rows with nulls, NaN and ties that they run over.

Every statement has one answer: where rows of equal order could come in any order, the order ends
with `id`, or the function does not depend on it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa


def sample(n: int, seed: int) -> pa.Table:
    """Rows of some keys, with ties, nulls and NaN in what orders them and in what is aggregated."""
    rng = np.random.default_rng(seed)
    start = dt.datetime(2024, 1, 1)

    def nulls(values: object, share: float = 0.2, kind: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, kind, mask=rng.random(n) < share)

    floats = rng.integers(-8, 8, n) / 4.0
    floats[rng.random(n) < 0.1] = np.nan
    doubles = rng.integers(0, 12, n) / 2.0
    doubles[rng.random(n) < 0.1] = np.nan
    moments = [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 90, n)]
    days = [(start + dt.timedelta(days=int(d))).date() for d in rng.integers(0, 12, n)]
    cents = [Decimal(int(v)) / 4 for v in rng.integers(-40, 40, n)]
    return pa.table(
        {
            "id": np.arange(n),
            "k": nulls(rng.integers(0, 3, n), 0.1),
            "g": nulls(rng.choice(["a", "b"], n), 0.1),
            "t": nulls(rng.integers(0, max(2, n // 2), n), 0.1),
            "ts": nulls(moments, 0.1, pa.timestamp("us")),
            "d": nulls(days, 0.1, pa.date32()),
            "f": nulls(doubles, 0.1),
            "i": nulls(rng.integers(-50, 50, n)),
            "x": nulls(floats),
            "y": nulls(rng.integers(-8, 8, n) / 4.0),
            "dec": nulls(cents, 0.2, pa.decimal128(9, 2)),
            "s": nulls(rng.choice(["a", "b", "cc", ""], n)),
            "b": nulls(rng.random(n) < 0.5),
        }
    )


PLAIN = [
    "count(*)", "count({any})", "sum({number})", "avg({number})", "min({any})", "max({any})",
    "sum(i * 2 + 1)", "max(coalesce(i, 0))", "stddev(y)", "stddev_pop(y)", "variance(y)",
    "var_pop(y)", "covar_pop(i, y)", "covar_samp(i, y)", "regr_count(y, i)",
    "bool_and(b)", "bool_or(b)", "min(dec)", "max(dec)", "sum(dec)",
]  # fmt: skip
"""Aggregations that do not depend on the order of rows."""

AS_IN_DUCKDB = ["median(y)"]
"""Spark's median takes no frame."""

AS_IN_SPARK = ["corr(i, y)", "regr_slope(y, i)", "skewness(y)", "kurtosis(y)", "max_by(s, id)"]
"""Where DuckDB has NaN, or another definition."""

IN_ORDER = [
    "first_value({any})", "last_value({any})", "nth_value({any}, 2)", "nth_value({any}, 3)",
]  # fmt: skip
KNOWN_ONLY = ["first_value({any} IGNORE NULLS)", "last_value({any} IGNORE NULLS)"]
RANKS = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
PLACES = [
    "row_number()", "ntile(3)", "lag({any})", "lead({any})", "lag(i, 2, 7)", "lead(i, 2, -1)",
    "lag({any}, 0)", "lead(i, 1, i + 1)",
]  # fmt: skip
DISTINCT = ["count(DISTINCT {any})", "sum(DISTINCT i)"]
ANY = ["i", "x", "s", "b", "ts", "d", "dec"]
NUMBER = ["i", "x", "y"]
BY_NUMBER = {
    "dec": ["0.5", "2", "5.25"],
    "t": ["1", "2", "5"],
    "f": ["0.5", "1", "2"],
    "i": ["3", "10"],
}
BY_TIME = ["INTERVAL '5' MINUTE", "INTERVAL '30' MINUTE", "INTERVAL '1' HOUR"]
BY_DAY = ["INTERVAL '1' DAY", "INTERVAL '3' DAY"]
CONDITIONS = ["b", "i > 0", "s = 'a' OR b", "x IS NOT NULL", "NOT b AND i < 10"]


@dataclass(frozen=True)
class Grammar:
    """What statements may have: Spark has no GROUPS, EXCLUDE, FILTER or DISTINCT in windows."""

    duckdb: bool = True

    def statement(self, random: Random) -> str:
        """A query over the table `rows`, its answers in the order of `id`."""
        columns = [self.column(random) for _ in range(random.randint(1, 3))]
        named = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
        where = f" WHERE {random.choice(CONDITIONS[:4])}" if random.random() < 0.15 else ""
        return f"SELECT id, {named} FROM rows{where} ORDER BY id"

    def column(self, random: Random) -> str:
        """A window function, maybe in an expression."""
        column = self._window(random)
        shape = random.random()
        if shape < 0.08 and column.startswith(("count", "rank", "row_number")):
            return f"{column} + coalesce(i, 0)"
        if shape < 0.16 and column.startswith("count"):
            return f"CASE WHEN {column} > 2 THEN i ELSE -1 END"
        return column

    def _window(self, random: Random) -> str:
        kind = random.choices(["plain", "rank", "place", "value", "distinct"], [10, 2, 3, 3, 1])[0]
        if kind == "distinct" and not self.duckdb:
            kind = "plain"
        if kind == "rank":
            return self._over(random, random.choice(RANKS), self._order(random, False), "")
        if kind == "place":
            return self._over(random, random.choice(PLACES), self._order(random, True), "")
        if kind == "value":
            calls = IN_ORDER + (KNOWN_ONLY if self.duckdb else [])
            frame = self._counted(random, "ROWS")
            return self._over(random, random.choice(calls), self._order(random, True), frame)
        plain = PLAIN + (AS_IN_DUCKDB if self.duckdb else AS_IN_SPARK)
        call = random.choice(plain if kind == "plain" else DISTINCT)
        if self.duckdb and kind == "plain" and random.random() < 0.2:
            call = f"{call} FILTER (WHERE {random.choice(CONDITIONS)})"
        return self._aggregated(random, call)

    def _aggregated(self, random: Random, call: str) -> str:
        kinds = ["none", "default", "rows", "range", "groups"]
        kind = random.choices(kinds, [1, 2, 4, 5, 3 if self.duckdb else 0])[0]
        if kind == "none":
            return self._over(random, call, "", "")
        if kind == "default":
            return self._over(random, call, self._order(random, False), "")
        if kind == "range":
            column, distances = self._measured(random)
            frame = self._between(random, "RANGE", distances)
            return self._over(random, call, f"ORDER BY {column}{self._way(random)}", frame)
        total = kind == "rows"
        frame = self._counted(random, kind.upper())
        return self._over(random, call, self._order(random, total), frame)

    def _measured(self, random: Random) -> tuple[str, list[str]]:
        of_both = ["t", "t", "f", "i", "ts", "ts", "d"]
        column = random.choice([*of_both, "dec"] if self.duckdb else of_both)
        if column in BY_NUMBER:
            return column, BY_NUMBER[column]
        return column, BY_TIME if column == "ts" else BY_DAY

    def _order(self, random: Random, total: bool) -> str:
        """An ORDER BY; a total one ends with `id`."""
        columns = random.sample(["t", "ts", "d", "f", "i", "s", "x"], random.choice([1, 1, 2]))
        keys = [f"{column}{self._way(random)}" for column in columns]
        return f"ORDER BY {', '.join(keys + (['id'] if total else []))}"

    def _way(self, random: Random) -> str:
        way = random.choice(["", "", " DESC", " ASC"])
        return way + random.choice(["", "", "", " NULLS FIRST", " NULLS LAST"])

    def _counted(self, random: Random, kind: str) -> str:
        return self._between(random, kind, ["1", "2", "5"])

    def _between(self, random: Random, kind: str, distances: list[str]) -> str:
        ends = [
            "UNBOUNDED PRECEDING", f"{random.choice(distances)} PRECEDING", "CURRENT ROW",
            f"{random.choice(distances)} FOLLOWING", "UNBOUNDED FOLLOWING",
        ]  # fmt: skip
        first = random.randint(0, 3)
        last = random.randint(max(1, first), 4)
        shape = random.random()
        if shape < 0.1 and first < 3:
            text = f"{kind} {ends[first]}" if first else f"{kind} UNBOUNDED PRECEDING"
        elif first == last and first in (1, 3):
            text = f"{kind} BETWEEN {ends[first]} AND {ends[first]}"
        else:
            text = f"{kind} BETWEEN {ends[first]} AND {ends[last]}"
        if self.duckdb and random.random() < 0.25:
            text += f" EXCLUDE {random.choice(['CURRENT ROW', 'GROUP', 'TIES', 'NO OTHERS'])}"
        return text

    def _over(self, random: Random, call: str, order: str, frame: str) -> str:
        call = call.format(any=random.choice(ANY), number=random.choice(NUMBER))
        keys = random.choice(["", "PARTITION BY k", "PARTITION BY k", "PARTITION BY k, g",
                              "PARTITION BY i > 0"])  # fmt: skip
        inner = " ".join(part for part in (keys, order, frame) if part)
        return f"{call} OVER ({inner})"


def statements(count: int, seed: int, duckdb: bool = True) -> list[str]:
    """So many statements, the same for the same seed."""
    random, grammar = Random(seed), Grammar(duckdb)
    return [grammar.statement(random) for _ in range(count)]


def together(count: int, seed: int) -> str:
    """So many window functions of Spark's in one statement."""
    random, grammar = Random(seed), Grammar(duckdb=False)
    columns = [f"{grammar.column(random)} AS c{i}" for i in range(count)]
    return f"SELECT id, {', '.join(columns)} FROM rows ORDER BY id"
