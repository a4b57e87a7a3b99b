"""Reactive Aggregator: windows whose capacity changes, is fixed, or is not full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Point, Reported, Size
from benchmarks.papers.loops import latencies
from benchmarks.papers.ra_sizes import (
    FUNCTIONS,
    PER_ITEM,
    WINDOW,
    integers_of,
    items,
    powers,
    repeats,
)
from benchmarks.papers.shapes import is_ahead, is_power, with_start
from benchmarks.papers.workloads import integers, nanoseconds, oscillating, sliding
from sash import Monoid
from sash import monoids as m
from sash.swag import Reactive
from sash.testing import counting

# Figure 9


def dynamic(size: Size) -> Iterator[Point]:
    """Microseconds per item where the capacity oscillates between n and 2n, or is fixed."""
    for n in powers(size, 3, 18, 22):
        xs = integers(max(items(size), 2 * n))
        for name, monoid in FUNCTIONS.items():
            runs = {
                f"{name} (fixed)": sliding(Reactive, monoid, xs, n),
                f"{name} (osc.)": oscillating(Reactive, monoid, xs, n),
            }
            for series, spent in nanoseconds(runs, repeats(size)).items():
                yield Point(n, series, spent / 1e3)


def resizing_is_amortized(data: Data) -> list[Check]:
    found = []
    for name in FUNCTIONS:
        fixed, osc = data[f"{name} (fixed)"], data[f"{name} (osc.)"]
        ratios = [osc[n] / fixed[n] for n in fixed]
        said = f"oscillating / fixed = {min(ratios):.2f} to {max(ratios):.2f}"
        found.append(Check(f"resizing is amortized, {name}", said, max(ratios) < 3))
        faster = Check(f"oscillating windows are faster, {name}", said, max(ratios) < 1, RESIZED)
        found.append(with_start(faster, data, f"{name} (fixed)", f"{name} (osc.)"))
    return found


RESIZED = (
    "Oscillating windows make fewer combines (9.7 against 11.0 per item at 64 items, counted), but "
    "the two resizes of a turn copy the items and rebuild the tree, which takes longer than the "
    "combines that are saved where a combine takes about a nanosecond."
)


FIG_9 = Experiment(
    "fig9", "Figure 9", "capacities that oscillate between n and 2n", WINDOW, PER_ITEM,
    ("RA, fixed capacity", "RA, oscillating capacity"), dynamic,
    lambda size: (
        f"At least {integers_of(size)}; oscillating windows go from n/2 - 1 to n + 1 items "
        "and back, with a firing after each insertion"
    ),
    resizing_is_amortized,
)  # fmt: skip


# Section 6.2: the firing that resizes


def resizes(size: Size) -> Iterator[Point]:
    """Microseconds of the insertion and firing that double the capacity, or would."""
    for n in powers(size, 8, 20, 20, step=size.pick(1, 4, 4)):
        xs, growing = integers(2 * n), np.zeros(2 * n, np.int64)
        monoid = m.StdDev().of(xs.dtype)
        for series, capacity in (("StdDev", None), ("StdDev, fixed capacity", 2 * n)):
            runs = [
                latencies(Reactive(monoid, capacity), xs, growing, n)[0]
                for _ in range(repeats(size))
            ]
            yield Point(n, series, float(min(runs)) / 1e3)


def fixed_capacity_is_flat(data: Data) -> list[Check]:
    """Resizing is linear; a capacity that is fixed to a large value avoids it."""
    last = max(data["StdDev"])
    fixed = "StdDev, fixed capacity"
    return [is_power(data, "StdDev", 1), is_ahead(data, "StdDev", fixed, last)]


def resize_of(n: int, what: str, paper: str) -> Reported:
    def ours(data: Data) -> str:
        found = data["StdDev"].get(n)
        return f"{found:,.1f} µs" if found is not None else "not run"

    return Reported(f"StdDev, resizing from {what}", paper, ours)


RESIZE = Experiment(
    "resize", "Section 6.2", "the firing that doubles the capacity", Axis("capacity before"),
    Axis("microseconds"), ("RA", "RA with a fixed capacity of twice as many"), resizes,
    lambda size: "A window that grows by one 32-bit integer per firing; least of the runs",
    fixed_capacity_is_flat,
    (resize_of(256, "256 to 512", "4.2 µs"), resize_of(1 << 20, "1 M to 2 M", "9.4 ms")),
)  # fmt: skip


# Section 5.2: combines without markers


def without_markers(size: Size) -> Iterator[Point]:
    """Combines per slide of windows that do not fill the capacity, counted over two turns."""
    for k in range(3, size.pick(5, 12, 16)):
        n = 3 << (k - 2)
        monoid, counter = counting(Monoid("nothing", 0, lambda x: 0, lambda a, b: 0))
        window: Any = Reactive(monoid, compiled=False)
        window.slide([0] * n, n)
        counter.reset()
        window.slide([0] * (2 << k), n)
        yield Point(n, "RA", counter.combines / (2 << k))
        yield Point(n, "theorem 4.2, two slots and a query", 2 * k + 2 * k + 1)


def half_of_the_nodes(data: Data) -> list[Check]:
    """Where the area without items is skipped, about half of the nodes of a path are."""
    found, most = data["RA"], data["theorem 4.2, two slots and a query"]
    n = max(found)
    said = f"{found[n]:.1f} combines per slide at {n:,}, the bound is {most[n]:g}"
    return [Check("unused slots are skipped: half of the bound", said, found[n] <= most[n] / 2)]


FIFO = Experiment(
    "fifo", "Section 5.2", "combines per slide, windows of 3/4 of the capacity", WINDOW,
    Axis("combines per slide", "linear"), ("RA",), without_markers,
    lambda size: "Slide 1, one query per slide, counted over two turns of the buffer",
    half_of_the_nodes,
)  # fmt: skip
