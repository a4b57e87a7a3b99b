"""FlatFIT: the experiments of section 5 of its paper, and the operations of its section 4, counted.

Naive is Recalc, FlatFAT is Reactive. The data is generated: the paper's cannot be had.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import best_of
from benchmarks.papers.data import debs_2012_like
from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Paper, Point, Reported, Size
from benchmarks.papers.memory import resident
from benchmarks.papers.ranges import all_ranges, combines_of_ranges
from benchmarks.papers.shapes import is_ahead, is_flat, is_power, with_start
from benchmarks.papers.workloads import nanoseconds, sliding
from sash import Monoid
from sash import monoids as m
from sash.swag import BInt, FlatFIT, Reactive, Recalc
from sash.swag.in_order import InOrder
from sash.testing import counting

ALGORITHMS: dict[str, type[InOrder]] = {
    "Naive": Recalc, "FlatFAT": Reactive, "B-Int": BInt, "FlatFIT": FlatFIT,
}  # fmt: skip
WINDOW = Axis("items in the window")
SLIDES = Axis("slides per second")
NAMES = tuple(ALGORITHMS)


def readings(items: int) -> np.ndarray:
    """Generated energy readings."""
    return debs_2012_like(items).value


def ratios(data: Data, over: str, under: str) -> list[float]:
    """Values of one series by those of another, where both have one."""
    one, other = data[over], data[under]
    return [one[x] / other[x] for x in one if x in other]


def mean_and_most(over: str, under: str) -> str:
    return f"{over} / {under}: mean and maximum over the window sizes"


def said(values: list[float]) -> str:
    return f"{sum(values) / len(values):.1f} and {max(values):.1f}"


# Figure 8: operations per slide


def counted(size: Size) -> Iterator[Point]:
    """Combines per slide with one query over the whole window."""
    for n in [1 << k for k in range(1, size.pick(4, 10, 12) + 1)]:
        for name, algorithm in ALGORITHMS.items():
            monoid, counter = counting(Monoid("nothing", 0, lambda x: 0, lambda a, b: 0))
            window = algorithm(monoid, compiled=False)
            window.slide([0] * n, n)
            counter.reset()
            turns = n + 1  # FlatFIT's cycle
            window.slide([0] * turns, n)
            yield Point(n, name, counter.combines / turns)


def as_table_1(data: Data) -> list[Check]:
    """The time complexities of table 1, one query."""
    naive, fit, fat = data["Naive"], data["FlatFIT"], data["FlatFAT"]
    off = max(abs(naive[n] - n) for n in naive)
    most = max(fit.values())
    per_level = max(fat[n] / math.log2(n) for n in fat if n > 1)
    said_fat = f"up to {per_level:.1f} log2 n, of which the update is log2 n"
    return [
        Check("Naive makes n operations a slide (the paper counts n - 1)", f"off by {off:g}",
              off <= 1),
        Check("FlatFIT makes at most 3 operations a slide", f"{most:.2f} at most", most <= 3),
        Check("FlatFAT makes log n operations a slide", said_fat, per_level <= 1, IN_ORDER),
    ]  # fmt: skip


IN_ORDER = (
    "The paper reads the answer off the root, which combines items in the order of the ring and so "
    "is right for commutative functions only; here the items after the oldest and those up to the "
    "youngest are combined in their order, at up to log2 n - 1 more."
)


FIG_8 = Experiment(
    "fig8", "Figure 8", "operations per slide, one query", WINDOW, Axis("combines per slide"),
    NAMES, counted, lambda size: "Counted over n + 1 slides of a full window", as_table_1,
)  # fmt: skip


# Figure 10: operations per slide, all ranges


def counted_ranges(size: Size) -> Iterator[Point]:
    """Combines per slide with a query for each range, 1 to n, of a window that is full."""
    for n in [1 << k for k in range(1, size.pick(4, 8, 10) + 1)]:
        for name, algorithm in ALGORITHMS.items():
            yield Point(n, name, combines_of_ranges(algorithm, n))


def as_table_1_for_ranges(data: Data) -> list[Check]:
    """The time complexities of table 1, a query for each range."""
    naive, fit = data["Naive"], data["FlatFIT"]
    off = max(abs(naive[n] - n * (n + 1) / 2) for n in naive)
    trees = {name: max(data[name][n] / (n * math.log2(n)) for n in data[name] if n > 2)
             for name in ("FlatFAT", "B-Int")}  # fmt: skip
    return [
        Check("Naive makes n (n - 1) / 2 operations a slide, here one more per range, with the "
              "identity", f"off by {off:g}", off == 0),
        *(Check(f"{name} makes about n log n operations a slide",
                f"up to {times:.1f} n log2 n", times <= 2) for name, times in trees.items()),
        Check("FlatFIT makes n - 1 operations a slide",
              f"{fit[max(fit)]:g} at {max(fit):g}", all(fit[n] == n - 1 for n in fit)),
    ]  # fmt: skip


FIG_10 = Experiment(
    "fig10", "Figure 10", "operations per slide, a query for each range", WINDOW,
    Axis("combines per slide"), NAMES, counted_ranges,
    lambda size: "Counted over n + 1 slides of a full window", as_table_1_for_ranges,
)  # fmt: skip


# Figure 13: one query


def single(size: Size) -> Iterator[Point]:
    """Slides per second, Max over the whole window after each item."""
    items = size.pick(2000, 500_000, 2_000_000)
    for n in [1 << k for k in range(size.pick(4, 20, 27) + 1)]:
        runs = {}
        for name, algorithm in ALGORITHMS.items():
            if name != "Naive" or n <= size.pick(16, 1 << 12, 1 << 16):
                count = max(200, items * 8 // (n + 8)) if name == "Naive" else items
                runs[name] = sliding(algorithm, m.Max(), readings(count), n)
        for name, spent in nanoseconds(runs, size.pick(1, 5, 5)).items():
            yield Point(n, name, 1e9 / spent)


def constant_and_ahead(data: Data) -> list[Check]:
    """FlatFIT does not depend on the window, and is ahead of the others from 8 items on."""
    large = Data(p for p in data.points if float(p.x) >= 8)
    found = [is_flat(large, "FlatFIT", 3.0)]
    return found + all_ahead(large)


def all_ahead(data: Data) -> list[Check]:
    """FlatFIT is ahead of the others, and from which window on."""
    return [with_start(is_ahead(data, "FlatFIT", other)._replace(why=FEW_ITEMS), data, "FlatFIT",
                       other) for other in NAMES[:3]]  # fmt: skip


FEW_ITEMS = (
    "Compiled loops combine so few items in a few nanoseconds, and FlatFIT has two arrays and a "
    "stack of indices to keep besides."
)


FIG_13 = Experiment(
    "fig13", "Figure 13", "throughput, one query", WINDOW, SLIDES, NAMES, single,
    lambda size: (
        f"Max of {size.pick(2000, 500_000, 2_000_000):,} generated energy readings "
        "(debs_2012_like, not the paper's data); Naive only on smaller windows"
    ),
    constant_and_ahead,
    (Reported(mean_and_most("FlatFIT", "FlatFAT"), "1.8 and 2.6",
              lambda data: said(ratios(data, "FlatFIT", "FlatFAT"))),),
)  # fmt: skip


# Figures 14 and 15: a query for each range


def multiple(size: Size) -> Iterator[Point]:
    """Slides per second where each slide answers for all ranges, 1 to n."""
    for n in size.pick([1, 8], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000],
                       [1 << k for k in range(10)] + [1000, 1 << 12, 1 << 14]):  # fmt: skip
        xs = readings(max(4, size.pick(50, 200_000, 1_000_000) // n // 8))
        few = xs[: max(2, len(xs) * 8 // (n + 8))]
        runs, slides = {}, {}
        for name, algorithm in ALGORITHMS.items():
            if name != "Naive" or n <= 1000:
                used = few if name == "Naive" else xs
                runs[name], slides[name] = all_ranges(algorithm, m.Max(), used, n), len(used)
        for run in runs.values():
            run()
        for name, spent in best_of(runs, size.pick(1, 5, 5)).items():
            yield Point(n, name, slides[name] / spent)


def as_theory(data: Data) -> list[Check]:
    """FlatFIT's slides take n operations, Naive's n^2 / 2; FlatFIT is ahead from 2 items on."""
    large = Data(p for p in data.points if float(p.x) >= 64) if max(data["FlatFIT"]) > 64 else data
    more = Data(p for p in data.points if float(p.x) >= 2)
    shapes = [is_power(large, "FlatFIT", -1), is_power(large, "Naive", -2, 0.5)]
    return shapes + all_ahead(more)


FIG_14 = Experiment(
    "fig14", "Figures 14 and 15", "throughput, a query for each range", WINDOW, SLIDES, NAMES,
    multiple,
    lambda size: (
        "Max over the last 1, 2, …, n items after each item; generated energy readings "
        "(debs_2012_like, not the paper's data)"
    ),
    as_theory,
    (Reported(mean_and_most("FlatFIT", "FlatFAT"), "10 and 17",
              lambda data: said(ratios(data, "FlatFIT", "FlatFAT"))),),
)  # fmt: skip


# Figure 16: memory


def memory(size: Size) -> Iterator[Point]:
    """Peak resident megabytes of a process, windows that are powers of two and that are not."""
    largest = size.pick(10, 22, 27)
    some = [1 << k for k in range(largest - size.pick(0, 2, 5), largest + 1)]
    for n in [1, *(n for k in some for n in (k, k + k // 2))]:
        for name, algorithm in ALGORITHMS.items():
            yield Point(n, name, resident(algorithm.__name__, n) / 1e6)


def above_base(data: Data, name: str) -> dict[float, float]:
    """Megabytes beyond those of a window of one item."""
    return {n: value - data[name][1] for n, value in data[name].items() if n > 1}


def less_memory(data: Data) -> list[float]:
    fat, fit = above_base(data, "FlatFAT"), above_base(data, "FlatFIT")
    return [fat[n] / fit[n] for n in fat if fit[n] > 0]


def fit_takes_less(data: Data) -> list[Check]:
    found = less_memory(data)
    if not found:
        return []
    naive, fit = above_base(data, "Naive"), above_base(data, "FlatFIT")
    last = max(naive)
    return [
        Check("FlatFIT takes less memory than FlatFAT",
              f"FlatFAT / FlatFIT = {min(found):.1f} to {max(found):.1f}", min(found) > 1),
        Check("Naive takes the least",
              f"Naive / FlatFIT = {naive[last] / fit[last]:.2f} at {last:,}",
              naive[last] < fit[last]),
    ]  # fmt: skip


FIG_16 = Experiment(
    "fig16", "Figure 16", "resident memory", WINDOW, Axis("megabytes"), NAMES, memory,
    lambda size: (
        "Max of 32-bit integers; the peak of a process that keeps one window; ratios are of what "
        "is beyond a process with a window of one item"
    ),
    fit_takes_less,
    (Reported("memory of FlatFAT / FlatFIT: mean and maximum", "1.4 and 1.9",
              lambda data: said(less_memory(data)) if less_memory(data) else "too small"),),
)  # fmt: skip


PAPER = Paper(
    "flatfit",
    "FlatFIT: Accelerated Incremental Sliding-Window Aggregation For Real-Time Analytics",
    2017,
    (FIG_8, FIG_10, FIG_13, FIG_14, FIG_16),
)
