"""The smallest and the largest value, the row that has it, the oldest and the youngest row."""

from __future__ import annotations

from sash import monoids as m
from sash.aggregations import kinds
from sash.aggregations.places import known_only
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def min(column: Input) -> Aggregation:
    """The smallest value; NaN only where there is no number.

    >>> from sash.testing import running
    >>> running(min("x"), x=[3, None, 1, 5])
    [3, 3, 1, 1]
    """
    return kinds.of_ordered("min", column, m.Min())


def max(column: Input) -> Aggregation:
    """The largest value; NaN is larger than any number.

    >>> from sash.testing import running
    >>> running(max("x"), x=[3, None, 1, 5])
    [3, 3, 3, 5]
    """
    return kinds.of_ordered("max", column, m.Max())


def bool_and(column: Input) -> Aggregation:
    """Whether all are true.

    >>> from sash.testing import running
    >>> running(bool_and("x"), x=[True, False, True])
    [True, False, False]
    """
    return kinds.of_booleans("bool_and", min(column))


def bool_or(column: Input) -> Aggregation:
    """Whether any is true.

    >>> from sash.testing import running
    >>> running(bool_or("x"), x=[False, True, False])
    [False, True, True]
    """
    return kinds.of_booleans("bool_or", max(column))


def _argument(name: str, measure: Input, argument: Input, monoid: m.Monoid) -> Aggregation:
    takes = "a measure that has an order"
    return Aggregation(
        name, (measure, argument), monoid, "argument", kinds.like_second, kinds.is_ordered, takes
    )


def argmax(measure: Input, argument: Input) -> Aggregation:
    """The argument where the measure is largest, the first of equals.

    >>> from sash.testing import running
    >>> running(argmax("x", "who"), x=[3, 5, 1], who=["ann", "bob", "cyd"])
    ['ann', 'bob', 'bob']
    """
    return _argument("argmax", measure, argument, m.ArgMax())


def argmin(measure: Input, argument: Input) -> Aggregation:
    """The argument where the measure is smallest, the first of equals.

    >>> from sash.testing import running
    >>> running(argmin("x", "who"), x=[3, 5, 1], who=["ann", "bob", "cyd"])
    ['ann', 'ann', 'cyd']
    """
    return _argument("argmin", measure, argument, m.ArgMin())


def max_by(argument: Input, measure: Input) -> Aggregation:
    """`argmax` with the order of arguments that Spark has.

    >>> from sash.testing import running
    >>> running(max_by("who", "x"), x=[3, 5, 1], who=["ann", "bob", "cyd"])
    ['ann', 'bob', 'bob']
    """
    return argmax(measure, argument)


def min_by(argument: Input, measure: Input) -> Aggregation:
    """`argmin` with the order of arguments that Spark has.

    >>> from sash.testing import running
    >>> running(min_by("who", "x"), x=[3, 5, 1], who=["ann", "bob", "cyd"])
    ['ann', 'ann', 'cyd']
    """
    return argmin(measure, argument)


def first(column: Input, ignore_nulls: bool = False) -> Aggregation:
    """The oldest row's value, null or not; `ignore_nulls`: the oldest that is not null.

    >>> from sash.testing import running
    >>> running(first("x"), x=[None, 1, 2])
    [None, None, None]
    """
    found = Aggregation("first", (column,), how="first", result=kinds.like)
    return known_only(found) if ignore_nulls else found


def last(column: Input, ignore_nulls: bool = False) -> Aggregation:
    """The youngest row's value, null or not; `ignore_nulls`: the youngest that is not null.

    >>> from sash.testing import running
    >>> running(last("x"), x=[1, 2, None])
    [1, 2, None]
    """
    found = Aggregation("last", (column,), how="last", result=kinds.like)
    return known_only(found) if ignore_nulls else found


any_value = first
first_value = first
last_value = last
