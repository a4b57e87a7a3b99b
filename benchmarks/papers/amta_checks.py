"""What section 5 of the AMTA paper says of its figures, and its numbers beside ours."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.experiment import Check, Data, Point, Reported
from benchmarks.papers.shapes import explained, is_ahead, is_flat, is_power, spread

IN_ORDER = ("DABA", "Naive")


def constant(found: Data) -> list[Check]:
    """Section 5.4."""
    constant = ("Mem. AMTA", "KVS AMTA (LMDB)", "DABA")
    flat = explained((is_flat(found, name, 4) for name in constant), CACHES)
    large = {n: spent for n, spent in found["Naive"].items() if n >= 16}
    naive = Data(Point(n, "Naive", spent) for n, spent in large.items())
    logarithmic = spread(found["Mem. LMTA"])
    return [
        *flat,
        is_power(naive, "Naive", 1, 0.35),
        Check("Mem. LMTA grows", f"largest / smallest = {logarithmic:.1f}", logarithmic > 2),
        lowest_latency(found),
    ]


CACHES = (
    "An update makes as many combines in a large window as in a small one, but the cells of large "
    "windows are not in the processor's caches."
)


def lowest_latency(found: Data) -> Check:
    """Section 5.4: from 2^9 on."""
    rivals = [name for name in found.names if name != "Mem. AMTA"]
    ratios = {name: min(found[name][n] / spent for n, spent in found["Mem. AMTA"].items()
                        if n in found[name] and n >= min(512, max(found[name])))
              for name in rivals}  # fmt: skip
    rival = min(ratios, key=lambda name: ratios[name])
    said = f"nearest: {rival}, {ratios[rival]:.2f} times the latency"
    claim = "Mem. AMTA has the lowest latency from 2^9 items on"
    return Check(claim, said, ratios[rival] > 1, ONE_BY_ONE)


ONE_BY_ONE = (
    "DABA asks its policy about the oldest item alone and evicts it, while AMTA looks for as many "
    "items as may go: two questions or more per eviction, with the combines for them, and a tree "
    "of levels to update; in the paper each step of either is a call on Java objects."
)


def bulk(found: Data) -> list[Check]:
    """Section 5.5."""
    large = max(found["DABA"])
    ahead = [is_ahead(found, "DABA", name, large) for name in found.names
             if name not in IN_ORDER]  # fmt: skip
    naive = {k: spent for k, spent in found["Naive"].items() if k <= large / 4}
    few = Data(Point(k, "Naive", spent) for k, spent in naive.items())
    said = "as long as three quarters of the window stay, Naive"
    flat = is_flat(few, "Naive", 3)
    return [*ahead, flat._replace(claim=f"{said} is flat: it combines what stays")]


def operation(found: Data) -> list[Check]:
    """Section 5.6: policies that evict early pay off; AMTA is ahead of LMTA."""
    early = [is_ahead(found, "KVS LMTA (LMDB)", "KVS AMTA (LMDB)"),
             is_ahead(found, "Mem. LMTA", "Mem. AMTA")]  # fmt: skip
    ratio = found["DABA"]["Max"] / found["Mem. AMTA"]["Max"]
    claim = "AMTA is faster than DABA for max"
    return [*early, Check(claim, f"{ratio:.1f} times", ratio > 1, ONE_BY_ONE)]


def memory(found: Data) -> list[Check]:
    """Section 5.7: over a store, the memory does not grow with the window."""
    kept, here = found["KVS AMTA (LMDB)"], found["Mem. AMTA"]
    largest = max(kept)
    return [
        is_ahead(found, "Mem. AMTA", "KVS AMTA (LMDB)", largest),
        Check("memory over a store grows less than in memory",
              f"{kept[largest] - kept[min(kept)]:.0f} against {here[largest] - here[min(here)]:.0f}"
              " MiB", kept[largest] - kept[min(kept)] < here[largest] - here[min(here)]),
    ]  # fmt: skip


def dimension(found: Data) -> list[Check]:
    """Section 5.8: sharing a window costs less than a window for each dimension."""
    return [is_ahead(found, "a window for each", "one window", max(found["one window"]))]


def beyond(name: str, other: str, paper: str) -> Reported:
    def ours(found: Data) -> str:
        n = max(found[name])
        return f"{found[name][n] - found[other][n]:,.0f} at {n:,.0f} items"

    return Reported(f"{name} takes longer than {other}, nanoseconds", paper, ours)


def line(found: Data) -> tuple[float, float]:
    """Nanoseconds that all dimensions share, and of each: the linear regression of figure 9."""
    values = found["one window"]
    each, shared = np.polyfit([*values], [*values.values()], 1)
    return float(shared), float(each)


def table_cell(operation: str, column: str, paper: str) -> Reported:
    def ours(found: Data) -> str:
        value = {p.x: p.y for p in found.points if p.series == column}.get(operation)
        return "not run" if value is None else f"{value:,.0f}"

    return Reported(f"{operation}, {column}, nanoseconds", paper, ours)


def most_of(name: str, paper: str) -> Reported:
    said = f"the longest bulk eviction, {name}, microseconds"
    return Reported(said, paper, lambda found: f"{max(found[name].values()):,.0f}")


def heap_of(name: str, paper: str) -> Reported:
    def ours(found: Data) -> str:
        values = found[name]
        return f"{values[max(values)]:,.0f} at {max(values):,.0f} updates"

    return Reported(f"MiB in which a window of 2^25 updates fits, {name}", paper, ours)
