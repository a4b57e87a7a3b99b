"""Aggregations over numbers: which monoids compile, and the unit of the times that they get."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid
from sash.plan.aggregation import DERIVED, Aggregation
from sash.plan.definition import Query
from sash.plan.expressions import Call, Column
from sash.plan.types import number_types, unit_of


def typed_monoid(a: Aggregation, schema: pa.Schema) -> Monoid | None:
    """The variant of an aggregation's monoid over numbers; None if its columns are not."""
    dtypes = number_types([schema.field(name).type for name in a.columns])
    if a.monoid is None or dtypes is None:
        return None
    typed = a.monoid.of(dtypes[0] if len(dtypes) == 1 else dtypes)
    return typed if Layout.of(typed.identity, typed.dtype) is not None else None


def with_nanoseconds(query: Query, schema: pa.Schema) -> Query:
    """The query, its users' functions with times in nanoseconds where they get numbers.

    `schema`: with the derived columns. A timestamp is kept in steps of its own unit, which differs
    from table to table and from Spark's; a function of the user's must not depend on it.
    """
    made = {out: _with_nanoseconds(a, schema) for out, a in query.aggregations.items()}
    return replace(query, aggregations=made)


def _with_nanoseconds(a: Aggregation, schema: pa.Schema) -> Aggregation:
    kinds = {name: schema.field(name).type for name in a.columns}
    times = [name for name, kind in kinds.items() if unit_of(kind) is not None]
    if not a.in_nanoseconds or not times or not _gets_numbers(a, schema):
        return a
    calls = {name: Call("time_number", (a.derived.get(name, Column(name)),)) for name in times}
    names = {name: f"{DERIVED}{call}" for name, call in calls.items()}
    derived = {**a.derived, **{names[name]: call for name, call in calls.items()}}
    columns = tuple(names.get(name, name) for name in a.columns)
    return replace(a, columns=columns, derived=derived)


def _gets_numbers(a: Aggregation, schema: pa.Schema) -> bool:
    """Whether values come as numbers, not as Python's objects."""
    if a.function is not None:
        return number_types([schema.field(name).type for name in a.columns]) is not None
    return typed_monoid(a, schema) is not None
