"""A SELECT with windows in three parts: rows from the host, windows by Sash, the rest on top.

SELECT x + sum(y) OVER (…) AS z FROM t JOIN u … WHERE … ORDER BY z LIMIT 3

rows     SELECT x, y, … FROM t JOIN u … WHERE …     the host
windows  sum(y) OVER (…) for each of these rows     Sash
rest     SELECT x + sum AS z … ORDER BY z LIMIT 3   the host
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import find_all_in_scope

from sash.sql import periodic
from sash.sql import window_join as window_joins
from sash.sql.calls import Functions, is_aggregate
from sash.sql.dialects import text
from sash.sql.errors import SqlError
from sash.sql.host import Host
from sash.sql.periodic_syntax import is_call, is_edge
from sash.sql.window_join import window_join
from sash.sql.windows import ROWS, Asked, asked_of, rows_of, with_windows

BELOW = ("from_", "joins", "laterals", "where", "group", "having", "with_")
"""Clauses of a SELECT that say which rows there are; the others come after the windows."""

ABOVE = ("distinct", "order", "limit", "offset")


def is_taken(select: exp.Select) -> bool:
    """Whether Sash takes a part of a SELECT."""
    return has_windows(select) or has_periods(select) or window_join(select) is not None


def has_periods(select: exp.Select) -> bool:
    """Whether a SELECT groups by windows."""
    group = select.args.get("group")
    return group is not None and any(is_call(key) for key in group.expressions)


def has_windows(select: exp.Select) -> bool:
    """Whether a SELECT has window functions of its own."""
    return any(w.args.get("over") for w in find_all_in_scope(select, exp.Window))


class Split:
    """A SELECT in its three parts."""

    def __init__(self, select: exp.Select, functions: Functions) -> None:
        self.select, self._functions = select, functions
        self._named = {w.name.lower(): w for w in select.args.get("windows") or ()}
        self._lifted: dict[str, tuple[str, exp.Expr]] = {}  # by text: the name, what it is
        self.join = window_join(select)
        self.is_grouped = select.args.get("group") is not None or self._aggregates()
        self._outputs = {
            p.alias_or_name for p in select.expressions
            if not isinstance(p.unalias(), exp.Column)
        }  # fmt: skip
        trees = [p.copy() for p in select.expressions]
        if (qualify := select.args.get("qualify")) is not None:
            trees.append(qualify.this.copy())
        order = select.args.get("order")
        trees += [one.copy() for one in order.expressions] if order is not None else []
        count = len(select.expressions)
        lifted = [self._lift(tree, place < count) for place, tree in enumerate(trees)]
        having = select.args.get("having")
        periods = having is not None and has_periods(select)
        self.having = self._lift(having.this.copy()) if having is not None and periods else None
        named = {name: self._lift(w.copy()) for name, w in self._named.items()}
        self.asked, made = asked_of(lifted, named)  # type: ignore[arg-type]
        self._named_by_output(made[:count], made)
        self.projections, rest = made[:count], made[count:]
        self.condition = rest.pop(0) if qualify is not None else None
        self.order = rest

    def _aggregates(self) -> bool:
        """Whether a SELECT without GROUP BY aggregates all of its rows."""
        return any(
            is_aggregate(node, self._functions) and not _is_windowed(node)
            for projection in self.select.expressions
            for node in find_all_in_scope(projection, exp.Func)
        )

    def _named_by_output(self, projections: list[exp.Expr], trees: list[exp.Expr]) -> None:
        """Window functions that are outputs have their names, for people who read the plan."""
        taken = set(self.lifted)
        new: dict[str, str] = {}
        for projection in projections:
            inner, name = projection.unalias(), projection.alias_or_name
            is_window = isinstance(inner, exp.Column) and inner.name in {w.name for w in self.asked}
            if is_window and inner.name not in new and name not in taken:
                new[inner.name] = name
                taken.add(name)
        for asked in self.asked:
            asked.name = new.get(asked.name, asked.name)
        for column in (c for tree in trees for c in tree.find_all(exp.Column)):
            if column.name in new:
                column.set("this", exp.to_identifier(new[column.name], quoted=True))

    def _lift(self, tree: exp.Expr, is_output: bool = False) -> exp.Expr:
        """A tree over names of the relation that the windows are over."""
        if is_output and isinstance(tree, exp.Alias) and self._is_lifted(tree.this):
            self._name(tree.this, tree.alias)
        holder = exp.Paren(this=tree)
        self._lift_below(holder)
        return holder.this

    def _lift_below(self, node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Query):
                self._lift_correlated(child)
            elif self._is_lifted(child):
                child.replace(exp.column(exp.to_identifier(self._name(child), quoted=True)))
            else:
                self._lift_below(child)

    def _lift_correlated(self, query: exp.Query) -> None:
        """Columns of this SELECT in a query within an expression of it."""
        source, joins = self.select.args.get("from_"), self.select.args.get("joins") or ()
        own = {one.this.alias_or_name for one in (source, *joins) if one is not None}
        for column in query.find_all(exp.Column):
            if column.table in own and self._is_lifted(column):
                named = exp.to_identifier(self._name(column), quoted=True)
                column.replace(exp.column(named, table=ROWS))

    def _is_lifted(self, node: exp.Expr) -> bool:
        """Whether a node is a column of the relation below the windows."""
        if not self.is_grouped:
            return isinstance(node, exp.Column) and bool(node.table)
        if is_edge(node) or any(node == key for key in self.keys):
            return True
        if self.join is not None and isinstance(node, exp.Column):
            return bool(node.table)
        if isinstance(node, exp.Window) or not isinstance(node, exp.Func | exp.Filter):
            return False
        return is_aggregate(node, self._functions) and not _is_windowed(node)

    @property
    def keys(self) -> list[exp.Expr]:
        """The expressions that GROUP BY names."""
        group = self.select.args.get("group")
        return [] if group is None else list(group.expressions)

    def _name(self, node: exp.Expr, output: str = "") -> str:
        key = text(node)
        if key not in self._lifted:
            given = {name for name, _ in self._lifted.values()}
            taken = given | self._outputs
            if isinstance(node, exp.Column):
                name = node.name
                while name in taken:
                    name = f"{node.table}.{name}"
            else:
                name = output if output and output not in given else f"__sash_group_{len(taken)}"
            self._lifted[key] = (name, node.copy())
        return self._lifted[key][0]

    @property
    def lifted(self) -> dict[str, exp.Expr]:
        """The columns of the relation below the windows, and what they are."""
        return dict(self._lifted.values())

    def rows(self) -> exp.Select:
        """The query of the relation that the windows are over."""
        columns = [exp.alias_(node.copy(), n, quoted=True) for n, node in self.lifted.items()]
        if not columns:
            columns = [exp.alias_(exp.Literal.number(0), "__sash_zero", quoted=True)]
        made = exp.select(*columns)
        for clause in BELOW:
            if (value := self.select.args.get(clause)) is not None:
                made.set(clause, _copied(value))
        return made

    def rest(self) -> exp.Select:
        """The query over the relation with its windows."""
        made = exp.select(*self.projections).from_(rows_of())
        if self.condition is not None:
            made = made.where(self.condition)
        for clause in ABOVE:
            if (value := self.select.args.get(clause)) is not None:
                made.set(clause, _copied(value))
        if any(tree.find(exp.Query) for tree in self.projections):
            made.set("with_", _copied(self.select.args.get("with_")))
        if self.order:
            made.set("order", exp.Order(expressions=self.order))
        return made


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [one.copy() for one in value]
    return None if value is None else value.copy()


def _is_windowed(node: exp.Expr) -> bool:
    """Whether a call is the function of an OVER clause."""
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def answered(
    select: exp.Select, host: Host, tables: Mapping[str, Any], functions: Functions
) -> Any:
    """The rows of a SELECT with windows."""
    split = Split(select, functions)
    unknown = [w for w in split.asked if not isinstance(w.call, exp.Expr)]
    if unknown:
        raise SqlError(f"{unknown[0]}: no function before OVER")
    rows = _rows(split, host, tables, functions)
    done = with_windows(host, rows, split.asked, functions)
    return host.run(split.rest(), {**tables, ROWS: done})


def _rows(split: Split, host: Host, tables: Mapping[str, Any], functions: Functions) -> Any:
    """The relation that the windows are over."""
    if split.join is not None:
        return window_joins.answered(split, host, tables, functions)
    if not has_periods(split.select):
        return host.run(split.rows(), tables)
    rows = periodic.answered(split, host, tables, functions)
    if split.having is None:
        return rows
    query = exp.select(exp.Star()).from_(rows_of()).where(split.having)
    return host.run(query, {ROWS: rows})


__all__ = ["Asked", "Split", "answered", "has_windows"]
