"""DABA Lite and Two-Stacks Lite: the experiments of section 7 of their paper.

The paper's six algorithms; at the papers' sizes also the others that work in order. FiBA has
a minimum arity of 4, as there. Recalculation takes part up to windows of 1,024 items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import best_of, reference_rate
from benchmarks.papers import daba_events, loops
from benchmarks.papers.daba_windows import (
    COMPETITORS,
    MEDIAN,
    OPERATORS,
    count,
    items,
    lite_checks,
    percentiles,
    resolution,
    windows,
)
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
from benchmarks.papers.loops import FILL_AND_DRAIN, Driven
from benchmarks.papers.shapes import explained, from_on, is_ahead, is_flat


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
        if operator == "sum":
            yield from in_cpp(n, min(rounds, 20_000_000))


CPP = {"TwoStacksLite, C++": "two_stacks_lite", "DABALite, C++": "daba_lite"}


def in_cpp(n: int, rounds: int) -> Iterator[Point]:
    """The same by loops in C++ (benchmarks/reference.cpp); nothing where there is no compiler."""
    for name, algorithm in CPP.items():
        rate = reference_rate(algorithm, "sum", n, rounds)
        if rate is not None:
            yield Point(n, name, rate)


def by_cpp(name: str) -> Reported:
    """Ours are loops of Python that numba compiles; the paper's are C++."""

    def ours(found: Data) -> str:
        mine, other = found[name], found[f"{name}, C++"]
        ratios = [mine[n] / other[n] for n in mine if n in other]
        return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "no compiler"

    return Reported(f"throughput of {name} by that of a C++ loop in the same run", "1", ours)


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


def static_latency(operator: str, size: Size) -> Iterator[Point]:
    """Figure 9: the time of each round, windows of 2^14 items."""
    n = size.pick(64, 1 << 14, 1 << 14)
    rounds = count(size, operator, 2000, 10_000_000, 10_000_000)
    xs = items(operator, rounds + n)
    for name, make in windows(size, operator, n, xs).items():
        yield from percentiles(name, loops.latencies(make(), xs, loops.last(n, len(xs)), n))


def throughput_checks(operator: str, is_dynamic: bool, found: Data) -> list[Check]:
    """What sections 7.1 and 7.2 say of figures 10 and 11; a window of one item is empty before each
    insertion, so nothing is combined and it is no part of the checks."""
    more = from_on(found, 4)
    flat = [is_flat(more, name) for name in COMPETITORS if name in found.names]
    names = [name for name in COMPETITORS if name in found.names]
    checks = [
        one._replace(claim=f"{one.claim} from 4 items on", why=small_windows(more, name))
        for one, name in zip(flat, names, strict=True)
    ]
    checks += lite_checks(more)
    if is_dynamic and operator == "bloom":
        rivals = [name for name in COMPETITORS if name != "FlatFIT"]
        checks += explained((is_ahead(more, "FlatFIT", name) for name in rivals), SMALL_FILTERS)
    return checks


def small_windows(found: Data, name: str) -> str:
    """Where a line is highest, and how flat it is in larger windows."""
    line = found[name]
    large = [rate for n, rate in line.items() if n >= 256] or list(line.values())
    best = max(line, key=lambda n: line[n])
    return (
        f"It is fastest in windows of {best:,} items; from 256 items on, "
        f"the largest is {max(large) / min(large):.2f} times the smallest."
    )


SMALL_FILTERS = (
    "FlatFIT makes fewer combines (2 per item against 3 of Two-Stacks and 4 of DABA Lite, counted) "
    "but a filter has 1,024 bits here, and combining two of them takes less time than the indices "
    "that FlatFIT pushes and pops per query."
)
COARSE = "A round takes about one step of the processor's counter, or less."


def latency_checks(found: Data) -> list[Check]:
    """What section 7.1 says: Two-Stacks has the lower floor and a tail ten times as long."""
    least, median = (is_ahead(found, "DABALite", "TwoStacksLite", 1),
                     is_ahead(found, "FiBA", "DABALite", MEDIAN))  # fmt: skip
    least = least._replace(claim="TwoStacksLite has the lower minimum latency than DABALite")
    median = median._replace(claim="FiBA has a higher median latency than DABALite")
    tenth = found["FiBA"][10] / found["DABALite"][10]
    rarely = (
        f"FiBA's work on its tree is in fewer than half of the rounds: one round in ten takes "
        f"{tenth:.1f} times as long as DABALite's."
    )
    floor = [least._replace(why=COARSE), median._replace(why=rarely)]
    return [*floor, flips(found)]


FLIPS = (10_000, 20_000)  # a flip is one round in 2^14
TEN_TIMES = 5
INTERRUPTS = (
    "Interrupts of this machine are as frequent as flips and take as long, in the rounds of all "
    "algorithms."
)


def flips(found: Data) -> Check:
    """The tails where a flip shows: interrupts are in them too, so that less than ten counts."""
    shown = [k for k in FLIPS if k in found["DABALite"]] or [max(found["DABALite"])]
    ratios = {k: found["TwoStacksLite"][k] / found["DABALite"][k] for k in shown}
    rare = max(ratios, key=lambda k: ratios[k])
    claim = (
        "TwoStacksLite regularly has an order of magnitude more latency than DABALite (at least "
        f"{TEN_TIMES} times, as interrupts lengthen DABALite's tail)"
    )
    said = f"{ratios[rare]:.1f} times in one round of {rare:,}"
    return Check(claim, said, ratios[rare] >= TEN_TIMES, INTERRUPTS)


ROUNDS_OF = "rounds of evict, insert and query"


def random_items(operator: str, what: str, counted: Callable[[Size], int], size: Size) -> str:
    return f"{what}, {operator} of random numbers, {counted(size):,} items"


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
        () if is_dynamic or operator != "sum" else (by_cpp("TwoStacksLite"), by_cpp("DABALite")),
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
    (*all_of(("sum", "geomean", "bloom")), *daba_events.EXPERIMENTS),
)
