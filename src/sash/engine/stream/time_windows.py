"""Windows by time on a stream: suffix ⊕ middle ⊕ prefix.

The left ends of the windows of the rows that are due move over the rows that leave, their
right ends over the rows that enter: both are about as many as the batch. What lies between is
in all of these windows, so it is one item per key, which the forest gives from O(log n) nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.frames import Finder
from sash.engine.stream.forest import Forest, KeyMap, Rows, joined, starts
from sash.engine.stream.partials import Items, PartialState
from sash.engine.tape import Tape
from sash.plan.plan import FramePlan
from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Range, Sliding


class Span(NamedTuple):
    """From where to where something reaches, in ticks of time."""

    least: float
    most: float


NO_SPAN = Span(0, 0)


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


@dataclass
class Due:
    """Rows to be answered, in order of key and time, all of neighbouring times."""

    rows: Rows
    keys: KeyMap

    @staticmethod
    def of(rows: Rows) -> Due:
        first = starts(rows.ids)
        return Due(rows, KeyMap(rows.ids[first], rows.checks[first], None, []))

    @property
    def span(self) -> Span:
        return Span(self.rows.times.min().item(), self.rows.times.max().item())


@dataclass
class Moment(Due):
    """No row, but a time at which a key is asked for."""

    moment: Span = NO_SPAN

    @property
    def span(self) -> Span:
        return self.moment


@dataclass
class Piece:
    """Some rows, or the partials of some bulks, of the keys of a group of due rows."""

    codes: np.ndarray  # of the group and the key
    times: np.ndarray
    due: np.ndarray
    rows: Rows | None = None
    map: KeyMap | None = None


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
        pieces = [piece for g, due in enumerate(groups) for piece in self._pieces(forest, g, due)]
        return self._answered(forest, pieces)

    def current(
        self, forest: Forest, keys: KeyMap, of: np.ndarray, moments: np.ndarray
    ) -> list[list[pa.Array]]:
        """The answers over the windows that end at moments, where there need be no row.

        `of`: the place of each one's key among the keys; in order of key and moment.
        """
        moments = moments.astype(self._dtype)
        none = Rows(keys.ids[:0], keys.checks[:0], moments[:0], pa.table({}))
        span = Span(moments.min().item(), moments.max().item())
        pieces = self._pieces(forest, 0, Moment(none, keys, span))
        nothing = [state.none(len(of)) for state in forest.states]
        asked = KeyMap(keys.ids[of], keys.checks[of], None, nothing)
        pieces.append(Piece(of, moments, np.ones(len(of), np.bool_), map=asked))
        return self._answered(forest, pieces, mixed=True)

    def _answered(
        self, forest: Forest, pieces: list[Piece], mixed: bool = False
    ) -> list[list[pa.Array]]:
        """The answers of all due rows. `mixed`: pieces are not in order of time."""
        places = [forest.place(state) for state in self.states]
        codes = np.concatenate([piece.codes for piece in pieces])
        times = np.concatenate([piece.times for piece in pieces])
        mixed = mixed or any(p.rows is not None and p.rows.mixed for p in pieces)
        order = np.lexsort([times, codes]) if mixed else np.argsort(codes, kind="stable")
        due = np.concatenate([piece.due for piece in pieces])[order]
        merged = self._one_middle(pieces, codes, order)
        begins = np.append(merged, len(order))
        codes, times, asked = codes[order][merged], times[order][merged], due[merged]
        lo, hi = self._bounds(codes, times)
        chosen = np.flatnonzero(asked)
        lo, hi = lo[chosen], hi[chosen]
        found = []
        for place, state in zip(places, self.states, strict=True):
            items = self._items(forest, pieces, place).take(order)
            if len(merged) < len(order):
                items = state.fold(items, begins)
            forest.pages.cost.combined += len(order)
            found.append(state.answer(items, lo, hi))
        return found

    def _one_middle(self, pieces: list[Piece], codes: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Where items begin: the partials of neighbouring bulks, one after the other, are one."""
        number = np.cumsum([0] + [len(piece.codes) for piece in pieces])
        middle = np.zeros(len(codes), np.int64)
        for i, piece in enumerate(pieces):
            if piece.map is not None and not piece.due.any():
                middle[number[i] : number[i + 1]] = 1
        if not middle.any():
            return np.arange(len(codes))
        middle, codes = middle[order], codes[order]
        joins = (middle[1:] & middle[:-1]) == 1
        joins &= codes[1:] == codes[:-1]
        return np.flatnonzero(np.append(True, ~joins))

    def _items(self, forest: Forest, pieces: list[Piece], place: int) -> Items:
        """The items of a state, in the order of the pieces; rows are lifted all at once."""
        rows = [piece.rows for piece in pieces if piece.rows is not None]
        parts: list[Items] = []
        if rows:
            parts.append(forest.items(place, joined(rows)))
        parts += [piece.map.items[place] for piece in pieces if piece.map is not None]
        both = Items.concat(parts)
        if not rows or len(rows) == len(pieces):
            return both
        sizes = [len(piece.codes) for piece in pieces]
        of_rows, of_maps = 0, sum(len(each.ids) for each in rows)
        where = []
        for piece, n in zip(pieces, sizes, strict=True):
            start = of_maps if piece.rows is None else of_rows
            where.append(np.arange(start, start + n))
            if piece.rows is None:
                of_maps += n
            else:
                of_rows += n
        return both.take(np.concatenate(where))

    def _bounds(self, codes: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(times)
        tape = Tape(self._dtype, np.ascontiguousarray(times, self._dtype))
        self._finder.begin_at(0)
        bounds = self._finder.find(tape, starts(codes), None, 0, n, n)
        return bounds.lo, bounds.hi

    def _pieces(self, forest: Forest, group: int, due: Due) -> list[Piece]:
        """What the windows of a group of due rows have: rows that leave, the middle, rows that
        enter, the due ones among them marked."""
        span = due.span
        left, right = self.edges.left(span), self.edges.right(span)
        whole = Span(min(left.least, span.least), max(right.most, span.most))
        first, stop = forest.since(whole.least), forest.until(whole.most)
        after, before = forest.since(left.most, after=True), forest.until(right.least, before=True)
        middles = [
            (max(first, after), min(stop, before, forest.until(span.least, before=True))),
            (max(first, after, forest.since(span.most, after=True)), min(stop, before)),
        ]
        found: list[Piece] = []
        place = first
        while place < stop:
            inside = next((end for begin, end in middles if begin <= place < end), None)
            leaf = forest.leaves[place]
            if inside is not None:
                bulks = leaf.first, forest.leaves[inside - 1].stop
                for each in forest.middle(*bulks, due.keys):
                    all_keys = len(each.ids) == len(due.keys.ids)
                    place_of = np.arange(len(each.ids)) if all_keys else None
                    if place_of is None:
                        place_of = np.searchsorted(due.keys.ids, each.ids)
                    codes = group_codes(group, place_of)
                    times = np.full(len(codes), leaf.oldest, self._dtype)
                    found.append(Piece(codes, times, np.zeros(len(codes), np.bool_), map=each))
                place = inside
                continue
            place += 1
            ends = (left, right, span)
            if not any(leaf.youngest >= s.least and leaf.oldest <= s.most for s in ends):
                gap = min((s.least for s in ends if s.least > leaf.youngest), default=math.inf)
                place = max(place, forest.since(gap))  # no end of a window, no row that is due
                continue
            for rows in forest.gather(leaf, due.keys, *whole):
                codes = group_codes(group, np.searchsorted(due.keys.ids, rows.ids))
                mark = marked(due, rows) if leaf.youngest >= span.least else None
                marks = np.zeros(len(codes), np.bool_) if mark is None else mark
                found.append(Piece(codes, rows.times, marks, rows=rows))
        return found


NUMBER = "_row"
"""The column that numbers rows of one time, where only some of them are due."""


def marked(due: Due, rows: Rows) -> np.ndarray:
    """Which rows are due: those of its times, or of its numbers where rows have some."""
    if isinstance(due, Moment):
        return np.zeros(len(rows.ids), np.bool_)
    marks = (rows.times >= due.span.least) & (rows.times <= due.span.most)
    if NUMBER in rows.table.column_names:
        marks &= np.isin(rows.table.column(NUMBER), due.rows.table.column(NUMBER))
    return marks


def group_codes(group: int, keys: np.ndarray) -> np.ndarray:
    """A number for the key of a group, in order of group and key."""
    return (group << 40) + keys
