"""Windows without rows on a stream: `every(…, fill=True)`, between those of a key that have some.

Whether a window without rows is before a key's last one is known when another row of the key has
come. So windows without rows come out with the next window that has rows, and each key keeps the
number of its last one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.calendars import periods
from sash.engine.calendars import starts as moments
from sash.engine.columns import answers_as, numbers, one_array
from sash.engine.order import tick_type
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.keys import renumbered, with_keys
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts
from sash.engine.stream.tails import Tails
from sash.plan.periodic import KIND
from sash.plan.reach import steps_of
from sash.windows.frames import Sliding, SlidingCalendar

if TYPE_CHECKING:
    from sash.engine.stream.shard_state import ShardState

LAST = "_window"
"""The column with the number of a key's last window."""


class FilledWindows:
    """The windows of a definition, with those without rows between them."""

    def __init__(self, definition: StreamDefinition) -> None:
        every = definition.plan.query.every
        assert every is not None
        self._kinds = [
            FilledKind(definition, kind) for kind in every.kinds if isinstance(kind, Sliding)
        ]

    def of(self, state: ShardState, answers: pa.Table) -> pa.Table:
        """Answers of windows that have rows, and of those before them that have none."""
        if len(self._kinds) == 1:
            return self._kinds[0].of(state, answers, state.tails("filled 0"))
        parts = []
        for i, kind in enumerate(self._kinds):
            own = answers.filter(pc.equal(answers.column(KIND), str(kind.kind)))
            parts.append(kind.of(state, own, state.tails(f"filled {i}")))
        return pa.concat_tables(parts)


class FilledKind:
    """Windows of one size and slide."""

    def __init__(self, definition: StreamDefinition, kind: Sliding) -> None:
        plan = definition.plan
        self.kind, self._definition, self._by = kind, definition, plan.query.by
        self._type = plan.schema.field(definition.time).type
        self._dtype = tick_type(self._type)
        lengths = (steps_of(b, plan.unit) for b in (kind.size, kind.slide, kind.offset))
        self._size, self._slide, self._offset = lengths

    def of(self, state: ShardState, answers: pa.Table, tails: Tails) -> pa.Table:
        """The windows of all keys, each key's in order, without gaps."""
        if not answers.num_rows:
            return answers
        keyed = with_keys(answers.select(["window_end", *self._by]), self._by)
        keyed = renumbered(keyed, state.manifest.collided)
        order = pa.array(order_of(numbers(one_array(keyed.column(KEY)))))
        answers, keyed = answers.take(order), keyed.take(order)
        number = self._numbers(one_array(answers.column("window_start")))
        gaps = self._gaps(keyed, number, tails)
        return self._with_gaps(answers, number, gaps) if gaps.any() else answers

    def _gaps(self, keyed: pa.Table, number: np.ndarray, tails: Tails) -> np.ndarray:
        """How many windows of its key are missing before each; the last ones are kept."""
        ids, checks = (numbers(one_array(keyed.column(name))) for name in (KEY, CHECK))
        prove_equal(checks, ids)
        first = starts(ids)
        before = np.append(0, number[:-1])
        before[first] = number[first] - 1
        ends = numbers(one_array(keyed.column("window_end"))).astype(self._dtype)
        known = tails.read(KeyMap(ids[first], checks[first], None, []))
        if known is not None:
            place = first[np.searchsorted(ids[first], numbers(one_array(known.column(KEY))))]
            there = self._remembered(known, ends[place])
            before[place[there]] = numbers(one_array(known.column(LAST)))[there]
        last = np.append(first[1:], len(ids)) - 1
        table = keyed.select([KEY, CHECK]).take(pa.array(last))
        table = table.append_column(tails.time, keyed.column("window_end").take(pa.array(last)))
        tails.write(table.append_column(LAST, pa.array(number[last])), np.ones(len(last), np.int64))
        return number - before - 1

    def _remembered(self, known: pa.Table, ends: np.ndarray) -> np.ndarray:
        """Which keys were not idle between their last window and one that ends now."""
        idle = self._definition.kept.idle
        if idle is None:
            return np.ones(len(ends), np.bool_)
        last = numbers(one_array(known.column(self._definition.time))).astype(self._dtype)
        return last >= ends - idle

    def _with_gaps(self, answers: pa.Table, number: np.ndarray, gaps: np.ndarray) -> pa.Table:
        """Answers with as many windows without rows before each."""
        n = len(number)
        place = np.repeat(np.arange(n), gaps + 1)
        end = np.cumsum(gaps + 1)
        missing = number[place] - (end[place] - 1 - np.arange(len(place)))
        is_gap = missing < number[place]
        edges = self._edges(missing)
        columns = {}
        for name in answers.column_names:
            column = one_array(answers.column(name))
            rows = place
            if name in edges:
                column, rows = pa.concat_arrays([column, edges[name]]), place + 0
                rows[is_gap] = n + np.flatnonzero(is_gap)
            elif name in self._nothing:
                empty = answers_as([self._nothing[name]], None, column.type)
                column, rows = pa.concat_arrays([column, empty]), np.where(is_gap, n, place)
            columns[name] = column.take(pa.array(rows))
        return pa.table(columns)

    def _numbers(self, begins: pa.Array) -> np.ndarray:
        """The numbers of windows, by when they begin."""
        if isinstance(self.kind, SlidingCalendar):
            return periods(begins, self.kind.calendar)
        ticks = numbers(begins).astype(self._dtype)
        if self._dtype.kind == "f":
            return np.rint((ticks - self._offset) / self._slide).astype(np.int64)
        return (ticks - self._offset) // self._slide

    def _edges(self, number: np.ndarray) -> dict[str, pa.Array]:
        """When windows begin and end."""
        if isinstance(self.kind, SlidingCalendar):
            calendar, size = self.kind.calendar, int(self._size)
            both = [moments(n, calendar, self._type) for n in (number, number + size)]
        else:
            begins = self._dtype.type(self._offset) + number * self._dtype.type(self._slide)
            ends = begins + self._dtype.type(self._size)
            both = [answers_as(edge, None, self._type) for edge in (begins, ends)]
        return dict(zip(("window_start", "window_end"), both, strict=True))

    @cached_property
    def _nothing(self) -> dict[str, Any]:
        """The answers of a window without rows."""
        plan = self._definition.plan
        [frame] = [each for each in plan.frames if each.frame == self.kind]
        own = {state.number: state.nothing for state in plan.over(frame)}
        return {o.name: own[o.state][o.member] for o in plan.outputs if o.state in own}
