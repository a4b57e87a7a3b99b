"""Windows of a query over one relation: those of one order in one pass of Sash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Expression
from sash.plan.scalars import when as case
from sash.sql.calls import Functions, called
from sash.sql.dialects import text
from sash.sql.errors import NotTaken, SqlError
from sash.sql.frames import Over, frame_of, peers_of, resolved
from sash.sql.host import Host, Order, Step

ROWS = "__sash_rows"
"""The name of the relation in queries to the host."""


@dataclass
class Asked:
    """A window function and the column that its answers get."""

    name: str
    call: exp.Expr
    over: Over

    @property
    def tree(self) -> exp.Window:
        """The function with its OVER clause, without names."""
        order = exp.Order(expressions=[o.copy() for o in self.over.order])
        return exp.Window(
            this=self.call.copy(), partition_by=[key.copy() for key in self.over.keys],
            order=order if self.over.order else None,
            spec=None if self.over.spec is None else self.over.spec.copy(), over="OVER",
        )  # fmt: skip


@dataclass
class Columns:
    """Arguments as expressions of Sash; those that are none become columns of the host."""

    host: Host
    table: Any
    derived: dict[str, exp.Expr] = field(default_factory=dict)

    def of(self, node: exp.Expr) -> Any:
        """A column's name or an expression."""
        if isinstance(node, exp.Column):
            return node.name
        try:
            return self.host.expression(node, self.table)
        except NotTaken:
            return self.column(node)

    def column(self, node: exp.Expr) -> str:
        """The name of a column that holds the values of an expression."""
        if isinstance(node, exp.Column):
            return node.name
        for name, known in self.derived.items():
            if known == node:
                return name
        name = f"__sash_column_{len(self.host.columns(self.table)) + len(self.derived)}"
        self.derived[name] = node
        return name


def with_windows(host: Host, table: Any, asked: list[Asked], functions: Functions) -> Any:
    """The relation with a column for each window function."""
    groups: dict[tuple[str, str], list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.over.rows, []).append(one)
    for group in groups.values():
        table = _one_order(host, table, group, functions)
    return table


def _one_order(host: Host, table: Any, group: list[Asked], functions: Functions) -> Any:
    """The windows of one order; what Sash does not take is the host's."""
    over = group[0].over
    columns = Columns(host, table)
    by = [columns.column(key) for key in over.keys]
    names = [columns.column(one.this) for one in over.order]
    calls: dict[str, Expression] = {}
    left: list[tuple[Asked, str]] = []
    for one in group:
        try:
            calls[one.name] = called(one.call, columns, functions)
        except NotTaken as reason:
            left.append((one, str(reason)))
    table = with_derived(host, table, columns.derived)
    try:
        table, order = host.order(table, over, names)
    except NotTaken as reason:
        left += [(one, str(reason)) for one in group if one.name in calls]
        return _native(host, table, left, functions)
    rows = host.windowed(table, by, order)
    found: dict[str, Expression] = {}
    for one in group:
        if one.name in calls:
            try:
                asked = _over(one, calls[one.name], order)
                host.check(table, rows, {one.name: asked})
                found[one.name] = asked
            except NotTaken as reason:
                left.append((one, str(reason)))
    if found:
        if host.explaining:
            host.steps.append(Step("Sash", str(rows.explain(**found))))
        table = rows.agg(**found)
    return _native(host, table, left, functions)


def _over(asked: Asked, call: Expression, order: Order) -> Expression:
    """An aggregation over its frame; ranks and lags have their own."""
    if not isinstance(call, Aggregation) or call.frame is not None:
        return call
    found = call.over(frame_of(asked.over, order.unit, order.scale))
    if order.unmeasured is None or not asked.over.is_apart:
        return found
    return case(order.unmeasured, call.over(peers_of(asked.over))).otherwise(found)


def with_derived(host: Host, table: Any, derived: Mapping[str, exp.Expr]) -> Any:
    """The relation with further columns, which the host computes."""
    if not derived:
        return table
    more = [exp.alias_(node.copy(), name, quoted=True) for name, node in derived.items()]
    return host.run(exp.select(exp.Star(), *more).from_(rows_of()), {ROWS: table})


def _native(host: Host, table: Any, left: list[tuple[Asked, str]], functions: Functions) -> Any:
    """Windows that Sash does not take, by the host."""
    if not left:
        return table
    for one, reason in left:
        own = [n for n in one.call.find_all(exp.Anonymous) if n.name.lower() in functions]
        if own:
            raise SqlError(f"{text(one.tree)}: {reason}")
    more = [exp.alias_(one.tree, one.name, quoted=True) for one, _ in left]
    why = "; ".join(dict.fromkeys(reason for _, reason in left))
    return host.native(exp.select(exp.Star(), *more).from_(rows_of()), {ROWS: table}, why)


def rows_of() -> exp.Table:
    """The relation, in a query to the host."""
    return exp.Table(this=exp.to_identifier(ROWS, quoted=True))


def asked_of(
    trees: list[exp.Expr], named: Mapping[str, exp.Window]
) -> tuple[list[Asked], list[exp.Expr]]:
    """The window functions in expressions, equal ones once; and the expressions over them."""
    found: dict[str, Asked] = {}

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Window):
            return node
        one = Asked("", node.this, resolved(node, named))
        one.name = f"__sash_window_{len(found)}"
        known = found.setdefault(text(one.tree), one)
        return exp.column(exp.to_identifier(known.name, quoted=True))

    made = [tree.transform(replaced) for tree in trees]
    return list(found.values()), made
