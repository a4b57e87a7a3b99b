"""Checks of a definition: errors that name the column, what is wrong, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sash.monoids.monoid import Monoid
from sash.plan.about import About, concerning
from sash.plan.arrow_expressions import types_of
from sash.plan.expressions import PLAIN_NAME, Expression
from sash.plan.types import number_type
from sash.windows import Frame
from sash.windows.frames import Delta, OwnBounds, Policy, Until


class UnknownColumn(KeyError):
    """A column that is not there; its text is one line, without KeyError's quotes."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.column), self.__dict__


class UnfitColumn(TypeError):
    """A column whose type does not fit: what is wrong, and apart from it what to do."""

    def __init__(self, wrong: str, advice: str, column: str) -> None:
        super().__init__(f"{wrong}: {advice}")
        self.wrong, self.advice, self.column = wrong, advice, column

    def __reduce__(self) -> Any:
        return type(self), (self.wrong, self.advice, self.column), self.__dict__


def check_known(name: str, names: Sequence[str], where: About, hint: str = "") -> None:
    """Raise UnknownColumn, with all names and the nearest, if there is no such column."""
    if name not in names:
        if not hint and re.search(r"[-+*/%(<>=]", name):
            hint = f"for an expression, write sf.expr({name!r})"
        hint = f"; {hint}" if hint else nearest(name, names)
        there = f"there are {', '.join(names)}" if names else "the table has no columns"
        problem = UnknownColumn(f"{where}: no column {name!r}; {there}{hint}", name)
        raise concerning(problem, where)


def taken(out: str) -> ValueError:
    """The error for an output that has the name of a column."""
    wrong = ValueError(f"{out}: there is a column of that name already; choose another")
    return concerning(wrong, About("output", out))


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the one that was probably meant, or nothing.

    >>> nearest("amont", ["amount", "user"])
    "; did you mean 'amount'?"
    """
    given = {str(known).lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), given, 1)
    return f"; did you mean {given[near[0]]!r}?" if near else ""


def instead(name: str, kind: pa.DataType) -> str:
    """Advice for a column whose type an aggregation does not take."""
    column = f'sf.col("{name}")' if PLAIN_NAME.fullmatch(name) else f"({name})"
    if pa.types.is_boolean(kind):
        count = f'sf.count_if("{name}")'
        return f': count the rows where it is true with {count}, or cast it, {column}.cast("int")'
    castable = pa.types.is_string(kind) or pa.types.is_null(kind)
    return f': cast it, {column}.cast("double")' if castable else ""


def check_types(
    out: str, expressions: Mapping[str, Expression], schema: pa.Schema
) -> dict[str, pa.DataType]:
    """The types of expressions; errors begin with the output that they are for."""
    try:
        return types_of(expressions, schema)
    except (TypeError, ValueError) as problem:
        raise concerning(type(problem)(f"{out}: {problem}"), About("output", out)) from problem


def check_time(name: str, kind: pa.DataType) -> None:
    """Raise TypeError if a column cannot be the time."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    moment = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if not (number or moment) or pa.types.is_float16(kind):
        wrong = f"the time column {name!r} is {kind}; it must be a timestamp, a date or a number"
        raise UnfitColumn(wrong, "cast it first", name)


def check_key(name: str, kind: pa.DataType) -> None:
    """Raise TypeError if a column cannot be a key."""
    if pa.types.is_nested(kind):
        wrong = f"the key {name!r} is {kind}; a key is a number, text, bytes, a time or a boolean"
        raise UnfitColumn(wrong, "make its parts columns of their own, or one text of them", name)


def check_frame(out: str, frame: Frame, time: str, schema: pa.Schema) -> None:
    """Raise TypeError if a frame does not fit the time column or its own."""
    check_unit(f"{out}: {frame}", frame.needs_duration, time, schema)
    for name in frame.columns:
        if isinstance(frame, Delta) and number_type(schema.field(name).type) is None:
            raise TypeError(
                f"{out}: delta takes a number or a time, but {name} is {schema.field(name).type}"
            )
        is_boolean = pa.types.is_boolean(schema.field(name).type)
        if isinstance(frame, Until) and frame.predicate is None and not is_boolean:
            raise TypeError(
                f"{out}: until takes a boolean column, but {name} is {schema.field(name).type}"
            )
        if isinstance(frame, OwnBounds):
            _check_own_bound(out, frame, name, time, schema)
    if isinstance(frame, Policy) and frame.of is not None and not isinstance(frame.of, Monoid):
        raise TypeError(f"{out}: the policy's `of` must be a monoid, not {frame.of!r}")


def _check_own_bound(out: str, frame: OwnBounds, name: str, time: str, schema: pa.Schema) -> None:
    """Raise TypeError if a column is no bound of a row's own window."""
    kind, times = schema.field(name).type, schema.field(time).type
    if frame.unit == "rows":
        fits, wanted = pa.types.is_integer(kind), "whole numbers"
    elif pa.types.is_temporal(times):
        fits, wanted = pa.types.is_duration(kind), f"durations, as {time!r} is {times}"
    else:
        fits = pa.types.is_integer(kind) or (
            pa.types.is_floating(kind) and pa.types.is_floating(times)
        )
        wanted = f"numbers, as {time!r} is {times}"
    if not fits:
        raise TypeError(f"{out}: the bound {name!r} is {kind}; it must be {wanted}: cast it")


def check_unit(what: str, needs_duration: bool | None, time: str, schema: pa.Schema) -> None:
    """Raise TypeError if a duration meets a time column of numbers, or a number one of times."""
    kind = schema.field(time).type
    is_time = pa.types.is_temporal(kind)
    if needs_duration is True and not is_time:
        raise TypeError(
            f"{what} is a duration, but the time column {time!r} is {kind}: "
            "give a number in its unit, as in sash.range_between(-3600, 0)"
        )
    if needs_duration is False and is_time:
        raise TypeError(
            f"{what} is a plain number, but the time column {time!r} is {kind}: "
            'give a duration, as in "1 hour"'
        )
