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

from sash.plan.query import Query

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


def panes(query: Query) -> Slicing:
    """Slices of one length, that divides both the range and the slide.

    >>> from sash import monoids as m
    >>> from sash.plan.query import by_count
    >>> panes(by_count(m.Max(), size=6, slide=4)).lengths
    (2, 2)
    """
    step = math.gcd(query.reach, query.slide)
    return Slicing(query.slide, tuple(range(query.fires % step, query.slide, step)))


def pairs(query: Query) -> Slicing:
    """Two slices a slide, the one that a window ends with of length range % slide.

    >>> from sash import monoids as m
    >>> from sash.plan.query import by_count
    >>> pairs(by_count(m.Max(), size=7, slide=5)).lengths
    (3, 2)
    """
    return Slicing(query.slide, tuple(sorted({query.fires, query.begins})))


def cutty(query: Query) -> Slicing:
    """One slice a slide, from where a window begins to where the next one does.

    >>> from sash import monoids as m
    >>> from sash.plan.query import by_count
    >>> cutty(by_count(m.Max(), size=7, slide=5))
    Slicing(period=5, edges=(3,))
    """
    return Slicing(query.slide, (query.begins,))


TECHNIQUES: dict[Technique, Callable[[Query], Slicing]] = {
    "panes": panes,
    "pairs": pairs,
    "cutty": cutty,
}


def union(slicings: Iterable[Slicing]) -> Slicing:
    """All the cuts of several slicings; the period is the composite slide."""
    parts = list(slicings)
    period = math.lcm(*(part.period for part in parts))
    return Slicing(period, tuple(sorted(set().union(*(part.within(period) for part in parts)))))


def slices_a_window(query: Query, slicing: Slicing) -> int:
    """How many slices a window of the query has, the one in progress included, at most."""
    period = math.lcm(query.slide, slicing.period)
    firings = range(query.fires, query.fires + period, query.slide)
    return max(slicing.count(f - query.reach, f) for f in firings)
