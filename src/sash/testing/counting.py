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

    def counted(role: str) -> Any:
        function, count = getattr(inner, role), role + "s"

        def call(*args: Any) -> Any:
            setattr(counter, count, getattr(counter, count) + 1)
            return function(*args)

        return function and call

    roles = {role: counted(role) for role in ("lift", "combine", "lower", "inverse")}
    return inner.with_(**roles, dtype=object, fill=None, typed=None), counter
