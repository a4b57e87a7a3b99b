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

from sash.sql.calls import is_aggregate
from sash.sql.dialects import text
from sash.sql.errors import SqlError
from sash.sql.windows import ROWS, Asked, asked_of, rows_of, with_windows

BELOW = ("from_", "joins", "laterals", "where", "group", "having", "with_")
"""Clauses of a SELECT that say which rows there are; the others come after the windows."""

ABOVE = ("distinct", "order", "limit", "offset")


def has_windows(select: exp.Select) -> bool:
    """Whether a SELECT has window functions of its own."""
    return any(w.args.get("over") for w in find_all_in_scope(select, exp.Window))


class Split:
    """A SELECT in its three parts."""

    def __init__(self, select: exp.Select, functions: Mapping[str, Any]) -> None:
        self.select, self._functions = select, functions
        self._named = {w.name.lower(): w for w in select.args.get("windows") or ()}
        self._lifted: dict[str, tuple[str, exp.Expr]] = {}  # by text: the name, what it is
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
        lifted = [self._lift(tree) for tree in trees]
        named = {name: self._lift(w.copy()) for name, w in self._named.items()}
        self.asked, made = asked_of(lifted, named)  # type: ignore[arg-type]
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

    def _lift(self, tree: exp.Expr) -> exp.Expr:
        """A tree over names of the relation that the windows are over."""
        holder = exp.Paren(this=tree)
        self._lift_below(holder)
        return holder.this

    def _lift_below(self, node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            if self._is_lifted(child):
                child.replace(exp.column(exp.to_identifier(self._name(child), quoted=True)))
            else:
                self._lift_below(child)

    def _is_lifted(self, node: exp.Expr) -> bool:
        """Whether a node is a column of the relation below the windows."""
        if not self.is_grouped:
            return isinstance(node, exp.Column) and bool(node.table)
        if any(node == key for key in self.keys):
            return True
        if isinstance(node, exp.Window) or not isinstance(node, exp.Func | exp.Filter):
            return False
        return is_aggregate(node, self._functions) and not _is_windowed(node)

    @property
    def keys(self) -> list[exp.Expr]:
        """What GROUP BY names."""
        group = self.select.args.get("group")
        return [] if group is None else list(group.expressions)

    def _name(self, node: exp.Expr) -> str:
        key = text(node)
        if key not in self._lifted:
            taken = {name for name, _ in self._lifted.values()} | self._outputs
            name = node.name if isinstance(node, exp.Column) else f"__sash_group_{len(taken)}"
            while name in taken:
                name = f"{node.args['table'].name}.{name}" if isinstance(node, exp.Column) else ""
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
        if self.order:
            made.set("order", exp.Order(expressions=self.order))
        return made


def _copied(value: Any) -> Any:
    return [one.copy() for one in value] if isinstance(value, list) else value.copy()


def _is_windowed(node: exp.Expr) -> bool:
    """Whether a call is the function of an OVER clause."""
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def answered(
    select: exp.Select, host: Any, tables: Mapping[str, Any], functions: Mapping[str, Any]
) -> Any:
    """The rows of a SELECT with windows."""
    split = Split(select, functions)
    unknown = [w for w in split.asked if not isinstance(w.call, exp.Expr)]
    if unknown:
        raise SqlError(f"{unknown[0]}: no function before OVER")
    rows = host.run(split.rows(), tables)
    done = with_windows(host, rows, split.asked, functions)
    return host.run(split.rest(), {ROWS: done})


__all__ = ["Asked", "Split", "answered", "has_windows"]
