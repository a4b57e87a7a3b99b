"""The beginnings of expressions: columns, literals, SQL, conditions, and functions of one row."""

from __future__ import annotations

from typing import Any

from sash.plan.expressions import Call, Column, Expression, Literal, as_condition, as_expression


def col(name: str) -> Column:
    """The column of that name.

    >>> print((col("price") - 1) * col("size"))
    (price - 1) * size
    """
    if not isinstance(name, str):
        raise TypeError(f"col takes the name of a column, not {name!r}")
    return Column(name)


def lit(value: Any) -> Expression:
    """A value that is the same for all rows."""
    return as_expression(value)


def expr(sql: str) -> Expression:
    """An expression in SQL.

    >>> print(expr("abs(x) > 2 AND s = 'ok'"))
    abs(x) > 2 AND s = 'ok'
    """
    return as_condition(sql)


def when(condition: Any, value: Any) -> Call:
    """`value` where the condition is true; `.when(…)` and `.otherwise(…)` go on.

    >>> print(when(col("x") > 0, "up").otherwise("down"))
    CASE WHEN x > 0 THEN 'up' ELSE 'down' END
    """
    return Call("case", (as_condition(condition), as_expression(value)))


def call(function: str, *arguments: Any) -> Call:
    """A function by the name that SQL has for it; a string is the name of a column."""
    given = (Column(a) if isinstance(a, str) else as_expression(a) for a in arguments)
    return Call(function, tuple(given))


def coalesce(*values: Any) -> Call:
    """The first that is not null."""
    return call("coalesce", *values)


def greatest(*values: Any) -> Call:
    """The largest that is not null."""
    return call("greatest", *values)


def least(*values: Any) -> Call:
    """The smallest that is not null."""
    return call("least", *values)


def abs(value: Any) -> Call:
    """The absolute value."""
    return call("abs", value)


def sqrt(value: Any) -> Call:
    """The square root; NaN of a negative number."""
    return call("sqrt", value)


def exp(value: Any) -> Call:
    """e to the power of it."""
    return call("exp", value)


def log(value: Any) -> Call:
    """The natural logarithm; null of 0 and of negative numbers."""
    return call("ln", value)


def pow(value: Any, power: Any) -> Call:
    """A power, as a double."""
    return call("pow", value, power)


def floor(value: Any) -> Call:
    """The next whole number below."""
    return call("floor", value)


def ceil(value: Any) -> Call:
    """The next whole number above."""
    return call("ceil", value)


def round(value: Any, places: int = 0) -> Call:
    """Rounded to that many places, halves away from 0."""
    return Call("round", (call("", value).arguments[0], Literal(places)))
