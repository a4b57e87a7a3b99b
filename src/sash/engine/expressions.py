"""Expressions of a plan at work: columns derived from the input, results made of answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from sash.plan.arithmetic import Place
from sash.plan.arrow_expressions import evaluate
from sash.plan.expressions import Expression, columns_of
from sash.plan.plan import Plan


def with_derived(plan: Plan, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns of some rows, and those that are derived from them and not there yet."""
    wanted = {name: e for name, e in plan.query.derived.items() if name not in columns}
    if not wanted:
        return dict(columns)
    return {**columns, **evaluate(wanted, _read(wanted, columns))}


def outputs(
    plan: Plan,
    columns: Mapping[str, pa.Array],
    answers: Mapping[str, pa.Array],
    places: Mapping[str, Place] = MappingProxyType({}),
) -> list[pa.Array]:
    """The output columns of some rows, in the order of the plan's outputs, from their answers.

    `columns`: the rows' own, of which results may read some; `places`: where results may be
    written.
    """
    query = plan.query
    if not query.results:
        return [answers[out] for out in query.outputs]
    read = _read(query.results, {**columns, **answers})
    found = {**answers, **evaluate(query.results, read, places)}
    return [found[out] for out in query.outputs]


def _read(wanted: Mapping[str, Expression], columns: Mapping[str, pa.Array]) -> pa.Table:
    """The columns that expressions read; any one where they are constant, for its length."""
    read = dict.fromkeys(name for e in wanted.values() for name in columns_of(e))
    return pa.table({name: columns[name] for name in read or list(columns)[:1]})
