"""What the conformance suite runs over: every algorithm, with monoids of every kind of state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from sash import Monoid, swag
from sash import monoids as m
from sash.swag.registry import IN_ORDER

PRIME = 10_007


def affine() -> Monoid:
    """x -> a * x + b, composed from older to younger: associative, not commutative."""

    def lift(x: int) -> tuple[int, int]:
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("affine", (1, 0), lift, combine)


def words() -> Monoid:
    """Concatenation of strings: objects, not commutative."""
    return Monoid("words", "", str, lambda a, b: a + b)


def int_sum() -> Monoid:
    return Monoid(
        "int_sum", 0, int, lambda a, b: a + b, inverse=lambda total, old: total - old,
        commutative=True,
    )  # fmt: skip


def bits() -> Monoid:
    """A small set as a vector of bits, combined in place."""

    def fill(out: Any, x: int) -> None:
        out[x % 4] |= np.uint64(1) << np.uint64(x % 64)

    return Monoid.vector("bits", np.zeros(4, np.uint64), fill, lambda a, b: a | b, commutative=True)


@dataclass(frozen=True)
class Case:
    """A monoid, how to draw an item for it, and whether its state compiles."""

    make: Callable[[], Monoid]
    draw: Callable[[Random], Any]
    compiles: bool = True

    def __repr__(self) -> str:
        return self.make.__name__


def small_int(random: Random) -> int:
    return random.randrange(1000)


def small_float(random: Random) -> float:
    return float(random.randrange(-1000, 1000))


CORE = [
    Case(affine, small_int),
    Case(words, small_int, compiles=False),
    Case(bits, small_int),
    Case(m.Max, small_float),
]
INVERTIBLE = [Case(int_sum, small_int), Case(m.Count, small_float)]


Pair = tuple[type[swag.Window], Case, bool]


def fitting(algorithm: type[swag.Window], cases: list[Case]) -> list[Case]:
    """The cases that an algorithm takes."""
    return INVERTIBLE if algorithm is swag.SubtractOnEvict else cases


def pairs(cases: list[Case]) -> list[Pair]:
    """Algorithm, case, compiled: all that make sense together."""
    return [
        (algorithm, case, way)
        for algorithm in IN_ORDER
        for case in fitting(algorithm, cases)
        for way in ((True, False) if case.compiles else (False,))
    ]


def is_quick(pair: Pair) -> bool:
    """Compiling takes a second a kernel: by default each algorithm once, DABA Lite with vectors
    too."""
    algorithm, case, compiled = pair
    first = case is fitting(algorithm, CORE)[0]
    return not compiled or first or (algorithm is swag.DABALite and case.make is bits)
