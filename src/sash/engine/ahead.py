"""Ahead: the kernels of users' monoids, compiled before any row is there."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.engine.answers import one
from sash.engine.row_windows import run
from sash.kernel.sent import noted
from sash.plan.aggregation import Aggregation
from sash.plan.definition import Query
from sash.plan.plan import Options, plan_of
from sash.plan.typed import typed_monoid


def kernels_of(query: Query, schema: pa.Schema, options: Options) -> dict[str, bytes]:
    """The kernels of a query's own monoids, for workers that are to have them, by name.

    They are found by running the query over one row without values: `lift` is not called. Frames
    that look at values are left out.
    """
    full = query.with_derived(schema)
    own = {out: a for out, a in query.aggregations.items() if _is_own(a, full)}
    if not own:
        return {}
    alone = replace(query, aggregations=own, results={}, names=None, by=())
    row = {field.name: pa.nulls(1, field.type) for field in schema}
    row[query.time] = one(schema.field(query.time).type)
    with noted() as kernels:
        list(run(plan_of(alone, schema, options), [pa.RecordBatch.from_pydict(row)]))
    return kernels


def _is_own(a: Aggregation, schema: pa.Schema) -> bool:
    """Whether an aggregation is a compiled monoid of the user's, over a frame by time or rows."""
    if a.monoid is None or a.monoid.recipe is not None or a.frame is None:
        return False
    return a.frame.by in ("time", "count") and typed_monoid(a, schema) is not None
