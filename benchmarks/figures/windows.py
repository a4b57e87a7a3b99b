"""Figures of windows, one item at a time, and of windows in a store."""

from __future__ import annotations

from benchmarks.figures.figure import (
    Better,
    Figure,
    Section,
    column,
    largest,
    of,
    relative,
)
from benchmarks.records import Row

LITE = ("TwoStacksLite", "DABALite")
THE_SAME = "speed relative to the same loop in C++"
SIZES = "windows of 2^10 to 2^20 items"


def to_cpp(monoid: str, note: str = "") -> Figure:
    return relative(
        f"cpp-{monoid}",
        f"Two-Stacks Lite and DABA Lite, {monoid}, {SIZES}: {THE_SAME}{note}",
        "swag_static",
        column("to_cpp_itself", algorithm=LITE, monoid=monoid),
        "higher",
    )


def other(algorithm: str) -> Figure:
    return relative(
        f"cpp-{algorithm}",
        f"{algorithm}, sum, 2^20 items: speed relative to C++ Two-Stacks Lite",
        "swag_static",
        largest("size", column("to_cpp_two_stacks_lite_sum", algorithm=algorithm, monoid="sum")),
        "higher",
    )


def fiba(name: str, what: str) -> Figure:
    return relative(
        f"fiba-{name}",
        f"FiBA, sum, {what}, a window of 2^20 items: speed relative to C++ Two-Stacks Lite",
        "fiba_targets",
        column("ratio", what=what),
        "higher",
    )


def fiba_bytes(rows: list[Row]) -> list[float]:
    return column("rate")([row for row in rows if f"{row['what']}".startswith("bytes per entry")])


def billion(name: str, says: str, x: str, unit: str, better: Better, by: float = 1) -> Figure:
    def numbers(rows: list[Row]) -> list[float]:
        return [number / by for number in column("y", x=x)(rows)]

    text = f"FiBA, sum, a window of 10^9 entries: {says}"
    record = "papers/full/fiba-billion"
    return Figure(f"billion-{name}", text, record, numbers, of(unit), better)


def kvs(name: str, says: str, what: str, unit: str) -> Figure:
    def numbers(rows: list[Row]) -> list[float]:
        return column("is")([row for row in rows if f"{row['what']}".startswith(what)])

    return Figure(f"kvs-{name}", says, "kvs_targets", numbers, of(unit), "lower")


WINDOWS = Section(
    "Windows, one item at a time",
    [
        to_cpp("sum"),
        to_cpp("stddev"),
        to_cpp("max", "; Sash treats NaN as the largest value, the C++ loop does not"),
        *(other(name) for name in ("FlatFIT", "AMTA", "Reactive")),
        Figure(
            "latency",
            "DABA Lite, sum, 2^20 items: 99.999 % of steps (evict, insert, query) take at most",
            "swag_latency",
            largest("size", column("p99.999", algorithm="DABALite")),
            of("ns"),
            "lower",
        ),
        fiba("single", "in order, one at a time"),
        fiba("bulks", "bulks of 1,024 in order"),
        fiba("late-bulks", "bulks of 1,024 at distance 1,024"),
        Figure(
            "fiba-bytes",
            "FiBA, float64 values and int64 times, filled in order",
            "fiba_targets",
            fiba_bytes,
            of("bytes per entry"),
            "lower",
        ),
        billion("peak", "peak memory", "peak resident bytes per entry", "bytes per entry", "lower"),
        billion("fill", "filled in order, in bulks of 65,536", "fill, million entries per second",
                "million entries/s", "higher"),
        billion("slide", "slid in bulks of 1,024, with a query after each",
                "slide in bulks of 1,024, million entries per second", "million entries/s",
                "higher"),
        billion("evict", "a bulk evict of 1,024 entries, median",
                "bulk evict, median, nanoseconds", "µs", "lower", 1000),
        Figure(
            "first-warm",
            "first answer of a new process with a warm kernel cache, `import sash` included",
            "swag_compile",
            column("warm"),
            of("s"),
            "lower",
        ),
        Figure(
            "first-cold",
            "the same with an empty kernel cache",
            "swag_compile",
            column("cold"),
            of("s"),
            "lower",
        ),
        kvs("insert", "AMTA over LMDB (`sync=False`), an insert in a window of 2^20 items: time "
            "relative to AMTA in memory", "an insert over lmdb", "times"),
        kvs("memory", "the same, 100 million entries: memory of the process beside LMDB's file",
            "MiB of a process", "MiB"),
        kvs("pages", "the same, pages read by a bulk eviction of 2^20 of 2^21 entries",
            "pages read by a bulk eviction", "pages"),
    ],
)  # fmt: skip
