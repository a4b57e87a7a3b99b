"""Algorithms: every one with monoids of every kind, plain and compiled, restored in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash import swag
from sash.swag.registry import ALGORITHMS
from sash.testing.oracle import Oracle, TimedOracle
from sash.testing.torture.case import Case
from sash.testing.torture.monoids import INVERTIBLE, ORDERED, OTHER_INVERTIBLE, OTHERS, Kind

STEPS = 40
MOST = 1000
"""Items in a window; more are evicted, as recalculation takes its time."""


def algorithms(case: Case) -> None:
    """Random operations on a window, with a monoid that is not commutative and with another."""
    name = case.dice.choice(list(ALGORITHMS))
    groups: tuple[tuple[Kind, ...], ...] = (ORDERED, OTHERS)
    if ALGORITHMS[name] is swag.SubtractOnEvict:
        groups = (INVERTIBLE, OTHER_INVERTIBLE)
    for kinds in groups:
        kind = case.dice.choice(kinds)
        compiled = case.compiled and kind.numbers and case.dice.random() < 0.5
        driver = Timed if ALGORITHMS[name] is swag.FiBA else InOrder
        driver(case, kind, compiled, name).run(STEPS)


class InOrder:
    """A window and a list, with the same done to both."""

    def __init__(self, case: Case, kind: Kind, compiled: bool, name: str) -> None:
        self.case, self.kind, self.compiled = case, kind, compiled
        self.monoid = kind.make()
        self.what = f"{name} of {self.monoid.name}, {'compiled' if compiled else 'plain'}"
        self.window: Any = ALGORITHMS[name](self.monoid, compiled=compiled)
        self.oracle: Any = self.oracle_of(self.monoid)

    def oracle_of(self, monoid: Any) -> Any:
        return Oracle(monoid)

    def run(self, steps: int) -> None:
        """A growing phase, then a shrinking one, and so on; a comparison after each step."""
        for step in range(steps):
            done = self.step(step // 15 % 2 == 0)
            what = f"{self.what}, step {step} ({done})"
            self.case.same(len(self.window), len(self.oracle), f"{what}: length")
            self.case.same(self.window.query(), self.oracle.query(), what)
            self.window.check()

    def both(self, method: str, *given: Any) -> str:
        """Do it to both, and compare what they give."""
        count, lists = 1, tuple(self.arrays(x) for x in given)
        count += max((len(x) for x in given if isinstance(x, list)), default=0)
        found = getattr(self.window, method)(*lists)
        expected = getattr(self.oracle, method)(*given)
        if expected is not None:
            self.case.same(list(found) if isinstance(expected, list) else found, expected, method)
        if isinstance(expected, list):  # each answer is compared
            count += len(expected) - 1
        self.case.operations += count
        return method

    def arrays(self, x: Any) -> Any:
        return np.array(x) if isinstance(x, list) and self.kind.numbers else x

    def drawn(self, most: int) -> list[Any]:
        return [self.kind.draw(self.case.dice) for _ in range(self.case.dice.randint(1, most))]

    def restored(self) -> str:
        """The window from its snapshot, and plain or compiled as before."""
        self.window = swag.restore(self.window.snapshot(), self.monoid, compiled=self.compiled)
        return "snapshot"

    def step(self, growing: bool) -> str:
        dice, size = self.case.dice, len(self.oracle)
        kinds = ["insert", "evict", "insert_many", "evict_many", "slide", "snapshot", "drain"]
        chances = [5, 2, 4, 1, 2, 1, 0.3] if growing else [2, 5, 1, 4, 2, 1, 0.3]
        operation = dice.choices(kinds, chances)[0]
        if size > MOST or operation == "drain":
            return self.evicted(size)
        if operation == "evict_many":
            return self.evicted(dice.randint(0, size))
        if operation == "evict" and size:
            return self.both("evict")
        if operation == "insert_many":
            return self.both("insert_many", self.drawn(200))
        if operation == "slide":
            return self.both("slide", self.drawn(dice.choice([60, 60, 2000])), dice.randint(1, 40))
        return self.restored() if operation == "snapshot" else self.both("insert", *self.drawn(1))

    def evicted(self, k: int) -> str:
        self.case.operations += k
        return self.both("evict_many", k)


class Timed(InOrder):
    """FiBA: items at any time, in bulk and one by one."""

    def oracle_of(self, monoid: Any) -> Any:
        return TimedOracle(monoid)

    def step(self, growing: bool) -> str:
        dice, times = self.case.dice, sorted(self.oracle.entries)
        span = dice.choice([12, 300, 5000])
        kinds = ["insert", "bulk_insert", "evict", "bulk_evict", "range_query", "snapshot"]
        chances = [3, 3, 1, 1, 1, 0.5] if growing else [1, 1, 3, 3, 1, 0.5]
        operation = dice.choices(kinds, chances)[0]
        if len(times) > MOST:
            return self.both("bulk_evict", times[-200])
        if operation in ("evict", "bulk_evict") and not times:
            operation = "insert"
        if operation == "insert":
            young = times[-1] + 1 if times else 0
            return self.both("insert", dice.choice([dice.randrange(span), young]), *self.drawn(1))
        if operation == "bulk_insert":
            xs = self.drawn(200)
            start = dice.choice([dice.randrange(span), times[-1] if times else 0])
            return self.both("bulk_insert", sorted(start + dice.randrange(span) for _ in xs), xs)
        if operation == "bulk_evict":
            near = [times[0], times[-1], dice.choice(times[:9]), dice.randrange(span)]
            return self.both("bulk_evict", dice.choice([*near, dice.choice(times)]))
        if operation == "range_query":
            return self.both("range_query", *sorted(dice.randrange(-3, 2 * span) for _ in range(2)))
        return self.both("evict") if operation == "evict" else self.restored()
