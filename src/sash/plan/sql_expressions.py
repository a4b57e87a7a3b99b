"""Expressions from strings of SQL, through sqlglot; what comes out is `sash.plan.expressions`."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

from sash.plan.expressions import Call, Column, Expression, Literal
from sash.windows.duration import Duration

BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "IntDiv": "div", "EQ": "=",
    "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "And": "and", "Or": "or",
    "NullSafeEQ": "<=>", "Pow": "pow", "Like": "like",
}  # fmt: skip
"""sqlglot's classes of two arguments."""

MISSING = r"Required keyword: '\w+' missing for <class '[\w.]*\.(\w+)'>"
"""How sqlglot says that an argument of a class of its own is not there."""

UNARY = {
    "Neg": "negative", "Not": "not", "Abs": "abs", "Sqrt": "sqrt", "Exp": "exp", "Ln": "ln",
    "Floor": "floor", "Ceil": "ceil", "Lower": "lower", "Upper": "upper", "Length": "length",
    "Year": "year", "Month": "month", "Day": "day", "Hour": "hour", "Minute": "minute",
    "Second": "second", "DayOfWeek": "dayofweek", "Sign": "sign", "IsNan": "isnan",
}  # fmt: skip


def parse(sql: str) -> Expression:
    """The expression of a string; ValueError says where it cannot be read.

    >>> print(parse("price*size / nullif(n, 0)"))
    price * size / CASE WHEN n = 0 THEN NULL ELSE n END
    """
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            f"{sql!r} is SQL, which sqlglot reads: pip install 'sash[sql]'"
        ) from problem
    try:
        tree = sqlglot.parse_one(sql, dialect="spark")
    except SqlglotError as problem:
        raise ValueError(f"{sql!r} is not an expression of SQL: {said_by(problem)}") from problem
    return from_sqlglot(tree, sql)


def said_by(problem: Exception) -> str:
    """What sqlglot says of SQL that it cannot read, in one line and without its classes.

    >>> said_by(ValueError("Required keyword: 'this' missing for <class 'x.core.GT'>. Line 1"))
    'an operand of > is missing. Line 1'
    """

    def plainly(found: re.Match[str]) -> str:
        name = found[1]
        return f"an operand of {BINARY[name]}" if name in BINARY else f"a part of {name.upper()}"

    return re.sub(
        MISSING, lambda found: f"{plainly(found)} is missing", str(problem).splitlines()[0]
    )


def from_sqlglot(tree: Any, sql: str) -> Expression:
    """The expression of sqlglot's tree; `sql` is what errors quote."""

    def go(node: Any) -> Expression:
        return from_sqlglot(node, sql)

    kind = type(tree).__name__
    if kind in ("Paren", "TsOrDsToDate"):
        return go(tree.this)
    if kind == "Column":
        return Column(".".join(part.name for part in tree.parts))
    if kind in BINARY:
        return Call(BINARY[kind], (go(tree.this), go(tree.expression)))
    if kind in UNARY:
        return Call(UNARY[kind], (go(tree.this),))
    made = _other(kind, tree, go)
    if made is None:
        raise ValueError(f"{sql!r}: {tree.sql(dialect='spark')} is not known in an expression")
    return made


def _other(kind: str, tree: Any, go: Any) -> Expression | None:
    if kind in ("Literal", "Boolean", "Null", "Interval"):
        return _literal(kind, tree)
    if kind == "Is":
        return Call("isnull", (go(tree.this),)) if _is(tree.expression, "Null") else None
    if kind == "Between":
        this = go(tree.this)
        return this.between(go(tree.args["low"]), go(tree.args["high"]))
    if kind == "In" and not tree.args.get("query"):
        return Call("in", (go(tree.this), *map(go, tree.expressions)))
    if kind == "Case":
        return _case(tree, go)
    if kind == "If":
        parts = [tree.this, tree.args["true"], tree.args.get("false")]
        return Call("case", tuple(go(p) for p in parts if p is not None))
    if kind in ("Cast", "TryCast"):
        target = tree.to.sql(dialect="spark").lower()
        moment = _moment(tree, target)
        return moment if moment is not None else Call("cast", (go(tree.this), Literal(target)))
    return _function(kind, tree, go)


def _function(kind: str, tree: Any, go: Any) -> Expression | None:
    if kind == "DPipe":
        return Call("concat", (go(tree.this), go(tree.expression)))
    if kind in ("Coalesce", "Greatest", "Least", "Concat"):
        first = [] if tree.this is None else [tree.this]
        return Call(kind.lower(), tuple(map(go, [*first, *tree.expressions])))
    if kind == "Nullif":
        this, other = go(tree.this), go(tree.expression)
        return Call("case", (Call("=", (this, other)), Literal(None), this))
    if kind == "Round":
        places = tree.args.get("decimals")
        return Call("round", (go(tree.this), Literal(0) if places is None else go(places)))
    if kind == "Log" and tree.expression is None:
        return Call("ln", (go(tree.this),))
    if kind == "Anonymous":
        return Call(tree.name.lower(), tuple(map(go, tree.expressions)))
    return None


def _literal(kind: str, tree: Any) -> Expression:
    if kind == "Null":
        return Literal(None)
    if kind == "Boolean":
        return Literal(bool(tree.this))
    if kind == "Interval":
        unit = "" if tree.unit is None else f" {tree.unit.name}"
        return Literal(_timedelta(f"{tree.this.name}{unit}"))
    if tree.is_string:
        return Literal(str(tree.this))
    number = str(tree.this)
    return Literal(int(number) if number.isdigit() else float(Decimal(number)))


def _moment(tree: Any, target: str) -> Expression | None:
    """DATE '…' and TIMESTAMP '…', which sqlglot has as casts."""
    if not tree.this.is_string or target not in ("date", "timestamp", "timestamp_ntz"):
        return None
    kind = dt.date if target == "date" else dt.datetime
    return Literal(kind.fromisoformat(str(tree.this.this)))


def _timedelta(text: str) -> dt.timedelta:
    return dt.timedelta(microseconds=Duration.of(text, "interval").ns / 1000)


def _case(tree: Any, go: Any) -> Expression:
    branches: list[Expression] = []
    subject = None if tree.this is None else go(tree.this)
    for branch in tree.args["ifs"]:
        condition = go(branch.this)
        branches.append(condition if subject is None else Call("=", (subject, condition)))
        branches.append(go(branch.args["true"]))
    last = tree.args.get("default")
    return Call("case", (*branches, *(() if last is None else (go(last),))))


def _is(tree: Any, kind: str) -> bool:
    return type(tree).__name__ == kind
