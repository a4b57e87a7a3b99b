"""Ahead: the kernels of users' monoids, compiled before any row is there."""

from __future__ import annotations

import pyarrow as pa

from sash.engine.answers import one
from sash.engine.row_windows import run
from sash.kernel.sent import noted
from sash.plan.aggregation import Aggregation
from sash.plan.plan import Plan
from sash.plan.typed import typed_monoid


def kernels_of(plan: Plan) -> dict[str, bytes]:
    """The kernels of a plan's states of users' monoids, for workers that are to have them, by name.

    They are found by running these states over one row without values: `lift` is not called. Frames
    that look at values are left out.
    """
    own = [state for state in plan.states if _is_own(state.asked[0], plan.schema)]
    if not own:
        return {}
    query = plan.query
    schema = pa.schema([field for field in plan.schema if field.name not in query.derived])
    row = {field.name: pa.nulls(1, field.type) for field in schema}
    row[query.time] = one(schema.field(query.time).type)
    with noted() as kernels:
        list(run(plan.over_rows(schema, (), own), [pa.RecordBatch.from_pydict(row)]))
    return kernels


def _is_own(a: Aggregation, schema: pa.Schema) -> bool:
    """Whether an aggregation is a compiled monoid of the user's, over a frame by time or rows."""
    if a.monoid is None or a.monoid.recipe is not None or a.frame is None:
        return False
    return a.frame.by in ("time", "count") and typed_monoid(a, schema) is not None
