"""The interface of a host: the engine that runs what is around the windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from sash.plan.expressions import Expression
from sash.sql.frames import Over

WINDOW = "window"
"""Both ends of a window, in the place of a column."""

ZERO = "__sash_zero"
"""A column of zeros: the order of windows without one."""


@dataclass
class Order:
    """The column that orders rows for Sash; `unit` says how frames may measure it.

    `unmeasured`: whether a row's order is null or NaN, where some are.
    """

    time: str | list[str]
    unit: str
    descending: bool = False
    unmeasured: Expression | None = None
    scale: int = 1  # steps of a unit: of decimals, 10 to the number of their places


@dataclass
class Step:
    """A part of a query that ran, and which engine ran it."""

    engine: str
    what: str
    why: str = ""


class Host(Protocol):
    """An engine for queries without windows; its tables are its own kind."""

    explaining: bool
    steps: list[Step]

    def columns(self, table: Any) -> dict[str, str]:
        """The columns of a table, and their types in Spark's SQL."""

    def run(self, query: exp.Query, tables: Mapping[str, Any]) -> Any:
        """The rows of a query without windows."""

    def native(self, query: exp.Query, tables: Mapping[str, Any], why: str) -> Any:
        """The rows of a query with windows that Sash does not take."""

    def expression(self, node: exp.Expr, table: Any) -> Expression:
        """An expression of Sash; NotTaken where the host has to compute a column."""

    def order(self, table: Any, over: Over, names: list[str]) -> tuple[Any, Order]:
        """The table with the column that orders it, for windows of one order."""

    def check(self, table: Any, rows: Any, asked: Mapping[str, Expression]) -> None:
        """NotTaken where an aggregation does not take the type of its column, say."""

    def windowed(self, table: Any, by: list[str], order: Order, **options: Any) -> Any:
        """The windows' rows, as `sash.windowed` has them."""

    def timed(self, table: Any, time: str) -> Any:
        """The rows that have a time; a date is the moment that it begins."""

    def named(self, table: Any, wanted: list[tuple[str, str]]) -> Any:
        """Columns under other names; `WINDOW` is both ends of a window."""

    def cumulated(
        self, table: Any, time: str, following: str, names: list[str], lengths: Any
    ) -> Any:
        """The windows that grow by steps, from answers so far; see sash.sql.periodic."""
