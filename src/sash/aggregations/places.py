"""Rows by their place: ranks within a key, the rows before and after, and values by position.

None of them keeps a window: they follow from the bounds of rows, so they are expressions over
counts and over rows at a place. Ranks are over all rows of a key in order of time, as SQL's over
a partition, and take no `.over(…)`; rows of equal time are peers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash.aggregations.kinds import always, is_numeric, like
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Call, Column, Expression, Input, as_expression, as_input
from sash.plan.scalars import coalesce, lit
from sash.plan.scalars import when as case
from sash.windows.frames import Frame, Groups, Rows

COUNT = always(pa.int64())
METHODS = ("average", "min", "max")


def _count(frame: Frame) -> Aggregation:
    return Aggregation("count", (), how="count", result=COUNT, frame=frame)


def _all() -> Aggregation:
    return _count(Rows(None, None))


def row_number() -> Expression:
    """The number of a row of its key, from 1 on.

    >>> print(row_number())
    cast(count() AS int)
    """
    return _count(Rows(None, 0)).cast("int")


def rank() -> Expression:
    """One more than the rows of the key that are before the row's peers.

    >>> print(rank())
    cast(count() + 1 AS int)
    """
    return (_count(Groups(None, -1)) + 1).cast("int")


def dense_rank() -> Expression:
    """The number of a row's group of peers, from 1 on.

    >>> print(dense_rank())
    cast(groups() AS int)
    """
    groups = Aggregation("groups", (), how="groups", result=COUNT, frame=Rows(None, 0))
    return groups.cast("int")


def percent_rank() -> Expression:
    """(rank - 1) / (rows of the key - 1); 0 where there is one row.

    >>> print(percent_rank())
    CASE WHEN count() = 1 THEN 0.0 ELSE count() / (count() - 1) END
    """
    return case(_all() == 1, 0.0).otherwise(_count(Groups(None, -1)) / (_all() - 1))


def cume_dist() -> Expression:
    """The share of the key's rows that are before the row or its peers.

    >>> print(cume_dist())
    count() / count()
    """
    return _count(Groups(None, 0)) / _all()


def ntile(n: int) -> Expression:
    """The number of a row's bucket, from 1 on, of `n` buckets as equal as can be.

    >>> str(ntile(4)).startswith("cast(CASE WHEN")
    True
    """
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"ntile: n must be a whole number of at least 1, not {n!r}")
    row, rows = _count(Rows(None, -1)), _all()
    size, larger = Call("div", (rows, lit(n))), rows % n  # this many buckets have one extra row
    in_larger = larger * (size + 1)
    bucket = case(row < in_larger, Call("div", (row, size + 1))).otherwise(
        larger + Call("div", (row - in_larger, size))
    )
    return (bucket + 1).cast("int")


def nth_value(column: Input, n: int, ignore_nulls: bool = False) -> Aggregation:
    """The window's n-th row's value, from its end where `n` is negative; null where it has fewer.

    `ignore_nulls`: of the rows whose value is not null.

    >>> print(nth_value("x", 2, ignore_nulls=True))
    nth_value(x) where isnotnull(x)
    """
    if not isinstance(n, int) or n == 0:
        raise ValueError(f"nth_value: n must be a whole number other than 0, not {n!r}")
    found = Aggregation("nth_value", (column,), how="nth", result=like, place=n)
    return known_only(found) if ignore_nulls else found


def known_only(a: Aggregation) -> Aggregation:
    """The aggregation of the rows whose first column is not null."""
    [name] = a.columns[:1]
    return a.where(a.derived.get(name, Column(name)).is_not_null())


def lag(
    column: Input, offset: int = 1, default: Any = None, ignore_nulls: bool = False
) -> Expression:
    """The value of the key's row that many rows before; `default` where there is none.

    `ignore_nulls`: of the rows before whose value is not null, the so-many-th.

    >>> print(lag("x", default=0))
    CASE WHEN count() = 0 THEN 0 ELSE nth_value(x) END
    """
    return _away(column, -_offset(offset, "lag"), default, ignore_nulls)


def lead(
    column: Input, offset: int = 1, default: Any = None, ignore_nulls: bool = False
) -> Expression:
    """The value of the key's row that many rows after; `default` where there is none.

    >>> print(lead("x", 2))
    nth_value(x)
    """
    return _away(column, _offset(offset, "lead"), default, ignore_nulls)


def _offset(offset: Any, name: str) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"{name}: offset must be a whole number of rows, not {offset!r}")
    return offset


def _away(column: Any, by: int, default: Any, ignore_nulls: bool) -> Expression:
    """The row `by` after the row, before it where that is negative."""
    other = as_expression(default)
    if ignore_nulls and by:
        frame = Rows(-1, None) if by > 0 else Rows(None, -1)
        found = replace(nth_value(column, by, ignore_nulls=True), frame=frame)
        return found if default is None else coalesce(found, other)
    frame = Rows(-by, by)
    value = replace(nth_value(column, 1), frame=frame)
    return value if default is None else case(_count(frame) == 0, other).otherwise(value)


def window_rank(
    column: Input, method: str = "average", descending: bool = False, pct: bool = False
) -> WindowRank:
    """The rank of a row's value among the window's: `.over("1 hour")`, as pandas' rolling rank.

    Equal values have the "average" of their ranks, the "min" or the "max". `pct`: as a share
    of the values that are not null. O(log n) per row.

    >>> print(window_rank("x", "min").over("1 hour"))
    cast(rank(x) + 1 AS double)
    """
    if method not in METHODS:
        raise ValueError(f"window_rank: method must be one of {', '.join(METHODS)}, not {method!r}")
    return WindowRank(as_input(column), method, descending, pct)


class WindowRank:
    """A rank that still needs its window."""

    def __init__(self, column: Any, method: str, descending: bool, pct: bool) -> None:
        self._column, self._method, self._descending, self._pct = column, method, descending, pct

    def over(self, frame: Any, closed: Any = None, **shape: Any) -> Expression:
        """The rank within a frame; see `Aggregation.over`."""
        below, equal = (
            Aggregation(
                "rank", (self._column,), how="rank", result=COUNT, accepts=is_numeric,
                takes="a column of numbers or times", place=place,
            ).over(frame, closed, **shape)
            for place in (1, 2)
        )  # fmt: skip
        known = Aggregation("count", (self._column,), how="count", result=COUNT)
        rows = known.over(frame, closed, **shape)
        before: Expression = rows - below - equal if self._descending else below
        ranks = {
            "min": (before + 1).cast("double"),
            "max": (before + equal).cast("double"),
            "average": before + (equal + 1) / 2,
        }
        rank = ranks[self._method]
        return rank / rows if self._pct else rank

    def __str__(self) -> str:
        return f"window_rank({self._column})"
