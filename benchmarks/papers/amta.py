"""AMTA: the experiments of section 5 of its paper.

"Mem." is a window in memory, "KVS" one over a key-value store: here LMDB, and Redis, which waits.
The paper's store is Couchbase on three other machines. DABA and Naive (recalculation) have no
slide policies of their own: `policies` adds them, as the paper does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import best_of
from benchmarks.papers import amta_checks as checks
from benchmarks.papers import stored
from benchmarks.papers.experiment import (
    Axis,
    Check,
    Data,
    Experiment,
    Paper,
    Point,
    Reported,
    Size,
)
from benchmarks.papers.policies import Obedient
from benchmarks.papers.shapes import is_ahead
from benchmarks.papers.trees import InOrderRounds
from benchmarks.papers.workloads import kind, rows
from sash import monoids as m
from sash import swag
from sash.monoids.runs import START, TAIL_START

Opened = AbstractContextManager[Any]


class Variant(NamedTuple):
    """How a window is kept: an algorithm, and the store that it is over."""

    algorithm: str
    store: str


VARIANTS = {
    "Mem. AMTA": Variant("AMTA", "in memory"),
    "Mem. LMTA": Variant("LogMTA", "in memory"),
    "KVS AMTA (LMDB)": Variant("AMTA", "lmdb"),
    "KVS LMTA (LMDB)": Variant("LogMTA", "lmdb"),
    "KVS AMTA (Redis)": Variant("AMTA", "redis"),
    "KVS LMTA (Redis)": Variant("LogMTA", "redis"),
}
OTHERS = {"DABA": swag.DABA, "Naive": swag.Recalc}
ALL = (*VARIANTS, *OTHERS)


def opened(monoid: Any, policy: Any = None) -> Iterator[tuple[str, Opened]]:
    """A window of each kind, to be entered; without Redis where there is no server."""
    for name, variant in VARIANTS.items():
        if variant.store == "redis" and not stored.has_redis():
            print(f"{name} is skipped: there is no redis-server", file=sys.stderr)
            continue
        yield name, stored.window(variant.algorithm, variant.store, monoid, policy)
    for name, algorithm in OTHERS.items():
        made = algorithm(monoid) if policy is None else Obedient(algorithm, monoid, policy)
        yield name, nullcontext(made)


def constant(size: Size) -> Iterator[Point]:
    """Figure 6: insert an update, evict the oldest, query; the policy keeps the size."""
    for n in [1 << k for k in size.pick((4, 6), range(0, 21, 4), range(26))]:
        for name, opening in opened(stored.counts(), stored.above_the_size):
            if name != "Naive" or n <= size.pick(64, 1 << 12, 1 << 14):
                with opening as window:
                    yield Point(n, name, updates(window, name, n, size))


def updates(window: Any, name: str, n: int, size: Size) -> float:
    """Nanoseconds of an update, once the window is full."""
    count = max(n, size.pick(500, 1 << 18, 1 << 20)) if name != "Naive" else size.pick(50, 500, n)
    xs, out = np.full(count, n), np.empty(count, np.int64)
    most = (n + 1,) if name in OTHERS else ()  # room for them; the policy leaves n
    window.slide(np.full(max(n, 1000), n), *most)
    run = partial(window.slide, xs, *most, out=out)
    return best_of({"run": run}, size.pick(1, 5, 1))["run"] / count * 1e9


def bulk(size: Size) -> Iterator[Point]:
    """Figure 7: an update that evicts ever more items; the window is refilled."""
    power = size.pick(10, 20, 23)
    for name, opening in opened(m.Sum().of(np.dtype("int64"))):
        with opening as window:
            for k in range(0, power + 1, size.pick(5, 2, 1)):
                yield Point(1 << k, name, eviction(window, 1 << power, 1 << k, size))


def eviction(window: Any, n: int, k: int, size: Size) -> float:
    """Microseconds of an update that evicts k items and gives a result: compiled, for all."""
    xs, update, spent = np.arange(n), np.ones(1, np.int64), []
    for _ in range(size.pick(1, 5, 5)):
        window.insert_many(xs[: n - len(window)])
        window.slide(update, n + 1)
        start = time.perf_counter()
        window.evict_many(min(k, len(window) - 1))
        window.slide(update, n + 1)
        spent.append(time.perf_counter() - start)
        window.evict_many(max(0, len(window) - n))
    return min(spent) * 1e6


def older_than_the_maximum(total: Any, old: Any) -> bool:
    return old < total


def older_than_the_longest_run(total: Any, old: Any) -> bool:
    return old[TAIL_START] < total[START]


OPERATIONS: dict[str, tuple[Any, Any]] = {
    "Sum": (m.Sum, None), "Mean": (m.Mean, None), "G. Mean": (m.GeoMean, None),
    "Std. Dev.": (m.StdDev, None), "Max": (m.Max, older_than_the_maximum),
    "LIS": (m.LongestRun, older_than_the_longest_run),
}  # fmt: skip
TABLE_2 = {
    "Sum": ("3.69e8", "14320", "10341", "4288", "6253", "4163"),
    "Mean": ("3.26e8", "14027", "10378", "4389", "6111", "4033"),
    "G. Mean": ("2.83e8", "15267", "11166", "4795", "6198", "4183"),
    "Std. Dev.": ("3.5e8", "15439", "12934", "4880", "6131", "3864"),
    "Max": ("2554", "8501", "6188", "3500", "2886", "1763"),
    "LIS": ("19294", "22306", "19794", "10027", "7350", "6476"),
}
COLUMNS = ("Naive", "KVS LMTA (LMDB)", "Mem. LMTA", "DABA", "KVS AMTA (LMDB)", "Mem. AMTA")


def operations(size: Size) -> Iterator[Point]:
    """Table 2: at most 2^20 items, and none that is never part of an answer again.

    The readings are a random walk, as memory usage is: one a second.
    """
    n, most = size.pick(3000, 3 << 19, 62_208_000), size.pick(512, 1 << 20, 1 << 20)
    readings = 1000 + np.abs(np.cumsum(np.random.default_rng(1).normal(0, 1, n)))
    for name, (monoid, policy) in OPERATIONS.items():
        xs: Any = (np.arange(n), readings) if name == "LIS" else readings
        for series, opening in opened(monoid().of(kind(xs)), policy):
            with opening as window:
                measure = recalculated if series == "Naive" else analysed
                yield Point(name, series, measure(window, xs, most, size))


def analysed(window: Any, xs: Any, most: int, size: Size) -> float:
    """Nanoseconds of an update, once the window is full."""
    first, rest = xs_between(xs, 0, most), xs_between(xs, most, None)
    window.slide(first, most)
    run = partial(window.slide, rest, most)
    return best_of({"run": run}, size.pick(1, 3, 1))["run"] / rows(rest) * 1e9


def recalculated(window: Any, xs: Any, most: int, size: Size) -> float:
    """The same of Naive, over as many updates as fit in a time: some are 2^20 combines."""
    if isinstance(window, Obedient):
        window.slide(xs_between(xs, 0, most), most)
    else:
        window.insert_many(xs_between(xs, 0, most))
    window.slide(xs_between(xs, most, most + 1), most)
    begun, done, step = time.perf_counter(), 1, size.pick(50, 10, 10)
    while (spent := time.perf_counter() - begun) < size.pick(0.01, 0.5, 20):
        if most + done >= rows(xs):
            break
        window.slide(xs_between(xs, most + done, most + done + step), most)
        done, step = done + step, 2 * step if spent < 0.05 else step
    return spent / (done - 1) * 1e9


def xs_between(xs: Any, first: int, stop: int | None) -> Any:
    """Some of the items."""
    return tuple(x[first:stop] for x in xs) if isinstance(xs, tuple) else xs[first:stop]


def memory(size: Size) -> Iterator[Point]:
    """Figure 8, the other way round: the memory that a window of a size takes, in a process."""
    for n in [1 << k for k in size.pick((10,), (16, 18, 20, 22), range(16, 26))]:
        for name, (algorithm, kind_) in IN_PROCESS.items():
            row = stored.measured(kind_, n, min(n, 1 << 18), algorithm)
            yield Point(n, name, row["anonymous MiB"])


IN_PROCESS = {
    **{name: variant for name, variant in VARIANTS.items() if variant.store != "redis"},
    **{name: Variant(one.__name__, "in memory") for name, one in OTHERS.items()},
}
HEAPS = {
    "KVS AMTA (LMDB)": "512", "KVS LMTA (LMDB)": "512", "Naive": "16,384", "DABA": "32,768",
    "Mem. AMTA": "32,768", "Mem. LMTA": "32,768",
}  # fmt: skip


def dimensions(size: Size) -> Iterator[Point]:
    """Figure 9: AMTA over LMDB, 2^15 items, one window for k counts, or one for each."""
    n, most = size.pick(2000, 1 << 18, 1 << 20), size.pick(256, 1 << 15, 1 << 15)
    alone = 0.0
    for k in size.pick((1, 2), (1, 2, 5, 10, 20, 50), (1, 2, 5, 10, 15, 20, 25, 30, 40, 50)):
        with stored.window("AMTA", "lmdb", stored.counts(k), stored.above_the_size) as window:
            xs, out = np.full(n, most), np.empty(n, np.int64)
            window.slide(xs, out=out)
            run = partial(window.slide, xs, out=out)
            spent = best_of({"run": run}, size.pick(1, 3, 5))["run"] / n * 1e9
        alone = alone or spent
        yield Point(k, "one window", spent)
        yield Point(k, "a window for each", alone * k)


def coarse(size: Size) -> Iterator[Point]:
    """Bulks in order: evict m, insert m, query once. A single query runs as plain Python, which
    would be unfair to recalculation: figure 7 has it, compiled."""
    n = size.pick(1 << 10, 1 << 20, 1 << 23)
    for m_ in [1 << k for k in range(0, n.bit_length(), size.pick(5, 4, 1))]:
        for algorithm in (swag.AMTA, swag.LogMTA, swag.DABA):
            rounds = InOrderRounds(algorithm, "sum", n, m_)
            count = max(1, min(size.pick(2, 500, 5000), (1 << 20) // m_))
            rounds.run(1)
            best = best_of({"run": partial(rounds.run, count)}, size.pick(1, 2, 3))["run"]
            yield Point(m_, algorithm.__name__, best / count * 1e6)


def experiment(name: str, figure: str, title: str, x: Axis, y: str, names: tuple[str, ...],
               measure: Callable[[Size], Iterator[Point]], said: str,
               checks: Callable[[Data], list[Check]],
               reported: tuple[Reported, ...] = ()) -> Experiment:  # fmt: skip
    return Experiment(
        name, figure, title, x, Axis(y), names, measure, lambda size: f"{said}; size: {size}",
        checks, reported,
    )  # fmt: skip


PAPER = Paper(
    "amta",
    "Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient Bulk "
    "Evictions",
    2018,
    (
        experiment("fig6", "Figure 6", "latency of an update, windows of constant size",
                   Axis("items in the window"), "nanoseconds per update", ALL, constant,
                   "a count and a maximum size (listings 2 and 3), compiled, in batches",
                   checks.constant, (checks.beyond("KVS AMTA (LMDB)", "Mem. AMTA", "about 1,000"),
                                     checks.beyond("KVS AMTA (LMDB)", "DABA", "less than 500"))),
        experiment("fig7", "Figure 7", "latency of bulk evictions", Axis("items evicted"),
                   "microseconds", ALL, bulk, "windows of 2^20 integers (full: 2^23), sum",
                   checks.bulk, (checks.most_of("Mem. AMTA", "455"),
                                 checks.most_of("Mem. LMTA", "258"),
                                 checks.most_of("KVS AMTA (LMDB)", "about 5,000"))),
        experiment("table2", "Table 2", "latency of six operations", Axis("operation", "names"),
                   "nanoseconds per update", COLUMNS, operations,
                   "a random walk in place of readings of memory usage, windows of at most 2^20; "
                   "Max and LIS have slide policies, which DABA and Naive ask of one item at a "
                   "time; Naive runs for half a second (full: 20) per operation",
                   checks.operation,
                   tuple(checks.table_cell(op, column, cell) for op, cells in TABLE_2.items()
                         for column, cell in zip(COLUMNS, cells, strict=True))),
        experiment("fig8", "Figure 8", "memory by window size", Axis("items in the window"),
                   "MiB of the process", tuple(IN_PROCESS),
                   memory, "integers, sum; the file of LMDB is not counted; the paper's figure "
                   "shows the window that fits a Java heap", checks.memory,
                   tuple(checks.heap_of(name, paper) for name, paper in HEAPS.items())),
        experiment("fig9", "Figure 9", "latency by dimensions", Axis("counts", "linear"),
                   "nanoseconds per update", ("one window", "a window for each"), dimensions,
                   "AMTA over LMDB, windows of 2^15 updates with k counts", checks.dimension,
                   (Reported("shared by all counts, nanoseconds", "4158",
                             lambda found: f"{checks.line(found)[0]:,.1f}"),
                    Reported("of each count, nanoseconds", "411",
                             lambda found: f"{checks.line(found)[1]:,.1f}"))),
        experiment("coarse", "Section 4.2.4", "bulks in order: evict m, insert m, query once",
                   Axis("items in a bulk"), "microseconds per bulk",
                   ("AMTA", "LogMTA", "DABA"), coarse,
                   "windows of 2^20 doubles (full: 2^23), sum",
                   lambda found: [is_ahead(found, "LogMTA", "AMTA", 1),
                                  is_ahead(found, "DABA", "AMTA", max(found["DABA"]))]),
    ),
)  # fmt: skip
