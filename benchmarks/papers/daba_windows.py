"""The algorithms and aggregations of the DABA paper's experiments; distributions of latencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import loops
from benchmarks.papers.experiment import Check, Data, Point, Size
from benchmarks.papers.shapes import is_ahead
from benchmarks.papers.workloads import doubles, kind
from sash import monoids as m
from sash import swag
from sash.swag.registry import IN_ORDER

Make = Callable[[Any], Any]


class Operator(NamedTuple):
    """An aggregation of the paper, and how much fewer items it is run on than sum is."""

    monoid: Callable[[], Any]
    cost: int


OPERATORS = {
    "sum": Operator(m.Sum, 1),
    "geomean": Operator(m.GeoMean, 2),
    "bloom": Operator(lambda: m.Bloom(1024, 3), 20),
    "relative variation": Operator(m.RelativeVariation, 1),
}
COMPETITORS: dict[str, Make] = {
    "TwoStacks": swag.TwoStacks,
    "TwoStacksLite": swag.TwoStacksLite,
    "DABA": swag.DABA,
    "DABALite": swag.DABALite,
    "FlatFIT": swag.FlatFIT,
    "FiBA": partial(swag.FiBA, min_arity=4),
}
OTHERS: dict[str, Make] = {c.__name__: c for c in IN_ORDER if c.__name__ not in COMPETITORS}
MOST_RECALCULATED = 1 << 10
ONE_IN = (1, 2, 10, 100, 1000, 10_000, 20_000, 100_000, 1_000_000)
"""The points of a distribution: the latency that one round in so many exceeds."""
MEDIAN = 2


def windows(size: Size, operator: str, n: int, xs: np.ndarray) -> dict[str, Callable[[], Any]]:
    """How to make a window of each algorithm that takes part."""
    monoid = OPERATORS[operator].monoid().of(kind(xs))
    found: dict[str, Callable[..., Any]] = {**COMPETITORS}
    if size is Size.FULL:
        found.update(OTHERS)
    if n > MOST_RECALCULATED:
        found.pop("Recalc", None)
    if monoid.inverse is None:
        found.pop("SubtractOnEvict", None)
    return {name: partial(make, monoid, compiled=True) for name, make in found.items()}


@cache
def items(operator: str, n: int) -> np.ndarray:
    xs = doubles(n)
    return (xs * 1e6).astype(np.int64) if operator == "bloom" else xs


def count(size: Size, operator: str, tiny: int, quick: int, full: int) -> int:
    """How many items an experiment goes over: fewer where combining is expensive."""
    return max(tiny, size.pick(tiny, quick, full) // OPERATORS[operator].cost)


def percentiles(name: str, spent: np.ndarray) -> Iterator[Point]:
    for rounds in ONE_IN:
        if rounds <= len(spent):
            yield Point(rounds, name, float(np.percentile(spent, 100 - 100 / rounds)))
    yield Point(len(spent), name, float(spent.max()))


def resolution() -> str:
    """How finely latencies are measured on this machine."""
    return f"the processor's counter moves in steps of {loops.counter_step():.1f} nanoseconds"


LITE = {
    "TwoStacks": "Both make 3 combines per item (counted); the Lite version saves memory, which "
    "does not show where a combine costs the most.",
    "DABA": "DABA Lite keeps some partials in its cursors, and copying them where they are filters "
    "of 128 bytes costs more than the combines it saves in small windows (3.5 against 4.25 per "
    "item at 4 items, counted).",
}


def lite_checks(found: Data) -> list[Check]:
    return [is_ahead(found, f"{name}Lite", name, noise=0.02)._replace(why=why)
            for name, why in LITE.items()]  # fmt: skip
