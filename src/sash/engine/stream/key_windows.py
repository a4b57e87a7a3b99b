"""Windows that time alone does not bound, on a stream: each key keeps what its next row reaches.

TailWindows   the rows themselves: frames by rows, delta, policies; distinct counts and
              percentiles over sessions and the like
SoFarWindows  one item with the partial of the window so far: sessions, lifetime, until
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.columns import filled, numbers, one_array
from sash.engine.expressions import with_derived
from sash.engine.frames import Finder
from sash.engine.row_windows import marks_of
from sash.engine.rows import HELD
from sash.engine.stream.items import Items
from sash.engine.stream.maps import KeyMap, prefix
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sorted_keys import order_of, prove_equal, starts
from sash.engine.stream.tails import Tails, spells
from sash.engine.tape import Tape
from sash.plan.plan import FramePlan, Plan, State
from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Session, Until


def keyed(plan: Plan, states: Sequence[State]) -> Plan:
    """The plan of some of the states, over rows in order of the number of their key."""
    given = [field for field in plan.schema if field.name not in plan.query.derived]
    return plan.over_rows(pa.schema([*given, pa.field(KEY, pa.int64())]), (KEY,), states)


def keys_of(table: pa.Table) -> KeyMap:
    """The keys of rows in order of key; Collision where two of them have one number."""
    ids, checks = (numbers(one_array(table.column(name))) for name in (KEY, CHECK))
    prove_equal(checks, ids)
    first = starts(ids)
    return KeyMap(ids[first], checks[first], None, [])


def after(old: pa.Table | None, new: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Items of keys, the old before the new ones; and which are new."""
    if old is None:
        return new, np.ones(new.num_rows, np.bool_)
    table = pa.concat_tables([old.select(new.column_names), new]).combine_chunks()
    order = order_of(numbers(one_array(table.column(KEY))))
    return table.take(pa.array(order)), order >= old.num_rows


def by_spell(tails: Tails, table: pa.Table) -> pa.Table:
    """Rows in order of key and time with another key for each spell of a key; see `spells`."""
    ids, times = (numbers(one_array(table.column(name))) for name in (KEY, tails.time))
    place = table.column_names.index(KEY)
    return table.set_column(place, KEY, pa.array(spells(ids, times, tails.idle)))


def per_key(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Where each key begins, and its last row."""
    begins = starts(numbers(one_array(table.column(KEY))))
    return begins, np.append(begins[1:], table.num_rows) - 1


@dataclass
class TailWindows:
    """Frames over the last rows of a key."""

    plan: Plan
    columns: list[str]

    @staticmethod
    def of(plan: Plan, states: Sequence[State]) -> TailWindows:
        made = keyed(plan, states)
        return TailWindows(made, [KEY, CHECK, *(c for c in made.columns if c != KEY)])

    def answer(self, tails: Tails, rows: pa.Table) -> dict[str, pa.Array]:
        """The answers of rows in order of key and time, over them and the tails of their keys."""
        table, new = self._items(tails, rows)
        whole = pa.Table.from_batches(
            list(row_windows.run(self.plan, table.to_batches(), ordered=True))
        )
        chosen = pa.array(new)
        tails.pages.cost.combined += table.num_rows * len(self.plan.states)
        return {o.name: one_array(whole.column(o.name).filter(chosen)) for o in self.plan.outputs}

    def advance(self, tails: Tails, rows: pa.Table) -> None:
        """Rows are settled: their keys' tails end with them."""
        table, new = self._items(tails, rows)
        first = row_windows.first_reached(self.plan, table)
        begins = starts(numbers(one_array(table.column(KEY))))
        keys = starts(numbers(one_array(rows.column(KEY))))  # a key's last row is among the new
        last = np.flatnonzero(new)[np.append(keys[1:], rows.num_rows) - 1]
        begins = begins[np.searchsorted(begins, last, "right") - 1]
        tails.write(rows.select(self.columns), last - np.maximum(first[last], begins) + 1)

    def current(
        self, tails: Tails, keys: KeyMap, of: np.ndarray, moments: np.ndarray
    ) -> dict[str, pa.Array]:
        """The answers of keys' last rows at moments; over no rows for a key that has none, or
        none for so long that it is forgotten."""
        table, nothing = tails.read(keys), self._nothing
        if table is None:
            return {
                o.name: pa.array([nothing[o.name]] * len(of), o.type) for o in self.plan.outputs
            }
        place, last = np.full(len(keys.ids), -1), per_key(table)[1]
        place[np.searchsorted(keys.ids, numbers(one_array(table.column(KEY)))[last])] = last
        place = np.where(self._over(tails, table, place[of], moments), -1, place[of])
        table = table.append_column(HELD, pa.array(np.ones(table.num_rows, np.bool_)))
        whole = pa.Table.from_batches(
            list(row_windows.run(self.plan, table.to_batches(), ordered=True))
        )
        none, chosen = place < 0, pa.array(place, mask=place < 0)
        return {
            name: filled(one_array(whole.column(name)).take(chosen), none, value)
            for name, value in nothing.items()
        }

    def _over(
        self, tails: Tails, table: pa.Table, place: np.ndarray, moments: np.ndarray
    ) -> np.ndarray:
        """Whether the windows of last rows are over at moments: a session's gap has passed, the
        row has ended its window, or the key is forgotten."""
        frame = self.plan.frames[0].frame
        ages = moments - numbers(one_array(table.column(tails.time)))[place]
        over: np.ndarray = ages > tails.idle
        if isinstance(frame, Session):
            over |= ages > steps_of(frame.gap, self.plan.unit)
        if isinstance(frame, Until):
            over |= marks_of(frame, frame_columns(self.plan, frame, table))[place] != 0
        return over

    @cached_property
    def _nothing(self) -> dict[str, Any]:
        """The answers over no rows."""
        return {o.name: self.plan.states[o.state].nothing[o.member] for o in self.plan.outputs}

    def _items(self, tails: Tails, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows of tails and new ones, those of a key by spell; and which are new."""
        table, new = after(tails.read(keys_of(rows)), rows.select(self.columns))
        return by_spell(tails, table).append_column(HELD, pa.array(~new)), new


ENDED = "_ended"


def frame_columns(plan: Plan, frame: Frame, rows: pa.Table) -> dict[str, pa.Array]:
    """The columns that a frame reads of some rows; those that are derived are computed."""
    derived = any(name in plan.query.derived for name in frame.columns)
    names = plan.columns if derived else frame.columns
    columns = {name: one_array(rows.column(name)) for name in names}
    return with_derived(plan, columns) if derived else columns


class SoFarWindows:
    """A frame whose windows lose rows only all at once: a partial of each key says it all."""

    def __init__(
        self,
        frame: FramePlan,
        states: Sequence[PartialState],
        time: str,
        unit: int | None,
        dtype: np.dtype,
    ) -> None:
        self.frame, self.states, self._time, self._dtype = frame.frame, list(states), time, dtype
        self._finder = Finder(frame.frame, dtype, unit)
        gap = frame.frame.gap if isinstance(frame.frame, Session) else None
        self.gap: float | None = None if gap is None else steps_of(gap, unit)

    def answer(self, tails: Tails, rows: pa.Table) -> list[list[pa.Array]]:
        """For each state the answers of rows in order of key and time."""
        so_far = tails.read(keys_of(rows))
        ids, times, ended, new, items, order = self._items(so_far, rows)
        lo, hi = self._bounds(spells(ids, times, tails.idle), times, ended)
        places = np.flatnonzero(new)
        tails.pages.cost.combined += len(ids) * len(self.states)
        return [
            state.answer(each.take(order), lo[places], hi[places])
            for state, each in zip(self.states, items, strict=True)
        ]

    def advance(self, tails: Tails, rows: pa.Table) -> None:
        """Rows are settled: the partials of their keys end with them."""
        so_far = tails.read(keys_of(rows))
        ids, times, ended, _, items, order = self._items(so_far, rows)
        lo, _ = self._bounds(spells(ids, times, tails.idle), times, ended)
        begins = starts(ids)
        last = np.append(begins[1:], len(ids)) - 1
        # A window's items go from its start to the last item of the key: keys in between, which
        # are the items before the start, are groups that nobody reads.
        edges = np.unique(np.concatenate([begins, lo[last], [len(ids)]]))
        where = np.searchsorted(edges, lo[last])
        columns = {
            KEY: pa.array(ids[last]),
            CHECK: pa.array(keys_of(rows).checks),
            self._time: pa.array(times[last]),
            ENDED: pa.array(ended[last]),
        }
        for i, (state, each) in enumerate(zip(self.states, items, strict=True)):
            columns |= state.columns_of(state.fold(each, edges, order).take(where), prefix(i))
        tails.write(pa.table(columns), np.ones(len(last), np.int64))

    def _items(
        self, so_far: pa.Table | None, rows: pa.Table
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[Items], np.ndarray]:
        """Items in order of key, the window so far before rows: numbers, times, whether one
        ends a window, which are rows; the states' items, and the order to take them in."""
        ids = numbers(one_array(rows.column(KEY)))
        times = numbers(one_array(rows.column(self._time))).astype(self._dtype, copy=False)
        ended = self._ended(rows)
        items = [state.lifted(rows) for state in self.states]
        new = np.ones(len(ids), np.bool_)
        order = np.arange(len(ids))
        if so_far is not None:
            ids = np.append(numbers(one_array(so_far.column(KEY))), ids)
            times = np.append(numbers(one_array(so_far.column(self._time))), times)
            ended = np.append(np.asarray(one_array(so_far.column(ENDED))), ended)
            items = [
                Items.concat([state.items_of(so_far, prefix(i)), each])
                for i, (state, each) in enumerate(zip(self.states, items, strict=True))
            ]
            new = np.append(np.zeros(so_far.num_rows, np.bool_), new)
            order = order_of(ids)
        return ids[order], times[order], ended[order], new[order], items, order

    def current(
        self, tails: Tails, keys: KeyMap, of: np.ndarray, moments: np.ndarray
    ) -> list[list[pa.Array]]:
        """The answers over keys' windows so far, at moments.

        `of`: the place of each one's key among the keys; in order of key and moment.
        """
        so_far, n = tails.read(keys), len(of)
        moments = moments.astype(self._dtype)
        codes, times, ended = np.arange(n), moments, np.zeros(n, np.int8)
        items, order = [state.none(n) for state in self.states], np.arange(n)
        if so_far is not None:
            known = np.searchsorted(keys.ids, numbers(one_array(so_far.column(KEY))))
            place = np.full(len(keys.ids), -1)
            place[known] = np.arange(len(known))
            seen = numbers(one_array(so_far.column(self._time))).astype(self._dtype)
            there = (place[of] >= 0) & (moments - seen[place[of]] <= tails.idle)
            each = place[of][there]  # the window so far, for each moment: none ends a session
            codes, times = np.append(np.flatnonzero(there), codes), np.append(seen[each], times)
            ended = np.append(np.asarray(one_array(so_far.column(ENDED)))[each], ended)
            items = [
                Items.concat([state.items_of(so_far, prefix(i)).take(each), none])
                for i, (state, none) in enumerate(zip(self.states, items, strict=True))
            ]
            order = order_of(codes)
        lo, hi = self._bounds(codes[order], times[order], ended[order])
        asked = np.flatnonzero(order >= len(codes) - n)
        return [
            state.answer(each.take(order), lo[asked], hi[asked])
            for state, each in zip(self.states, items, strict=True)
        ]

    def _ended(self, rows: pa.Table) -> np.ndarray:
        if not isinstance(self.frame, Until):
            return np.zeros(rows.num_rows, np.int8)
        return marks_of(self.frame, frame_columns(self.states[0].plan, self.frame, rows))

    def _bounds(
        self, ids: np.ndarray, times: np.ndarray, ended: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        n = len(ids)
        tape = Tape(self._dtype, np.ascontiguousarray(times, self._dtype))
        self._finder.begin_at(0)
        flags = np.ascontiguousarray(ended, np.int8) if isinstance(self.frame, Until) else None
        bounds = self._finder.find(tape, starts(ids), flags, 0, n, n)
        return bounds.lo, bounds.hi
