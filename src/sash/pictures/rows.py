"""Rows: the part of a table that a picture shows, in the order in which windows move."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import numbers, objects
from sash.engine.order import rows_by
from sash.pictures.recording import said
from sash.plan.plan import Plan, State
from sash.tables import Windowed

MOST_ROWS = 60
"""More rows than a person steps through."""


class Shown:
    """The rows of one key in order of time, and the plan over them, without the key."""

    def __init__(self, windowed: Windowed[Any], aggregations: dict[str, Any], limit: int) -> None:
        plan = windowed.plan(**aggregations)
        query = plan.query
        table = windowed.table(query.columns())
        if table.num_rows == 0:
            raise ValueError("show: the table has no rows")
        self.key = {name: table.column(name)[0] for name in query.by}
        for name, value in self.key.items():
            table = table.filter(_equal(table.column(name), value))
        way = "descending" if query.descending else "ascending"
        keys = [(name, way, "at_start") for name in (query.time, *query.ties)]
        table = table.take(rows_by(table, keys)).slice(0, min(limit, MOST_ROWS))
        self.query = replace(query, by=())
        self.table = table.select(self.query.columns())
        self.plan: Plan = plan.over_rows(self.table.schema, ())
        self.times = table.column(query.time).to_pylist()

    @property
    def lead(self) -> str:
        """Which rows are shown."""
        key = ", ".join(f"{name} {said(value.as_py())}" for name, value in self.key.items())
        return f"{len(self.times)} rows" + (f" of {key}" if key else "")


def _equal(column: Any, value: Any) -> Any:
    return pc.equal(column, value) if value.is_valid else pc.is_null(column)


class StateRows:
    """The rows that a state takes in: those that pass its condition and have no null.

    `read`: the rows that are items of its windows; all, where others are lifted to the identity.
    """

    def __init__(self, state: State, columns: dict[str, pa.Array], time: str) -> None:
        taken = [columns[name] for name in state.columns or (time,)]
        self.values = _tuples([objects(column) for column in taken])
        known = np.ones(len(taken[0]), np.bool_)
        for column in taken[:1] if state.kind == "argument" else taken:
            known &= np.asarray(pc.is_valid(column))
        if state.condition is not None:
            known &= np.asarray(pc.fill_null(columns[state.condition], False))
        lifts_all = state.kind == "combine" and state.filtering == "identity"
        self.known = np.flatnonzero(known)
        self.read = np.arange(len(known)) if lifts_all else self.known
        if state.kind == "argument":
            self.items: list[Any] = [(x[0], row) for row, x in enumerate(self.values)]
        elif state.typed:
            masks = [known.tolist()] if lifts_all else []
            self.items = _tuples([*(_as_numbers(column) for column in taken), *masks])
        else:
            self.items = self.values

    def among(self, rows: np.ndarray) -> list[int]:
        """Bounds in rows as bounds in rows that are read."""
        return [int(place) for place in np.searchsorted(self.read, rows)]


def _as_numbers(column: pa.Array) -> list[Any]:
    """A column as the engine takes it; zeros stand for nulls, which are left out."""
    valid = np.asarray(pc.is_valid(column))
    found = np.zeros(len(column), object)
    found[valid] = numbers(column.drop_null()).tolist()
    return list(found)


def _tuples(columns: list[list[Any]]) -> list[Any]:
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
