"""The types of answers: Spark has to know them before a row is seen."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.engine.row_windows import run
from sash.plan.definition import Aggregation, Query
from sash.plan.plan import plan_of, typed_monoid
from sash.windows import rows


def answer_types(query: Query, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The Arrow type of each column of answers; TypeError asks for what can not be known."""
    return {
        out: query.result_type(out, schema) or _tried(out, a, query, schema)
        for out, a in query.aggregations.items()
    }


def _tried(out: str, a: Aggregation, query: Query, schema: pa.Schema) -> pa.DataType:
    """The type that a compiled monoid gives, found on one row; its kernel is then compiled."""
    kinds = [schema.field(name).type for name in a.columns]
    if typed_monoid(a, schema) is not None:
        ones = {"time": pa.array([1])} | {c: _one(k) for c, k in zip(a.columns, kinds)}
        batch = pa.RecordBatch.from_arrays(list(ones.values()), names=list(ones))
        alone = Query((), "time", {out: replace(a, frame=rows(1))})
        return next(run(plan_of(alone, batch.schema), [batch])).column(out).type
    raise TypeError(
        f"{out}: Spark must know the type of {a}'s answers, and they are not compiled numbers: "
        "give it, as in sf.apply(monoid, 'x', returns=pyarrow.float64())"
    )


def _one(kind: pa.DataType) -> pa.Array:
    """An array of one value, of a type that is kept as a number."""
    if pa.types.is_temporal(kind):
        return pa.array([1], pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array([1]).cast(kind)
