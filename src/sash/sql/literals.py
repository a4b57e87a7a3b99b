"""Constants of a query as values of Python: numbers, strings, intervals."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlglot import exp

from sash.sql.errors import NotTaken
from sash.windows.duration import Duration


def value_of(node: exp.Expr) -> Any:
    """The value of a constant; NotTaken where it is none."""
    if isinstance(node, exp.Paren):
        return value_of(node.this)
    if isinstance(node, exp.Neg):
        return -value_of(node.this)
    if isinstance(node, exp.Add):  # as sqlglot has INTERVAL 1 DAY 4 HOURS
        return _sum(value_of(node.this), value_of(node.expression))
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Interval):
        return duration(node)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Array):
        return [value_of(one) for one in node.expressions]
    if not isinstance(node, exp.Literal):
        raise NotTaken(f"{node.sql()} is not a constant")
    if node.is_string:
        return str(node.this)
    text = str(node.this)
    return int(text) if text.isdigit() else float(Decimal(text))


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, Duration) and isinstance(b, Duration):
        return Duration(a.ns + b.ns)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a + b
    raise NotTaken(f"{a} + {b} is not a constant")


def _cast(node: exp.Cast) -> Any:
    if node.to.is_type(exp.DType.INTERVAL) and node.this.is_string:
        return _read(str(node.this.this))
    value = value_of(node.this)
    if node.to.is_type(*exp.DataType.INTEGER_TYPES):
        return int(value)
    if node.to.is_type(*exp.DataType.NUMERIC_TYPES):
        return float(value)
    raise NotTaken(f"{node.sql()} is not a plain constant")


def duration(node: exp.Interval) -> Duration:
    """The length of an interval; NotTaken for months and years, whose lengths differ."""
    amount = node.this
    text = str(amount.name) if isinstance(amount, exp.Literal) else str(value_of(amount))
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _read(f"INTERVAL '{text}' {unit.this.name} TO {unit.expression.name}")
    return _read(f"{text} {unit.name}" if unit is not None else text)


def _read(text: str) -> Duration:
    try:
        return Duration.of(text, "interval")
    except ValueError as problem:
        raise NotTaken(str(problem)) from None
