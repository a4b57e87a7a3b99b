"""FiBA with bulk evictions and insertions: the experiments of section 7 of its paper.

"singly" is the same tree with an operation for each entry, in compiled code: the paper's nb_fiba.
Each bulk is a call from Python, and that is part of it. Figures 15 to 17, which have data of
their own, are in `fiba_data`.
"""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.measure import best_of
from benchmarks.papers import fiba_checks as checks
from benchmarks.papers import fiba_data
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
from benchmarks.papers.trees import InOrderRounds, Rounds, TreeRounds, in_order
from sash import swag

IN_ORDER = (swag.AMTA, swag.TwoStacksLite, swag.DABALite)
TREES = ("FiBA 4 bulk", "FiBA 8 bulk", "FiBA 4 singly", "FiBA 8 singly")
SLOWER = ("FiBA 4 bulk evict", "FiBA 8 bulk evict")
ALL = (*TREES, *(algorithm.__name__ for algorithm in IN_ORDER))
LATENCIES = {"mean": None, "median": 50, "99.9 %": 99.9, "99.999 %": 99.999}


OPERATORS = ("sum", "geomean", "bloom")


def entries(size: Size, operator: str = "sum") -> int:
    """How many entries the window has: 2^22, as in the paper; quick, fewer of Bloom filters."""
    return size.pick(1 << 13, 1 << 18 if operator == "bloom" else 1 << 22, 1 << 22)


def trees(monoid: str, n: int, m: int, d: int, bulk_insert: bool = True) -> Iterator[Rounds]:
    """FiBA with both minimum arities, with bulks and without."""
    for bulk in (True, False):
        for min_arity in (4, 8):
            yield TreeRounds(monoid, min_arity, n, m, d, bulk, bulk and bulk_insert)


def competitors(monoid: str, n: int, m: int, bulk_insert: bool = True) -> Iterator[Rounds]:
    """All algorithms, in order."""
    yield from trees(monoid, n, m, 0, bulk_insert)
    for algorithm in IN_ORDER:
        yield InOrderRounds(algorithm, monoid, n, m)


def distribution(name: str, spent: np.ndarray) -> Iterator[Point]:
    for what, p in LATENCIES.items():
        found = spent.mean() if p is None else np.percentile(spent, p)
        yield Point(what, name, float(found))


def bulks(size: Size, operator: str = "sum") -> int:
    return size.pick(4, 500 if operator == "bloom" else 10_000, 100_000)


def latency(what: str, d: int, operator: str, size: Size) -> Iterator[Point]:
    """Figures 7 to 9: nanoseconds of each bulk evict, or of each bulk insert, m = 1,024."""
    n, m = entries(size, operator), 1024
    for rounds in trees(operator, n, m, d) if d else competitors(operator, n, m):
        rounds.run(size.pick(1, 20, 20))
        pick = rounds.evictions if what == "evict" else rounds.insertions
        yield from distribution(rounds.name, pick(bulks(size, operator)))


def free_list(operator: str, size: Size) -> Iterator[Point]:
    """Figure 10: bulk evictions of 4,096 entries with and without the deferred free list."""
    n, m = entries(size, operator), 4096
    for min_arity in (4, 8):
        for deferred in (True, False):
            rounds = TreeRounds(operator, min_arity, n, m, deferred=deferred)
            rounds.run(size.pick(1, 20, 20))
            yield from distribution(rounds.name, rounds.evictions(bulks(size)))


def rate(rounds: Rounds, operator: str, size: Size) -> float:
    """Million entries a second, the best of several runs."""
    quick = 1 << 16 if operator == "bloom" else 1 << 20
    count = max(1, size.pick(1 << 12, quick, 1 << 24) // rounds.m)
    count = min(count, size.pick(4, 10_000, 1 << 20))
    rounds.run(max(1, count // 20))
    best = best_of({"run": partial(rounds.run, count)}, size.pick(1, 3, 5))["run"]
    return count * rounds.m / best / 1e6


def by_bulk(bulk_insert: bool, operator: str, size: Size) -> Iterator[Point]:
    """Figures 11 and 12: evict m, insert m, query once; m from 1 on, in order."""
    n = entries(size, operator)
    some = (0, 4, 8, 10, 12, 14, 16, 18) if operator == "sum" else (0, 4, 8, 12, 16)
    for m in [1 << k for k in size.pick((0, 4), some, range(21))]:
        for rounds in competitors(operator, n, m, bulk_insert):
            yield Point(m, rounds.name, rate(rounds, operator, size))


def distances(size: Size, operator: str) -> list[int]:
    some = (0, 4, 8, 12, 16, 20) if operator == "sum" else (0, 8, 16)
    return [1 << k for k in size.pick((0, 4), some, range(21))]


def by_distance(operator: str, size: Size) -> Iterator[Point]:
    """Figure 13: bulks of 1,024 entries at distance d."""
    for d in distances(size, operator):
        for rounds in trees(operator, entries(size, operator), 1024, d):
            yield Point(d, rounds.name, rate(rounds, operator, size))


def single_by_distance(operator: str, size: Size) -> Iterator[Point]:
    """Figure 14: single entries at distance d, in a compiled loop."""
    count = size.pick(1000, 20_000 if operator == "bloom" else 200_000, 2_000_000)
    for d in distances(size, operator):
        for bulk, min_arity in itertools.product((True, False), (4, 8)):
            n = entries(size, operator)
            rounds = TreeRounds(operator, min_arity, n, 1, d, bulk, False)
            run = partial(rounds.run_compiled, count)
            best = best_of({"run": run}, size.pick(1, 3, 5))["run"]
            yield Point(d, rounds.name, count / best / 1e6)


def billion(size: Size) -> Iterator[Point]:
    """Section 7.3: fill a window of n entries in order, then slide it by bulks of 1,024."""
    n = size.pick(1 << 14, 10_000_000, 1_000_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    tree = in_order("sum", 8, n, progress=size is Size.FULL)
    filled = time.perf_counter() - start
    rounds = TreeRounds("sum", 8, n, 1024, tree=tree)
    rounds.run(size.pick(1, 100, 100))
    spent = rounds.evictions(size.pick(4, 2000, 2000))
    count = size.pick(4, 1000, 1000)
    best = best_of({"slide": partial(rounds.run, count)}, 5)["slide"]
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    yield from sizes_and_rates(n, n / filled / 1e6, count * 1024 / best / 1e6, tree.nbytes / n,
                               peak / n, float(np.median(spent)), float(spent.max()))  # fmt: skip


BILLION = (
    "fill, million entries per second",
    "slide in bulks of 1,024, million entries per second",
    "bytes per entry",
    "peak resident bytes per entry",
    "bulk evict, median, nanoseconds",
    "bulk evict, maximum, nanoseconds",
)


def sizes_and_rates(n: int, *values: float) -> Iterator[Point]:
    """The values of BILLION for a window of n entries."""
    for what, value in zip(BILLION, values, strict=True):
        yield Point(what, f"{n:,} entries", value)


class Figure(NamedTuple):
    """A figure of section 7.1 or 7.2; it is measured for each aggregation."""

    number: int
    title: str
    axes: tuple[Axis, Axis]
    names: tuple[str, ...]
    measure: Callable[[str, Size], Iterator[Point]]
    said: str
    checks: Callable[[Data], list[Check]]

    def of(self, operator: str) -> Experiment:
        return Experiment(
            f"fig{self.number}" + ("" if operator == "sum" else f"-{operator}"),
            f"Figure {self.number}", f"{self.title}, {operator}", *self.axes, self.names,
            partial(self.measure, operator),
            lambda size: f"windows of {entries(size, operator):,} entries, {operator} of random "
            f"numbers, {self.said}",
            self.checks,
        )  # fmt: skip


SHARES = Axis("share of the bulks", "names"), Axis("nanoseconds per bulk")
RATES = Axis("entries in a bulk"), Axis("million entries per second")
FAR = Axis("distance d of the insertions"), Axis("million entries per second")
FIGURES = (
    Figure(7, "latency of bulk evict, in order", SHARES, ALL, partial(latency, "evict", 0),
           "bulks of 1,024",
           checks.evict),
    Figure(8, "latency of bulk insert, in order", SHARES, ALL, partial(latency, "insert", 0),
           "bulks of 1,024", checks.insert),
    Figure(9, "latency of bulk insert, d = 1,024", SHARES, TREES,
           partial(latency, "insert", 1024), "bulks of 1,024", checks.late),
    Figure(10, "with and without the deferred free list", SHARES, TREES[:2], free_list,
           "bulk evictions of 4,096; memory is an arena of our own, so there is no allocator to "
           "compare", checks.free_list),
    Figure(11, "throughput, bulk evict only", RATES, ALL, partial(by_bulk, False),
           "bulk evictions and single insertions", partial(checks.bulk, SLOWER)),
    Figure(12, "throughput, bulk evict and insert", RATES, ALL, partial(by_bulk, True),
           "bulk evictions and insertions", partial(checks.bulk, TREES[:2])),
    Figure(13, "throughput, m = 1,024, by distance", FAR, TREES, by_distance,
           "bulks of 1,024", checks.distance),
    Figure(14, "throughput, m = 1, by distance", FAR, (*SLOWER, *TREES[2:]), single_by_distance,
           "single insertions; evictions of one entry, in bulk or singly", checks.single),
)  # fmt: skip
EXPERIMENTS = tuple(
    figure.of(operator)
    for figure in FIGURES
    for operator in (OPERATORS if figure.number != 10 else OPERATORS[:1])
)
BILLION_ENTRIES = Experiment(
    "billion",
    "Section 7.3",
    "a window of one billion entries",
    Axis("what", "names"),
    Axis("see the label"),
    ("FiBA 8 bulk",),
    billion,
    lambda size: "filled in order, then slid by bulks of 1,024; sum of doubles, minimum arity 8",
    checks.billion,
    (
        Reported(
            "bytes per entry, from the peak resident memory (geomean, minimum arity 4)",
            "64 to 70",
            lambda found: f"{found[found.names[0]]['peak resident bytes per entry']:.1f}",
        ),
    ),
)

PAPER = Paper(
    "fiba",
    "Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions",
    2023,
    (*EXPERIMENTS, BILLION_ENTRIES, *fiba_data.EXPERIMENTS),
)
