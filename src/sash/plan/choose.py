"""The choice of an algorithm: a ladder, from the most particular to the most general.

Each rule says what its algorithm cannot do, and when it is the best choice. The first that fits
is chosen, with its reason; the user may choose another that can do it. Rows come in order: a
table is sorted first, and a stream keeps its bulks in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sash.monoids.monoid import Monoid
from sash.swag.registry import ALGORITHMS

Latency = Literal["average", "worst"]
TINY = 4
"""A window of so few items is recalculated sooner than it is kept."""


@dataclass(frozen=True)
class Need:
    """The requirements of a window. Items are rows, or slices where rows are sliced.

    `items`: how many are in the longest window, None if that is not known; `latency`: whether
    the average counts or the worst case; `policy`: a function says which items leave.
    """

    monoid: Monoid
    items: int | None = None
    latency: Latency = "average"
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
    """When an algorithm is the best choice, and why."""

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


def _no_policy(need: Need) -> str | None:
    return "it does not search for what a policy evicts" if need.policy else None


def _needs_inverse(need: Need) -> str | None:
    if need.monoid.inverse is None:
        return f"{need.monoid.name} has no inverse"
    return _no_policy(need)


def _searches(need: Need) -> str | None:
    return None


PREFERENCE: tuple[Rule, ...] = (
    Rule(
        "AMTA", _searches,
        lambda need: need.policy,
        lambda need: "what the policy evicts is found by search, at the cost of one eviction",
        lambda need: Cost(3, 1),
    ),
    Rule(
        "Recalc", _no_policy,
        lambda need: need.items is not None and need.items <= TINY,
        lambda need: f"a window of {need.items} is recalculated sooner than it is kept",
        lambda need: Cost(0, max(1, (need.items or 0) - 1)),
    ),
    Rule(
        "SubtractOnEvict", _needs_inverse,
        lambda need: True,
        lambda need: f"{need.monoid.name} is exact and has an inverse: one in, one out",
        lambda need: Cost(2, 0),
    ),
    Rule(
        "DABALite", _no_policy,
        lambda need: need.latency == "worst",
        lambda need: "in order, one range, no row costs more than 6 combines",
        lambda need: Cost(3, 1),
    ),
    Rule(
        "TwoStacksLite", _no_policy,
        lambda need: True,
        lambda need: "in order, one range: 3 combines on average, whatever the window",
        lambda need: Cost(2, 1),
    ),
)  # fmt: skip
"""The ladder."""

ASKED_FOR: dict[str, Callable[[Need], Cost]] = {
    "FiBA": lambda need: Cost(4, 2),
    "FlatFIT": lambda need: Cost(0, 3),
}
"""The cost of algorithms that no rule chooses; all others take O(log n) combines."""


def choose(need: Need, algorithm: str | None = None) -> Choice:
    """The first algorithm of the ladder that fits, or `algorithm` if it can do it.

    >>> from sash import monoids as m
    >>> print(choose(Need(m.Max(), items=1000)))
    TwoStacksLite: in order, one range: 3 combines on average, whatever the window
    >>> print(choose(Need(m.Max(), items=1000, latency="worst")))
    DABALite: in order, one range, no row costs more than 6 combines
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
    rule = next((rule for rule in PREFERENCE if rule.algorithm == algorithm), None)
    searches = _searches if algorithm == "LogMTA" else _no_policy
    cannot = searches(need) if rule is None else rule.cannot(need)
    if cannot:
        raise ValueError(f"algorithm={algorithm!r} cannot do this: {cannot}")
    cost = ASKED_FOR.get(algorithm, lambda need: Cost(need.log, need.log))
    return Choice(algorithm, "it was asked for", (cost if rule is None else rule.cost)(need))
