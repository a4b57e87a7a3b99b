"""The values of keys at a moment: the answers over windows that end there, row or no row.

by time     the window that ends at the moment, from O(log n) nodes of the forest
            distinct counts, percentiles: as of the moment, from the rows of the window
so far      sessions, lifetime, until: what a row at the moment would find before it
by rows     the last rows before the moment; delta and policies: the window of the last row
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.asof_table import aggregate
from sash.engine.columns import answers_as, numbers, one_array
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.forest import Forest
from sash.engine.stream.key_windows import SoFarWindows, TailWindows
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts
from sash.engine.stream.tails import Tails
from sash.engine.stream.time_windows import TimeWindows
from sash.plan.plan import Plan


@dataclass
class Asked:
    """Keys, each once and sorted by number, and moments: `of` is the place of a moment's key.

    In order of key and moment.
    """

    keys: KeyMap
    of: np.ndarray
    moments: np.ndarray

    @staticmethod
    def now(keys: KeyMap, moment: float, dtype: np.dtype) -> Asked:
        """All keys at one moment."""
        n = len(keys.ids)
        return Asked(keys, np.arange(n), np.full(n, moment, dtype))


@dataclass
class Values:
    """The windows of a shard, to be asked for values."""

    definition: StreamDefinition
    forest: Forest
    by_time: list[TimeWindows]
    so_far: Mapping[str, SoFarWindows]
    last_rows: Mapping[str, TailWindows]
    rows: Plan | None  # at moments, from rows
    tails: Callable[[str], Tails]

    def answers(self, asked: Asked) -> dict[str, pa.Array]:
        """The answers of all aggregations, by name; null where a moment has none."""
        missing = pa.nulls(len(asked.of))
        found: dict[str, pa.Array] = {o.name: missing for o in self.definition.plan.outputs}
        given = asked.keys, asked.of, asked.moments
        for windows in self.by_time:
            found |= self._named(windows, windows.current(self.forest, *given))
        for name, so_far in self.so_far.items():
            found |= self._named(so_far, so_far.current(self.tails(name), *given))
        for name, tailed in self.last_rows.items():
            found |= tailed.current(self.tails(name), *given)
        return found if self.rows is None else found | self._from_rows(self.rows, asked)

    def _from_rows(self, plan: Plan, asked: Asked) -> dict[str, pa.Array]:
        """Answers that are no small partials, from all rows of the windows."""
        time = self.definition.time
        least, most = asked.moments.min().item() - self.definition.kept.behind, asked.moments.max()
        rows = self.forest.rows_between(least, most, asked.keys)
        table = (plan.schema.empty_table() if rows is None else rows.table).select(plan.columns)
        moments = answers_as(asked.moments, None, plan.schema.field(time).type)
        spine = pa.table({KEY: asked.keys.ids[asked.of], time: moments})
        found = aggregate(plan, table, spine, 1)
        return {output.name: one_array(found.column(output.name)) for output in plan.outputs}

    def table(self, asked: Asked, by: Mapping[str, Any]) -> pa.Table:
        """A row per moment: keys, whose columns are given, the moment, and the outputs."""
        definition = self.definition
        kind = definition.schema.field(definition.time).type
        moments = answers_as(asked.moments, None, kind)
        columns = {**by, definition.time: moments, **self.answers(asked)}
        return definition.as_output(columns)

    def _named(
        self, windows: TimeWindows | SoFarWindows, answers: list[list[pa.Array]]
    ) -> dict[str, pa.Array]:
        return named(self.definition, windows, answers)


def named(
    definition: StreamDefinition, windows: TimeWindows | SoFarWindows, answers: list[list[pa.Array]]
) -> dict[str, Any]:
    """The answers of states by the names of their outputs."""
    number = {s.state.number: found for s, found in zip(windows.states, answers, strict=True)}
    return {
        output.name: number[output.state][output.member]
        for output in definition.plan.outputs
        if output.state in number
    }


def distinct(table: pa.Table) -> pa.Table:
    """The rows of keys, each key once, sorted by number; Collision where two have one number."""
    ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
    order = order_of(ids)
    prove_equal(checks[order], ids[order])
    return table.take(pa.array(order[starts(ids[order])]))


def key_map(keys: pa.Table) -> KeyMap:
    """Distinct keys as a map without partials."""
    ids, checks = (numbers(one_array(keys.column(name))) for name in (KEY, CHECK))
    return KeyMap(ids, checks, None, [])
