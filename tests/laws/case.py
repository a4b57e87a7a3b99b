"""A case: an entry of the catalogue, lists of its items, and what it must answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sash import Monoid

NAN = float("nan")

integers = st.integers(-9, 9)
positive = st.integers(1, 9)
floats = st.one_of(integers.map(float), st.sampled_from([NAN, -0.0, math.inf, -math.inf]))
finite = integers.map(float)
numbers = st.one_of(st.lists(integers), st.lists(finite))
texts = st.text("ab", max_size=2)
pairs = st.tuples(finite, integers)


def same_kind(*kinds: Any) -> Any:
    """Lists of items of one of `kinds`."""
    return st.one_of(*(st.lists(kind, min_size=1, max_size=4) for kind in kinds))


@dataclass(frozen=True)
class Case:
    """An entry: how to make it, lists of items, what they must answer (nulls left out)."""

    make: Callable[[], Monoid]
    inputs: Any
    answer: Callable[[list[Any]], Any]
    empty: Any = None
    tolerance: float = 0.0  # where even whole numbers are not exact: means and logarithms
    columns: tuple[Any, ...] = field(default=())  # what it is compiled for
    shares: bool = False  # the state of another entry: compiled in the slow tests
    equal: Callable[[Any, Any], bool] | None = None  # of states, where they have no equality
    read: Callable[[Any], Any] = lambda answer: answer  # what an answer in bytes says
    skips_null: bool = True  # items that are None; a row of columns is a tuple

    def __repr__(self) -> str:
        return repr(self.make())


def above(a: Any, b: Any) -> bool:
    return (a != a and b == b) or a > b


def ordered(xs: list[Any]) -> list[Any]:
    return sorted(xs, key=lambda x: (x != x, 0 if x != x else x))


def count_of(xs: list[Any], x: Any) -> int:
    return sum(y == x or (y != y and x != x) for y in xs)


def best(points: list[Any], better: Callable[[Any, Any], bool]) -> Any:
    found = points[0]
    for point in points[1:]:
        if better(point[0], found[0]):
            found = point
    return found[1]


def distinct(xs: list[Any]) -> list[Any]:
    found: list[Any] = []
    for x in xs:
        if not count_of(found, x):
            found.append(x)
    return found


rng = np.random.default_rng(7)
INTS = rng.integers(-4, 5, 40)
FLOATS = np.where(rng.random(40) < 0.1, NAN, INTS / 2)
SIZES = np.abs(INTS).astype(np.float32) + 1
TIMES = np.arange(40)
