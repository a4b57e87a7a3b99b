"""Monoids with states of every kind, and items for them; the first is never commutative."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np

from sash import monoids as m
from sash.monoids.monoid import Monoid

PRIME = 10_007


def affine() -> Monoid:
    """x -> a * x + b, composed from older to younger: numbers, not commutative."""

    def lift(x: int) -> tuple[int, int]:
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("affine", (1, 0), lift, combine)


def invertible_affine() -> Monoid:
    """The same maps with their inverses: a group that is not commutative."""

    def inverse(total: tuple[int, int], old: tuple[int, int]) -> tuple[int, int]:
        a = total[0] * pow(old[0], PRIME - 2, PRIME) % PRIME
        return (a, (total[1] - old[1] * a) % PRIME)

    return affine().with_(inverse=inverse)


def words() -> Monoid:
    """Concatenation of strings: objects, not commutative."""
    return Monoid("words", "", lambda x: f"{x} ", lambda a, b: a + b)


def bits() -> Monoid:
    """A small set as a vector of bits."""

    def fill(out: Any, x: int) -> None:
        out[x % 4] |= np.uint64(1) << np.uint64(x % 64)

    return Monoid.vector("bits", np.zeros(4, np.uint64), fill, lambda a, b: a | b, commutative=True)


class Kind(NamedTuple):
    """A monoid, how to draw an item for it, and whether its state is made of numbers."""

    make: Callable[[], Monoid]
    draw: Callable[[Random], Any]
    numbers: bool = False


def _int(dice: Random) -> int:
    return dice.randrange(1000)


def _float(dice: Random) -> float:
    return float(dice.randrange(-1000, 1000))


def _null(dice: Random) -> int | None:
    return None if dice.random() < 0.2 else dice.randrange(-50, 50)


def _pair(dice: Random) -> tuple[float, int] | None:
    return None if dice.random() < 0.1 else (_float(dice), _int(dice))


ORDERED = (Kind(affine, _int, numbers=True), Kind(words, _int))
"""Not commutative, so that an answer in the wrong order is a wrong answer."""

OTHERS = (
    Kind(bits, _int, numbers=True),
    Kind(m.Max, _float, numbers=True),
    Kind(m.Sum, _null),
    Kind(m.Mean, _null),
    Kind(m.Collect, _null),
    Kind(m.CollectDistinct, _null),
    Kind(m.ArgMax, _pair),
    Kind(m.First, _null),
    Kind(m.Last, _null),
    Kind(m.MaxCount, _null),
    Kind(m.LongestRun, _pair),
)

INVERTIBLE = (Kind(invertible_affine, _int),)
OTHER_INVERTIBLE = (Kind(m.Count, _float, numbers=True),)
