"""Decay: aggregations in which a row weighs half as much after a half-life.

They compile; a combine is four numbers and an exact halving, and sum, mean and count of the
same column share it. Answers are as of the newest row of the window that has a value: the
current row itself where the window includes it. A window that ends before the current row (a
delay, or `sash.rows_between(-5, -1)`) is answered as of its own newest row, and with `.by`
each category as of its newest row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash import monoids as m
from sash.aggregations.kinds import double, is_number
from sash.plan.aggregation import TIME, Aggregation
from sash.plan.expressions import Input
from sash.windows.duration import positive


def decayed_sum(column: Input, half_life: str | float) -> Aggregation:
    """The sum of a column, each value halved per `half_life` of its age.

    `half_life` is a duration, as "1 h"; where the time column is a number, a number in its
    unit. A combine: four numbers.

    >>> from sash.testing import running
    >>> running(decayed_sum("x", half_life=1), x=[8.0, 0.0, 1.0])
    [8.0, 4.0, 3.0]
    """
    return _decayed("decayed_sum", m.DecayedSum, (column, TIME), half_life, is_number)


def decayed_mean(column: Input, half_life: str | float) -> Aggregation:
    """The mean of a column, each value weighing half as much per `half_life` of its age.

    A combine: four numbers, which `decayed_sum` shares.

    >>> from sash.testing import running
    >>> running(decayed_mean("x", half_life=1), x=[8.0, 2.0])
    [8.0, 4.0]
    """
    return _decayed("decayed_mean", m.DecayedMean, (column, TIME), half_life, is_number)


def decayed_count(column: Input | None = None, *, half_life: str | float) -> Aggregation:
    """How many rows (with a column, where it is not null), halved per `half_life` of their age.

    A combine: four numbers, which `decayed_sum` of the same column shares.

    >>> from sash.testing import running
    >>> running(decayed_count(half_life=1), x=["a", "b", "c"])
    [1.0, 1.5, 1.75]
    """
    columns = (TIME,) if column is None else (column, TIME)
    return _decayed("decayed_count", m.DecayedCount, columns, half_life, lambda kind: True)


def _decayed(
    name: str,
    factory: Callable[[float], m.Monoid],
    columns: tuple[Input, ...],
    half_life: Any,
    accepts: Callable[[pa.DataType], bool],
) -> Aggregation:
    plain = isinstance(half_life, int | float) and not isinstance(half_life, bool)
    steps = half_life if plain else positive(half_life, "half_life").ns
    return Aggregation(
        name, columns, factory(steps), result=double, accepts=accepts,
        takes="a column of numbers", needs_duration=not plain,
    )  # fmt: skip
