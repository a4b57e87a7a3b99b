"""Slicing: where a stream is cut so that no window begins or ends inside a slice.

    Panes   every gcd(range, slide) ticks              range / gcd slices a window
    Pairs   where a window begins, where one ends      2 floor(range / slide) + 1 at most
    Cutty   where a window begins; the answer of a     floor(range / slide) + 1 at most
            window takes the slice in progress along

Paper   FlatFIT, 2017, section 2.1, on Li et al. 2005, Krishnamurthy et al. 2006 and
        Carbone et al. 2016.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from sash.plan.query import Periodic

Technique = Literal["panes", "pairs", "cutty"]


@dataclass(frozen=True)
class Slicing:
    """Cuts at the ticks that are one of `edges` modulo `period`."""

    period: int
    edges: tuple[int, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the slice after each edge."""
        following = (*self.edges[1:], self.edges[0] + self.period)
        return tuple(b - a for a, b in zip(self.edges, following, strict=True))

    def count(self, lo: int, hi: int) -> int:
        """How many edges are at ticks lo to hi - 1."""
        return self._before(hi) - self._before(lo)

    def _before(self, tick: int) -> int:
        """How many edges are at ticks 0 to tick - 1; negative before tick 0."""
        periods, rest = divmod(tick, self.period)
        return periods * len(self.edges) + bisect_left(self.edges, rest)

    def within(self, period: int) -> set[int]:
        """The edges modulo a multiple of the period."""
        return {e + k for e in self.edges for k in range(0, period, self.period)}


def panes(window: Periodic) -> Slicing:
    """Slices of one length, that divides both the range and the slide.

    >>> panes(Periodic(6, 4)).lengths
    (2, 2)
    """
    step = math.gcd(window.reach, window.slide)
    return Slicing(window.slide, tuple(range(window.fires % step, window.slide, step)))


def pairs(window: Periodic) -> Slicing:
    """Two slices a slide, the one that a window ends with of length range % slide.

    >>> pairs(Periodic(7, 5)).lengths
    (3, 2)
    """
    return Slicing(window.slide, tuple(sorted({window.fires, window.begins})))


def cutty(window: Periodic) -> Slicing:
    """One slice a slide, from where a window begins to where the next one does.

    >>> cutty(Periodic(7, 5))
    Slicing(period=5, edges=(3,))
    """
    return Slicing(window.slide, (window.begins,))


TECHNIQUES: dict[Technique, Callable[[Periodic], Slicing]] = {
    "panes": panes,
    "pairs": pairs,
    "cutty": cutty,
}


def union(slicings: Iterable[Slicing]) -> Slicing:
    """All the cuts of several slicings; the period is the composite slide."""
    parts = list(slicings)
    period = math.lcm(*(part.period for part in parts))
    return Slicing(period, tuple(sorted(set().union(*(part.within(period) for part in parts)))))


def slices_a_window(window: Periodic, slicing: Slicing) -> int:
    """How many slices a window has, the one in progress included, at most."""
    period = math.lcm(window.slide, slicing.period)
    firings = range(window.fires, window.fires + period, window.slide)
    return max(slicing.count(f - window.reach, f) for f in firings)
