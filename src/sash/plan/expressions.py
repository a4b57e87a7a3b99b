"""Expressions: `sf.col("price") * sf.col("size")`, as inputs, conditions and results.

An expression is a tree of columns, literals and calls of functions by name. Its text is SQL
and says all of it, so two expressions of one text are one. `arrow_expressions` gives a tree
its type and runs it; `sql_expressions` reads one from a string.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

OPERATORS = {
    "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "div": 6,
    "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "<=>": 4,
    "and": 2, "or": 1,
}  # fmt: skip
"""Functions that are written between their two arguments, and how tightly they bind."""

PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


class Expression:
    """A value per row; arithmetic and comparison make larger expressions."""

    def __add__(self, other: Any) -> Call:
        return Call("+", (self, as_expression(other)))

    def __radd__(self, other: Any) -> Call:
        return Call("+", (as_expression(other), self))

    def __sub__(self, other: Any) -> Call:
        return Call("-", (self, as_expression(other)))

    def __rsub__(self, other: Any) -> Call:
        return Call("-", (as_expression(other), self))

    def __mul__(self, other: Any) -> Call:
        return Call("*", (self, as_expression(other)))

    def __rmul__(self, other: Any) -> Call:
        return Call("*", (as_expression(other), self))

    def __truediv__(self, other: Any) -> Call:
        return Call("/", (self, as_expression(other)))

    def __rtruediv__(self, other: Any) -> Call:
        return Call("/", (as_expression(other), self))

    def __mod__(self, other: Any) -> Call:
        return Call("%", (self, as_expression(other)))

    def __rmod__(self, other: Any) -> Call:
        return Call("%", (as_expression(other), self))

    def __pow__(self, other: Any) -> Call:
        return Call("pow", (self, as_expression(other)))

    def __rpow__(self, other: Any) -> Call:
        return Call("pow", (as_expression(other), self))

    def __neg__(self) -> Call:
        return Call("negative", (self,))

    def __eq__(self, other: object) -> Call:  # type: ignore[override]
        return Call("=", (self, as_expression(other)))

    def __ne__(self, other: object) -> Call:  # type: ignore[override]
        return Call("<>", (self, as_expression(other)))

    def __lt__(self, other: Any) -> Call:
        return Call("<", (self, as_expression(other)))

    def __le__(self, other: Any) -> Call:
        return Call("<=", (self, as_expression(other)))

    def __gt__(self, other: Any) -> Call:
        return Call(">", (self, as_expression(other)))

    def __ge__(self, other: Any) -> Call:
        return Call(">=", (self, as_expression(other)))

    def __and__(self, other: Any) -> Call:
        return Call("and", (self, as_expression(other)))

    def __rand__(self, other: Any) -> Call:
        return Call("and", (as_expression(other), self))

    def __or__(self, other: Any) -> Call:
        return Call("or", (self, as_expression(other)))

    def __ror__(self, other: Any) -> Call:
        return Call("or", (as_expression(other), self))

    def __invert__(self) -> Call:
        return Call("not", (self,))

    def is_null(self) -> Call:
        """Whether it is null."""
        return Call("isnull", (self,))

    def is_not_null(self) -> Call:
        """Whether it is not null."""
        return Call("isnotnull", (self,))

    def isin(self, *values: Any) -> Call:
        """Whether it is one of the values."""
        given = values[0] if len(values) == 1 and isinstance(values[0], list | tuple) else values
        return Call("in", (self, *(as_expression(v) for v in given)))

    def between(self, lower: Any, upper: Any) -> Call:
        """Whether it is from `lower` to `upper`, both included."""
        return (self >= lower) & (self <= upper)

    def like(self, pattern: str) -> Call:
        """Whether a string fits a pattern of SQL's LIKE."""
        return Call("like", (self, Literal(pattern)))

    def cast(self, kind: str) -> Call:
        """The value as a type of Spark's, such as "double", "bigint" or "string"."""
        return Call("cast", (self, Literal(kind)))

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self} is neither true nor false before it runs: use & for and, | for or, ~ for "
            "not, with parentheses around comparisons"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False, repr=False)
class Column(Expression):
    """The value of a column."""

    name: str

    def __str__(self) -> str:
        return self.name if PLAIN_NAME.fullmatch(self.name) else f"`{self.name}`"


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expression):
    """A value that is the same for all rows."""

    value: Any

    def __str__(self) -> str:
        value = self.value
        if value is None or isinstance(value, bool):
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"  # as in Spark
        if isinstance(value, dt.timedelta):
            return f"INTERVAL '{value / dt.timedelta(seconds=1)!r} SECONDS'"
        if isinstance(value, dt.datetime | dt.date):
            return f"{'TIMESTAMP' if isinstance(value, dt.datetime) else 'DATE'} '{value}'"
        if isinstance(value, Decimal | bytes):
            return f"{type(value).__name__} '{value!s}'"
        return repr(value)


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expression):
    """A function of other expressions, by the name that SQL has for it."""

    function: str
    arguments: tuple[Expression, ...]

    def when(self, condition: Any, value: Any) -> Call:
        """A further branch of `sf.when(…)`, where no earlier condition is true."""
        self._only_case("when")
        return Call("case", (*self.arguments, as_condition(condition), as_expression(value)))

    def otherwise(self, value: Any) -> Call:
        """The value where no condition of `sf.when(…)` is true; null without it."""
        self._only_case("otherwise")
        return Call("case", (*self.arguments, as_expression(value)))

    def _only_case(self, what: str) -> None:
        if self.function != "case" or len(self.arguments) % 2:
            raise TypeError(f"{what} comes after sf.when(…), and before otherwise, not {self}")

    def __str__(self) -> str:
        texts = [str(a) for a in self.arguments]
        if self.function in OPERATORS:
            inner = OPERATORS[self.function]
            left, right = self.arguments
            first = _within(left, inner + (inner == 4))  # comparisons do not chain
            return f"{first} {self.function.upper()} {_within(right, inner + 1)}"
        if self.function == "case":
            return _case(texts)
        if self.function == "cast":
            assert isinstance(self.arguments[1], Literal)
            return f"cast({texts[0]} AS {self.arguments[1].value})"
        if self.function == "negative":
            return f"-{_within(self.arguments[0], 7)}"
        if self.function == "in":
            return f"{_within(self.arguments[0], 5)} IN ({', '.join(texts[1:])})"
        if self.function == "like":
            return f"{_within(self.arguments[0], 5)} LIKE {texts[1]}"
        if self.function == "not":
            return f"NOT {_within(self.arguments[0], 3)}"
        return f"{self.function}({', '.join(texts)})"


def _within(e: Expression, tight: int) -> str:
    """The text of an argument, in parentheses where it binds less tightly than that."""
    if not isinstance(e, Call):
        return str(e)
    own = {"in": 4, "like": 4, "not": 3, "negative": 6}.get(e.function)
    own = OPERATORS.get(e.function, 8) if own is None else own
    return f"({e})" if own < tight else str(e)


def _case(texts: list[str]) -> str:
    pairs = zip(texts[0::2], texts[1::2], strict=False)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    last = f" ELSE {texts[-1]}" if len(texts) % 2 else ""
    return f"CASE {whens}{last} END"


def as_expression(thing: Any) -> Expression:
    """An expression as it is, any other value as a literal."""
    if isinstance(thing, Expression):
        return thing
    if isinstance(thing, np.generic):
        thing = thing.item()
    known = (bool, int, float, str, bytes, Decimal, dt.date, dt.datetime, dt.timedelta)
    if thing is not None and not isinstance(thing, known):
        raise TypeError(f"expected a number, a string, … or an expression, not {foreign(thing)}")
    return Literal(thing)


def as_condition(thing: Any) -> Expression:
    """A condition: an expression, or a string of SQL."""
    if isinstance(thing, str):
        from sash.plan.sql_expressions import parse

        return parse(thing)
    return as_expression(thing)


Input = str | Expression
"""The input of an aggregation: the name of a column, or an expression such as sf.col("x") * 2."""


def as_input(thing: Any, where: str = "an aggregation") -> Any:
    """The input of an aggregation: the name of a column, or an expression."""
    if isinstance(thing, Column):
        return thing.name
    if isinstance(thing, str | Expression):
        return thing
    raise TypeError(f"{where} takes a column's name or an expression, not {foreign(thing)}")


def foreign(thing: Any) -> str:
    """A thing of another library in words, and what to write instead of it where it is a column.

    >>> foreign(3)
    '3'
    """
    package, kind = type(thing).__module__.partition(".")[0], type(thing).__name__
    if package not in ("pandas", "polars", "pyarrow", "pyspark", "duckdb", "numpy"):
        text = " ".join(repr(thing).split())
        return text if len(text) <= 80 else f"{text[:78]} …"
    column = _column_name(thing)
    write = f": write {column!r}" if column else ": give the column's name"
    return f'a {package} {kind}{write}, or sf.col("…") to compute with it'


def _column_name(thing: Any) -> str | None:
    """The name of the one column that a Series, or an expression of another library, is."""
    if hasattr(thing, "meta"):  # polars
        roots = thing.meta.root_names()
        return roots[0] if len(roots) == 1 and str(thing) == f'col("{roots[0]}")' else None
    if isinstance(name := getattr(thing, "name", None), str):
        return name
    plain = re.fullmatch(r"Column<'(\w+)'>", str(thing)) if hasattr(thing, "alias") else None
    return plain[1] if plain else None


def walk(e: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield e
    for argument in e.arguments if isinstance(e, Call) else ():
        yield from walk(argument)


def columns_of(e: Expression) -> list[str]:
    """The columns that an expression reads, each once."""
    return list(dict.fromkeys(part.name for part in walk(e) if isinstance(part, Column)))


def replaced(e: Expression, by: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with parts replaced: those for which `by` gives something else."""
    found = by(e)
    if found is not None:
        return found
    if isinstance(e, Call):
        return Call(e.function, tuple(replaced(a, by) for a in e.arguments))
    return e


def renamed(e: Expression, name: Callable[[str], str]) -> Expression:
    """The expression over columns of other names."""
    return replaced(e, lambda part: Column(name(part.name)) if isinstance(part, Column) else None)
