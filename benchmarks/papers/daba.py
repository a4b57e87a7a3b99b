"""DABA Lite and Two-Stacks Lite: the experiments of section 7 of their paper.

The paper's six algorithms; at the papers' sizes also the others that work in order. FiBA has
a minimum arity of 4, as there. Recalculation takes part up to windows of 1,024 items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import best_of
from benchmarks.papers import data, loops
from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Paper, Point, Size
from benchmarks.papers.loops import FILL_AND_DRAIN, ROUNDS, Driven
from benchmarks.papers.shapes import explained, is_ahead, is_flat
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
MEDIAN, FLIP = 2, 20_000  # a flip is one round in 2^14; beyond, so frequent are interrupts


def windows(size: Size, operator: str, n: int, xs: np.ndarray) -> dict[str, Callable[[], Any]]:
    """How to make a window of each algorithm that takes part."""
    monoid = OPERATORS[operator].monoid().of(kind(xs))
    found = {**COMPETITORS, **(OTHERS if size is Size.FULL else {})}
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


def sizes(size: Size, operator: str) -> list[int]:
    """Windows of 1 to 2^22 items; quick, of Bloom filters up to 2^14."""
    most = 14 if operator == "bloom" else 22
    return [1 << k for k in size.pick((0, 6), range(0, most + 1, 2), range(23))]


def static(operator: str, size: Size) -> Iterator[Point]:
    """Figure 10: rounds of evict, insert and query over a window of constant size."""
    rounds = count(size, operator, 2000, 2_000_000, 200_000_000)
    xs = items(operator, min(rounds, (1 << 22) // OPERATORS[operator].cost))
    times = rounds // len(xs)
    for n in sizes(size, operator):
        for name, make in windows(size, operator, n, xs).items():
            window = make()
            window.slide(items(operator, max(n, 10)), n)
            run = partial(slide, window, xs, n, room(window.slide(xs, n)), times)
            best = best_of({name: run}, size.pick(1, 5, 1))[name]
            yield Point(n, name, times * len(xs) / best / 1e6)


def room(answers: Any) -> np.ndarray | None:
    """Memory for answers that are numbers: fresh memory costs about as much as the work."""
    return np.ma.getdata(answers) if answers.ndim == 1 else None


def slide(window: Any, xs: np.ndarray, n: int, out: np.ndarray | None, times: int) -> None:
    for _ in range(times):
        window.slide(xs, n, out=out)


def dynamic(operator: str, size: Size) -> Iterator[Point]:
    """Figure 11: insert and query until the window has n items, evict until it has none."""
    n_items = count(size, operator, 2000, 2_000_000, 200_000_000)
    for n in sizes(size, operator):
        xs, times = items(operator, n), max(1, n_items // n)
        for name, make in windows(size, operator, n, xs).items():
            driven = Driven(make(), xs, n)
            driven.run(FILL_AND_DRAIN, n, 1)
            run = partial(driven.run, FILL_AND_DRAIN, n, times)
            best = best_of({name: run}, size.pick(1, 5, 1))[name]
            yield Point(n, name, n * times / best / 1e6)


def percentiles(name: str, spent: np.ndarray) -> Iterator[Point]:
    for rounds in ONE_IN:
        if rounds <= len(spent):
            yield Point(rounds, name, float(np.percentile(spent, 100 - 100 / rounds)))
    yield Point(len(spent), name, float(spent.max()))


def static_latency(operator: str, size: Size) -> Iterator[Point]:
    """Figure 9: the time of each round, windows of 2^14 items."""
    n = size.pick(64, 1 << 14, 1 << 14)
    rounds = count(size, operator, 2000, 10_000_000, 10_000_000)
    xs = items(operator, rounds + n)
    for name, make in windows(size, operator, n, xs).items():
        yield from percentiles(name, loops.latencies(make(), xs, loops.last(n, len(xs)), n))


@cache
def readings(events: int) -> data.Readings:
    return data.debs_2012_like(events).in_order()


def bounds(time: np.ndarray, seconds: float) -> np.ndarray:
    """For each reading the first one that is less than so many seconds older."""
    return np.searchsorted(time, time - int(seconds * data.SECOND), side="right")


def event_count(size: Size) -> int:
    return size.pick(4000, 4_000_000, 32_300_000)


def event_time(size: Size) -> Iterator[Point]:
    """Figure 12: throughput over windows of 10 milliseconds to 6 hours, sum."""
    time, xs = readings(event_count(size))
    spans = size.pick((0.01, 1), SPANS, SPANS)
    for seconds in spans:
        lo = bounds(time, seconds)
        first = int(np.flatnonzero(lo)[0])  # not measured until one item is evicted
        longest = int((np.arange(1, len(lo) + 1) - lo).max())
        for name, make in windows(size, "sum", longest, xs).items():
            best = best_event_time(make, xs, lo, longest, first, size.pick(1, 3, 3))
            yield Point(seconds, name, (len(xs) - first) / best / 1e6)


SPANS = (0.01, 0.1, 1, 10, 100, 1000, 3600, 6 * 3600)


def best_event_time(
    make: Callable[[], Any], xs: np.ndarray, lo: np.ndarray, longest: int, first: int, repeat: int
) -> float:
    """The least seconds from item `first` on; each run has a new window."""
    found = []
    for _ in range(repeat):
        driven = Driven(make(), xs, longest)
        driven.run(ROUNDS, 0, first, lo.ctypes.data)
        rest = partial(driven.run, ROUNDS, first, len(xs), lo.ctypes.data)
        found.append(best_of({"rest": rest}, 1)["rest"])
    return min(found)


def event_latency(size: Size) -> Iterator[Point]:
    """Figure 12: the time of each round over a window of 10 seconds, relative variation."""
    time, xs = readings(event_count(size))
    lo = bounds(time, LATENCY_SECONDS)
    first = int(np.flatnonzero(lo)[0])
    for name, make in windows(size, "relative variation", 1 << 20, xs).items():
        yield from percentiles(name, loops.latencies(make(), xs, lo, first))


LATENCY_SECONDS = 10


def throughput_checks(operator: str, is_dynamic: bool, found: Data) -> list[Check]:
    """What sections 7.1 and 7.2 say of figures 10 and 11."""
    checks = [is_flat(found, name) for name in COMPETITORS if name in found.names]
    checks += lite_checks(found)
    if is_dynamic and operator == "bloom":
        rivals = [name for name in COMPETITORS if name != "FlatFIT"]
        checks += [is_ahead(found, "FlatFIT", name) for name in rivals]
    return checks


def lite_checks(found: Data) -> list[Check]:
    return [is_ahead(found, f"{name}Lite", name) for name in ("TwoStacks", "DABA")]


COARSE = "A round takes about one step of the processor's counter, or less."


def latency_checks(found: Data) -> list[Check]:
    """What section 7.1 says: Two-Stacks has the lower floor and a tail ten times as long."""
    least, median = (is_ahead(found, "DABALite", "TwoStacksLite", 1),
                     is_ahead(found, "FiBA", "DABALite", MEDIAN))  # fmt: skip
    least = least._replace(claim="TwoStacksLite has the lower minimum latency than DABALite")
    median = median._replace(claim="FiBA has a higher median latency than DABALite")
    floor = explained((least, median), COARSE)
    rare = min(FLIP, max(found["DABALite"]))
    ratio = found["TwoStacksLite"][rare] / found["DABALite"][rare]
    claim = "TwoStacksLite regularly has ten times the latency of DABALite"
    return [*floor, Check(claim, f"{ratio:.1f} times in one round of {rare:,}", ratio >= 10)]


def event_latency_checks(found: Data) -> list[Check]:
    """Section 7.3: the longest rounds are bulk evictions, so they are alike."""
    tops = [max(found[name].values()) for name in COMPETITORS if name != "FiBA"]
    ratio = max(tops) / min(tops)
    claim = "all algorithms but FiBA have similar maximum latency"
    return [Check(claim, f"largest / smallest = {ratio:.1f}", ratio < 4)]


def event_time_checks(found: Data) -> list[Check]:
    """Section 7.3: the Lite versions are ahead; all degrade in windows of more than 10^3 s."""
    checks = lite_checks(found)
    longest = max(found["DABALite"])
    if longest > 1000:
        ratios = {name: found[name][longest] / max(found[name].values()) for name in found.names}
        slow = max(ratios, key=lambda name: ratios[name])
        said = f"at {longest:g} s at most {ratios[slow]:.2f} of the best throughput ({slow})"
        checks.append(Check("throughput degrades after 10^3 seconds", said, ratios[slow] < 0.95))
    return checks


ROUNDS_OF = "rounds of evict, insert and query"
LAST_SECONDS = f"relative variation over the last {LATENCY_SECONDS} seconds"


def resolution() -> str:
    """How finely latencies are measured on this machine."""
    return f"the processor's counter moves in steps of {loops.counter_step():.1f} nanoseconds"


def random_items(operator: str, what: str, counted: Callable[[Size], int], size: Size) -> str:
    return f"{what}, {operator} of random numbers, {counted(size):,} items"


def generated(what: str, size: Size) -> str:
    return (
        f"{what}; {event_count(size):,} generated readings with the published properties of the "
        "DEBS 2012 data (benchmarks/papers/data.py), not the real data"
    )


def throughput_of(operator: str, is_dynamic: bool) -> Experiment:
    counted = partial(count, operator=operator, tiny=2000, quick=2_000_000, full=200_000_000)
    return Experiment(
        f"fig{11 if is_dynamic else 10}-{operator}",
        f"Figure {11 if is_dynamic else 10}",
        f"throughput, {'dynamic' if is_dynamic else 'static'} windows, {operator}",
        Axis("items in the window"),
        Axis("million items per second"),
        tuple(COMPETITORS),
        partial(dynamic if is_dynamic else static, operator),
        partial(random_items, operator, "fill and drain" if is_dynamic else "slide 1", counted),
        partial(throughput_checks, operator, is_dynamic),
    )


def latency_of(operator: str) -> Experiment:
    counted = partial(count, operator=operator, tiny=2000, quick=10_000_000, full=10_000_000)
    return Experiment(
        f"fig9-{operator}",
        "Figure 9",
        f"latency, static windows of 2^14 items, {operator}",
        Axis("one round in so many takes longer"),
        Axis("nanoseconds"),
        tuple(COMPETITORS),
        partial(static_latency, operator),
        lambda size: f"{random_items(operator, ROUNDS_OF, counted, size)}; {resolution()}",
        latency_checks,
    )


FIG12 = Experiment(
    "fig12",
    "Figure 12",
    "throughput, windows by event time",
    Axis("seconds in the window"),
    Axis("million items per second"),
    tuple(COMPETITORS),
    event_time,
    partial(generated, "sum over the readings of the last seconds"),
    event_time_checks,
)
FIG12_LATENCY = Experiment(
    "fig12-latency",
    "Figure 12",
    f"latency, windows of {LATENCY_SECONDS} seconds, relative variation",
    Axis("one round in so many takes longer"),
    Axis("nanoseconds"),
    tuple(COMPETITORS),
    event_latency,
    lambda size: f"{generated(LAST_SECONDS, size)}; {resolution()}",
    event_latency_checks,
)


def all_of(operators: Iterable[str]) -> Iterator[Experiment]:
    for operator in operators:
        yield latency_of(operator)
    for is_dynamic in (False, True):
        for operator in operators:
            yield throughput_of(operator, is_dynamic)


PAPER = Paper(
    "daba",
    "In-Order Sliding-Window Aggregation in Worst-Case Constant Time",
    2021,
    (*all_of(("sum", "geomean", "bloom")), FIG12, FIG12_LATENCY),
)
