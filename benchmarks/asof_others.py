"""The ways to ask for as-of windows in polars and in SQL, for `benchmarks.asof`."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

WINDOWS = {"1h": "1 hour", "1d": "1 day", "7d": "7 days"}
NAMES = [f"{name}_{window}" for window in WINDOWS for name in ("n", "sum", "max")]
SPAN = 30 * 86_400_000_000  # microseconds


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
