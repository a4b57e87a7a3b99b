"""Tables of costs that pages of the documentation include, from records: docs/measured/."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.figures.figure import NOT_MEASURED, Unmeasured, column, said
from benchmarks.records import Records, Row
from benchmarks.rst import list_table
from benchmarks.suites import RUNS


def source(found: Records, *names: str) -> str:
    """The commands of records, and when and where they ran."""
    commands = " and ".join(f"``{RUNS[name].command}``" for name in names)
    places = "; ".join(dict.fromkeys(found[name].where for name in names if name in found))
    return f"By {commands}, {places or NOT_MEASURED}.\n"


def rows_of(found: Records, name: str) -> list[Row]:
    return found[name].rows if name in found else []


def number(rows: list[Row], name: str, unit: str = "", **where: object) -> str:
    """The largest number of a column in some rows, or that there is none."""
    try:
        return f"{said(max(column(name, **where)(rows)))} {unit}".rstrip()
    except Unmeasured:
        return NOT_MEASURED


WINDOWS = (100_000, 1_000_000, 10_000_000)
TICKS = 1000
"""The windows per key in a batch, with `every` tick of time."""

ANSWERS = {
    "final": '`emit="final"`',
    "arrival": '`emit="arrival"`',
    "every 1": "`every` tick of time",
}


def batches(found: Records) -> str:
    """A batch in process, by the answers, the keys and the rows in the window."""
    rows, keys = rows_of(found, "streaming_flat"), RUNS["streaming_flat"].given("keys")
    lines = [
        [how, f"{int(count):,}"]
        + [
            number(rows, "ms per batch", "ms", emit=emit, keys=int(count), rows_in_the_window=size)
            for size in WINDOWS
        ]
        for emit, how in ANSWERS.items()
        for count in keys
    ]
    head = ["answers", "keys", "10^5 rows in the window", "10^6 rows", "10^7 rows"]
    return f"{source(found, 'streaming_flat')}\n{list_table(head, lines)}"


def late(found: Records) -> str:
    """Late rows, by the number of keys."""
    rows, keys = rows_of(found, "streaming_late"), RUNS["streaming_late"].given("keys")
    said_ = [
        (int(count), number(rows, "time to in order", "times", keys=int(count), late="1%"))
        for count in keys
    ]
    head = ["keys", "time of a batch, relative to rows in order"]
    lines = [[f"{count:,}", text] for count, text in said_]
    return f"{source(found, 'streaming_late')}\n{list_table(head, lines)}"


def serving(found: Records) -> str:
    """Reads and batches of each store."""
    rows = rows_of(found, "serving")
    columns = {
        "`get`, median": ("get p50 us", "µs"),
        "99th percentile": ("get p99 us", "µs"),
        "the process's own time, 99th percentile": ("own p99 us", "µs"),
        "`get_many`, per key": ("get_many us per key", "µs"),
        "a batch in which all keys change": ("batch s", "s"),
    }
    stores = {"redis": "a local Redis", "lmdb": "LMDB", "memory": "memory"}
    lines = [
        [name, *(number(rows, *each, store=kind) for each in columns.values())]
        for kind, name in stores.items()
    ]
    return f"{source(found, 'serving')}\n{list_table(['store', *columns], lines)}"


WAYS = {
    "sash": "Sash",
    "polars windows": "polars, windows",
    "polars join": "polars, join",
    "duckdb windows": "DuckDB, windows",
    "duckdb join": "DuckDB, join",
    "limit": "limit",
    "least": "least",
}
ON_SPARK = {
    "sash": "Sash",
    "range join": "range join and group by",
    "pass-through": "union, shuffle, sort, pass-through",
}


def way(row: Row, name: str, spine: int) -> str:
    """The seconds of a way to ask, how many times those of Sash, and from how many rows of the
    spine they are extrapolated."""
    if name not in row:
        return NOT_MEASURED
    if name == "sash":
        return f"{said(row[name])} s"
    joined = row.get(f"{name} rows", spine)
    how = f"; extrapolated from {joined:,} spine rows" if joined < spine else ""
    return f"{said(row[name])} s ({said(row[name] / row['sash'])} times Sash's{how})"


def by_keys(found: Records, record: str, ways: dict[str, str]) -> str:
    """A table of all ways to ask, by the number of keys."""
    run = RUNS[record]
    keys, spine = [int(count) for count in run.given("keys")], int(run.given("events")[0]) // 10
    rows = {row["keys"]: row for row in rows_of(found, record)}
    lines = [
        [label, *(way(rows.get(count, {}), name, spine) for count in keys)]
        for name, label in ways.items()
        if not rows or any(name in row for row in rows.values())
    ]
    head = ["", *(f"{count:,} keys" for count in keys)]
    return f"{source(found, record)}\n{list_table(head, lines)}"


def asof(found: Records) -> str:
    """Windows as of moments in process: of a tenth as many, and of few."""
    table = by_keys(found, "asof", WAYS)
    if "asof_large" not in found:
        return table
    rows, run = rows_of(found, "asof_large"), RUNS["asof_large"]
    own, limit = (number(rows, name, "s") for name in ("sash", "limit"))
    says = run.worded("With {keys} keys, {events} events and {spine} spine rows")
    few = f"{says}, Sash takes {own}, and the limit is {limit}. {source(found, 'asof_large')}"
    return f"{table}\n{few}"


def asof_spark(found: Records) -> str:
    """Windows as of moments on Spark: of a tenth as many, and of few."""
    table = by_keys(found, "asof_spark", ON_SPARK)
    if "asof_spark_large" not in found:
        return table
    rows, run = rows_of(found, "asof_spark_large"), RUNS["asof_spark_large"]
    own, shuffled = number(rows, "sash", "s"), number(rows, "sash shuffled rows", "rows")
    says = run.worded("With {keys} keys, {events} events and {spine} spine rows")
    few = f"{says}, Sash takes {own}, and the largest shuffle writes {shuffled}."
    return f"{table}\n{few} {source(found, 'asof_spark_large')}"


def capacity(found: Records) -> str:
    """The times behind an estimate of cores."""
    flat, rows = rows_of(found, "streaming_flat"), rows_of(found, "streaming_rows")
    in_process = {
        f"in process: 10,000 rows of {keys:,} keys, 10^6 rows in the window": number(
            flat, "ms per batch", "ms", emit="final", keys=keys, rows_in_the_window=WINDOWS[1]
        )
        for keys in (100, 5000)
    }
    per_row = {
        f"on Spark: {what}, 100 keys, per row in batches of 1,000,000": over(rows, name, 1000, 100)
        for what, name in (("an answer per row", "sash"), ("rows passed on", "pass-through"))
    }
    small = number(rows_of(found, "streaming_state"), "s", "s")
    lines = {
        **in_process,
        "in process, `every` tick: per window that comes out, 5,000 keys": window(flat),
        "on Spark: a micro-batch of 10,000 rows, at most": small,
        **per_row,
    }
    told = source(found, "streaming_flat", "streaming_rows", "streaming_state")
    return f"{told}\n{list_table(['measured', 'time'], map(list, lines.items()))}"


def over(rows: list[Row], name: str, by: float, keys: int) -> str:
    """Microseconds per row, from thousand rows per second."""
    rates = [row[name] for row in rows if row["keys"] == keys]
    return f"{said(by / rates[0])} µs" if rates else NOT_MEASURED


def window(rows: list[Row]) -> str:
    """Nanoseconds per window of `every`: what a batch takes longer than with an answer per row."""
    where = {"keys": 5000, "rows_in_the_window": WINDOWS[1]}
    try:
        (every,), (final,) = (
            column("ms per batch", emit=emit, **where)(rows) for emit in ("every 1", "final")
        )
    except Unmeasured:
        return NOT_MEASURED
    return f"{said((every - final) * 1e6 / (5000 * TICKS))} ns"


def sql(found: Records) -> str:
    """A query against the same definition in Python, and over few rows."""
    rows, run = rows_of(found, "sql"), RUNS["sql"]
    lines = {
        run.worded("the query over {rows} rows"): number(rows, "SQL, s", "s"),
        "the same definition in Python": number(rows, "Python, s", "s"),
        "the query's time, relative to Python's": number(rows, "SQL / Python", "times"),
        "the query over 10 rows": number(rows, "10 rows, ms", "ms"),
    }
    table = list_table(["20 window columns", "measured"], map(list, lines.items()))
    return f"{source(found, 'sql')}\n{table}"


COST_TABLES: dict[str, Callable[[Records], str]] = {
    "batches": batches,
    "late": late,
    "serving": serving,
    "asof": asof,
    "asof-spark": asof_spark,
    "capacity": capacity,
    "sql": sql,
}
"""By the name of the file in docs/measured/."""
