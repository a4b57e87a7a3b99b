"""Ahead: the kernels of users' monoids, compiled before any row is there."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.engine.row_windows import run
from sash.kernel.sent import noted
from sash.plan.definition import Query
from sash.plan.plan import Options, plan_of
from sash.plan.typed import typed_monoid


def kernels_of(query: Query, schema: pa.Schema, options: Options) -> dict[str, bytes]:
    """The kernels of a query's own monoids, for workers that are to have them, by name.

    They are found by running the query over one row without values: `lift` is not called.
    """
    full = query.with_derived(schema)
    own = {
        out: a
        for out, a in query.aggregations.items()
        if a.monoid is not None and a.monoid.recipe is None and typed_monoid(a, full) is not None
    }
    if not own:
        return {}
    alone = replace(query, aggregations=own, results={}, names=None, by=())
    row = {field.name: pa.nulls(1, field.type) for field in schema}
    row[query.time] = pa.array([0]).cast(schema.field(query.time).type)
    with noted() as kernels:
        list(run(plan_of(alone, schema, options), [pa.RecordBatch.from_pydict(row)]))
    return kernels
