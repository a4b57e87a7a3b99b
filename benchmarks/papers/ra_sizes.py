"""Reactive Aggregator: functions, axes and sizes that the experiments of its paper share."""

from __future__ import annotations

from benchmarks.papers.experiment import Axis, Size
from sash import monoids as m

FUNCTIONS = {"Max": m.Max(), "StdDev": m.StdDev()}
WINDOW = Axis("items in the window")
PER_ITEM = Axis("microseconds per item", "linear")


def repeats(size: Size) -> int:
    return size.pick(1, 5, 5)


def items(size: Size) -> int:
    return size.pick(2000, 500_000, 2_000_000)


def powers(size: Size, first: int, quick: int, full: int, step: int = 1) -> list[int]:
    """Powers of two from 2^first on, up to a last one that depends on the size of the run."""
    last = size.pick(first + 3, quick, full)
    return [1 << k for k in range(first, last + 1, step)]


def integers_of(size: Size) -> str:
    return f"{items(size):,} random 32-bit integers a run"
