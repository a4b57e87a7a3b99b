"""Ranks: where a value stands among others, and the value at a share of all ranks."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint", "approx")
"""How a percentile between two values is computed: NumPy's names, and Spark's percentile_approx."""


def rank(x: Any) -> Any:
    """A key that sorts as Spark does: null first, NaN above all.

    >>> sorted([2.0, float("nan"), None, 1.0], key=rank)
    [None, 1.0, 2.0, nan]
    """
    if x is None:
        return (-1, 0)
    return (1, 0) if x != x else (0, x)


def by_rank(pair: tuple[Any, Any]) -> Any:
    """The rank of the first of two."""
    return rank(pair[0])


def at_share(counts: Sequence[tuple[Any, int]], share: float, interpolation: str) -> Any:
    """The value at a share of the ranks, from (value, count) in order; there is at least one.

    >>> at_share([(1, 3), (5, 1)], 0.75, "linear"), at_share([(1, 3), (5, 1)], 0.75, "higher")
    (2.0, 5)
    """
    ends = list(accumulate(count for _, count in counts))

    def at(place: int) -> Any:
        return counts[bisect_right(ends, place)][0]

    last = ends[-1] - 1
    if interpolation == "approx":
        return at(max(0, math.ceil(share * (last + 1)) - 1))
    place = int(share * last)
    part = share * last - place
    lower = at(place)
    upper = at(min(place + 1, last)) if part > 0 else lower
    return between(lower, upper, place, part, interpolation)


def between(lower: Any, upper: Any, place: int, part: float, interpolation: str) -> Any:
    """The value a `part` of the way from the value at `place` to the next one."""
    if interpolation == "lower":
        return lower
    if interpolation == "higher":
        return upper
    if interpolation == "nearest":
        return upper if part > 0.5 or (part == 0.5 and place % 2) else lower
    share = 0.5 if interpolation == "midpoint" else part
    if isinstance(lower, date | timedelta):
        return lower if part == 0 else lower + _share_of(upper - lower, share)
    low, high = float(lower), float(upper)
    if part == 0 or low == high:
        return low
    return low * (1 - share) + high * share


def _share_of(step: Any, share: float) -> Any:
    """A share of a timedelta; a half exactly, rounded down."""
    return step // 2 if share == 0.5 else step * share
