"""Decay: sums, counts and means in which an item weighs half as much after a half-life.

Time is cut into cells one half-life long, the same ones for all. In its own cell an item
weighs half of 2 to the part of the cell that has passed, from 1/2 to 1; a partial is a sum
of such weights in the cell of its newest item. To combine, the older one is halved once per
cell that lies between: an exact operation, so only additions round, however many years and
rows there are, and no large power is ever taken. `lower` takes the newest item's own
weight out again. Legend of a state:

    SEEN               whether there is an item
    CELL, PART         the newest item's cell, and the part of it that has passed, from 0 to 1
    TOTAL, WEIGHT      the sums of weighted values and of weights
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry
from sash.monoids.sums import FLOAT64, INT64
from sash.monoids.variants import counted, has_null, nullable, number

SEEN, CELL, PART, TOTAL, WEIGHT = range(5)
GONE = 2200  # half-lives after which nothing is left of the largest double


def DecayedSum(half_life: float, *, dtype: Any = None) -> Monoid:
    """The sum of values, each halved per `half_life` of its age; items are (value, time).

    Ages are as of the newest item. `half_life` is a number in the unit of the times.

    >>> w = DecayedSum(half_life=10)
    >>> w.lower(w.combine(w.lift((8.0, 100)), w.lift((1.0, 120))))
    3.0
    """
    return entry(DecayedSum, _decayed("DecayedSum", half_life, total), dtype, half_life=half_life)


def DecayedMean(half_life: float, *, dtype: Any = None) -> Monoid:
    """The mean of values, each weighing half as much per `half_life` of its age.

    Items are (value, time).

    >>> w = DecayedMean(half_life=10)
    >>> w.lower(w.combine(w.lift((8.0, 100)), w.lift((3.0, 110))))
    4.666666666666667
    """
    return entry(DecayedMean, _decayed("DecayedMean", half_life, mean), dtype, half_life=half_life)


def DecayedCount(half_life: float, *, dtype: Any = None) -> Monoid:
    """How many items there are, each counting half as much per `half_life` of its age.

    Items are (value, time), or times alone; 0.0 where there are none.

    >>> w = DecayedCount(half_life=10)
    >>> w.lower(w.combine(w.lift(100), w.lift(120)))
    1.25
    """
    made = _decayed("DecayedCount", half_life, weight)
    return entry(DecayedCount, made, dtype, half_life=half_life)


def total(v: Any) -> Any:
    """The decayed sum as of the newest item."""
    return v[TOTAL] / weight_at(v[PART])


def mean(v: Any) -> Any:
    """The decayed mean, which is the same as of any time."""
    return v[TOTAL] / v[WEIGHT]


def weight(v: Any) -> Any:
    """The decayed count as of the newest item."""
    return v[WEIGHT] / weight_at(v[PART])


def weight_at(part: Any) -> Any:
    """The weight of an item in its own cell: below 1, so that no sum overflows on the way."""
    return 2.0 ** (part - 1.0)


def _decayed(name: str, half_life: float, lower: Callable[[Any], Any]) -> Monoid:
    step = _checked(name, half_life)
    counts = lower is weight

    def typed(dtype: Any) -> Monoid | None:
        pair = isinstance(dtype, tuple | list)
        kinds = [number(d) for d in dtype] if pair else [number(dtype)]
        known = [kind for kind in kinds if kind is not None]  # NumPy takes None for a dtype
        if len(known) != len(kinds) or len(known) != (2 if pair else 1) or not (pair or counts):
            return None
        exact = isinstance(step, int) and known[-1].kind != "f"
        cell = INT64 if exact else FLOAT64
        placed = cell_of(step) if exact else float_cell_of(float(step))
        lift = lifting(placed) if pair else lifting_times(placed)
        return Monoid(
            name, (False, 0 if exact else 0.0, 0.0, 0.0, 0.0), lift, counted(merged), lower,
            commutative=True, dtype=(np.dtype(np.bool_), cell, FLOAT64, FLOAT64, FLOAT64),
        )  # fmt: skip

    return nullable(
        name, _lifting_objects(name, step, counts), merged, lower,
        empty=float if counts else None, skips=has_null, commutative=True, typed=typed,
    )  # fmt: skip


def _checked(name: str, half_life: Any) -> int | float:
    if isinstance(half_life, bool) or not isinstance(half_life, int | float | np.number):
        raise TypeError(
            f"{name}: half_life must be a number in the unit of time, not {half_life!r}"
        )
    if not 0 < half_life < math.inf:
        raise ValueError(f"{name}: half_life must be more than zero and finite, not {half_life!r}")
    return int(half_life) if half_life == int(half_life) else float(half_life)


def _lifting_objects(name: str, step: int | float, counts: bool) -> Callable[[Any], Any]:
    """`lift` of any objects: integer times stay exact, and what is only counted may be text."""
    floats = float_cell_of(float(step))
    whole = cell_of(step) if isinstance(step, int) else floats

    def lift(x: Any) -> Any:
        pair = isinstance(x, tuple | list)
        value, time = x if pair else (0.0, x)
        if not (pair or counts) or not isinstance(time, int | float | np.number):
            raise TypeError(f"{name} takes pairs (value, time), with times as numbers, not {x!r}")
        cell, part = (floats if isinstance(time, float | np.floating) else whole)(time)
        weight = weight_at(part)
        return (True, cell, part, 0.0 if counts else weight * float(value), weight)

    return lift


def cell_of(step: Any) -> Callable[[Any], Any]:
    """From an integer time to its cell and the part of it that has passed."""

    def placed(time: Any) -> Any:
        return time // step, (time % step) / step

    return placed


def float_cell_of(step: float) -> Callable[[Any], Any]:
    """From a time to its cell, a whole number as a double, and the part that has passed."""

    def placed(time: Any) -> Any:
        moment = float(+time)
        over = moment % step
        cell, part = float(np.floor((moment - over) / step + 0.5)), over / step
        if part >= 1.0:  # rounded up, of a time just below a cell's end
            return cell + 1.0, 0.0
        return cell, part

    return placed


def lifting(placed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`lift` of pairs of numbers."""

    def lift(x: Any) -> Any:
        cell, part = placed(x[1])
        weight = weight_at(part)
        return (True, cell, part, weight * float(+x[0]), weight)

    return lift


def lifting_times(placed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`lift` of times alone."""

    def lift(time: Any) -> Any:
        cell, part = placed(time)
        return (True, cell, part, 0.0, weight_at(part))

    return lift


def merged(a: Any, b: Any) -> Any:
    """Two partials as of the newest item of both; neither is empty."""
    old, new = (a, b) if b[CELL] >= a[CELL] else (b, a)
    cells = new[CELL] - old[CELL]
    part = old[PART] if cells == 0 and old[PART] > new[PART] else new[PART]
    total, weight = halved(old[TOTAL], cells), halved(old[WEIGHT], cells)
    return (True, new[CELL], part, total + new[TOTAL], weight + new[WEIGHT])


def halved(x: Any, times: Any) -> Any:
    """x by 2 to the power of `times`, which is exact until nothing is left."""
    if times == 0:
        return x
    gone = times > GONE or times < 0  # below zero, it did not fit in 64 bits
    return math.ldexp(x, -GONE if gone else -int(times))
