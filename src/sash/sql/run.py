"""A query from end to end: the SELECTs with windows one by one, what is around them by the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from sash.conversions import computable, package_of, source_of
from sash.monoids import as_monoid
from sash.sql.calls import ELSEWHERE, Functions
from sash.sql.dialects import parse
from sash.sql.errors import SqlError
from sash.sql.host import Host, Step
from sash.sql.in_process import InProcess
from sash.sql.names import qualified
from sash.sql.periodic_syntax import desugared, table_function
from sash.sql.selects import answered, is_taken

TAKES = "sash.sql takes Spark DataFrames,"


def sql(
    query: str,
    /,
    *,
    functions: Mapping[str, Any] | None = None,
    dialect: str = "spark",
    **tables: Any,
) -> Any:
    """The rows of a query: Sash computes the windows, DuckDB or Spark what is around them.

    `tables`: pandas, polars or pyarrow tables, or Spark DataFrames, batch or streaming, by the
    names that the query has for them; what comes back is of the kind of the first. `functions`:
    monoids by name. `dialect`: "spark" (default), "duckdb" or "postgres".

    >>> import pyarrow as pa, sash
    >>> t = pa.table({"k": [1, 1, 2], "ts": [1, 2, 2], "x": [5, 3, 4]})
    >>> sash.sql("SELECT k, max(x) OVER (PARTITION BY k ORDER BY ts) AS hi FROM t", t=t).to_pylist()
    [{'k': 1, 'hi': 5}, {'k': 1, 'hi': 5}, {'k': 2, 'hi': 4}]
    """
    if _on_spark(tables):
        from sash.sql.on_spark import OnSpark

        return _answer(query, OnSpark(), dict(tables), functions or {}, dialect)
    sources = {name: source_of(table, TAKES) for name, table in tables.items()}
    given = {name: computable(source.table()) for name, source in sources.items()}
    found = _answer(query, InProcess(), given, functions or {}, dialect)
    first = next(iter(sources.values()), None)
    if first is None:
        return found
    return first.like(found, _made_of(query, dialect, functions or {}, first.names()))


def explain(
    query: str,
    /,
    *,
    functions: Mapping[str, Any] | None = None,
    dialect: str = "spark",
    **tables: Any,
) -> SqlExplanation:
    """The steps that `sash.sql` would run: which engine, which part, and why. No row is read.

    >>> import pyarrow as pa, sash
    >>> t = pa.table({"k": [1], "ts": [1], "x": [5]})
    >>> text = sash.sql.explain("SELECT sum(x) OVER (ORDER BY ts) AS s FROM t LIMIT 1", t=t)
    >>> print(text.splitlines()[0])
    1. Sash
    """
    host: Host
    if _on_spark(tables):
        from sash.sql.on_spark import OnSpark

        host, given = OnSpark(explaining=True), dict(tables)
    else:
        sources = {name: source_of(table, TAKES) for name, table in tables.items()}
        host = InProcess(explaining=True)
        given = {n: computable(s.schema().empty_table()) for n, s in sources.items()}
    _answer(query, host, given, functions or {}, dialect)
    return SqlExplanation.of(host.steps)


class SqlExplanation(str):
    """The steps of a query as text; tools read `.steps`."""

    steps: tuple[Step, ...]

    @staticmethod
    def of(steps: Sequence[Step]) -> SqlExplanation:
        """The steps, one below the other."""
        found = SqlExplanation("\n".join(_shown(i + 1, step) for i, step in enumerate(steps)))
        found.steps = tuple(steps)
        return found

    def __repr__(self) -> str:
        return str(self)


class Sql(Protocol):
    """`sash.sql`: a module that is a function."""

    def __call__(
        self,
        query: str,
        /,
        *,
        functions: Mapping[str, Any] | None = None,
        dialect: str = "spark",
        **tables: Any,
    ) -> Any:
        """See `sql`."""

    def explain(
        self,
        query: str,
        /,
        *,
        functions: Mapping[str, Any] | None = None,
        dialect: str = "spark",
        **tables: Any,
    ) -> SqlExplanation:
        """See `explain`."""


def _shown(number: int, step: Step) -> str:
    why = f", because {step.why}" if step.why else ""
    body = "\n".join(f"   {line}" for line in step.what.splitlines())
    return f"{number}. {step.engine}{why}\n{body}"


def _made_of(
    query: str, dialect: str, functions: Mapping[str, Any], names: list[str]
) -> Callable[[str], list[str]]:
    """The columns of a table that a column of the answers is made of, as far as names say."""
    spelled = {name.lower(): name for name in names}
    read: dict[str, list[str]] = {}
    for projection in parse(query, dialect, functions).selects:
        columns = [column.name.lower() for column in projection.find_all(exp.Column)]
        read[projection.alias_or_name] = [spelled[name] for name in columns if name in spelled]
    return lambda out: read.get(out, [out] if out in names else [])


def _on_spark(tables: Mapping[str, Any]) -> bool:
    """Whether the tables are DataFrames of Spark; TypeError where only some are."""
    of_spark = [name for name, table in tables.items() if package_of(table) == "pyspark"]
    if of_spark and len(of_spark) < len(tables):
        other = next(name for name in tables if name not in of_spark)
        raise TypeError(f"{of_spark[0]} is on Spark and {other} is not: give all tables alike")
    return bool(of_spark)


def _answer(
    query: str, host: Host, tables: dict[str, Any], functions: Mapping[str, Any], dialect: str
) -> Any:
    own = Functions({name.lower(): as_monoid(monoid) for name, monoid in functions.items()})
    own.elsewhere = ELSEWHERE.get(dialect, frozenset())
    tree = parse(query, dialect, own)
    _materialize(tree, host, tables)
    schemas = {name: host.columns(t) for name, t in tables.items()}
    tree = qualified(desugared(tree, schemas), schemas, dialect)
    found = None
    for scope in traverse_scope(tree):
        select = scope.expression
        if isinstance(select, exp.Select) and is_taken(select):
            found = answered(_with_ctes(select), host, tables, own)
            if select is tree:
                return found
            name = f"__sash_{len(tables)}"
            tables[name] = found
            source = exp.Table(this=exp.to_identifier(name, quoted=True))
            select.replace(exp.select(exp.Star()).from_(source))
    if isinstance(tree, exp.DDL):
        raise SqlError("sash.sql takes a query")
    return host.run(tree, tables)


def _materialize(tree: exp.Query, host: Host, tables: dict[str, Any]) -> None:
    """Have the host run table functions in FROM, whose columns are not known before."""
    for clause in tree.find_all(exp.From, exp.Join):
        source = clause.this
        plain = isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
        called = isinstance(source, exp.Table | exp.Unnest) and not plain
        if not called or table_function(source) or source.find(exp.Column):
            continue
        query = exp.select(exp.Star()).from_(source.copy())
        name = f"__sash_{len(tables)}"
        tables[name] = host.native(query, tables, "a function in FROM")
        alias = source.alias or _function_name(source.this)
        made = exp.Table(this=exp.to_identifier(name, quoted=True))
        made.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        source.replace(made)


def _function_name(call: Any) -> str:
    """The name that a table function without an alias goes by."""
    if isinstance(call, exp.Anonymous):
        return call.name
    return call.sql_name().lower() if isinstance(call, exp.Func) else "unnest"


def _with_ctes(select: exp.Select) -> exp.Select:
    """A SELECT with the common table expressions that it sees, from the outermost on."""
    ctes: list[exp.Expr] = []
    node: exp.Expr | None = select
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = [cte for cte in with_.expressions if not _inside(select, cte)] + ctes
        node = node.parent
    made = select.copy()
    if ctes:
        made.set("with_", exp.With(expressions=[cte.copy() for cte in ctes]))
    return made


def _inside(select: exp.Expr, cte: exp.Expr) -> bool:
    """Whether a SELECT is within a common table expression, or before it."""
    node: exp.Expr | None = select
    while node is not None:
        if node is cte:
            return True
        node = node.parent
    return False
