"""Expressions at work: the types they have and the values they give, by Arrow's own expressions.

Meanings are Spark's: null in, null out; and, or and not have three values; NaN equals NaN and
is larger than any number; integers that overflow are an error. A division by zero is null, as
Spark's try_divide and its `/` without spark.sql.ansi.enabled have it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.arrow_functions import FUNCTIONS, Typed
from sash.plan.expressions import Call, Column, Expression, Literal


def types_of(expressions: Mapping[str, Expression], schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of expressions over columns of a schema; TypeError says what does not fit."""
    if not expressions:
        return {}
    translation = Translation(schema)
    return {name: translation.typed(e).kind for name, e in expressions.items()}


def evaluate(expressions: Mapping[str, Expression], table: pa.Table) -> dict[str, pa.Array]:
    """The values of expressions, for each row of a table; each is one array."""
    translation = Translation(table.schema)
    arrow = [translation.typed(e).arrow for e in expressions.values()]
    try:
        found = _project(table, arrow)
    except pa.ArrowInvalid as problem:
        texts = ", ".join(f"{name}: {e}" for name, e in expressions.items())
        wrong = OverflowError if "overflow" in str(problem) else ValueError
        raise wrong(f"{texts}: {problem}") from problem
    columns = (column.combine_chunks() for column in found.columns)
    arrays = [c.chunk(0) if isinstance(c, pa.ChunkedArray) else c for c in columns]
    return dict(zip(expressions, arrays, strict=True))


def _project(table: pa.Table, arrow: list[pc.Expression]) -> pa.Table:
    """The values of Arrow's expressions, in the order of the rows."""
    from pyarrow import acero  # imports pandas, which takes longer than all of Sash

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    names = [str(i) for i in range(len(arrow))]
    project = acero.Declaration("project", acero.ProjectNodeOptions(arrow, names))
    return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False)


class Translation:
    """Expressions over columns of a schema as Arrow has them, equal ones once."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._known: dict[str, Typed] = {}

    def typed(self, e: Expression) -> Typed:
        """The expression, and its type."""
        text = str(e)
        if text not in self._known:
            self._known[text] = self._made(e)
        return self._known[text]

    def _made(self, e: Expression) -> Typed:
        if isinstance(e, Column):
            kind = self._schema.field(e.name).type
            if pa.types.is_dictionary(kind):
                return Typed(pc.field(e.name).cast(kind.value_type), kind.value_type)
            return Typed(pc.field(e.name), kind)
        if isinstance(e, Literal):
            value = scalar(e.value)
            return Typed(pc.scalar(value), value.type)
        assert isinstance(e, Call)
        return self._call(e)

    def _call(self, e: Call) -> Typed:
        if e.function not in FUNCTIONS:
            known = ", ".join(sorted(name for name in FUNCTIONS if name.isalpha()))
            raise ValueError(f"{e}: no function {e.function!r}; there are {known}")
        least, most, build = FUNCTIONS[e.function]
        if not least <= len(e.arguments) <= most:
            many = str(least) if least == most else f"{least} or more"
            raise TypeError(f"{e}: {e.function} takes {many} argument(s)")
        if e.function in ("cast", "round", "like"):
            last = e.arguments[1]
            assert isinstance(last, Literal)
            made = build(self.typed(e.arguments[0]), last.value)
        else:
            made = build(*(self.typed(a) for a in e.arguments))
        return made if isinstance(made, Typed) else Typed(made, self._kind(made, e))

    def _kind(self, arrow: pc.Expression, e: Call) -> pa.DataType:
        """The type of an expression, which Arrow says of a table without rows."""
        try:
            return _project(self._schema.empty_table(), [arrow]).schema.field(0).type
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as problem:
            kinds = ", ".join(str(self.typed(a).kind) for a in e.arguments)
            raise TypeError(f"{e}: {e.function} does not take {kinds}") from problem


def scalar(value: Any) -> pa.Scalar:
    """A literal as Spark types it: whole numbers of 32 bits where they fit."""
    if isinstance(value, bool) or value is None:
        return pa.scalar(value)
    if isinstance(value, int):
        return pa.scalar(value, pa.int32() if -(1 << 31) <= value < 1 << 31 else pa.int64())
    if isinstance(value, dt.datetime):
        return pa.scalar(value, pa.timestamp("us", None if value.tzinfo is None else "UTC"))
    return pa.scalar(value)
