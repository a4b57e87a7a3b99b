"""Counting: a monoid that counts its combines, to hold an algorithm to its theorem."""

from __future__ import annotations

from typing import Any

from sash.monoids.monoid import Monoid, as_monoid


class Counter:
    """How often the functions of a monoid were called.

    Its repr says no numbers: a monoid is known by what it captures, and must stay the same
    while it counts.
    """

    __slots__ = ("combines", "inverses", "lifts", "lowers")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again at zero."""
        self.lifts = self.combines = self.inverses = self.lowers = 0

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in self.__slots__)


def counting(monoid: Any) -> tuple[Monoid, Counter]:
    """The monoid with its calls counted, and the counter. It runs as plain Python.

    >>> from sash import monoids as m
    >>> counted, counter = counting(m.Max())
    >>> counted.combine(1, counted.combine(2, 3))
    3
    >>> counter.combines
    2
    """
    inner, counter = as_monoid(monoid), Counter()

    def lift(x: Any) -> Any:
        counter.lifts += 1
        return inner.lift(x)

    def combine(a: Any, b: Any) -> Any:
        counter.combines += 1
        return inner.combine(a, b)

    def lower(v: Any) -> Any:
        counter.lowers += 1
        return inner.lower(v)

    def inverse(total: Any, old: Any) -> Any:
        counter.inverses += 1
        assert inner.inverse is not None
        return inner.inverse(total, old)

    counted = inner.with_(
        lift=lift,
        combine=combine,
        lower=lower,
        inverse=None if inner.inverse is None else inverse,
        dtype=object,
        fill=None,
        typed=None,
    )
    return counted, counter
