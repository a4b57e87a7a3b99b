"""WINDOW JOIN: aggregates of events at the times of another table, by `sash.windowed(…).at(…)`.

    FROM spine s WINDOW JOIN events e ON s.user = e.user AND e.ts < s.asked_at
    RANGE BETWEEN '7 days' PRECEDING AND CURRENT ROW

Equal columns in ON are the keys. An inequality names the times: with `<` an event at the very
moment is not in. Without one, the times are the only columns of timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash.plan.aggregation import Aggregation
from sash.sql.calls import Functions, called
from sash.sql.errors import SqlError
from sash.sql.frames import Over, frame_of
from sash.sql.host import Host, Order, Step
from sash.sql.parser import JOINED
from sash.sql.windows import Columns, with_derived


@dataclass(frozen=True)
class WindowJoin:
    """A join as it is written: both tables, their keys and times, and the frame."""

    spine: exp.Expr
    events: exp.Expr
    keys: tuple[tuple[str, str], ...]  # of the spine, of the events
    times: tuple[str, str] | None
    strict: bool
    spec: exp.WindowSpec


def window_join(select: exp.Select) -> exp.Join | None:
    """The window join of a SELECT, if it has one."""
    found = [join for join in select.args.get("joins") or () if JOINED in join.meta]
    if found and len(select.args["joins"]) > 1:
        raise SqlError("WINDOW JOIN is the only join of a SELECT: join before it, in a subquery")
    return found[0] if found else None


def joined(select: exp.Select, join: exp.Join) -> WindowJoin:
    """The join of a SELECT, read; SqlError says what does not fit."""
    spine, events = select.args["from_"].this, join.this
    names = (spine.alias_or_name, events.alias_or_name)
    keys: list[tuple[str, str]] = []
    times, strict = None, False
    for part in _conditions(join.args.get("on")):
        sides = {side.table: side.name for side in part.find_all(exp.Column)}
        plain = isinstance(part, exp.Binary) and all(
            isinstance(side, exp.Column) for side in (part.this, part.expression)
        )
        if not plain or set(sides) != set(names):
            raise SqlError(f"WINDOW JOIN … ON {part.sql()}: compare a column of {names[0]} with "
                           f"one of {names[1]}, joined by AND")  # fmt: skip
        pair = (sides[names[0]], sides[names[1]])
        if isinstance(part, exp.EQ):
            keys.append(pair)
        else:
            times, strict = pair, _is_strict(part, names)
    spec = join.meta[JOINED]
    return WindowJoin(spine, events, tuple(keys), times, strict, spec)


def _conditions(condition: exp.Expr | None) -> list[exp.Expr]:
    if condition is None:
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _is_strict(part: exp.Expr, names: tuple[str, str]) -> bool:
    """Whether events must be before the moment, and not at it."""
    before = (exp.LT, exp.LTE) if part.this.table == names[1] else (exp.GT, exp.GTE)
    if not isinstance(part, before):
        raise SqlError(f"WINDOW JOIN … ON {part.sql()}: events are before the moment, as in "
                       f"{names[1]}.ts <= {names[0]}.ts")  # fmt: skip
    return isinstance(part, exp.LT | exp.GT)


def answered(split: Any, host: Host, tables: Mapping[str, Any], functions: Functions) -> Any:
    """The relation of a SELECT with a window join: the spine's columns, and aggregates."""
    select, lifted = split.select, split.lifted
    join = joined(select, split.join)
    names = (join.spine.alias_or_name, join.events.alias_or_name)
    aggregates = {n: node for n, node in lifted.items() if not isinstance(node, exp.Column)}
    _check_columns(lifted, aggregates, names)
    spine_columns = {n: node.name for n, node in lifted.items() if n not in aggregates}
    sides = _sides(select, join, tables, host)
    spine, events = sides
    times = join.times or (_only_time(host, spine, names[0]), _only_time(host, events, names[1]))
    columns = Columns(host, events)
    asked = {name: called(_flat(node), columns, functions) for name, node in aggregates.items()}
    events = with_derived(host, events, columns.derived)
    frame = frame_of(Over((), (exp.Ordered(),), join.spec), _unit(host, events, times[1]))
    found = {}
    for name, one in asked.items():
        if not isinstance(one, Aggregation) or one.frame is not None:
            raise SqlError(f"{aggregates[name].sql()} looks at rows, and a row of "
                           f"{names[0]} is none of {names[1]}")  # fmt: skip
        found[name] = one.over(frame)
    by = [event for _, event in join.keys]
    rows = host.windowed(events, by, Order(times[1], "time")).at(
        spine, [key for key, _ in join.keys], time=times[0],
        closed="left" if join.strict else "both",
    )  # fmt: skip
    if host.explaining:
        host.steps.append(Step("Sash", str(rows.explain(**found))))
    wanted = [(column, name) for name, column in spine_columns.items()]
    return host.named(rows.agg(**found), wanted + [(name, name) for name in found])


def _check_columns(
    lifted: Mapping[str, exp.Expr], aggregates: Mapping[str, exp.Expr], names: tuple[str, str]
) -> None:
    """Outputs are of the spine, aggregates are of events."""
    if not aggregates:
        raise SqlError("WINDOW JOIN without an aggregate: add count(*), say")
    for name, node in lifted.items():
        of = {column.table for column in node.find_all(exp.Column)}
        if name in aggregates and names[0] in of:
            raise SqlError(f"{node.sql()}: an aggregate of a window join is over {names[1]} alone")
        if name not in aggregates and names[1] in of:
            raise SqlError(f"{node.sql()}: a row has many rows of {names[1]}: aggregate them")


def _sides(
    select: exp.Select, join: WindowJoin, tables: Mapping[str, Any], host: Host
) -> tuple[Any, Any]:
    """The rows of the spine, of which WHERE may choose some, and of the events."""
    spine = exp.select(exp.Star()).from_(join.spine.copy())
    events = exp.select(exp.Star()).from_(join.events.copy())
    where, other = select.args.get("where"), join.events.alias_or_name
    if where is not None:
        if any(column.table == other for column in where.find_all(exp.Column)):
            raise SqlError(f"WHERE of a window join is about {join.spine.alias_or_name}: for "
                           f"{other} use FILTER (WHERE …), or a subquery")  # fmt: skip
        spine = spine.where(where.this.copy())
    for query in (spine, events):
        if (with_ := select.args.get("with_")) is not None:
            query.set("with_", with_.copy())
    return host.run(spine, tables), host.run(events, tables)


def _only_time(host: Host, table: Any, name: str) -> str:
    found = [c for c, kind in host.columns(table).items() if kind.startswith("timestamp")]
    if len(found) != 1:
        raise SqlError(f"WINDOW JOIN: which column of {name} is the time? Name it in ON, as in "
                       "e.ts <= s.ts")  # fmt: skip
    return found[0]


def _unit(host: Host, table: Any, time: str) -> str:
    kind = host.columns(table)[time]
    return "date" if kind == "date" else "time" if kind.startswith("timestamp") else "number"


def _flat(node: exp.Expr) -> exp.Expr:
    """A tree over plain names."""

    def plain(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column):
            return part
        return exp.column(exp.to_identifier(part.name, quoted=True))

    return node.copy().transform(plain)
