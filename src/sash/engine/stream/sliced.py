"""`every` on a stream: complete slices instead of rows, and windows as suffix, middle, prefix.

No window begins or ends within a slice as long as the greatest common divisor of size and
slide. Once the watermark has passed a slice, its rows are combined to one partial per key. A
batch's windows need the slices that leave, those that enter, and what lies between them, which
all of the windows have: one item per key, from O(log n) nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.columns import answers_as, numbers, one_array
from sash.engine.order import tick_type
from sash.engine.periodic_windows import PeriodicWindows
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.forest import Forest
from sash.engine.stream.items import Items
from sash.engine.stream.maps import KeyMap, whole_of
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.partials import PartialState
from sash.engine.stream.slices import Slices
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts
from sash.engine.stream.window_runs import RunFinder, Runs
from sash.plan.periodic import KIND
from sash.plan.plan import FramePlan, Plan, State
from sash.plan.reach import steps_of
from sash.plan.slicing import steps_within
from sash.windows.frames import Sliding

CLOSED_ABOVE = ("right", "both")
"""The values of `closed` with which a window has the rows at its end."""


class SlicedWindows:
    """The windows of a definition with `every`, of one or several kinds, in a forest of slices."""

    def __init__(self, definition: StreamDefinition) -> None:
        plan, every = definition.plan, definition.plan.query.every
        assert every is not None
        self.definition, self.plan, self.every = definition, plan, every
        self.kinds = [KindOfWindows(definition, frame) for frame in plan.frames]
        self.slices = Slices(definition)
        self.states = [state for kind in self.kinds for state in kind.states]

    def answer(self, forest: Forest, before: float | None, now: float) -> pa.Table | None:
        """The windows that the watermark has passed, of all keys that have rows in them."""
        parts = [kind.answer(forest, self.slices.length, before, now) for kind in self.kinds]
        found = [part for part in parts if part is not None]
        if len(self.kinds) == 1 or not found:
            return found[0] if found else None
        return pa.concat_tables(found, promote_options="default")


class KindOfWindows:
    """Windows of one size and slide."""

    def __init__(self, definition: StreamDefinition, frame: FramePlan) -> None:
        plan, every = definition.plan, definition.plan.query.every
        assert every is not None
        assert isinstance(frame.frame, Sliding)
        self.plan, self._name = plan, str(frame.frame) if len(every.kinds) > 1 else None
        kind = frame.frame
        self.size, self.slide, self.offset = steps_within(kind, plan.unit)
        self._shown = steps_of(kind.offset, plan.unit), steps_of(kind.size, plan.unit)
        self._kind = plan.schema.field(definition.time).type
        self._dtype = tick_type(self._kind)
        self.states = [
            PartialState(plan, state, definition.allow_pickle)
            for state in plan.of("slices")
            if state.frame == frame.number
        ]
        self._finder = RunFinder(self._dtype, self.size, self.slide, self.offset)

    def answer(
        self, forest: Forest, step: Any, before: float | None, now: float
    ) -> pa.Table | None:
        """The windows of this kind that the watermark has passed."""
        if not forest.leaves or not self.states:
            return None
        least, first, last = self._due(forest, before, now)
        if last < first:
            return None
        ids, times, keys, items = self._items(forest, step, first, last)
        if not len(ids):
            return None
        runs = self._finder.find(times, starts(ids), least, now)
        if not len(runs.lo):
            return None
        begins, ends = self._spans(runs)
        places = pa.array(runs.lo)
        columns = {
            name: runs.repeated(one_array(keys.column(name)).take(places))
            for name in self.plan.query.by
        }
        if self._name is not None:
            columns[KIND] = pa.repeat(pa.scalar(self._name, pa.string()), len(begins))
        columns["window_start"] = answers_as(begins, None, self._kind)
        columns["window_end"] = answers_as(ends, None, self._kind)
        answers = {}
        for state, each in zip(self.states, items, strict=True):
            forest.pages.cost.combined += len(each)
            found = state.answer(each, runs.lo, runs.hi)
            answers[state.state.number] = [runs.repeated(array) for array in found]
        for output in self.plan.outputs:
            if output.state in answers:
                columns[output.name] = answers[output.state][output.member]
            elif self._name is not None:
                columns[output.name] = pa.nulls(len(begins), output.type or pa.null())
        return pa.table(columns)

    def _spans(self, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
        """When each window begins and ends, whichever of its ends are closed."""
        begins, ends = self._finder.spans(runs)
        offset, size = self._shown
        if (offset, size) == (self.offset, self.size):
            return begins, ends
        begins -= self.offset - offset
        return begins, begins + size

    def _due(self, forest: Forest, before: float | None, now: float) -> tuple[int, float, float]:
        """The number of the first window that is due, and when the first and the last begin."""
        seen = forest.leaves[0].oldest if before is None else before  # a window of it ends later
        number = int((seen - self.size - self.offset) // self.slide) + 1
        last = int((now - self.size - self.offset) // self.slide)
        return number, self.offset + number * self.slide, self.offset + last * self.slide

    def _items(
        self, forest: Forest, step: Any, first: float, last: float
    ) -> tuple[np.ndarray, np.ndarray, pa.Table, list[Items]]:
        """Slices and middles of all keys, in order of key and time."""
        places = [forest.place(state) for state in self.states]
        parts: list[tuple[KeyMap, np.ndarray]] = []
        begin, stop = forest.since(first), forest.until(last + self.size - step)
        inside = forest.since(last - step, after=True), forest.until(first + self.size, True)
        place = begin
        while place < stop:
            leaf = forest.leaves[place]
            if inside[0] <= place < min(inside[1], stop):
                end = min(inside[1], stop)
                bulks = leaf.first, forest.leaves[end - 1].stop
                cover = forest.cover(*bulks, of=(self.size, self.slide, self.offset))
                whole = forest.maps.read_and_merged([whole_of(parts) for parts in cover])
                parts.append((whole, np.full(len(whole.ids), last, self._dtype)))
                place = end
                continue
            place += 1
            rows = forest.rows_between(
                max(first, leaf.oldest), min(last + self.size - step, leaf.youngest)
            )
            if rows is not None:
                items = [forest.rows.items(i, rows) for i in range(len(forest.states))]
                table = rows.table.select(self.plan.query.by) if self.plan.query.by else None
                parts.append((KeyMap(rows.ids, rows.checks, table, items), rows.times))
        if not parts:
            none = np.zeros(0, np.int64)
            return none, none, pa.table({}), []
        both = KeyMap.concat([part for part, _ in parts])
        order = order_of(both.ids)
        both = both.take(order)
        prove_equal(both.checks, both.ids)
        times = np.concatenate([times for _, times in parts])[order]
        keys = both.keys if both.keys is not None else pa.table({})
        return both.ids, times, keys, [both.items[i] for i in places]


class RereadWindows:
    """The answers of `every` that are no small partials: from all rows of the windows."""

    def __init__(self, definition: StreamDefinition, states: list[State]) -> None:
        plan = definition.plan.without_filling()
        schema = definition.schema.append(pa.field(KEY, pa.int64()))
        self.plan: Plan = plan.over_rows(schema, (KEY, *plan.query.by), states)
        self._size = definition.kept.behind
        kind = self.plan.frames[0].frame
        assert isinstance(kind, Sliding)
        self._closed = int(kind.closed in CLOSED_ABOVE)

    def answer(self, forest: Forest, before: float | None, now: float) -> pa.Table | None:
        """The windows that the watermark has passed; no row is read where there are none."""
        given = None if before is None else before - self._closed  # rows at an end may come
        work = PeriodicWindows(self.plan, ordered=True, after=given, upto=now - self._closed)
        if not work.is_due:
            return None
        oldest = -math.inf if before is None else before - self._size
        rows = forest.rows_between(oldest, now)
        if rows is None:
            return None
        table = rows.table
        order = order_of(numbers(one_array(table.column(KEY))))
        table = table.take(pa.array(order))
        prove_equal(*(numbers(one_array(table.column(name))) for name in (CHECK, KEY)))
        batches = [given for batch in table.to_batches() for given in work.feed(batch)]
        batches += work.finish()
        return pa.Table.from_batches(batches) if batches else None
