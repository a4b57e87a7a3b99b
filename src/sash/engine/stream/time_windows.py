"""Windows by time on a stream: suffix ⊕ middle ⊕ prefix.

The left ends of the windows of the rows that are due move over the rows that leave, their
right ends over the rows that enter: both are about as many as the batch. What lies between is
in all of these windows, so it is one item per key, which the forest gives from O(log n) nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.frames import Finder
from sash.engine.stream.bulk_rows import Rows, Wanted, in_order
from sash.engine.stream.forest import Forest
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import LEAST, MOST, sortable
from sash.engine.stream.maps import KeyMap, Part, part_of
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sorted_keys import starts
from sash.engine.tape import Tape
from sash.plan.plan import FramePlan
from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Range, Sliding


class Span(NamedTuple):
    """From where to where something reaches, in ticks of time."""

    least: float
    most: float


NO_SPAN = Span(0, 0)
FURTHEST = 1 << 62
"""Lengths beyond it are without limit."""


@dataclass(frozen=True)
class Edges:
    """How far left and right the windows of rows between two times begin and end."""

    behind: float
    behind_least: float
    ahead: float

    @staticmethod
    def of(frame: Frame, unit: int | None) -> Edges:
        if isinstance(frame, Range):
            behind = math.inf if frame.preceding is None else steps_of(frame.preceding, unit)
            ahead = math.inf if frame.following is None else steps_of(frame.following, unit)
            return Edges(behind, behind, ahead)
        assert isinstance(frame, Sliding)
        size, slide = steps_of(frame.size, unit), steps_of(frame.slide, unit)
        return Edges(size, max(0, size - slide), 0)

    def left(self, due: Span) -> Span:
        """Between which times windows of rows that are due begin."""
        return Span(due.least - self.behind, due.most - self.behind_least)

    def right(self, due: Span) -> Span:
        """Between which times they end."""
        return Span(due.least + self.ahead, due.most + self.ahead)


def keys_of(rows: Rows) -> KeyMap:
    """The keys of rows in order of key."""
    first = starts(rows.ids)
    return KeyMap(rows.ids[first], rows.checks[first], None, [])


@dataclass
class Due:
    """Rows to be answered, in order of key and time, all of neighbouring times.

    `since`: where only some of the rows of these times are due, the number of the first one.
    `is_new`: no rows that are here are younger.
    """

    rows: Rows
    keys: KeyMap
    since: int | None = None
    is_new: bool = True

    @staticmethod
    def of(rows: Rows, since: int | None = None, is_new: bool = True) -> Due:
        return Due(rows, keys_of(rows), since, is_new)

    @cached_property
    def span(self) -> Span:
        return Span(self.rows.times.min().item(), self.rows.times.max().item())

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last time of each key."""
        first = starts(self.rows.ids)
        return self.rows.times[first], self.rows.times[np.append(first[1:], len(self.rows)) - 1]

    def reached(self, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
        """From where to where the windows of each key reach, or its rows if those are further."""
        least, most = self.ends
        return _moved(least, -max(0, edges.behind)), _moved(most, max(0, edges.ahead))


@dataclass
class Moment(Due):
    """No row, but a time at which a key is asked for."""

    moment: Span = NO_SPAN
    is_new: bool = False

    @cached_property
    def span(self) -> Span:
        return self.moment

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        least, most = (np.full(len(self.keys.ids), time) for time in self.moment)
        return least, most


@dataclass
class Asked:
    """The requests of windows of groups of due rows, in order of time in each group."""

    groups: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    rows: list[Wanted] = field(default_factory=list)
    maps: list[tuple[list[Part], KeyMap]] = field(default_factory=list)
    of_rows: list[int] = field(default_factory=list)  # the number of each request among all
    of_maps: list[int] = field(default_factory=list)

    def add_rows(self, group: int, wanted: Wanted) -> None:
        self.of_rows.append(len(self.groups))
        self._add(group, 0.0)
        self.rows.append(wanted)

    def add_map(self, group: int, layers: list[Part], keys: KeyMap, time: float) -> None:
        self.of_maps.append(len(self.groups))
        self._add(group, time)
        self.maps.append((layers, keys))

    def _add(self, group: int, time: float) -> None:
        self.groups.append(group)
        self.times.append(time)


@dataclass
class Given:
    """Rows and partials that windows have: first all rows, then all partials."""

    codes: np.ndarray  # of the group and the key
    times: np.ndarray
    due: np.ndarray
    middle: np.ndarray
    late: np.ndarray  # not in order of time with the others
    request: np.ndarray
    rows: Rows | None
    map: KeyMap | None

    def items(self, forest: Forest, place: int) -> Items:
        """The items of a state."""
        parts = [] if self.rows is None else [forest.items(place, self.rows)]
        return Items.concat(parts if self.map is None else [*parts, self.map.items[place]])

    def asking(self, of: np.ndarray, moments: np.ndarray) -> Given:
        """With moments that ask, each of the key that has its place among the last partials,
        which are of no rows."""
        assert self.map is not None
        n = len(self.codes)
        last = np.flatnonzero(self.request == self.request.max())
        kept = np.arange(n - len(last))
        places = np.concatenate([kept, last[of]])
        asks = places >= len(kept)
        of_map = places[places >= n - len(self.map.ids)] - (n - len(self.map.ids))
        return Given(
            self.codes[places],
            np.concatenate([self.times[kept], moments]),
            asks,
            self.middle[places] & ~asks,
            self.late[places] | asks,  # after all of its time
            self.request[places],
            self.rows,
            self.map.take(of_map),
        )

    def order(self) -> np.ndarray:
        """By group, key and time."""
        by_request = np.argsort(self.request, kind="stable")
        return by_request[
            in_order(self.codes[by_request], self.times[by_request], self.late[by_request])
        ]


class TimeWindows:
    """A frame by time: its states, and the forest that answers for them."""

    def __init__(
        self, plan: FramePlan, unit: int | None, dtype: np.dtype, states: Sequence[PartialState]
    ) -> None:
        self.frame, self.states = plan.frame, list(states)
        self.edges = Edges.of(plan.frame, unit)
        self._finder = Finder(plan.frame, dtype, unit)
        self._dtype = dtype

    def answer(self, forest: Forest, groups: Sequence[Due]) -> list[list[pa.Array]]:
        """For each state the arrays of its answers, for the due rows of all groups in turn."""
        asked = Asked()
        for number, due in enumerate(groups):
            self._ask(asked, forest, number, due)
        return self._answered(forest, self._given(forest, asked, groups))

    def current(
        self, forest: Forest, keys: KeyMap, of: np.ndarray, moments: np.ndarray
    ) -> list[list[pa.Array]]:
        """The answers over the windows that end at moments, where there need be no row.

        `of`: the place of each one's key among the keys; in order of key and moment.
        """
        moments = moments.astype(self._dtype)
        span = Span(moments.min().item(), moments.max().item())
        due = Moment(Rows(pa.table({}), ""), keys, moment=span)
        asked = Asked()
        self._ask(asked, forest, 0, due)
        nothing = [state.none(len(keys.ids)) for state in forest.states]
        one = KeyMap(keys.ids, keys.checks, None, nothing)
        asked.add_map(0, [part_of(one)], keys, 0)
        return self._answered(forest, self._given(forest, asked, [due]).asking(of, moments))

    def _given(self, forest: Forest, asked: Asked, groups: Sequence[Due]) -> Given:
        """All that is asked for, looked up."""
        parts, rows, map_ = [], None, None
        group_of, times_of = np.array(asked.groups), np.array(asked.times, self._dtype)
        if asked.rows:
            numbered = any(due.since is not None for due in groups)
            found = forest.rows(asked.rows, [NUMBER] if numbered else [])
            rows = found.rows
            request = np.array(asked.of_rows)[found.of]
            group = group_of[request]
            due = _due_of(groups, group, rows)
            middle = np.zeros(len(due), np.bool_)
            parts.append((group, found.key, rows.times, due, middle, found.late, request))
        if asked.maps:
            where, map_ = forest.partials(asked.maps)
            request = np.array(asked.of_maps)[where.of]
            no = np.zeros(len(request), np.bool_)
            group = group_of[request]
            parts.append((group, where.key, times_of[request], no, ~no, no.copy(), request))
        group, key, times, due, middle, late, request = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        codes = (group << 40) + key
        return Given(codes, times, due, middle, late, request, rows, map_)

    def _answered(self, forest: Forest, given: Given) -> list[list[pa.Array]]:
        """The answers of all due rows."""
        order = given.order()
        codes, middle = given.codes[order], given.middle[order]
        joins = middle[1:] & middle[:-1] & (codes[1:] == codes[:-1])
        merged = np.flatnonzero(np.append(True, ~joins))  # neighbouring bulks become one item
        asked = np.flatnonzero(given.due[order][merged])
        lo, hi = self._bounds(codes[merged], given.times[order][merged])
        lo, hi = lo[asked], hi[asked]
        begins = np.append(merged, len(order))
        found = []
        for state in self.states:
            items = given.items(forest, forest.place(state))
            if len(merged) < len(order):
                items = state.fold(items, begins, order)
            else:
                items = items.take(order)
            forest.pages.cost.combined += len(order)
            found.append(state.answer(items, lo, hi))
        return found

    def _bounds(self, codes: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(times)
        tape = Tape(self._dtype, np.ascontiguousarray(times, self._dtype))
        self._finder.begin_at(0)
        bounds = self._finder.find(tape, starts(codes), None, 0, n, n)
        return bounds.lo, bounds.hi

    def _ask(self, asked: Asked, forest: Forest, group: int, due: Due) -> None:
        """Ask for what the windows of a group of due rows have: rows that leave, the middle, rows
        that enter, the due ones among them."""
        span = due.span
        left, right = self.edges.left(span), self.edges.right(span)
        whole = Span(min(left.least, span.least), max(right.most, span.most))
        first, stop = forest.since(whole.least), forest.until(whole.most)
        after, before = forest.since(left.most, after=True), forest.until(right.least, before=True)
        middles = [
            (max(first, after), min(stop, before, forest.until(span.least, before=True))),
            (max(first, after, forest.since(span.most, after=True)), min(stop, before)),
        ]
        reached = due.reached(self.edges)
        place = first
        while place < stop:
            inside = next((end for begin, end in middles if begin <= place < end), None)
            leaf = forest.leaves[place]
            if inside is not None:
                self._ask_middle(asked, forest, group, due, (place, inside))
                place = inside
                continue
            place += 1
            ends = (left, right, span)
            if not any(leaf.youngest >= s.least and leaf.oldest <= s.most for s in ends):
                gap = min((s.least for s in ends if s.least > leaf.youngest), default=math.inf)
                place = max(place, forest.since(gap))  # no end of a window, no row that is due
                continue
            asked.add_rows(group, forest.wanted(leaf, due.keys, reached))

    def _ask_middle(
        self, asked: Asked, forest: Forest, group: int, due: Due, leaves: tuple[int, int]
    ) -> None:
        first, last = forest.leaves[leaves[0]], forest.leaves[leaves[1] - 1]
        carried = (self.frame, first.oldest > due.span.most) if due.is_new else None
        for layers in forest.cover(first.first, last.stop, len(due.keys.ids), of=carried):
            asked.add_map(group, layers, due.keys, first.oldest)


NUMBER = "_row"
"""The column that numbers rows of one time, where only some of them are due."""


def marked(due: Due, rows: Rows) -> np.ndarray:
    """Which rows are due: those of its times, and since its first number where rows have some."""
    if isinstance(due, Moment):
        return np.zeros(len(rows), np.bool_)
    marks: np.ndarray = (rows.times >= due.span.least) & (rows.times <= due.span.most)
    if due.since is not None:
        marks &= numbers(one_array(rows.table.column(NUMBER))) >= due.since
    return marks


def _due_of(groups: Sequence[Due], group: np.ndarray, rows: Rows) -> np.ndarray:
    """Which of the rows of groups are due, as `marked` says."""
    if any(isinstance(due, Moment) for due in groups):
        return np.zeros(len(rows), np.bool_)
    least, most = (
        np.array([due.span[side] for due in groups], rows.times.dtype)[group] for side in (0, 1)
    )
    marks: np.ndarray = (rows.times >= least) & (rows.times <= most)
    since = groups[0].since
    if since is not None:
        marks &= numbers(one_array(rows.table.column(NUMBER))) >= since
    return marks


def _moved(times: np.ndarray, by: float) -> np.ndarray:
    """Times moved further away, by no less than a length; see `sortable`."""
    if math.isinf(by) or abs(by) > FURTHEST:
        return np.full(len(times), LEAST if by < 0 else MOST)
    if times.dtype.kind == "f":
        towards = math.inf if by > 0 else -math.inf
        return sortable(np.nextafter(times + by, towards)) if by else sortable(times)
    return sortable(times) + (math.floor(by) if by < 0 else math.ceil(by))
