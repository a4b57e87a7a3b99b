"""Rows as each benchmark gives them at full size, with made-up numbers: what figures read."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.suites import RUNS

Row = dict[str, Any]
NAMES = ("max", "sum", "mean", "stddev")
MACHINE = {"processor": "Made(R) Up", "cores": 2, "python": "3.11", "date": "2026-11-15"}
QUESTIONS = (
    "mean", "window small", "window big", "min", "median", "multiroll", "weighted",
    "uneven dense", "uneven sparse", "regression", "user function",
)  # fmt: skip
FORMS = (
    "derived input", "derived result", "ratio", "filter", "condition", "two conditions", "text",
    "without current row", "without group", "without ties",
)  # fmt: skip


def all_rows() -> dict[str, list[Row]]:
    """Rows by the name of the record, with numbers that differ."""
    compared = [
        {"aggregation": a, "window": w, "sash": 90.0, "polars": 30.0, "x polars": 3 + i / 10,
         "x pandas": 2.5 + i / 10}
        for i, (w, a) in enumerate(product((1000, 100_000), NAMES))
    ]  # fmt: skip
    found: dict[str, list[Row]] = {}
    for name in RUNS:
        if name.startswith("tables_compare"):
            found[name] = compared
        elif name.startswith("tables_features"):
            found[name] = [{"features": 24, "sash": 2.4, "polars": 0.6, "x polars": 3.7}]
        elif name.startswith("language"):
            forms = {form: 1 + i / 10 for i, form in enumerate(FORMS)}
            found[name] = [{"aggregation": a, "plain ns": 9.0, **forms} for a in NAMES]
    return found | tables() | on_spark() | streams() | windows()


def tables() -> dict[str, list[Row]]:
    ways = {"sash": 0.5, "limit": 0.1, "polars windows": 5.0, "polars join": 9.0,
            "duckdb windows": 60.0, "duckdb join": 100.0, "duckdb join rows": 2142}  # fmt: skip
    faster = {f"x {name}": s / 0.5 for name, s in ways.items() if name.partition(" ")[0] != "sash"}
    return {
        "tables_own_random": [
            {"aggregation": "max", "window": 1000, "own to built in": 1.1},
            {"aggregation": "spread", "x pandas apply": 177.0},
        ],
        "tables_first_random": [{"filled cache, s": 0.5, "empty to filled": 1.2}],
        "tables_flat_random": [
            {"aggregation": a, "10^6 to 10": 1.06 + i / 10} for i, a in enumerate(NAMES)
        ],
        "rollfun": [
            {"question": q, "x polars": 0.9 + i / 5, "x pandas": 1.5 + i, "x duckdb": 20.0 + i}
            for i, q in enumerate(QUESTIONS)
        ],
        "sharing": [{"case": "together", "this": 2.5}, {"case": "max", "this": 0.2}],
        "ranges": [{"ranges": 2, "monoid": "max", "a window each": 3.0, "FlatFIT": 9.0}],
        "sql": [
            {
                "rows": 10**7,
                "SQL, s": 3.1,
                "Python, s": 3.0,
                "SQL / Python": 1.03,
                "10 rows, ms": 41.0,
            }
        ],
        "asof": [{"keys": keys, **ways, **faster} for keys in (1000, 1_000_000)],
        "asof_large": [{"keys": 1_000_000, "sash": 0.98, "limit": 2.47}],
        "asof_spark_large": [{"keys": 1_000_000, "sash": 45.0, "sash shuffled rows": 2.4e6}],
    }


def on_spark() -> dict[str, list[Row]]:
    spark = {"sash": 1.5, "native, tree / sash": 9.5, "native, no tree / sash": 87.0}
    cases = ("max_by", "percentile", "distinct", "distinct, about")
    asof = {"sash": 37.0, "pass-through": 35.0, "range join": 4036.0, "range join rows": 2000,
            "x pass-through": 35 / 37, "x range join": 109.0}  # fmt: skip
    return {
        "spark_batch_one": [{"asked": "max over 10000 rows", **spark}],
        "spark_batch_many": [{"asked": "5 aggregations", **spark}],
        "spark_batch_uncovered": [
            {"asked": f"{case} over 10000 rows", "sash": 1.5, "native, tree / sash": 30.0 * i}
            for i, case in enumerate(cases, 1)
        ],
        "spark_batch_shuffle": [
            {"asked": "rows", "sash": 13.0, "pass-through / sash": share} for share in (0.76, 0.78)
        ],
        "demo": [
            {
                "asked": "12 answers per flight",
                "sash in process": 3.2,
                "sash": 11.0,
                "pass-through": 7.2,
                "Spark's frames": 17.6,
                "Spark's frames / sash": 1.6,
            }
        ],
        "asof_spark": [{"keys": keys, **asof} for keys in (1000, 1_000_000)],
        "streaming_every": [
            {"keys": keys, "rows per batch": rows, "sash / window()": keys / 3}
            for keys in (100, 10_000)
            for rows in (300_000, 1_000_000)
        ],
        "streaming_day": [
            {"keys": keys, "day / hour": 0.9, "pass-through / hour": 0.95} for keys in (100, 10_000)
        ],
        "streaming_rows": [
            {"keys": keys, "sash": 220.0, "pass-through": 400.0, "ratio": 0.55}
            for keys in (100, 100_000)
        ],
        "streaming_state": [{"s": 1.9}, {"s": 1.2}, {"large / small": 0.63}],
    }


def streams() -> dict[str, list[Row]]:
    kinds = product((1, 100, 5000), ("final", "arrival", "every 1"), (10**5, 10**6, 10**7))
    return {
        "streaming_flat": [
            {"emit": emit, "keys": keys, "rows in the window": size, "ms per batch": 5.0 + i,
             "time to 10^5": 1.1, "bytes to 10^5": 1.2}
            for i, (keys, emit, size) in enumerate(kinds)
        ],
        "streaming_late": [
            {"late": late, "keys": keys, "time to in order": 1.0 if late == "0%" else 1.9}
            for keys in (1, 100, 5000)
            for late in ("0%", "1%")
        ],
        "serving": [
            {"store": store, "get p50 us": 110.0, "get p99 us": 670.0, "own p99 us": 330.0,
             "get_many us per key": 20.0, "batch s": 1.3}
            for store in ("memory", "lmdb", "redis")
        ],
    }  # fmt: skip


def windows() -> dict[str, list[Row]]:
    sizes = (1 << 10, 1 << 20)
    algorithms = ("TwoStacksLite", "DABALite", "FlatFIT", "AMTA", "Reactive")
    billion = ("fill, million entries per second", "peak resident bytes per entry",
               "slide in bulks of 1,024, million entries per second",
               "bulk evict, median, nanoseconds")  # fmt: skip
    return {
        "swag_static": [
            {"algorithm": a, "monoid": m, "size": size, "rate": 300.0, "to_cpp_itself": 0.9,
             "to_cpp_two_stacks_lite_sum": 0.4}
            for a, m, size in product(algorithms, ("sum", "max", "stddev"), sizes)
        ],
        "swag_latency": [
            {"algorithm": a, "monoid": "sum", "size": size, "p50": 30.0, "p99.999": 900.0}
            for a, size in product(("TwoStacksLite", "DABALite"), sizes)
        ],
        "swag_compile": [{"algorithm": "TwoStacksLite", "cold": 3.0, "warm": 0.5}],
        "fiba_targets": [
            {"what": "in order, one at a time", "rate": 54.0, "ratio": 0.12},
            {"what": "bulks of 1,024 in order", "rate": 81.0, "ratio": 0.18},
            {"what": "bulks of 1,024 at distance 1,024", "rate": 90.0, "ratio": 0.2},
            {"what": "bytes per entry, n = 4,194,304", "rate": 22.8},
        ],
        "kvs_targets": [
            {"what": "an insert over lmdb, to one in memory", "is": 2.6, "at most": 3},
            {"what": "pages read by a bulk eviction of 2^20", "is": 20, "at most": 21},
            {"what": "MiB of a process that slides 100,000,000 (LMDB)", "is": 72.0},
        ],
        "papers/full/fiba-billion": [{"x": x, "series": "", "y": 15.4} for x in billion],
        "papers": [{"paper": "ra", "figure": "Figure 9", "holds": True}],
    }  # fmt: skip


def write(out: Path, rows: dict[str, list[Row]] | None = None) -> None:
    """Records of all runs at full size."""
    for name, found in (rows or all_rows()).items():
        path = out / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"command": RUNS[name].command, "version": "abc1234", "machine": MACHINE}
        path.write_text(json.dumps({**about, "size": "full", "rows": found}))
