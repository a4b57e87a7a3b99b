"""The trial of users' monoids on a few rows of a table, before they run over all of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.monoids.trial import try_laws
from sash.plan.definition import Aggregation, Query

LOOKED_AT = 64


def try_monoids(query: Query, table: pa.Table) -> None:
    """Warn where a monoid of the user's own breaks a law on the first rows without nulls."""
    for out, a in query.aggregations.items():
        if a.on_trial and a.monoid is not None and all(c in table.column_names for c in a.columns):
            try_laws(a.monoid, _samples(a, table), out.partition(" #")[0])


def _samples(a: Aggregation, table: pa.Table) -> list[Any]:
    """Values as `lift` gets them: of rows that pass; none of times, which have another form."""
    part = table.slice(0, LOOKED_AT)
    if a.condition is not None:
        if a.condition not in table.column_names:  # it is derived from others, later
            return []
        part = part.filter(part.column(a.condition))
    part = part.select(list(dict.fromkeys(a.columns)))
    if any(pa.types.is_temporal(field.type) for field in part.schema):
        return []
    columns = [part.column(name).to_pylist() for name in a.columns]
    rows = [row for row in zip(*columns, strict=True) if None not in row]
    distinct = list({repr(row): row for row in rows}.values())
    return [row[0] if len(row) == 1 else row for row in distinct]
