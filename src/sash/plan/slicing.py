"""Slicing: where rows are cut so that no window begins or ends inside a slice.

Rows are combined once per key and slice; windows of all kinds are made of the slices. By
pairs, there is a cut where a window begins and one where a window ends: at most two per slide
(Krishnamurthy et al. 2006). Where the slide divides the size both are the same cut, and slices
are panes of one length (Li et al. 2005). Cuts of several kinds are united: a window then has
some more slices, but none is combined twice.

Paper   FlatFIT, 2017, section 2.1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sash.plan.reach import steps_of
from sash.windows.frames import Frame, Sliding, SlidingCalendar, SlidingRows

MOST_EDGES = 1 << 16
"""Cuts per period beyond which windows follow rows: their slides have little in common."""


@dataclass(frozen=True)
class Beat:
    """Windows in whole steps: from `begin` + k * slide up to, but without, `size` steps later."""

    size: int
    slide: int
    begin: int

    @property
    def edges(self) -> set[int]:
        """Where windows begin and end, modulo the slide."""
        return {self.begin % self.slide, (self.begin + self.size) % self.slide}


@dataclass(frozen=True)
class Slices:
    """Cuts at the steps that are one of `edges` modulo `period`, of time or of a key's rows.

    `frames`: the numbers of the frames whose windows are made of these slices; `longest`: how
    many slices a window of each of them has, at most. Steps are integers, except on a stream whose
    times are not.
    """

    number: int
    by: Literal["time", "count"]
    period: Any
    edges: tuple[Any, ...]
    frames: tuple[int, ...]
    longest: tuple[int, ...]

    def of(self, frames: Mapping[int, int]) -> Slices:
        """The slices of some of the frames, by their numbers, with other numbers for them."""
        kept = [(n, most) for n, most in zip(self.frames, self.longest, strict=True) if n in frames]
        numbers, longest = tuple(frames[n] for n, _ in kept), tuple(most for _, most in kept)
        return replace(self, frames=numbers, longest=longest)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the slice after each edge."""
        following = (*self.edges[1:], self.edges[0] + self.period)
        return tuple(b - a for a, b in zip(self.edges, following, strict=True))

    @property
    def technique(self) -> str:
        """Panes where all slices have one length, pairs where they do not."""
        return "panes" if len(set(self.lengths)) == 1 else "pairs"


def slices_of(frames: Sequence[Frame], unit: int | None, whole: bool) -> tuple[Slices, ...]:
    """How the windows of frames are sliced: together by time, and together by rows.

    `whole`: times are integers. Others are not cut: rounding may put an edge beside itself.
    """
    beats = {i: _beat(frame, unit, whole) for i, frame in enumerate(frames)}
    known = {i: beat for i, beat in beats.items() if beat is not None}
    by_rows = {i: b for i, b in known.items() if isinstance(frames[i], SlidingRows)}
    by_time = {i: b for i, b in known.items() if i not in by_rows}
    found = [made for made in (_united("time", by_time), _united("count", by_rows)) if made]
    return tuple(replace(made, number=number) for number, made in enumerate(found))


def _beat(frame: Frame, unit: int | None, whole: bool) -> Beat | None:
    """A frame's windows in steps of the time column, or in rows; None if it is not sliced."""
    if isinstance(frame, SlidingRows):
        return Beat(frame.size, frame.slide, -frame.size)
    if not isinstance(frame, Sliding) or isinstance(frame, SlidingCalendar) or not whole:
        return None
    steps = steps_within(frame, unit)
    return Beat(*steps) if all(isinstance(x, int) for x in steps) else None


def steps_within(frame: Sliding, unit: int | None) -> tuple[Any, Any, Any]:
    """The size, the slide and the start of windows from start up to, but without, start + size, in
    steps of time. An edge with the rows at it on its lower side is one step later."""
    size, slide, offset = (steps_of(b, unit) for b in (frame.size, frame.slide, frame.offset))
    begin, end = (int(frame.closed in ends) for ends in (("right", "neither"), ("right", "both")))
    return size + end - begin, slide, offset + begin


def _united(by: Literal["time", "count"], frames: dict[int, Beat]) -> Slices | None:
    beats = list(frames.values())
    if not beats:
        return None
    period = math.lcm(*(beat.slide for beat in beats))
    if sum(period // beat.slide * len(beat.edges) for beat in beats) > MOST_EDGES:
        return None
    cuts = {e + k for b in beats for e in b.edges for k in range(0, period, b.slide)}
    edges = tuple(sorted(cuts))
    longest = tuple(most_slices(beat, period, edges) for beat in beats)
    return Slices(0, by, period, edges, tuple(frames), longest)


def most_slices(beat: Beat, period: int, edges: Sequence[int]) -> int:
    """How many slices a window has, at most.

    >>> most_slices(Beat(7, 5, 0), 5, (0, 2))
    3
    """

    def before(step: int) -> int:
        periods, rest = divmod(step, period)
        return periods * len(edges) + bisect_left(edges, rest)

    begins = range(beat.begin, beat.begin + period, beat.slide)
    return max(before(b + beat.size) - before(b) for b in begins)
