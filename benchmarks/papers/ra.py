"""Reactive Aggregator: the figures of section 6 of its paper.

ra_tables.py has the tables, ra_capacity.py the windows that are resized or not full.

ISS, the paper's baseline, recalculates each window: here Recalc. AW is B-Int.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Paper, Point, Reported, Size
from benchmarks.papers.memory import resident
from benchmarks.papers.ra_capacity import FIFO, FIG_9, RESIZE
from benchmarks.papers.ra_sizes import (
    FUNCTIONS,
    PER_ITEM,
    WINDOW,
    integers_of,
    items,
    powers,
    repeats,
)
from benchmarks.papers.ra_tables import FEWER_COMBINES, TABLE_3, TABLE_4
from benchmarks.papers.shapes import (
    crossing,
    explained,
    is_ahead,
    is_flat,
    is_power,
    log_fit,
)
from benchmarks.papers.workloads import integers, nanoseconds, sliding
from sash import monoids as m
from sash.swag import BInt, Reactive, Recalc

SLIDES: dict[str, Callable[[int], int]] = {
    "m = 1": lambda n: 1,
    "m = 4": lambda n: 4,
    "m = 64": lambda n: 64,
    "m = n/16": lambda n: n // 16,
    "m = n/4": lambda n: n // 4,
    "m = n": lambda n: n,
}


# Figure 6


def throughput(size: Size) -> Iterator[Point]:
    """Million items per second, by window size."""
    for n in powers(size, 0, 10, 10):
        count = max(2000, items(size) * 4 // (n + 16))
        for name, monoid in FUNCTIONS.items():
            runs = {
                f"{name} (ISS)": sliding(Recalc, monoid, integers(count), n),
                f"{name} (RA)": sliding(Reactive, monoid, integers(count), n),
            }
            for series, spent in nanoseconds(runs, repeats(size)).items():
                yield Point(n, series, 1e3 / spent)


def pays_off(data: Data) -> list[Check]:
    """RA is faster on large windows, and from smaller ones on for the costlier function."""
    found, starts = [], {}
    for name in FUNCTIONS:
        ra, iss = f"{name} (RA)", f"{name} (ISS)"
        found.append(is_ahead(data, ra, iss, max(data[ra])))
        starts[name] = crossing(data, ra, iss) or math.inf
    said = f"StdDev from {starts['StdDev']:g}, Max from {starts['Max']:g} items on"
    claim = "RA pays off sooner for the costlier function"
    return [*found, Check(claim, said, starts["StdDev"] <= starts["Max"])]


def at_1024(name: str, paper: str) -> Reported:
    def ours(data: Data) -> str:
        ra, iss = data[f"{name} (RA)"], data[f"{name} (ISS)"]
        return f"{ra[1024] / iss[1024]:.1f}" if 1024 in ra else "not run"

    return Reported(f"{name}, windows of 1,024: throughput of RA / ISS", paper, ours)


def on_small(name: str, paper: str) -> Reported:
    def ours(data: Data) -> str:
        ra, iss = data[f"{name} (RA)"], data[f"{name} (ISS)"]
        ratios = [ra[n] / iss[n] for n in ra if n <= 8]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    return Reported(f"{name}, windows of 1 to 8: throughput of RA / ISS", paper, ours)


FIG_6 = Experiment(
    "fig6", "Figure 6", "throughput by window size", WINDOW, Axis("million items per second"),
    ("ISS", "RA"), throughput,
    lambda size: f"Slide 1, up to {integers_of(size)}, fewer on large windows", pays_off,
    (at_1024("Max", "almost 3"), at_1024("StdDev", "over 10"),
     on_small("Max", "about 0.90"), on_small("StdDev", "about 0.95")),
)  # fmt: skip


# Figure 7


def cost(size: Size) -> Iterator[Point]:
    """Microseconds per item after one insertion and one eviction."""
    for n in powers(size, 3, 20, 23):
        runs = {k: sliding(Reactive, v, integers(items(size)), n) for k, v in FUNCTIONS.items()}
        for series, spent in nanoseconds(runs, repeats(size)).items():
            yield Point(n, series, spent / 1e3)


def is_logarithmic(data: Data) -> list[Check]:
    """The measured values are near their best fit a + b log2 n."""
    found = []
    for name in data.names:
        a, b, most = log_fit(data[name])
        said = f"{a:.3f} + {b:.4f} log2 n, off by {most:.0%} at most"
        found.append(Check(f"{name} grows as log n", said, b > 0 and most < 0.5))
    return found


FIG_7 = Experiment(
    "fig7", "Figure 7", "cost of RA by window size", WINDOW, PER_ITEM, ("RA",), cost,
    lambda size: f"Slide 1, {integers_of(size)}", is_logarithmic,
)  # fmt: skip


# Figure 8


def tumbling(size: Size) -> Iterator[Point]:
    """Microseconds per firing where the whole window is replaced."""
    for n in powers(size, 3, 16, 20):
        xs = integers(max(items(size), 4 * n))
        for name, monoid in FUNCTIONS.items():
            runs = {f"{name} ({scheme})": sliding(algorithm, monoid, xs, n, n)
                    for scheme, algorithm in (("ISS", Recalc), ("RA", Reactive))}  # fmt: skip
            for series, spent in nanoseconds(runs, repeats(size)).items():
                yield Point(n, series, spent * n / 1e3)


def costs_the_same(data: Data) -> list[Check]:
    found = []
    for name in FUNCTIONS:
        ra, iss = data[f"{name} (RA)"], data[f"{name} (ISS)"]
        ratio = ra[max(ra)] / iss[max(ra)]
        claim = f"RA costs about the same as ISS, {name}"
        said = f"RA / ISS = {ratio:.2f} at {max(ra):,}"
        found.append(Check(claim, said, 0.5 < ratio < 2, TREE_IS_WRITTEN))
        found.append(is_power(data, f"{name} (RA)", 1))
    return found


TREE_IS_WRITTEN = (
    "Recalculating a cheap function is a compiled loop that only reads, at less than a nanosecond "
    "per item, while RA writes a tree of twice as many nodes; the paper's times include the cost "
    "of each tuple in a stream engine, beside which that is small."
)


FIG_8 = Experiment(
    "fig8", "Figure 8", "tumbling windows", WINDOW, Axis("microseconds per firing"),
    ("ISS", "RA"), tumbling, lambda size: f"m = n, at least {integers_of(size)}", costs_the_same,
)  # fmt: skip


# Figures 10 and 11


def coarse(size: Size) -> Iterator[Point]:
    """Microseconds per item where m items come and go per firing, StdDev."""
    for n in powers(size, 6, 18, 22, step=2):
        xs = integers(max(items(size), 4 * n))
        runs = {name: sliding(Reactive, m.StdDev(), xs, n, of(n)) for name, of in SLIDES.items()}
        for series, spent in nanoseconds(runs, repeats(size)).items():
            yield Point(n, series, spent / 1e3)


def fractions_are_flat(data: Data) -> list[Check]:
    """Constant m grows as log n; m that is a fraction of n is constant on large windows."""
    found = []
    for name in ("m = n/16", "m = n/4", "m = n"):
        large = Data(p for p in data.points if p.series == name and float(p.x) >= 1024)
        found.append(is_flat(large if large.points else data, name))
    last = max(data["m = 1"])
    found += [is_ahead(data, "m = 1", other, last) for other in ("m = 64", "m = n")]
    return found


FIG_10 = Experiment(
    "fig10", "Figure 10", "coarse-grained sliding", WINDOW, PER_ITEM, ("RA",), coarse,
    lambda size: f"StdDev of at least {integers_of(size)}; flat is measured from 1,024 items on",
    fractions_are_flat,
)  # fmt: skip


def against_aw(size: Size) -> Iterator[Point]:
    """Microseconds per item for Max, RA and AW, of some m."""
    for n in powers(size, 6, 20, 23, step=2):
        xs = integers(max(items(size), 4 * n))
        for name in ("m = 1", "m = 64", "m = n/4"):
            runs = {f"{scheme}, {name}": sliding(algorithm, m.Max(), xs, n, SLIDES[name](n))
                    for scheme, algorithm in (("RA", Reactive), ("AW", BInt))}  # fmt: skip
            for series, spent in nanoseconds(runs, repeats(size)).items():
                yield Point(n, series, spent / 1e3)


FIG_11 = Experiment(
    "fig11", "Figure 11", "RA and Arasu-Widom (AW)", WINDOW, PER_ITEM, ("RA", "AW"), against_aw,
    lambda size: f"Max of at least {integers_of(size)}",
    lambda data: explained(
        (is_ahead(data, f"AW, {name}", f"RA, {name}") for name in ("m = 1", "m = 64", "m = n/4")),
        FEWER_COMBINES,
    ),
)  # fmt: skip


# Figure 12


def memory(size: Size) -> Iterator[Point]:
    """Peak resident megabytes of a process, by window size."""
    for n in size.pick([1, 64], [1, 1 << 8, 1 << 12, 1 << 20], [1 << k for k in range(0, 24, 2)]):
        for scheme, algorithm in (("ISS", "Recalc"), ("RA", "Reactive")):
            yield Point(n, scheme, resident(algorithm, n) / 1e6)


def is_minor(data: Data) -> list[Check]:
    """Up to 4K items, the window hardly shows; beyond, RA's memory is linear."""
    ra = data["RA"]
    small = [ra[n] for n in ra if n <= 4096]
    said = f"{min(small):.0f} to {max(small):.0f} MB up to 4,096 items"
    found = [Check("small windows hardly show", said, max(small) < 1.1 * min(small))]
    if max(ra) > 4096:
        each = (ra[max(ra)] - ra[min(ra)]) * 1e6 / max(ra)
        said = f"{each:.1f} bytes per item at {max(ra):,} items of 4 bytes"
        found.append(Check("RA takes O(n) space with a small constant", said, 0 < each < 64))
    return found


FIG_12 = Experiment(
    "fig12", "Figure 12", "resident memory", WINDOW, Axis("megabytes", "linear"), ("ISS", "RA"),
    memory, lambda size: "Max of 32-bit integers; the peak of a process that keeps one window",
    is_minor,
)  # fmt: skip


PAPER = Paper(
    "ra",
    "General Incremental Sliding-Window Aggregation",
    2015,
    (TABLE_3, FIG_6, FIG_7, FIG_8, FIG_9, RESIZE, FIFO, FIG_10, FIG_11, TABLE_4, FIG_12),
)
