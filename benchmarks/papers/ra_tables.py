"""Reactive Aggregator: tables 3 and 4 of its paper, by aggregation function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Point, Reported, Size
from benchmarks.papers.workloads import doubles, integers, nanoseconds, sliding
from sash import monoids as m
from sash.swag import BInt, Reactive, Recalc
from sash.swag.in_order import InOrder

Input = Callable[[int], Any]


def with_argument(values: Input) -> Input:
    return lambda items: (values(items), np.arange(items))


FUNCTIONS: dict[str, tuple[Any, Input]] = {
    "Sum": (m.Sum(), integers),
    "Sum<double>": (m.Sum(), doubles),
    "Max": (m.Max(), integers),
    "Max<double>": (m.Max(), doubles),
    "ArithmeticMean": (m.Mean(), integers),
    "MinCount": (m.MinCount(), integers),
    "SampleStdDev": (m.StdDev(ddof=1), integers),
    "PopulationStdDev": (m.StdDev(ddof=0), integers),
    "ArgMax": (m.ArgMax(), with_argument(integers)),
    "ArgMax<double>": (m.ArgMax(), with_argument(doubles)),
}
BREAK_EVEN = {  # the paper's table 3: break-even point, ten times
    "Sum": ("370", "5,200"),
    "Sum<double>": ("290", "5,200"),
    "Max": ("260", "5,200"),
    "Max<double>": ("130", "3,600"),
    "ArithmeticMean": ("10", "900"),
    "MinCount": ("200", "4,480"),
    "SampleStdDev": ("10", "700"),
    "PopulationStdDev": ("10", "700"),
    "ArgMax": ("130", "2,770"),
    "ArgMax<double>": ("250", "5,810"),
}
AW_TO_RA = {  # the paper's table 4: n = 8, 8K, 8M
    "Sum": ("1.02", "1.20", "1.36"),
    "Max": ("1.02", "1.25", "1.37"),
    "ArithmeticMean": ("1.05", "1.24", "1.39"),
    "MinCount": ("1.04", "1.23", "1.35"),
    "PopulationStdDev": ("1.06", "1.26", "1.37"),
}
SIZES = {8: "8", 8 << 10: "8K", 8 << 20: "8M"}
LARGEST = 1 << 14  # no break-even point is looked for beyond


def ratio(name: str, slow: type[InOrder], n: int, size: Size) -> float:
    """The time of another algorithm by that of RA."""
    monoid, values = FUNCTIONS[name]
    quadratic = slow is Recalc
    items = size.pick(200, 100_000, 200_000) // (1 + n // 64 if quadratic else 1)
    xs = values(max(items, 200))
    runs = {"other": sliding(slow, monoid, xs, n), "RA": sliding(Reactive, monoid, xs, n)}
    spent = nanoseconds(runs, size.pick(1, 5, 9))
    return spent["other"] / spent["RA"]


def smallest(name: str, times: float, size: Size) -> int | None:
    """The smallest window, to the nearest ten, at which RA is so many times faster than ISS."""
    hi = 10
    while ratio(name, Recalc, hi, size) < times:
        hi *= 2
        if hi > LARGEST:
            return None
    lo = hi // 2 if hi > 10 else 0
    while hi - lo > 10:
        middle = (lo + hi) // 20 * 10
        if ratio(name, Recalc, middle, size) < times:
            lo = middle
        else:
            hi = middle
    return hi


def break_even(size: Size) -> Iterator[Point]:
    """Window sizes from which on RA is faster than recalculation, and ten times faster."""
    for name in list(FUNCTIONS)[: size.pick(1, None, None)]:
        for series, times in (("break-even", 1.0), ("10x", 10.0)):
            found = smallest(name, times, size)
            if found is not None:
                yield Point(name, series, found)


def small_windows_suffice(data: Data) -> list[Check]:
    even, ten = data["break-even"], data["10x"]
    found = [
        Check(
            "RA breaks even by 370 items", f"by {max(even.values()):g}", max(even.values()) <= 370
        )
    ]
    if ten:
        said = f"from {min(ten.values()):g} to {max(ten.values()):g} items on"
        claim = "RA is ten times as fast by 5,810 items"
        found.append(Check(claim, said, len(ten) == len(even) and max(ten.values()) <= 5810))
    cheap, costly = even.get("Sum"), even.get("SampleStdDev")
    if cheap and costly:
        claim = "the costlier the function, the sooner RA breaks even"
        found.append(Check(claim, f"StdDev {costly:g}, Sum {cheap:g}", costly < cheap))
    return found


def point_of(name: str, series: str, paper: str) -> Reported:
    def ours(data: Data) -> str:
        found = data[series].get(name)
        return f"{found:,g}" if found is not None else "not reached"

    return Reported(f"{name}, {series}", paper, ours)


TABLE_3 = Experiment(
    "table3", "Table 3", "break-even points against recalculation",
    Axis("aggregation function", "names"), Axis("items in the window"), ("ISS", "RA"), break_even,
    lambda size: (
        f"Slide 1, windows up to {LARGEST:,} items, to the nearest ten. Count and Collect, which "
        "have no break-even point in the paper, are not run: Recalc does not read off the size of "
        "the window, and lists are not compiled"
    ),
    small_windows_suffice,
    tuple(
        point_of(name, series, f"about {paper}")
        for name, both in BREAK_EVEN.items()
        for series, paper in zip(("break-even", "10x"), both)
    ),
)  # fmt: skip


def relative_time(size: Size) -> Iterator[Point]:
    """The time of AW by that of RA."""
    for n in list(SIZES)[: size.pick(1, 2, 3)]:
        for name in AW_TO_RA:
            yield Point(name, f"n = {SIZES[n]}", ratio(name, BInt, n, size))


def aw_is_slower(data: Data) -> list[Check]:
    found = []
    for series in data.names:
        values = data[series].values()
        said = f"{min(values):.2f} to {max(values):.2f}"
        claim = f"AW takes longer than RA, {series}"
        found.append(Check(claim, said, min(values) > 1, FEWER_COMBINES))
    return found


FEWER_COMBINES = (
    "AW makes fewer combines per slide than RA (12 against 19 at 1,024 items, counted in figure 8 "
    "of FlatFIT's paper), so it gains with the cost of a combine; what held it back in the paper, "
    "several arrays and the split into base intervals, is one array and an inlined loop here."
)


def relative_of(name: str, n: str, paper: str) -> Reported:
    def ours(data: Data) -> str:
        found = data[f"n = {n}"].get(name)
        return f"{found:.2f}" if found is not None else "not run"

    return Reported(f"{name}, n = {n}: time of AW / RA", paper, ours)


TABLE_4 = Experiment(
    "table4", "Table 4", "the time of Arasu-Widom by that of RA",
    Axis("aggregation function", "names"), Axis("time of AW / RA", "linear"), ("AW", "RA"),
    relative_time,
    lambda size: f"Slide 1, {size.pick(200, 100_000, 200_000):,} random 32-bit integers a run",
    aw_is_slower,
    tuple(
        relative_of(name, n, paper)
        for name, all_sizes in AW_TO_RA.items()
        for n, paper in zip(SIZES.values(), all_sizes)
    ),
)  # fmt: skip
