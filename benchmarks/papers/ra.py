"""Reactive Aggregator: the experiments of section 6 of its paper.

ISS, the paper's baseline, recalculates each window: here Recalc. AW is B-Int.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Paper, Point, Reported, Size
from benchmarks.papers.shapes import crossing
from benchmarks.papers.workloads import integers, nanoseconds, sliding
from sash import monoids as m
from sash.swag import Reactive, Recalc

SCHEMES = {"ISS": Recalc, "RA": Reactive}
FUNCTIONS = {"Max": m.Max(), "StdDev": m.StdDev()}


def throughput(size: Size) -> Iterator[Point]:
    """Figure 6: million items per second, by window size."""
    items = size.pick(2000, 100_000, 1_000_000)
    for n in [1 << k for k in size.pick((0, 4), range(11), range(11))]:
        for name, monoid in FUNCTIONS.items():
            runs = {f"{name} ({scheme})": sliding(algorithm, monoid, integers(items), n)
                    for scheme, algorithm in SCHEMES.items()}  # fmt: skip
            for series, spent in nanoseconds(runs, size.pick(1, 3, 5)).items():
                yield Point(n, series, 1e3 / spent)


def faster_on_large(data: Data) -> list[Check]:
    """RA is slower on small windows and faster on large ones; StdDev earlier than Max."""
    found, starts = [], {}
    for name in FUNCTIONS:
        ra, iss = data[f"{name} (RA)"], data[f"{name} (ISS)"]
        starts[name] = crossing(data, f"{name} (RA)", f"{name} (ISS)")
        ratio = ra[max(ra)] / iss[max(ra)]
        said = f"RA / ISS = {ratio:.1f} at {max(ra):,}"
        found.append(Check(f"RA is faster than ISS on large windows, {name}", said, ratio > 1))
    sooner = (starts["StdDev"] or 1e9) <= (starts["Max"] or 1e9)
    said = f"StdDev from {starts['StdDev']}, Max from {starts['Max']} items on"
    return [*found, Check("RA pays off sooner for the costlier function", said, sooner)]


def at_1024(name: str) -> Reported:
    def ours(data: Data) -> str:
        ra, iss = data[f"{name} (RA)"], data[f"{name} (ISS)"]
        return f"{ra[1024] / iss[1024]:.1f}" if 1024 in ra else "not run"

    paper = {"Max": "almost 3", "StdDev": "over 10"}[name]
    return Reported(f"{name}, windows of 1,024: throughput RA / ISS", paper, ours)


FIG6 = Experiment(
    "fig6",
    "Figure 6",
    "throughput by window size",
    Axis("items in the window"),
    Axis("million items per second"),
    ("ISS", "RA"),
    throughput,
    lambda size: f"{size.pick(2000, 100_000, 1_000_000):,} random 32-bit integers, slide 1",
    faster_on_large,
    (at_1024("Max"), at_1024("StdDev")),
)

PAPER = Paper("ra", "General Incremental Sliding-Window Aggregation", 2015, (FIG6,))
