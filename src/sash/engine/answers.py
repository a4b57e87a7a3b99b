"""The types of answers: Spark has to know them before a row is seen."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.engine.row_windows import run
from sash.plan.about import About, concerning
from sash.plan.aggregation import Aggregation
from sash.plan.definition import Query
from sash.plan.planner import plan_of
from sash.plan.typed import typed_monoid
from sash.windows import rows


def answer_types(query: Query, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The Arrow type of each column of answers; TypeError asks for what cannot be known."""
    answers = raw_types(query, schema)
    for out, a in query.aggregations.items():
        if out not in answers:
            name = query.output_of(out)
            problem = TypeError(
                f"{name}: Spark must know the type of {a}'s answers, and they are not compiled "
                "numbers: give it, as in sf.apply(monoid, 'x', returns=pyarrow.float64())"
            )
            raise concerning(problem, About("output", name))
    found = query.output_types(schema, dict(answers))
    return {out: kind for out, kind in found.items() if kind is not None}


def raw_types(query: Query, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The Arrow types of the aggregations' own answers, where they are known before a row is."""
    full, found = query.with_derived(schema), query.answer_types(schema)
    for out, kind in found.items():
        if kind is None:
            found[out] = _tried(query.aggregations[out], full)
    return {out: kind for out, kind in found.items() if kind is not None}


def _tried(a: Aggregation, schema: pa.Schema) -> pa.DataType | None:
    """The type that a compiled monoid gives, found on one row; its kernel is then compiled."""
    kinds = [schema.field(name).type for name in a.columns]
    if typed_monoid(a, schema) is not None:
        ones = {f"c{i}": one(kind) for i, kind in enumerate(kinds)}
        batch = pa.RecordBatch.from_pydict({"time": pa.array([1]), **ones})
        plain = replace(a, columns=tuple(ones), condition=None, derived={}, frame=rows(1))
        alone = Query((), "time", {"answer": plain})
        return next(run(plan_of(alone, batch.schema), [batch])).column("answer").type
    return None


def one(kind: pa.DataType) -> pa.Array:
    """An array of one value, of a type that is kept as a number."""
    if pa.types.is_temporal(kind):
        return pa.array([1], pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array([1]).cast(kind)
