"""Periodic windows of a query: one row per key and window, by `every` and by frames of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash import functions as sf
from sash.plan.aggregation import Aggregation
from sash.sql.calls import Functions, called
from sash.sql.errors import SqlError
from sash.sql.host import WINDOW, Host, Order, Step
from sash.sql.literals import value_of
from sash.sql.periodic_syntax import START, is_call, is_edge
from sash.sql.windows import ROWS, Columns, rows_of, with_derived
from sash.windows import rows as last_rows
from sash.windows import session, tumbling
from sash.windows.duration import Duration

NEXT = "__sash_next"
EDGES = ("window_start", "window_end")


@dataclass(frozen=True)
class Kind:
    """Windows of one kind: their name, the time, and lengths in their order."""

    name: str
    time: exp.Expr
    lengths: tuple[Any, ...]

    @staticmethod
    def of(call: exp.Expr) -> Kind:
        """A call of `window(…)` and the like."""
        time, *lengths = call.expressions
        if not lengths:
            raise SqlError(f"{call.sql()}: a window needs a length, as in window(ts, '1 hour')")
        return Kind(call.name.lower(), time, tuple(_length(one) for one in lengths))


def _length(node: exp.Expr) -> Any:
    value = value_of(node)
    if not isinstance(value, str) or value in ("range", "rows"):
        return value
    return int(value) if value.isdigit() else Duration.of(value, "window")


def answered(split: Any, host: Host, tables: Mapping[str, Any], functions: Functions) -> Any:
    """The relation of a SELECT that groups by windows: keys, windows and aggregates."""
    select, lifted = split.select, split.lifted
    [call] = [key for key in split.keys if is_call(key)]
    kind = Kind.of(call)
    inner = Inner(select, [kind.time, *lifted.values()], tables, host)
    columns = Columns(host, inner.table)
    by = {key: columns.column(inner.flat(key)) for key in split.keys if not is_call(key)}
    time = columns.column(inner.flat(kind.time))
    asked = {
        name: called(inner.flat(node), columns, functions)
        for name, node in lifted.items()
        if not is_call(node) and not is_edge(node) and node not in by
    }
    table = with_derived(host, inner.table, columns.derived)
    table = host.timed(table, time)
    asked = asked or {"__sash_count": sf.count()}
    changes = bool(select.meta.get("changes"))
    found = _windows(host, table, list(by.values()), time, kind, asked, changes)
    wanted: list[tuple[str, str]] = []
    for name, node in lifted.items():
        if node in by:
            wanted.append((by[node], name))
        elif is_edge(node):
            wanted.append((EDGES[0] if node.name == START else EDGES[1], name))
        elif is_call(node):
            wanted.append((WINDOW, name))
        else:
            wanted.append((name, name))
    return host.named(found, wanted)


class Inner:
    """The rows that are grouped: columns of FROM and WHERE under plain names."""

    def __init__(
        self, select: exp.Select, nodes: list[exp.Expr], tables: Mapping[str, Any], host: Host
    ) -> None:
        self._names: dict[tuple[str, str], str] = {}
        for node in nodes:
            for column in node.find_all(exp.Column):
                self._name(column)
        made = exp.select(
            *(
                exp.alias_(exp.column(column, table, quoted=True), name, quoted=True)
                for (table, column), name in self._names.items()
            )
        )
        for clause in ("from_", "joins", "laterals", "where", "with_"):
            if (value := select.args.get(clause)) is not None:
                many = isinstance(value, list)
                made.set(clause, [v.copy() for v in value] if many else value.copy())
        self.table = host.run(made, tables)

    def _name(self, column: exp.Column) -> str:
        key = (column.table, column.name)
        if key not in self._names:
            taken = {*self._names.values(), *EDGES, "window"}
            name = column.name
            while name in taken:
                name = f"{column.table}.{name}"
            self._names[key] = name
        return self._names[key]

    def flat(self, node: exp.Expr) -> exp.Expr:
        """A tree over the plain names."""

        def plain(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column):
                return part
            return exp.column(exp.to_identifier(self._name(part), quoted=True))

        return node.copy().transform(plain)


def _windows(
    host: Host, table: Any, by: list[str], time: str, kind: Kind, asked: Any, changes: bool
) -> Any:
    for name, one in asked.items():
        if not isinstance(one, Aggregation):
            raise SqlError(f"{name}: {one} looks at rows, and windows of a group have none")
    if kind.name == "session_window":
        return _sessions(host, table, by, time, kind.lengths[0], asked)
    if kind.name == "__sash_cumulate":
        return _cumulated(host, table, by, time, kind.lengths, asked)
    options = {"emit": "changes"} if changes else {}
    rows = host.windowed(table, by, Order(time, "time"), **options)
    if kind.name == "__sash_cql":
        unit, size, slide = kind.lengths
        over = last_rows(size) if unit == "rows" else size
        every = rows.every(last_rows(slide) if unit == "rows" else slide)
    else:
        over, *more = kind.lengths
        slide = more[0] if more else over
        offset = more[1] if len(more) > 1 else 0
        every = rows.every(slide, offset=offset)
    found = {name: one.over(over) for name, one in asked.items()}
    return _ran(host, every, found)


def _ran(host: Host, rows: Any, found: Mapping[str, Any]) -> Any:
    if host.explaining:
        host.steps.append(Step("Sash", str(rows.explain(**found))))
    return rows.agg(**found)


def _sessions(host: Host, table: Any, by: list[str], time: str, gap: Any, asked: Any) -> Any:
    """Sessions: of the rows' answers so far, those of the last row of each session."""
    frame = session(gap)
    found = {name: one.over(frame) for name, one in asked.items()}
    found |= {EDGES[0]: sf.min(time).over(frame), NEXT: sf.lead(time)}
    rows = _ran(host, host.windowed(table, by, Order(time, "time")), found)
    end = exp.Add(this=_column(time), expression=_literal(gap))
    last = exp.or_(
        exp.Is(this=_column(NEXT), expression=exp.Null()),
        exp.GT(this=_column(NEXT), expression=end.copy()),
    )
    names = [_column(name) for name in (*by, EDGES[0], *asked)]
    query = exp.select(*names, exp.alias_(end, EDGES[1], quoted=True)).from_(rows_of())
    return host.run(query.where(last), {ROWS: rows})


def _cumulated(
    host: Host, table: Any, by: list[str], time: str, lengths: tuple[Any, ...], asked: Any
) -> Any:
    """Windows that grow by steps: answers so far, of the last row of each step, and repeated
    where steps without rows follow."""
    size, step, *more = lengths
    offset = more[0] if more else 0
    if size.ns % step.ns:
        raise SqlError(f"CUMULATE: {size} is not a whole number of steps of {step}")
    frame = tumbling(size, offset)
    found = {name: one.over(frame) for name, one in asked.items()} | {NEXT: sf.lead(time)}
    rows = _ran(host, host.windowed(table, by, Order(time, "time")), found)
    return host.cumulated(rows, time, NEXT, [*by, *asked], (size, step, offset))


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _literal(length: Any) -> exp.Expr:
    if not isinstance(length, Duration):
        return exp.Literal.number(length)
    micros = exp.Literal.string(str(length.ns // 1000))
    return exp.Interval(this=micros, unit=exp.var("MICROSECOND"))
