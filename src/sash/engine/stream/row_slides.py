"""`every` by rows on a stream: a window of the last rows of a key after every so many of them.

A key keeps the rows that its next windows reach, and as many before them as it takes for the rows
that are gone to be whole slides of every kind of windows: so windows are counted from any of them.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import numbers, one_array
from sash.engine.periodic_windows import PeriodicWindows
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.key_windows import after, by_spell, keys_of, per_key
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sorted_keys import starts
from sash.engine.stream.tails import Tails
from sash.plan.periodic import KIND
from sash.windows.frames import SlidingRows


class RowSlides:
    """The windows of a definition, of one or several sizes and slides."""

    def __init__(self, definition: StreamDefinition) -> None:
        plan = definition.plan
        schema = definition.schema.append(pa.field(KEY, pa.int64()))
        self._plan = plan.over_rows(schema, (KEY, *plan.query.by), plan.states)
        self._kinds = [f.frame for f in self._plan.frames if isinstance(f.frame, SlidingRows)]
        self._slide = math.lcm(*(kind.slide for kind in self._kinds))
        self._reach = max(kind.size for kind in self._kinds) - 1
        self._columns = [KEY, CHECK, *definition.needed]

    def answer(self, tails: Tails, rows: pa.Table) -> pa.Table | None:
        """The windows that end with one of these rows, which are in order of key and time."""
        items, new = self._items(tails, rows)
        tails.pages.cost.combined += items.num_rows * len(self._plan.states)
        work = PeriodicWindows(self._plan, ordered=True)
        batches = [found for batch in items.to_batches() for found in work.feed(batch)]
        batches += work.finish()
        if not batches:
            return None
        given = [pa.Table.from_batches([batch]) for batch in batches]
        found = pa.concat_tables(given, promote_options="permissive").combine_chunks()
        return found.filter(pa.array(self._is_new(found, items, new)))

    def advance(self, tails: Tails, rows: pa.Table) -> None:
        """Rows are settled: their keys keep what later windows reach."""
        items, new = self._items(tails, rows)
        begins, _ = per_key(items)
        keys = starts(numbers(one_array(rows.column(KEY))))  # a key's last row is among the new
        last = np.flatnonzero(new)[np.append(keys[1:], rows.num_rows) - 1]
        known = last - begins[np.searchsorted(begins, last, "right") - 1] + 1
        kept = np.minimum(known, self._reach + (known - self._reach) % self._slide)
        tails.write(rows.select(self._columns), kept)

    def _items(self, tails: Tails, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows that keys have kept and new ones, those of a key by spell; and which are new."""
        table, new = after(tails.read(keys_of(rows)), rows.select(self._columns))
        return by_spell(tails, table), new

    def _is_new(self, windows: pa.Table, items: pa.Table, new: np.ndarray) -> np.ndarray:
        """Which windows end with a row that is new: a key's n-th one ends with row n * slide."""
        ids = numbers(one_array(items.column(KEY)))
        begins = starts(ids)
        old = np.add.reduceat((~new).astype(np.int64), begins)
        found, of = np.zeros(windows.num_rows, np.bool_), numbers(one_array(windows.column(KEY)))
        for kind in self._kinds:
            own = np.arange(windows.num_rows)
            if len(self._kinds) > 1:
                own = np.flatnonzero(pc.equal(windows.column(KIND), str(kind)).to_numpy())
            first = starts(of[own])
            counts = np.diff(np.append(first, len(own)))
            number = np.arange(1, len(own) + 1) - np.repeat(first, counts)
            found[own] = number * kind.slide > old[np.searchsorted(ids[begins], of[own])]
        return found
