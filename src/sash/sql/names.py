"""Names: every column with its table, every star written out, spelled as in the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from sash.plan.checks import nearest
from sash.sql.errors import SqlError

Schemas = Mapping[str, Mapping[str, str]]
"""The columns of each table, and their types."""


def qualified(query: exp.Query, schemas: Schemas, dialect: str) -> exp.Query:
    """The query with every name resolved; SqlError names what is not known."""
    ctes = {cte.alias.lower(): cte.alias for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier):
            name = ctes.get(table.name.lower()) or _table(table.name, schemas)
            table.set("this", exp.to_identifier(name, quoted=True))
    _respell(query, schemas)
    _name_outputs(query, dialect)
    for identifier in query.find_all(exp.Identifier):
        identifier.set("quoted", True)
    schema = MappingSchema({k: dict(v) for k, v in schemas.items()}, dialect="spark",
                           normalize=False)  # fmt: skip
    try:
        found = qualify(
            query, schema=schema, dialect=f"{dialect}, normalization_strategy=case_sensitive",
            quote_identifiers=False, identify=False, isolate_tables=False,
        )  # fmt: skip
    except SqlglotError as problem:
        said = str(problem).splitlines()[0].replace('"', "'")
        columns = "; ".join(f"{name} has {', '.join(cols)}" for name, cols in schemas.items())
        raise SqlError(f"{said} ({columns}){_meant(said, schemas)}") from problem
    for identifier in found.find_all(exp.Identifier):
        identifier.set("quoted", True)
    if dialect == "postgres":  # where / of whole numbers is whole
        whole = _whole_divisions(annotate_types(found, schema=schema))
        assert isinstance(whole, exp.Query)
        return whole
    return found


def _meant(said: str, schemas: Schemas) -> str:
    """The column that was probably meant by the first name that sqlglot quotes."""
    quoted = re.search("'([^']+)'", said)
    columns = [name for table in schemas.values() for name in table]
    return nearest(quoted[1].rpartition(".")[2], columns) if quoted else ""


def _table(name: str, schemas: Schemas) -> str:
    if name in schemas:
        return name
    near = [known for known in schemas if known.lower() == name.lower()]
    if not near:
        raise SqlError(f"no table {name!r}: give it by name, as in sash.sql(…, {name}=df); "
                       f"there are {', '.join(schemas) or 'none'}")  # fmt: skip
    return near[0]


def _respell(query: exp.Query, schemas: Schemas) -> None:
    """Names as tables and aliases spell them: capital letters do not tell names apart."""
    columns = {name for table in schemas.values() for name in table}
    aliases = {node.alias for node in query.find_all(exp.Alias)}
    named = {node.alias_or_name for node in query.find_all(exp.Table, exp.Subquery, exp.CTE)}
    for column in query.find_all(exp.Column):
        _put(column, "this", column.name, columns | aliases)
        if column.table:
            _put(column, "table", column.table, named)


def _put(column: exp.Column, part: str, name: str, known: set[str]) -> None:
    near = [one for one in known if one.lower() == name.lower()]
    if name not in known and near:
        column.set(part, exp.to_identifier(near[0], quoted=True))


def _name_outputs(query: exp.Query, dialect: str) -> None:
    """Outputs without a name have their own text as one."""
    for select in query.find_all(exp.Select):
        for place, one in enumerate(select.expressions):
            if not isinstance(one, exp.Alias | exp.Column | exp.Star | exp.Aliases | exp.Dot):
                written = one.sql(dialect, normalize_functions="lower").replace("`", "")
                named = exp.alias_(one.copy(), written, quoted=True)
                select.expressions[place].replace(named)


def _whole_divisions(query: exp.Expr) -> exp.Expr:
    def whole(node: exp.Expr) -> exp.Expr:
        kinds = exp.DataType.INTEGER_TYPES
        if isinstance(node, exp.Div) and all(
            side.is_type(*kinds) for side in (node.this, node.expression)
        ):
            return exp.IntDiv(this=node.this, expression=node.expression)
        return node

    return query.transform(whole)
