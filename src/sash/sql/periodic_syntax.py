"""Periodic windows in all their spellings as one: a call of `window(…)` in GROUP BY.

TABLE(HOP(TABLE t, DESCRIPTOR(ts), slide, size))      window(ts, size, slide)
FROM t [Range 24 Hours Slide 1 Minute]                window(ts, '24 Hours', '1 Minute')
window.start, window_start                            __sash_start(window(…))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import find_all_in_scope

from sash.sql.errors import SqlError
from sash.sql.parser import CQL

START, END = "__sash_start", "__sash_end"
EDGES = {"window_start": START, "window_end": END, "start": START, "end": END}
CALLS = ("window", "session_window", "__sash_cumulate", "__sash_cql")
"""Calls in GROUP BY that are windows."""

FUNCTIONS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "cumulate": ("data", "timecol", "step", "size", "offset"),
    "session": ("data", "timecol", "gap"),
}
"""Table functions of Flink and Calcite, and their arguments in order."""


def is_call(node: Any) -> bool:
    """Whether a node is a window in GROUP BY."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in CALLS


def is_edge(node: Any) -> bool:
    """Whether a node is the start or the end of a window."""
    return isinstance(node, exp.Anonymous) and node.name in (START, END)


def desugared(query: exp.Query, schemas: Mapping[str, Mapping[str, str]]) -> exp.Query:
    """The query with every periodic window as a call in GROUP BY."""
    for select in list(query.find_all(exp.Select)):
        _changes(select)
        source = select.args.get("from_")
        if source is not None and CQL in source.this.meta:
            _from_cql(select, source.this, schemas)
        function = None if source is None else table_function(source.this)
        if source is not None and function is not None:
            _from_function(select, source.this, function)
        calls = [key for key in _keys(select) if is_call(key)]
        if len(calls) > 1:
            raise SqlError("GROUP BY has two windows: one query has windows of one kind")
        if calls:
            _edges(select, calls[0])
    return query


def _keys(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def _changes(select: exp.Select) -> None:
    """IStream(…) around the outputs: only answers that changed come out. RStream: all do."""
    only = select.expressions[0] if len(select.expressions) == 1 else None
    name = only.name.lower() if isinstance(only, exp.Anonymous) else ""
    if name == "dstream":
        raise SqlError("DStream: Sash gives what enters a result (IStream) or all of it (RStream)")
    if name not in ("istream", "rstream"):
        return
    assert only is not None
    select.set("expressions", only.expressions)
    select.meta["changes"] = name == "istream"


def _from_cql(select: exp.Select, source: exp.Expr, schemas: Mapping[str, Any]) -> None:
    """FROM t [Range … Slide …]: the outputs for each window, with the window's end as the time."""
    window = source.meta.pop(CQL)
    length = window.get("range") or window.get("rows")
    if not length or not window.get("slide"):
        raise SqlError("a window of CQL has a length and a slide: [Range 24 Hours Slide 1 Minute] "
                       "or [Rows 100 Slide 10]; for a window per row use OVER")  # fmt: skip
    time = _only_time(source, schemas)
    kind = "range" if window.get("range") else "rows"
    given = [exp.Literal.string(text) for text in (kind, length, window["slide"])]
    call = exp.Anonymous(this="__sash_cql", expressions=[time, *given])
    keys = [*_keys(select), *(key for key in window["keys"] if key not in _keys(select))]
    select.set("group", exp.Group(expressions=[*keys, call]))
    end = exp.Anonymous(this=END, expressions=[call.copy()])
    named = exp.alias_(end, "window_end", quoted=True)
    select.set("expressions", [*(k.copy() for k in window["keys"]), named, *select.expressions])


def _only_time(source: exp.Expr, schemas: Mapping[str, Any]) -> exp.Column:
    """The time of a stream of CQL, which it does not name: its only column of times."""
    if isinstance(source, exp.Subquery):
        names = [p.alias_or_name for p in source.unnest().expressions]
        kinds = {n: kind for columns in schemas.values() for n, kind in columns.items()}
        found = [n for n in names if kinds.get(n, "").startswith("timestamp")]
    else:
        spelled = {name.lower(): columns for name, columns in schemas.items()}
        columns = spelled.get(source.name.lower(), {})
        found = [name for name, kind in columns.items() if kind.startswith("timestamp")]
    if len(found) != 1:
        many = f"has {', '.join(found)}" if found else "has none"
        raise SqlError(
            f"a window of CQL is over the only column of timestamps, and {source.alias_or_name} "
            f"{many}: select one, as in FROM (SELECT ts, x FROM t) AS t [Range … Slide …]"
        )
    return exp.column(exp.to_identifier(found[0], quoted=True))


def table_function(source: exp.Expr) -> exp.Anonymous | None:
    """The call of HOP and the like in FROM."""
    inner = source.this if isinstance(source, exp.Table) else None
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "table" and inner.expressions:
        inner = inner.expressions[0]
    is_one = isinstance(inner, exp.Anonymous) and inner.name.lower() in FUNCTIONS
    return inner if is_one else None


def _from_function(select: exp.Select, source: exp.Expr, function: exp.Anonymous) -> None:
    name = function.name.lower()
    given = _arguments(name, function.expressions)
    table = given["data"]
    if not isinstance(table, exp.Table):
        raise SqlError(f"{name.upper()} takes TABLE name first, not {table.sql()}")
    time = given["timecol"].expressions[0]
    keys = [*table.meta.pop("keys", []), *given.get("keys", [])]
    alias = source.args.get("alias")
    table = table.copy()
    if alias is not None:
        table.set("alias", alias.copy())
    source.replace(table)
    call = _call(name, time.copy(), given)
    group = _keys(select)
    rest = [key for key in group if key.name not in EDGES or isinstance(key, exp.Anonymous)]
    if len(rest) == len(group):
        raise SqlError(f"{name.upper()} without GROUP BY window_start, window_end: Sash gives "
                       "answers per window, and does not copy rows into windows")  # fmt: skip
    missing = [key for key in keys if key not in rest]
    if missing:
        raise SqlError(f"SESSION is by {missing[0].sql()}: name it in GROUP BY too")
    select.set("group", exp.Group(expressions=[*rest, call]))


def _arguments(name: str, given: list[exp.Expr]) -> dict[str, Any]:
    """The arguments of a table function by their names."""
    order = FUNCTIONS[name]
    found: dict[str, Any] = {}
    places = [one for one in given if not isinstance(one, exp.Kwarg)]
    if name == "session" and len(places) == 4:  # Calcite has the keys as a second descriptor
        found["keys"] = list(places.pop(2).expressions)
    found |= dict(zip(order, places))
    found |= {o.this.name.lower(): o.expression for o in given if isinstance(o, exp.Kwarg)}
    needed = order if name == "session" else order[:-1]
    if len(places) > len(order) or any(key not in found for key in needed):
        raise SqlError(f"{name.upper()} takes {', '.join(order)}")
    descriptor = found["timecol"]
    if not isinstance(descriptor, exp.Anonymous) or len(descriptor.expressions) != 1:
        raise SqlError(f"{name.upper()} takes the time as DESCRIPTOR(column)")
    return found


def _call(name: str, time: exp.Expr, given: Mapping[str, Any]) -> exp.Anonymous:
    if name == "session":
        return exp.Anonymous(this="session_window", expressions=[time, given["gap"]])
    if name == "cumulate":
        more = [given[key] for key in ("size", "step", "offset") if key in given]
        return exp.Anonymous(this="__sash_cumulate", expressions=[time, *more])
    slide = given.get("slide", given["size"])
    more = [given["size"], slide, *([given["offset"]] if "offset" in given else [])]
    return exp.Anonymous(this="window", expressions=[time, *(one.copy() for one in more)])


def _edges(select: exp.Select, call: exp.Expr) -> None:
    """Starts and ends of the window, by their names, as calls."""
    for column in list(find_all_in_scope(select, exp.Column)):
        if column.find_ancestor(exp.Anonymous) is not None and is_call(column.parent):
            continue
        of_window = column.table.lower() == "window" and column.name.lower() in ("start", "end")
        named = column.name.lower() in ("window_start", "window_end")
        if of_window or named:
            edge = exp.Anonymous(this=EDGES[column.name.lower()], expressions=[call.copy()])
            _put(select, column, edge, column.name)
        elif not column.table and column.name.lower() == "window":
            _put(select, column, call.copy(), column.name)
    for projection in select.expressions:
        if is_call(projection):
            projection.replace(exp.alias_(projection.copy(), projection.name, quoted=True))


def _put(select: exp.Select, column: exp.Column, made: exp.Expr, name: str) -> None:
    """Replace a column; an output keeps its name."""
    is_output = column.parent is select and column.arg_key == "expressions"
    column.replace(exp.alias_(made, name, quoted=True) if is_output else made)
