"""Dialects: sqlglot's own for Spark, DuckDB and PostgreSQL, with the words that Sash adds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.spark import SparkGenerator

from sash.plan.sql_expressions import said_by
from sash.sql.errors import SqlError

DIALECTS = ("spark", "duckdb", "postgres")
OWN_ORDER = ("ARGMAX", "ARGMIN")
"""Functions that sqlglot takes for max_by and min_by, which have another order of arguments."""


ENDS: dict[str, type[exp.Expr]] = {
    "FIRST": exp.First, "FIRST_VALUE": exp.FirstValue, "LAST": exp.Last,
    "LAST_VALUE": exp.LastValue, "ANY_VALUE": exp.AnyValue,
}  # fmt: skip
"""Functions of Spark's whose second argument says whether nulls are skipped."""


def _at_end(made: type[exp.Expr]) -> Any:
    def build(arguments: list[Any]) -> exp.Expr:
        found = made(this=arguments[0] if arguments else None)
        if len(arguments) != 2 or not isinstance(arguments[1], exp.Boolean):
            return found
        return (exp.IgnoreNulls if arguments[1].this else exp.RespectNulls)(this=found)

    return build


class _Text(Spark):
    """Spark's SQL with all that a frame can say."""

    class Generator(SparkGenerator):
        """Writes EXCLUDE, which Spark has not."""

        SUPPORTS_WINDOW_EXCLUDE = True


def text(node: exp.Expr) -> str:
    """A tree as SQL, for people, and to tell trees apart."""
    return node.sql(_Text, unsupported_level=ErrorLevel.IGNORE)


def parse(query: str, dialect: str, functions: Iterable[str] = ()) -> exp.Query:
    """The tree of a query; SqlError says where it cannot be read."""
    if dialect not in DIALECTS:
        raise SqlError(f"dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}")
    if not isinstance(query, str):
        raise TypeError(f"a query is a string of SQL, not {query!r}")
    own = tuple(sorted(name.upper() for name in functions))
    try:
        found = sqlglot.parse(query, dialect=_dialect(dialect, own))
    except SqlglotError as problem:
        said = said_by(problem)
        raise SqlError(f"the query cannot be read as SQL of {dialect}: {said}") from problem
    statements = [one for one in found if one is not None]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise SqlError("sash.sql takes one query, as in SELECT … FROM …")
    return statements[0]


@cache
def _dialect(name: str, functions: tuple[str, ...]) -> Any:
    """A dialect whose parser leaves the user's functions alone."""
    from sash.sql.parser import extended

    base = sqlglot.Dialect.get_or_raise(name)
    left_out = {*functions, *OWN_ORDER}
    parser = extended(base.parser_class)
    built = parser.FUNCTIONS | {name: _at_end(made) for name, made in ENDS.items()}
    known = {key: build for key, build in built.items() if key not in left_out}
    special = {k: p for k, p in parser.FUNCTION_PARSERS.items() if k not in left_out}
    made = type(parser.__name__, (parser,), {"FUNCTIONS": known, "FUNCTION_PARSERS": special})
    return type(f"Sash{name}", (type(base),), {"Parser": made})
