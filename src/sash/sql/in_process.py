"""The host in process: pyarrow runs plain SELECTs around the windows, and DuckDB the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sash.engine.columns import one_array
from sash.plan.expressions import Call, Expression
from sash.plan.scalars import col
from sash.sql import plain
from sash.sql.dialects import text
from sash.sql.errors import NotTaken, SqlError
from sash.sql.frames import Over
from sash.sql.host import WINDOW, ZERO, Order, Step
from sash.sql.ordering import Key, peer_numbers, with_ends
from sash.sql.periodic_arrow import cumulated, edges_of
from sash.sql.types import sql_type
from sash.tables import windowed

WHOLE_DIGITS = 18
"""Digits of a decimal that fits in 64 bits as a number of its smallest steps."""


@dataclass
class InProcess:
    """Arrow tables."""

    explaining: bool = False
    steps: list[Step] = field(default_factory=list)

    def columns(self, table: pa.Table) -> dict[str, str]:
        """The columns of a table, and their types in Spark's SQL."""
        return {f.name: sql_type(f.type) for f in table.schema}

    def run(self, query: exp.Query, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of a query without windows."""
        try:
            found = plain.run(query, tables)
        except NotTaken as reason:
            return self._by_duckdb(query, tables, str(reason))
        if not _is_all(query):
            self._note("pyarrow", query)
        return found

    def native(self, query: exp.Query, tables: Mapping[str, pa.Table], why: str) -> pa.Table:
        """The rows of a query with windows that Sash does not take."""
        return self._by_duckdb(query, tables, why)

    def _by_duckdb(self, query: exp.Query, tables: Mapping[str, pa.Table], reason: str) -> pa.Table:
        if find_spec("duckdb") is None:
            raise SqlError(
                f"{reason}: Sash leaves that to DuckDB, which is not installed: pip install duckdb"
            )
        import duckdb

        self._note("DuckDB", query, reason)
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for used in {t.name for t in query.find_all(exp.Table)} & set(tables):
                connection.register(used, tables[used])
            try:
                found = connection.sql(query.sql("duckdb"))
                return _narrowed(found.to_arrow_table(), [str(kind) for kind in found.types])
            except duckdb.Error as problem:
                said = str(problem).splitlines()[0]
                raise SqlError(f"{reason}: left to DuckDB, which says: {said}") from problem

    def _note(self, engine: str, query: exp.Expr, why: str = "") -> None:
        if self.explaining:
            self.steps.append(Step(engine, text(query), why))

    def expression(self, node: exp.Expr, table: pa.Table) -> Any:
        """An expression of Sash; NotTaken where the host has to compute a column."""
        return plain.expression(node.copy(), table.schema)

    def order(self, table: pa.Table, over: Over, names: list[str]) -> tuple[pa.Table, Order]:
        """The table with the column that orders it, for windows of one order."""
        if not over.order:
            if ZERO not in table.column_names:
                zeros = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
                table = table.append_column(ZERO, zeros)
            return table, Order(ZERO, "peers")
        keys = [
            Key(name, bool(one.args.get("desc")), bool(one.args.get("nulls_first")))
            for name, one in zip(names, over.order)
        ]
        if len(keys) == 1 and (one := _measured(table, keys[0])) is not None:
            return one
        name = f"__sash_order_{len(table.column_names)}"
        return table.append_column(name, peer_numbers(table, keys)), Order(name, "peers")

    def windowed(self, table: pa.Table, by: list[str], order: Order, **options: Any) -> Any:
        """The windows' rows."""
        return windowed(table, by, time=order.time, descending=order.descending, **options)

    def check(self, table: pa.Table, rows: Any, asked: Mapping[str, Expression]) -> None:
        """NotTaken where an aggregation does not take the type of its column, say."""
        try:
            rows.query(**asked).check(table.schema)
        except TypeError as problem:
            raise NotTaken(str(problem)) from problem

    def timed(self, table: pa.Table, time: str) -> pa.Table:
        """The rows that have a time; a date is the moment that it begins."""
        column = table.column(time)
        place = table.column_names.index(time)
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(place, time, column)
        return table.filter(column.is_valid()) if column.null_count else table

    def named(self, table: pa.Table, wanted: list[tuple[str, str]]) -> pa.Table:
        """Columns under other names; `WINDOW` is both ends of a window."""
        columns = [edges_of(table) if name == WINDOW else table.column(name) for name, _ in wanted]
        return pa.table(columns, names=[name for _, name in wanted])

    def cumulated(
        self, table: pa.Table, time: str, following: str, names: list[str], lengths: Any
    ) -> pa.Table:
        """The windows that grow by steps, from answers so far; see sash.sql.periodic."""
        return cumulated(table, time, following, names, lengths)


def _measured(table: pa.Table, key: Key) -> tuple[pa.Table, Order] | None:
    """The order as a number or a time, where it is one column of them."""
    column = table.column(key.column)
    kind = column.type
    is_float = pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if pa.types.is_decimal128(kind) and kind.precision <= WHOLE_DIGITS and kind.scale >= 0:
        name = f"__sash_order_{len(table.column_names)}"
        tens = pa.scalar(10**kind.scale, pa.decimal128(kind.scale + 1, 0))
        made = table.append_column(name, pc.multiply(column, tens).cast(pa.int64()))
        found = _measured(made, key._replace(column=name))
        return None if found is None else (found[0], replace(found[1], scale=10**kind.scale))
    if not (is_float or is_time or pa.types.is_integer(kind)) or pa.types.is_uint64(kind):
        return None
    unit = "date" if pa.types.is_date(kind) else "time" if is_time else "number"
    unnatural = key.nulls_first == key.descending and column.null_count > 0
    array = one_array(column)
    has_nan = is_float and pc.any(pc.is_nan(array)).as_py()
    value = col(key.column)
    unmeasured = value.is_null() if column.null_count else None
    if has_nan:
        unmeasured = value.is_null() | Call("isnan", (value,))
    if not has_nan and not unnatural:
        return table, Order(key.column, unit, key.descending, unmeasured)
    ended = with_ends(array, unnatural)
    if ended is None or (unnatural and unit == "date"):
        return None
    name = f"__sash_order_{len(table.column_names)}"
    return table.append_column(name, ended), Order(name, unit, key.descending, unmeasured)


def _narrowed(table: pa.Table, kinds: list[str]) -> pa.Table:
    """Sums of whole numbers as Spark has them: of 64 bits."""
    for i, kind in enumerate(kinds):
        if kind == "HUGEINT":
            column = table.column(i).cast(pa.int64())
            table = table.set_column(i, table.column_names[i], column)
    return table


def _is_all(query: exp.Expr) -> bool:
    """Whether a query is just all of a table's columns, or some."""
    if not isinstance(query, exp.Select):
        return False
    given = {name for name, value in query.args.items() if value}
    plain_ones = all(
        isinstance(p.unalias(), exp.Column | exp.Star | exp.Literal) for p in query.expressions
    )
    return given <= {"from_", "expressions", "kind"} and plain_ones
