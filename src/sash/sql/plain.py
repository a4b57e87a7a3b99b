"""Plain queries by pyarrow: columns, expressions, WHERE, ORDER BY and LIMIT over one table.

Expressions are those of Sash, with Spark's meaning. All else is the host's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sash.plan.arrow_expressions import evaluate, types_of
from sash.plan.arrow_functions import FUNCTIONS
from sash.plan.expressions import Call, Column, Expression, Literal, columns_of, walk
from sash.plan.sql_expressions import from_sqlglot
from sash.sql.errors import NotTaken
from sash.sql.literals import value_of
from sash.sql.ordering import Key, sorted_rows

TAKEN = {"with_", "from_", "where", "expressions", "order", "limit", "offset", "kind", "hint"}
"""The clauses of a plain query."""


def run(query: exp.Expr, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of a plain query; NotTaken says what is not plain, before anything runs."""
    if isinstance(query, exp.Subquery):
        query = query.unnest()
    if not isinstance(query, exp.Select):
        raise NotTaken(f"{query.key.upper()} is not a plain SELECT")
    more = [name for name, value in query.args.items() if value and name not in TAKEN]
    if more:
        raise NotTaken(f"{more[0].strip('_').upper().replace('JOINS', 'JOIN')} in a query")
    table = _source(query, tables)
    if (where := query.args.get("where")) is not None:
        mask = evaluated({"where": expression(where.this, table.schema)}, table)["where"]
        table = table.filter(mask)
    return _selected(query, table)


def _source(query: exp.Select, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The table of FROM, which may be a query itself."""
    known = dict(tables)
    with_ = query.args.get("with_")
    if with_ is not None and with_.args.get("recursive"):
        raise NotTaken("WITH RECURSIVE in a query")
    ctes = {cte.alias: cte.this for cte in with_.expressions} if with_ is not None else {}
    origin = query.args.get("from_")
    if origin is None:
        return pa.table({"zero": pa.array([0])})
    source = origin.this
    if {name for name, value in source.args.items() if value} - {"this", "alias"}:
        raise NotTaken(f"FROM {source.sql()}")
    if isinstance(source, exp.Subquery):
        return run(source.this, known)
    if isinstance(source, exp.Table) and with_ is not None and source.name in ctes:
        inner = ctes[source.name].copy()
        names = list(ctes)
        before = [c for c in with_.expressions if names.index(c.alias) < names.index(source.name)]
        if before:
            inner.set("with_", exp.With(expressions=[c.copy() for c in before]))
        return run(inner, known)
    if not isinstance(source, exp.Table) or source.name not in known:
        raise NotTaken(f"FROM {source.sql()}")
    return known[source.name]


def expression(node: exp.Expr, schema: pa.Schema) -> Expression:
    """A tree of sqlglot's as an expression of Sash; NotTaken where it is none."""
    for column in node.find_all(exp.Column):
        column.set("table", None)
    if node.find(exp.Query, exp.Window, exp.AggFunc):
        raise NotTaken(f"{node.sql()} is more than an expression over columns")
    try:
        found = from_sqlglot(node, node.sql())
        unknown = [p for p in walk(found) if isinstance(p, Call) and p.function not in FUNCTIONS]
        if unknown:
            raise NotTaken(f"there is no function {unknown[0].function} in expressions of Sash")
        types_of({"": found}, schema)
        _check_decimals(found, schema)
    except NotTaken:
        raise
    except (AssertionError, ArithmeticError, KeyError, TypeError, ValueError) as problem:
        raise NotTaken(str(problem)) from problem
    return found


def _check_decimals(e: Expression, schema: pa.Schema) -> None:
    """NotTaken where a number with places, a decimal in SQL, meets decimals: it is a float here."""
    exact = any(pa.types.is_decimal(schema.field(name).type) for name in columns_of(e))
    if exact and any(isinstance(p, Literal) and isinstance(p.value, float) for p in walk(e)):
        raise NotTaken(f"{e}: decimals with a number that is a decimal itself")


def evaluated(wanted: Mapping[str, Expression], table: pa.Table) -> dict[str, pa.Array]:
    """The values of expressions for each row."""
    if not wanted:
        return {}
    read = dict.fromkeys(name for e in wanted.values() for name in columns_of(e))
    return evaluate(wanted, table.select(list(read) or table.column_names[:1]))


def _selected(query: exp.Select, table: pa.Table) -> pa.Table:
    wanted: list[tuple[str, Expression]] = []
    for projection in query.expressions:
        if isinstance(projection, exp.Star):
            wanted += [(name, Column(name)) for name in table.column_names]
        else:
            e = expression(projection.unalias().copy(), table.schema)
            wanted.append((projection.alias_or_name, e))
    keys, more = _order(query, table, dict(wanted))
    by_place = {str(i): e for i, (_, e) in enumerate(wanted)} | more
    computed = {n: e for n, e in by_place.items() if not isinstance(e, Column)}
    arrays = evaluated(computed, table)

    def column(place: str) -> pa.ChunkedArray:
        e = by_place[place]
        return table.column(e.name) if isinstance(e, Column) else arrays[place]

    columns = [column(str(i)) for i in range(len(wanted))]
    found = pa.table(columns, names=[name for name, _ in wanted])
    if keys:
        by = pa.table({key.column: column(key.column) for key in keys})
        found = found.take(pa.array(sorted_rows(by, keys)))
    return _limited(query, found)


def _order(
    query: exp.Select, table: pa.Table, wanted: Mapping[str, Expression]
) -> tuple[list[Key], dict[str, Expression]]:
    """The keys that rows are ordered by: outputs, or expressions over the input."""
    keys: list[Key] = []
    more: dict[str, Expression] = {}
    order = query.args.get("order")
    for i, one in enumerate(() if order is None else order.expressions):
        node, name = one.this, f"order {i}"
        if isinstance(node, exp.Column) and node.name in wanted:
            more[name] = wanted[node.name]
        else:
            more[name] = expression(node.copy(), table.schema)
        descending = bool(one.args.get("desc"))
        nulls_first = one.args.get("nulls_first")
        keys.append(Key(name, descending, bool(nulls_first)))
    return keys, more


def _limited(query: exp.Select, table: pa.Table) -> pa.Table:
    first = _number(query, "offset", 0)
    count = _number(query, "limit", table.num_rows)
    return table.slice(first, count)


def _number(query: exp.Select, clause: str, default: int) -> int:
    given = query.args.get(clause)
    if given is None:
        return default
    found = value_of(given.expression)
    if not isinstance(found, int | np.integer) or found < 0:
        raise NotTaken(f"{clause.upper()} {found}")
    return int(found)
