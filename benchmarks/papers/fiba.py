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

import numpy as np

from benchmarks.measure import best_of
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
from benchmarks.papers.shapes import is_ahead, is_flat
from benchmarks.papers.trees import InOrderRounds, Rounds, TreeRounds, in_order
from sash import swag

IN_ORDER = (swag.AMTA, swag.TwoStacksLite, swag.DABALite)
TREES = ("FiBA 4 bulk", "FiBA 8 bulk", "FiBA 4 singly", "FiBA 8 singly")
ALL = (*TREES, *(algorithm.__name__ for algorithm in IN_ORDER))
LATENCIES = {"mean": None, "median": 50, "99.9 %": 99.9, "99.999 %": 99.999}


def entries(size: Size) -> int:
    """How many entries the window has: 2^22, as in the paper, but in a tiny run."""
    return size.pick(1 << 13, 1 << 22, 1 << 22)


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


def bulks(size: Size) -> int:
    return size.pick(4, 2000, 100_000)


def latency(what: str, d: int, size: Size) -> Iterator[Point]:
    """Figures 7 to 9: nanoseconds of each bulk evict, or of each bulk insert, m = 1,024."""
    n, m = entries(size), 1024
    for rounds in trees("sum", n, m, d) if d else competitors("sum", n, m):
        rounds.run(size.pick(1, 20, 20))
        pick = rounds.evictions if what == "evict" else rounds.insertions
        yield from distribution(rounds.name, pick(bulks(size)))


def free_list(size: Size) -> Iterator[Point]:
    """Figure 10: bulk evictions of 4,096 entries with and without the deferred free list."""
    n, m = entries(size), 4096
    for min_arity in (4, 8):
        for deferred in (True, False):
            rounds = TreeRounds("sum", min_arity, n, m, deferred=deferred)
            rounds.run(size.pick(1, 20, 20))
            yield from distribution(rounds.name, rounds.evictions(bulks(size)))


def rate(rounds: Rounds, size: Size) -> float:
    """Million entries a second, the best of several runs."""
    count = max(1, size.pick(1 << 12, 1 << 20, 1 << 24) // rounds.m)
    count = min(count, size.pick(4, 2000, 1 << 20))
    rounds.run(max(1, count // 20))
    best = best_of({"run": partial(rounds.run, count)}, size.pick(1, 3, 5))["run"]
    return count * rounds.m / best / 1e6


def by_bulk(bulk_insert: bool, size: Size) -> Iterator[Point]:
    """Figures 11 and 12: evict m, insert m, query once; m from 1 on, in order."""
    n = entries(size)
    for m in [1 << k for k in size.pick((0, 4), (0, 4, 8, 10, 12, 14, 16, 18), range(21))]:
        for rounds in competitors("sum", n, m, bulk_insert):
            yield Point(m, rounds.name, rate(rounds, size))


def distances(size: Size) -> list[int]:
    return [1 << k for k in size.pick((0, 4), (0, 4, 8, 12, 16, 20), range(21))]


def by_distance(size: Size) -> Iterator[Point]:
    """Figure 13: bulks of 1,024 entries at distance d."""
    for d in distances(size):
        for rounds in trees("sum", entries(size), 1024, d):
            yield Point(d, rounds.name, rate(rounds, size))


def single_by_distance(size: Size) -> Iterator[Point]:
    """Figure 14: single entries at distance d, in a compiled loop."""
    count = size.pick(1000, 200_000, 2_000_000)
    for d in distances(size):
        for bulk, min_arity in itertools.product((True, False), (4, 8)):
            rounds = TreeRounds("sum", min_arity, entries(size), 1, d, bulk, False)
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


def evict_checks(found: Data) -> list[Check]:
    """Section 7.1: native bulk evictions have the best latencies."""
    slow = ("FiBA 8 singly", "TwoStacksLite", "DABALite")
    return [is_ahead(found, other, one, "median")
            for one in ("FiBA 4 bulk", "FiBA 8 bulk", "AMTA") for other in slow]  # fmt: skip


def insert_checks(found: Data) -> list[Check]:
    """Section 7.1: in order, the algorithms that only work in order are the best."""
    return [is_ahead(found, "FiBA 8 bulk", one, "median") for one in ("DABALite", "TwoStacksLite")]


def late_checks(found: Data) -> list[Check]:
    """Section 7.1: out of order, bulks have lower latency."""
    return [is_ahead(found, f"FiBA {k} singly", f"FiBA {k} bulk", "median") for k in (4, 8)]


def free_list_checks(found: Data) -> list[Check]:
    """Section 7.1: without the deferred free list, evictions take much longer."""
    return [is_ahead(found, f"FiBA {k} bulk, no deferred free list", f"FiBA {k} bulk", "median")
            for k in (4, 8)]  # fmt: skip


def bulk_checks(names: tuple[str, str], found: Data) -> list[Check]:
    """Section 7.2: larger bulks are faster; Two-Stacks Lite is the fastest in order."""
    checks = []
    for name in (*names, "AMTA"):
        values = found[name]
        ratio = max(values.values()) / values[min(values)]
        claim = f"{name} is faster in larger bulks"
        checks.append(Check(claim, f"best / m = 1: {ratio:.1f}", ratio > 1))
    m = min(1024, max(found["AMTA"]))
    return [*checks, *(is_ahead(found, "TwoStacksLite", name, m) for name in names)]


def distance_checks(found: Data) -> list[Check]:
    """Section 7.2: a larger distance does not slow bulks down, and they beat single inserts."""
    flat = [is_flat(found, f"FiBA {k} bulk", 3) for k in (4, 8)]
    return [*flat, *(is_ahead(found, f"FiBA {k} bulk", f"FiBA {k} singly") for k in (4, 8))]


def single_checks(found: Data) -> list[Check]:
    """Section 7.2: without bulks, those that can have them have no advantage with sum."""
    behind = [is_ahead(found, f"FiBA {k} singly", f"FiBA {k} bulk evict") for k in (4, 8)]
    return [*behind, is_flat(found, "FiBA 4 singly", 8)]


def billion_checks(found: Data) -> list[Check]:
    """Section 7.3: memory per entry does not depend on the window's size."""
    name = found.names[0]
    bytes_each = {point.x: point.y for point in found.points}["peak resident bytes per entry"]
    said = f"{bytes_each:.1f} bytes per entry, {name}"
    return [Check("an entry takes at most the paper's 70 bytes", said, bytes_each <= 70)]


def one(number: int, title: str, axes: tuple[Axis, Axis], names: tuple[str, ...],
        measure: Callable[[Size], Iterator[Point]], said: str,
        checks: Callable[[Data], list[Check]]) -> Experiment:  # fmt: skip
    """A figure of section 7.1 or 7.2."""
    return Experiment(
        f"fig{number}", f"Figure {number}", title, *axes, names, measure,
        lambda size: f"windows of {entries(size):,} entries, sum of random numbers, {said}",
        checks,
    )  # fmt: skip


SHARES = Axis("share of the bulks", "names"), Axis("nanoseconds per bulk")
RATES = Axis("entries in a bulk"), Axis("million entries per second")
FAR = Axis("distance d of the insertions"), Axis("million entries per second")
SLOWER = ("FiBA 4 bulk evict", "FiBA 8 bulk evict")
FIGURES = (
    one(7, "latency of bulk evict, in order", SHARES, ALL, partial(latency, "evict", 0),
        "bulks of 1,024; AMTA's bulk evict runs as plain Python, all others are compiled",
        evict_checks),
    one(8, "latency of bulk insert, in order", SHARES, ALL, partial(latency, "insert", 0),
        "bulks of 1,024", insert_checks),
    one(9, "latency of bulk insert, d = 1,024", SHARES, TREES, partial(latency, "insert", 1024),
        "bulks of 1,024", late_checks),
    one(10, "with and without the deferred free list", SHARES, TREES[:2], free_list,
        "bulk evictions of 4,096; memory is an arena of our own, so there is no allocator to "
        "compare", free_list_checks),
    one(11, "throughput, bulk evict only", RATES, ALL, partial(by_bulk, False),
        "bulk evictions and single insertions", partial(bulk_checks, SLOWER)),
    one(12, "throughput, bulk evict and insert", RATES, ALL, partial(by_bulk, True),
        "bulk evictions and insertions", partial(bulk_checks, TREES[:2])),
    one(13, "throughput, m = 1,024, by distance", FAR, TREES, by_distance,
        "bulks of 1,024", distance_checks),
    one(14, "throughput, m = 1, by distance", FAR, (*SLOWER, *TREES[2:]), single_by_distance,
        "single insertions; evictions of one entry, in bulk or singly", single_checks),
)  # fmt: skip
BILLION_ENTRIES = Experiment(
    "billion",
    "Section 7.3",
    "a window of one billion entries",
    Axis("what", "names"),
    Axis("see the label"),
    ("FiBA 8 bulk",),
    billion,
    lambda size: "filled in order, then slid by bulks of 1,024; sum of doubles, minimum arity 8",
    billion_checks,
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
    (*FIGURES, BILLION_ENTRIES, *fiba_data.EXPERIMENTS),
)
