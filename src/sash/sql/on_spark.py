"""The host on Spark: Spark SQL runs what is around the windows, in a batch or a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sash.plan.expressions import Expression
from sash.plan.scalars import col
from sash.plan.sql_expressions import from_sqlglot
from sash.sql.dialects import text
from sash.sql.errors import NotTaken, SqlError
from sash.sql.frames import Over
from sash.sql.host import WINDOW, ZERO, Order, Step
from sash.tables import windowed

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass
class OnSpark:
    """Spark DataFrames; nothing runs before they are asked for rows."""

    explaining: bool = False
    steps: list[Step] = field(default_factory=list)

    def columns(self, table: Any) -> dict[str, str]:
        """The columns of a DataFrame, and their types."""
        kinds = dict(table.dtypes)
        return {name: _plain(kind) for name, kind in kinds.items()}

    def run(self, query: exp.Query, tables: Mapping[str, Any], why: str = "") -> Any:
        """The rows of a query without windows of Sash's."""
        only = _only_columns(query)
        if only is not None and only[0] in tables:
            return _selected(tables[only[0]], only[1])
        return self._by_spark(query, tables, why)

    def native(self, query: exp.Query, tables: Mapping[str, Any], why: str) -> Any:
        """The rows of a query with windows that Sash does not take."""
        return self._by_spark(query, tables, why)

    def _by_spark(self, query: exp.Query, tables: Mapping[str, Any], why: str) -> Any:
        if self.explaining:
            self.steps.append(Step("Spark", text(query), why))
        made = query.copy()
        frames: dict[str, Any] = {}
        for table in made.find_all(exp.Table):
            if table.name in tables:
                frames[f"sash_{len(frames)}"] = tables[table.name]
                table.set("alias", table.args.get("alias") or exp.TableAlias(
                    this=exp.to_identifier(table.name, quoted=True)))  # fmt: skip
                table.set("this", exp.to_identifier(f"\0sash_{len(frames) - 1}\0", quoted=True))
        session = next(iter(tables.values())).sparkSession
        written = made.sql("spark").replace("{", "{{").replace("}", "}}")
        written = written.replace("`\0", "{").replace("\0`", "}")
        try:
            return session.sql(written, **frames)
        except Exception as problem:
            if not type(problem).__module__.startswith("pyspark."):
                raise
            said = str(problem).splitlines()[0]
            raise SqlError(f"{why + ': left to Spark, which' if why else 'Spark'} says: {said}") \
                from problem  # fmt: skip

    def expression(self, node: exp.Expr, table: Any) -> Expression:
        """A constant as it is; all else is a column that Spark computes."""
        if node.find(exp.Column) is not None or node.find(exp.Func) is not None:
            raise NotTaken("Spark computes it")
        try:
            return from_sqlglot(node, node.sql())
        except ValueError as problem:
            raise NotTaken(str(problem)) from problem

    def order(self, table: Any, over: Over, names: list[str]) -> tuple[Any, Order]:
        """The DataFrame with the column that orders it, for windows of one order."""
        if not over.order:
            if ZERO not in table.columns:
                table = table.selectExpr("*", f"0 AS {ZERO}")
            return table, Order(ZERO, "peers")
        kinds = self.columns(table)
        ways = [(bool(o.args.get("desc")), bool(o.args.get("nulls_first"))) for o in over.order]
        natural = all(desc != nulls_first for desc, nulls_first in ways)
        alike = len({desc for desc, _ in ways}) == 1
        kind, descending = kinds[names[0]], ways[0][0]
        exact = kind in NUMBERS[:4] or kind in TIMES
        if natural and alike and len(names) == 1 and exact:
            unit = {"date": "date"}.get(kind, "time" if kind in TIMES else "number")
            unmeasured = col(names[0]).is_null()
            return table, Order(names[0], unit, descending, unmeasured)
        if table.isStreaming:
            raise NotTaken("a stream is in order of one column of whole numbers or times")
        return self._by_rank(table, over)

    def _by_rank(self, table: Any, over: Over) -> tuple[Any, Order]:
        """Any order, as the number of a row's peers, which Spark's own dense_rank gives."""
        if over.has_offset:
            raise NotTaken("RANGE over an order that is not one column of whole numbers or times")
        name = f"__sash_order_{len(table.columns)}"
        rank = exp.Window(
            this=exp.DenseRank(), partition_by=[key.copy() for key in over.keys],
            order=exp.Order(expressions=[one.copy() for one in over.order]), over="OVER",
        )  # fmt: skip
        query = exp.select(exp.Star(), exp.alias_(rank, name, quoted=True)).from_("rows")
        ranked = self._by_spark(query, {"rows": table}, "Sash orders rows by one number or time")
        return ranked, Order(name, "peers")

    def windowed(self, table: Any, by: list[str], order: Order, **options: Any) -> Any:
        """The windows' rows."""
        return windowed(table, by, time=order.time, descending=order.descending, **options)

    def check(self, table: Any, rows: Any, asked: Mapping[str, Expression]) -> None:
        """Nothing is checked here: errors come when the windows are made."""

    def timed(self, table: Any, time: str) -> Any:
        """The rows that have a time; a date is the moment that it begins."""
        name = quoted(time)
        if self.columns(table)[time] == "date":
            kept = [quoted(other) for other in table.columns if other != time]
            table = table.selectExpr(*kept, f"CAST({name} AS TIMESTAMP) AS {name}")
        return table.where(f"{name} IS NOT NULL")

    def named(self, table: Any, wanted: list[tuple[str, str]]) -> Any:
        """Columns under other names; `WINDOW` is both ends of a window."""
        both = "named_struct('start', window_start, 'end', window_end)"
        return table.selectExpr(
            *(
                f"{both if name == WINDOW else quoted(name)} AS {quoted(new)}"
                for name, new in wanted
            )
        )

    def cumulated(
        self, table: Any, time: str, following: str, names: list[str], lengths: Any
    ) -> Any:
        """The windows that grow by steps, from answers so far; see sash.sql.periodic."""
        size, step, offset = (length.ns // 1000 if length else 0 for length in lengths)
        kind, kept = self.columns(table)[time], [quoted(name) for name in names]

        def ticks(name: str) -> str:
            return f"(unix_micros(CAST({quoted(name)} AS TIMESTAMP)) - {offset})"

        def number(name: str, length: int) -> str:
            return f"(({ticks(name)} - pmod({ticks(name)}, {length})) div {length})"

        def moment(micros: str) -> str:
            return f"CAST(timestamp_micros({micros} + {offset}) AS {kind})"

        missing = f"{quoted(following)} IS NULL"
        last = f"{missing} OR {number(following, step)} <> {number(time, step)}"
        alone = f"{missing} OR {number(following, size)} <> {number(time, size)}"
        stop = (
            f"IF({alone}, ({number(time, size)} + 1) * {size // step}, {number(following, step)})"
        )
        steps = f"explode(sequence({number(time, step)}, {stop} - 1)) AS __sash_step"
        period = f"{number(time, size)} AS __sash_period"
        cells = table.where(last).selectExpr(*kept, period, steps)
        return cells.selectExpr(
            *kept, f"{moment(f'__sash_period * {size}')} AS window_start",
            f"{moment(f'(__sash_step + 1) * {step}')} AS window_end",
        )  # fmt: skip


def _plain(kind: str) -> str:
    """A type as sqlglot reads it; of structs only that they are."""
    return "struct<_: string>" if kind.startswith("struct") else kind


def _only_columns(query: exp.Expr) -> tuple[str, list[tuple[str, str]]] | None:
    """The table and the columns of a query that asks for no more."""
    if not isinstance(query, exp.Select):
        return None
    given = {name for name, value in query.args.items() if value}
    names = query.expressions
    if given - {"from_", "expressions", "kind"} or "from_" not in given:
        return None
    source = query.args["from_"].this
    if not isinstance(source, exp.Table) or not all(
        isinstance(p.unalias(), exp.Column) for p in names
    ):
        return None
    return source.name, [(p.unalias().name, p.alias_or_name) for p in names]


def _selected(table: Any, names: list[tuple[str, str]]) -> Any:
    """Columns of a DataFrame; their metadata, such as a watermark, stay."""
    both = [(quoted(a), quoted(b)) for a, b in names]
    return table.selectExpr(*(a if a == b else f"{a} AS {b}" for a, b in both))


def quoted(name: str) -> str:
    """A name as Spark's SQL takes it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"
