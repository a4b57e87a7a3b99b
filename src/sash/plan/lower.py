"""Lowering: what a user asks for as aggregations, and expressions on top of their answers.

Every output is an aggregation, or an expression over columns and aggregations. An expression
becomes a result: its aggregations get names of their own, which do not come out, and the
result reads them. Much of the language is such an expression: a minimum of rows is a `case`
over a count, a rank is a count plus one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from sash.plan.about import About, concerning
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Call, Column, Expression, replaced
from sash.windows.frames import Rows


class Lowered(NamedTuple):
    """Aggregations, results that read their answers, and the names of all that comes out."""

    aggregations: dict[str, Aggregation]
    results: dict[str, Expression]
    names: tuple[str, ...]


def lowered(asked: Mapping[str, Expression]) -> Lowered:
    """The outputs of a call as aggregations and results; a result may name earlier outputs.

    >>> from sash import functions as sf
    >>> ratio = sf.sum("a").over("1 h") / sf.sum("b").over("1 h")
    >>> found = lowered({"n": sf.count().over("1 h"), "ratio": ratio})
    >>> list(found.aggregations), str(found.results["ratio"])
    (['n', 'ratio #1', 'ratio #2'], '`ratio #1` / `ratio #2`')
    """
    aggregations: dict[str, Aggregation] = {}
    results: dict[str, Expression] = {}

    def results_before(part: Expression) -> Expression | None:
        return results.get(part.name) if isinstance(part, Column) else None

    for out, e in asked.items():
        if not isinstance(e, Expression):
            wrong = TypeError(f'{out}: expected sf.max("x").over(…) or the like, not {e!r}')
            raise concerning(wrong, About("output", out))
        plain = replaced(replaced(e, results_before), _plainer)
        if isinstance(plain, Aggregation):
            aggregations[out] = plain
        else:
            results[out] = _result(out, plain, aggregations)
    return Lowered(aggregations, results, tuple(asked))


def _plainer(e: Expression) -> Expression | None:
    """An aggregation that is an expression over simpler ones."""
    if not isinstance(e, Aggregation):
        return None
    plain = replace(e, least=None, step=None)
    conditions: list[Expression] = []
    if e.least is not None:
        conditions.append(_known_rows(e) >= e.least)
    if e.step is not None:
        conditions.append((_row_number(e) - 1) % e.step == 0)
    if not conditions:
        return e
    both = conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1]
    return Call("case", (both, plain))


def _known_rows(a: Aggregation) -> Aggregation:
    """How many rows of the window are aggregated."""
    count = count_of(a.columns[:1])
    return replace(count, frame=a.frame, condition=a.condition, derived=a.derived)


def _row_number(a: Aggregation) -> Aggregation:
    return replace(count_of(()), frame=Rows(None, 0))


def count_of(columns: tuple[str, ...]) -> Aggregation:
    """How many rows; how many where a column is not null."""
    return Aggregation("count", columns, how="count", result=lambda kinds: pa.int64())


def _result(out: str, e: Expression, aggregations: dict[str, Aggregation]) -> Expression:
    """The expression over columns; each aggregation in it gets a name."""
    names: dict[int, str] = {}

    def named(part: Expression) -> Expression | None:
        if not isinstance(part, Aggregation):
            return None
        if id(part) not in names:
            names[id(part)] = f"{out} #{len(names) + 1}"
            aggregations[names[id(part)]] = part
        return Column(names[id(part)])

    return replaced(e, named)
