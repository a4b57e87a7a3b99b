"""Windows by time on a stream: suffix ⊕ middle ⊕ prefix.

The left ends of the windows of the rows that are due move over the rows that leave, their
right ends over the rows that enter: both are about as many as the batch. What lies between is
in all of these windows, so it is one item per key, which the forest gives from O(log n) nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.frames import Finder
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.due import NUMBER, Due, Edges, Moment, Span
from sash.engine.stream.forest import Forest
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.partials import PartialState
from sash.engine.stream.requests import Asked, Given, Marks, due_of
from sash.engine.stream.scattered import Run, Scattered
from sash.engine.stream.sorted_keys import starts
from sash.engine.tape import Tape
from sash.plan.plan import FramePlan


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
        """For each state the arrays of its answers, for the due rows of all groups in turn: first
        those of late rows, which are few items of many bulks, then those of new rows. All are
        asked for and answered together, as each pass has a price of its own."""
        asked = Asked()
        for number, due in enumerate(groups):
            ask = self._ask if due.is_new else self._ask_scattered
            ask(asked, forest, number, due)
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
        asked.marks.append(Marks(0, of, moments))
        return self._answered(forest, self._given(forest, asked, [due]))

    def _given(self, forest: Forest, asked: Asked, groups: Sequence[Due]) -> Given:
        """All that is asked for, looked up."""
        parts, found, map_ = [], None, None
        group_of, times_of = np.array(asked.groups, np.int64), np.array(asked.times, self._dtype)
        if asked.rows:
            numbered = any(due.is_new and due.since is not None for due in groups)
            found = forest.rows.read(asked.rows, [NUMBER] if numbered else [])
            request = np.array(asked.of_rows)[found.of]
            group, key = group_of[request], asked.keys(request, found.key)
            due = due_of(groups, group, found)
            parts.append((group, key, found.times, due, found.late, request))
        if asked.maps:
            where, map_ = forest.partials(asked.maps)
            request = np.array(asked.of_maps)[where.of]
            no = np.zeros(len(request), np.bool_)
            key = asked.keys(request, where.key)
            parts.append((group_of[request], key, times_of[request], no, no, request))
        for marks in asked.marks:  # after all of their time
            n = len(marks.times)
            yes, last = np.ones(n, np.bool_), np.full(n, len(asked.groups))
            parts.append((np.full(n, marks.group), marks.keys, marks.times, yes, yes, last))
        group, key, times, due, late, request = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        codes = group * (int(key.max(initial=0)) + 1) + key
        count = sum(len(marks.times) for marks in asked.marks)
        return Given(codes, times, due, late, request, found, map_, count)

    def _answered(self, forest: Forest, given: Given) -> list[list[pa.Array]]:
        """The answers of all due rows."""
        order = given.order()
        asked = np.flatnonzero(given.due[order])
        lo, hi = self._bounds(given.codes[order], given.times[order])
        lo, hi = lo[asked], hi[asked]
        places, found = given.places(order), []
        for state in self.states:
            items = given.items(forest, forest.place(state)).take(places)
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
        first, stop, middles = self._middles(forest, span)
        reached = due.reached(self.edges)
        for wanted in forest.rows.waiting(due.keys, reached):
            asked.add_rows(group, wanted)
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
            asked.add_rows(group, forest.rows.wanted(leaf, due.keys, reached))

    def _middles(self, forest: Forest, span: Span) -> tuple[int, int, list[tuple[int, int]]]:
        """For rows that are due between two times the first of the leaves that their windows
        have and the one after the last, and between which all windows have all of them."""
        left, right = self.edges.left(span), self.edges.right(span)
        first = forest.since(min(left.least, span.least))
        stop = forest.until(max(right.most, span.most))
        after, before = forest.since(left.most, after=True), forest.until(right.least, before=True)
        middles = [
            (max(first, after), min(stop, before, forest.until(span.least, before=True))),
            (max(first, after, forest.since(span.most, after=True)), min(stop, before)),
        ]
        return first, stop, middles

    def _zones(self, forest: Forest, span: Span) -> list[tuple[int, int]]:
        """For rows that are due between two times the leaves in which their windows may begin or
        end, as runs of neighbours."""
        spans = (self.edges.left(span), self.edges.right(span))
        found: list[tuple[int, int]] = []
        for begin, end in sorted((forest.since(s.least), forest.until(s.most)) for s in spans):
            if found and begin <= found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            elif begin < end:
                found.append((begin, end))
        return found

    def _ask_scattered(self, asked: Asked, forest: Forest, group: int, due: Due) -> None:
        """Ask for what the windows of a group of late rows have: few rows, in many bulks."""
        zones = self._zones(forest, due.span)
        leaves = [leaf for begin, end in zones for leaf in forest.leaves[begin:end]]
        scattered, done = Scattered(due, self.edges, leaves), 0
        asked.marks.append(Marks(group, scattered.key, due.rows.times))
        for wanted in forest.rows.waiting(due.keys, due.reached(self.edges)):
            asked.add_rows(group, wanted)
        parts = [(begin, end, False) for begin, end in zones]
        middle = (
            forest.since(self.edges.left(due.span).most, after=True),
            forest.until(self.edges.right(due.span).least, before=True),
        )
        for begin, end, is_middle in sorted([*parts, (*middle, True)]):
            if begin >= end:
                continue
            if is_middle:
                self._ask_middle(asked, forest, group, due, (begin, end))
                continue
            for run in scattered.runs(done, done + end - begin):
                self._ask_run(asked, forest, group, scattered, run)
            done += end - begin

    def _ask_run(
        self, asked: Asked, forest: Forest, group: int, scattered: Scattered, run: Run
    ) -> None:
        """Ask for what the windows of late rows have of neighbouring leaves."""
        leaves = scattered.leaves[run.first : run.stop]
        if run.rows is not None:
            (places, keys), between, cuts = run.rows
            asked.add_rows(group, forest.rows.wanted(leaves[0], keys, between, cuts), places)
        places, keys = run.partials
        if len(places):
            for node in forest.nodes(leaves[0].first, leaves[-1].stop):
                asked.add_map(group, forest.layers(node), keys, node.oldest, places)

    def _ask_middle(
        self, asked: Asked, forest: Forest, group: int, due: Due, leaves: tuple[int, int]
    ) -> None:
        first, last = forest.leaves[leaves[0]], forest.leaves[leaves[1] - 1]
        carried = (self.frame, first.oldest > due.span.most) if due.is_new else None
        for layers in forest.cover(first.first, last.stop, len(due.keys.ids), of=carried):
            asked.add_map(group, layers, due.keys, first.oldest)
