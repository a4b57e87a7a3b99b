"""The AMTA paper's slide policies, and what they mean, by brute force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from sash import Monoid
from sash import monoids as m
from sash.monoids.runs import START, TAIL_START

PRIME = 10_007


def affine() -> Monoid:
    """x -> a * x + b, composed from older to younger: not commutative."""

    def lift(x: int) -> tuple[int, int]:
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("affine", (1, 0), lift, combine)


def total_of(monoid: Monoid, items: list[Any]) -> Any:
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return total


def recalculated(monoid: Monoid, items: list[Any]) -> Any:
    return monoid.lower(total_of(monoid, items))


def enforce(monoid: Monoid, policy: Any, items: list[Any]) -> list[Any]:
    """What is left of the window: as many of the oldest go as the policy is true of."""
    total, old, gone = total_of(monoid, items), monoid.identity, 0
    for k, x in enumerate(items, 1):
        old = monoid.combine(old, monoid.lift(x))
        if not policy(total, old):
            break
        gone = k
    return items[gone:]


# Section 3.2, the running example: the maximum of the last updates that add up to at most 10.


def sum_and_max() -> Monoid:
    """(sum, newest, maximum) of updates that are not negative."""
    return Monoid(
        "sum and max",
        (0, -1, -1),
        lambda x: (x, x, x),
        lambda a, b: (a[0] + b[0], b[1] if b[1] >= 0 else a[1], max(a[2], b[2])),
        lambda v: v[2],
    )


def sum_above_10(total: Any, old: Any) -> bool:
    """The newest of `old` goes if it and all that is younger add up to more than 10."""
    return bool(total[0] - old[0] + old[1] > 10)


# Listing 1: the last hour, in milliseconds.


def latest() -> Monoid:
    return Monoid("latest", 0, int, max)


def older_than_an_hour(total: Any, old: Any) -> bool:
    return bool(total - old >= 3_600_000)


# Listings 2 and 3: a maximum size, which each update may change.


def count_and_size() -> Monoid:
    """(count, maximum size); the newest says which, and none says 0."""
    return Monoid(
        "count",
        (0, 0),
        lambda most: (1, most),
        lambda a, b: (a[0] + b[0], b[1] if b[1] > 0 else a[1]),
        lambda v: v[0],
    )


def above_maximum_size(total: Any, old: Any) -> bool:
    return bool(total[0] - old[0] >= total[1])


# Section 5.6: what is older than the maximum, or than the longest increasing run, is never
# part of a later answer.


def maximum() -> Monoid:
    return Monoid("maximum", float("-inf"), float, max)


def older_than_the_maximum(total: Any, old: Any) -> bool:
    return bool(old < total)


def longest_run() -> Monoid:
    return m.LongestRun()


def older_than_the_longest_run(total: Any, old: Any) -> bool:
    """Runs do not overlap: `old` has none of it if its last run began before."""
    return bool(old[TAIL_START] < total[START])


@dataclass(frozen=True)
class Case:
    """A monoid, a policy, and how to draw updates for them."""

    make: Callable[[], Monoid]
    policy: Callable[[Any, Any], bool]
    draw: Callable[[Random, int], list[Any]]

    def __str__(self) -> str:
        return self.policy.__name__


def small(random: Random, n: int) -> list[Any]:
    return [random.choice([0, 0, 1, 1, 2, 3, 4, 12]) for _ in range(n)]


def times(random: Random, n: int) -> list[Any]:
    """Bursts and pauses: many go at once."""
    now, drawn = 0, []
    for _ in range(n):
        now += random.choice([1, 1000, 60_000, 60_000, 3_000_000])
        drawn.append(now)
    return drawn


def sizes(random: Random, n: int) -> list[Any]:
    return [1 << random.choice([2, 4, 6, 6, 6, 6, 6]) for _ in range(n)]


def falling(random: Random, n: int) -> list[Any]:
    return [float(random.randrange(max(1, 2 * (n - i)))) for i in range(n)]


def rising(random: Random, n: int) -> list[Any]:
    value, drawn = 0, []
    for time in range(n):
        value += random.choice([-3, 0, 1, 1, 2])
        drawn.append((time, value))
    return drawn


CASES = [
    Case(sum_and_max, sum_above_10, small),
    Case(latest, older_than_an_hour, times),
    Case(count_and_size, above_maximum_size, sizes),
    Case(maximum, older_than_the_maximum, falling),
    Case(longest_run, older_than_the_longest_run, rising),
]
