"""The choice of an algorithm: a ladder, from the most particular to the most general.

Each rule says what its algorithm can not do, and when it is the one to take. The
first that fits is taken, and says why; the user may take another that can do it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sash.monoids.monoid import Monoid
from sash.swag.registry import ALGORITHMS

Latency = Literal["average", "worst"]
TINY = 4
"""A window of so few items is recalculated sooner than it is kept."""


@dataclass(frozen=True)
class Need:
    """What is asked of a window. Items are rows, or slices where rows are sliced.

    `items`: how many are in the longest window, None if that is not known; `ranges`:
    how many different ranges end at the youngest item, and whether all of them are asked
    for after `every_item`; `ordered`: items come in order;
    `latency`: whether the average counts or the worst case; `bulk`: many leave at once;
    `policy`: a function says which leave.
    """

    monoid: Monoid
    items: int | None = None
    ranges: int = 1
    every_item: bool = False
    ordered: bool = True
    latency: Latency = "average"
    bulk: bool = False
    policy: bool = False

    def __post_init__(self) -> None:
        if self.latency not in ("average", "worst"):
            raise ValueError(f"latency must be 'average' or 'worst', not {self.latency!r}")

    @property
    def log(self) -> float:
        """The logarithm of the window's size, 20 where that is not known."""
        return 20.0 if self.items is None else math.log2(max(2, self.items))


@dataclass(frozen=True)
class Cost:
    """Combines (and inverses), about: to insert and evict an item, and for an answer."""

    item: float
    answer: float


@dataclass(frozen=True)
class Rule:
    """When an algorithm is the one to take, and why."""

    algorithm: str
    cannot: Callable[[Need], str | None]
    fits: Callable[[Need], bool]
    why: Callable[[Need], str]
    cost: Callable[[Need], Cost]

    def accepts(self, need: Need) -> bool:
        """Whether the algorithm is there, can do what is needed, and fits."""
        return self.algorithm in ALGORITHMS and not self.cannot(need) and self.fits(need)


@dataclass(frozen=True)
class Choice:
    """An algorithm, the reason in words, and what it costs."""

    algorithm: str
    reason: str
    cost: Cost

    def __str__(self) -> str:
        return f"{self.algorithm}: {self.reason}"


def _no_late_rows(need: Need) -> str | None:
    return None if need.ordered else "its rows must come in order"


def _one_range(need: Need) -> str | None:
    if need.ranges > 1:
        return f"it answers for one range, not {need.ranges}"
    if need.policy:
        return "it does not search for what a policy evicts"
    return _no_late_rows(need)


def _needs_inverse(need: Need) -> str | None:
    if need.monoid.inverse is None:
        return f"{need.monoid.name} has no inverse"
    return _one_range(need)


def _many_ranges(need: Need) -> str | None:
    return "it does not search for what a policy evicts" if need.policy else _no_late_rows(need)


def _any_order(need: Need) -> str | None:
    return "it does not search for what a policy evicts" if need.policy else None


def _searches(need: Need) -> str | None:
    return _one_range(replace(need, policy=False))


def _back(need: Need) -> str | None:
    return None if need.every_item and need.ordered else _one_range(need)


PREFERENCE: tuple[Rule, ...] = (
    Rule(
        "AMTA", _searches,
        lambda need: need.policy or (need.bulk and need.latency == "worst"),
        lambda need: "what the policy evicts is found by search, at the cost of one eviction"
        if need.policy else "any number of rows is evicted in O(log n)",
        lambda need: Cost(3, 1),
    ),
    Rule(
        "FiBA", _any_order,
        lambda need: not need.ordered or (need.ranges > 1 and need.latency == "worst"),
        lambda need: "late rows are inserted where they belong" if not need.ordered
        else f"{need.ranges} ranges, each in O(log n) at worst",
        lambda need: Cost(4, 2 if need.ranges == 1 else need.log),
    ),
    Rule(
        "Recalc", _back,
        lambda need: need.items is not None
        and need.items <= (TINY if need.ranges == 1 else 2 * need.ranges),
        lambda need: f"a window of {need.items} is recalculated sooner than it is kept"
        if need.ranges == 1 else f"{need.ranges} ranges of up to {need.items}, on one way back",
        lambda need: Cost(0, max(1, (need.items or 0) - 1) / need.ranges),
    ),
    Rule(
        "SubtractOnEvict", _needs_inverse,
        lambda need: True,
        lambda need: f"{need.monoid.name} is exact and has an inverse: one in, one out",
        lambda need: Cost(2, 0),
    ),
    Rule(
        "FlatFIT", _many_ranges,
        lambda need: need.ranges > 1,
        lambda need: f"{need.ranges} ranges share what is combined for any of them",
        lambda need: Cost(0, 3 if need.ranges == 1 else 1.5),
    ),
    Rule(
        "DABALite", _one_range,
        lambda need: need.latency == "worst",
        lambda need: "in order, one range, no row costs more than 6 combines",
        lambda need: Cost(3, 1),
    ),
    Rule(
        "TwoStacksLite", _one_range,
        lambda need: True,
        lambda need: "in order, one range: 3 combines on average, whatever the window",
        lambda need: Cost(2, 1),
    ),
)  # fmt: skip
"""The ladder."""


def choose(need: Need, algorithm: str | None = None) -> Choice:
    """The first algorithm of the ladder that fits, or `algorithm` if it can do it.

    >>> from sash import monoids as m
    >>> print(choose(Need(m.Max(), items=1000)))
    TwoStacksLite: in order, one range: 3 combines on average, whatever the window
    >>> print(choose(Need(m.Max(), items=1000, ranges=5)))
    FlatFIT: 5 ranges share what is combined for any of them
    """
    if algorithm is not None:
        return _taken(need, algorithm)
    for rule in PREFERENCE:
        if rule.accepts(need):
            return Choice(rule.algorithm, rule.why(need), rule.cost(need))
    raise ValueError(f"no algorithm can do this: {need}")


def _taken(need: Need, algorithm: str) -> Choice:
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
    rules = [rule for rule in PREFERENCE if rule.algorithm == algorithm]
    searches = _searches if algorithm == "LogMTA" else _one_range
    cannot = rules[0].cannot(need) if rules else searches(need)
    if cannot:
        raise ValueError(f"algorithm={algorithm!r} cannot do this: {cannot}")
    cost = rules[0].cost(need) if rules else Cost(need.log, need.log)
    return Choice(algorithm, "it was asked for", cost)
