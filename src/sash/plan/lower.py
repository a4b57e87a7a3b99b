"""Lowering: what a user asks for as aggregations, and expressions on top of their answers.

Every output is an aggregation, or an expression over columns and aggregations. An expression
becomes a result: its aggregations get names of their own, which do not come out, and the
result reads them. Much of the language is such an expression: a minimum of rows is a `case`
over a count, a rank is a count plus one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sash.plan.definition import Aggregation
from sash.plan.expressions import Column, Expression, replaced


class Lowered(NamedTuple):
    """Aggregations, results that read their answers, and the names of all that comes out."""

    aggregations: dict[str, Aggregation]
    results: dict[str, Expression]
    names: tuple[str, ...]


def lowered(asked: Mapping[str, Expression]) -> Lowered:
    """The outputs of a call as aggregations and results.

    >>> from sash import functions as sf
    >>> ratio = sf.sum("a").over("1 h") / sf.sum("b").over("1 h")
    >>> found = lowered({"n": sf.count().over("1 h"), "ratio": ratio})
    >>> list(found.aggregations), str(found.results["ratio"])
    (['n', 'ratio #1', 'ratio #2'], '`ratio #1` / `ratio #2`')
    """
    aggregations: dict[str, Aggregation] = {}
    results: dict[str, Expression] = {}
    for out, e in asked.items():
        if not isinstance(e, Expression):
            raise TypeError(f'{out}: expected sf.max("x").over(…) or the like, not {e!r}')
        plain = replaced(e, _plainer)
        if isinstance(plain, Aggregation):
            aggregations[out] = plain
        else:
            results[out] = _result(out, plain, aggregations)
    return Lowered(aggregations, results, tuple(asked))


def _plainer(e: Expression) -> Expression | None:
    """An aggregation that is an expression over simpler ones."""
    if not isinstance(e, Aggregation):
        return None
    return e


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
