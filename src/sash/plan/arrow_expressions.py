"""Expressions at work: the types they have and the values they give, by Arrow's functions.

Meanings are Spark's: null in, null out; and, or and not have three values; NaN equals NaN and
is larger than any number; integers that overflow are an error. A division by zero is null, as
Spark's try_divide and its `/` without spark.sql.ansi.enabled have it.

A type is that of the values of a table without rows. Arrow's own expressions would need its
engine of tables, which copies the values once more and imports pandas.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from sash.plan.arithmetic import Place, written
from sash.plan.arrow_functions import FUNCTIONS, OF_EACH_VALUE, Value, is_text
from sash.plan.expressions import Call, Column, Expression, Literal, columns_of

REFUSED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


KEPT = 1000  # expressions whose types are known
_types: dict[Any, pa.DataType] = {}


def types_of(expressions: Mapping[str, Expression], schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of expressions over columns of a schema; TypeError says what does not fit."""
    empty: Values | None = None
    found = {}
    for name, e in expressions.items():
        key = (str(e), *((column, schema.field(column).type) for column in columns_of(e)))
        if key not in _types:
            empty = empty or Values(schema.empty_table())
            if len(_types) >= KEPT:
                _types.clear()
            _types[key] = empty.of(e).type
        found[name] = _types[key]
    return found


def evaluate(
    expressions: Mapping[str, Expression],
    table: pa.Table,
    places: Mapping[str, Place] = MappingProxyType({}),
) -> dict[str, pa.Array]:
    """The values of expressions, for each row of a table; each is one array.

    `places`: where the values of an expression go, and are written at once if they can be.
    """
    values = Values(table)
    found = {}
    for name, e in expressions.items():
        try:
            value = values.of(e, places.get(name))
        except pa.ArrowInvalid as problem:
            wrong = OverflowError if "overflow" in str(problem) else ValueError
            raise wrong(f"{name}: {e}: {problem}") from problem
        is_scalar = isinstance(value, pa.Scalar)
        found[name] = pa.repeat(value, table.num_rows) if is_scalar else value
    return found


class Values:
    """The values of expressions over the rows of a table, those of equal ones once."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._known: dict[str, Value] = {}

    def of(self, e: Expression, place: Place | None = None) -> Value:
        """An array, or a scalar where no column is read."""
        text = str(e)
        if text not in self._known:
            self._known[text] = self._made(e, place)
        return self._known[text]

    def _made(self, e: Expression, place: Place | None) -> Value:
        if isinstance(e, Column):
            column = self._table.column(e.name)
            is_whole = column.num_chunks == 1  # which `combine_chunks` would copy
            values = column.chunk(0) if is_whole else column.combine_chunks()
            is_encoded = pa.types.is_dictionary(values.type)
            return values.cast(values.type.value_type) if is_encoded else values
        if isinstance(e, Literal):
            return scalar(e.value)
        assert isinstance(e, Call)
        return self._call(e, place)

    def _call(self, e: Call, place: Place | None) -> Value:
        if e.function not in FUNCTIONS:
            known = ", ".join(sorted(name for name in FUNCTIONS if name.isalpha()))
            raise ValueError(f"{e}: no function {e.function!r}; there are {known}")
        least, most, build = FUNCTIONS[e.function]
        if not least <= len(e.arguments) <= most:
            many = str(least) if least == most else f"{least} or more"
            raise TypeError(f"{e}: {e.function} takes {many} argument(s)")
        encoded = self._of_entries(e)
        if encoded is not None:
            return encoded
        given: list[Any] = [self.of(e.arguments[0])]
        if e.function in ("cast", "round", "like"):
            last = e.arguments[1]
            assert isinstance(last, Literal)
            given.append(last.value)
        else:
            given += [self.of(a) for a in e.arguments[1:]]
        there = written(e.function, given, place)
        if there is not None:
            return there
        try:
            return build(*given)
        except REFUSED as problem:
            if self._table.num_rows:
                raise
            kinds = ", ".join(str(self.of(a).type) for a in e.arguments)
            raise TypeError(f"{e}: {e.function} does not take {kinds}") from problem

    def _of_entries(self, e: Call) -> Value | None:
        """A function of a dictionary's texts, computed once per entry; None: it is not one."""
        read = [a for a in e.arguments if isinstance(a, Column)]
        texts = [a for a in e.arguments if isinstance(a, Literal) and isinstance(a.value, str)]
        if e.function not in OF_EACH_VALUE or (len(read), len(texts)) != (1, len(e.arguments) - 1):
            return None
        column = self._table.column(read[0].name)
        if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
            return None
        encoded = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if not isinstance(encoded, pa.DictionaryArray) or len(encoded.dictionary) > len(encoded):
            return None
        entries = pa.table({read[0].name: encoded.dictionary})
        return Values(entries).of(e).take(encoded.indices)


def scalar(value: Any) -> pa.Scalar:
    """A literal as Spark types it: whole numbers of 32 bits where they fit."""
    if isinstance(value, bool) or value is None:
        return pa.scalar(value)
    if isinstance(value, int):
        return pa.scalar(value, pa.int32() if -(1 << 31) <= value < 1 << 31 else pa.int64())
    if isinstance(value, dt.datetime):
        return pa.scalar(value, pa.timestamp("us", None if value.tzinfo is None else "UTC"))
    return pa.scalar(value)
