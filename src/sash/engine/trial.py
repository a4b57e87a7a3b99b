"""The trial of users' monoids on a few values, before they run over all rows."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import one_array
from sash.monoids.trial import try_laws
from sash.plan.aggregation import Aggregation
from sash.plan.arrow_expressions import evaluate
from sash.plan.definition import Query
from sash.plan.typed import with_nanoseconds

LOOKED_AT = 64
MADE_UP = 4


def try_monoids(query: Query, table: pa.Table) -> None:
    """Warn where a monoid of the user's own breaks a law on the first rows without nulls."""
    if not any(a.on_trial for a in query.aggregations.values()):
        return
    query.check(table.schema)
    asked = with_nanoseconds(query, query.with_derived(table.schema))
    part = table.select(query.columns()).slice(0, LOOKED_AT).combine_chunks()
    for out, a in asked.aggregations.items():
        if a.on_trial and a.monoid is not None:
            try_laws(a.monoid, _samples(a, asked, part), query.output_of(out))


def try_without_rows(query: Query, schema: pa.Schema) -> None:
    """The same where no rows are at hand: on made-up values of the columns' types."""
    columns = {field.name: _made_up(field.type) for field in schema}
    known = {name: column for name, column in columns.items() if column is not None}
    if all(name in known for name in query.columns()):
        try_monoids(query, pa.table(known))


def _made_up(kind: pa.DataType) -> pa.Array | None:
    """Small whole numbers, as a type has them; None where it has none."""
    if pa.types.is_boolean(kind):
        return pa.array([True, False] * (MADE_UP // 2))
    for whole in (pa.int32(), pa.int64()):  # dates are made of the one, times of the other
        with contextlib.suppress(pa.ArrowException):
            return pa.array(range(1, MADE_UP + 1), whole).cast(kind)
    return None


def _samples(a: Aggregation, query: Query, part: pa.Table) -> list[Any]:
    """Values as `lift` gets them, each once: of rows that pass and have no nulls."""
    derived = {name: e for name, e in query.derived.items() if name in a.reads}
    columns = {name: one_array(part.column(name)) for name in part.column_names}
    try:
        columns |= evaluate(derived, part)
    except Exception:  # the run over all rows raises it
        return []
    if a.condition is not None:
        keep = pc.fill_null(columns[a.condition], False)
        columns = {name: columns[name].filter(keep) for name in a.columns}
    values = [columns[name].to_pylist() for name in a.columns]
    rows = [row for row in zip(*values, strict=True) if None not in row]
    distinct = list({repr(row): row for row in rows}.values())
    return [row[0] if len(row) == 1 else row for row in distinct]
