"""A shared plan: one stream of slices for a set of queries.

Paper   FlatFIT, 2017, section 2.3: the composite slide is the least common multiple of
        the slides; each query's cuts, repeated to fill it, are its edges. An edge that
        several queries have is a common edge: the more of those, the more is shared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sash.plan.query import Periodic
from sash.plan.slicing import TECHNIQUES, Slicing, Technique, union

MOST_EDGES = 100_000
"""A composite slide with more edges than this is not written out."""


class Firing(NamedTuple):
    """At `tick` of the composite slide, window `which` is answered from its last `slices`."""

    tick: int
    which: int
    slices: int


@dataclass(frozen=True)
class SharedPlan:
    """The slices that a set of queries share, and which queries fire where.

    >>> plan = SharedPlan((Periodic(6, 2), Periodic(8, 4)))
    >>> plan.composite, plan.slicing.lengths
    (4, (2, 2))
    >>> plan.firings
    (Firing(tick=2, which=0, slices=3), Firing(tick=4, which=0, slices=3),
     Firing(tick=4, which=1, slices=4))
    """

    windows: tuple[Periodic, ...]
    technique: Technique = "pairs"

    def __post_init__(self) -> None:
        if not self.windows:
            raise ValueError("windows: a plan needs at least one")
        if len({window.by for window in self.windows}) > 1:
            raise ValueError("windows: rows and time can not be sliced together")
        if self.technique not in TECHNIQUES:
            raise ValueError(
                f"technique must be one of {', '.join(TECHNIQUES)}, not {self.technique!r}"
            )

    @cached_property
    def parts(self) -> tuple[Slicing, ...]:
        """The slicing of each query."""
        return tuple(TECHNIQUES[self.technique](window) for window in self.windows)

    @cached_property
    def classes(self) -> tuple[tuple[int, int], ...]:
        """All edges, as few (period, edge) as there are: an edge at each edge + k * period."""
        found: dict[int, set[int]] = {}
        for part in self.parts:
            found.setdefault(part.period, set()).update(part.edges)
        return tuple(
            (period, edge) for period in sorted(found) for edge in sorted(found[period])
            if not any(p < period and period % p == 0 and edge % p in found[p] for p in found)
        )  # fmt: skip

    @cached_property
    def composite(self) -> int:
        """The composite slide, after which everything repeats."""
        return math.lcm(*(window.slide for window in self.windows))

    @cached_property
    def is_listed(self) -> bool:
        """Whether the composite slide is short enough to be written out."""
        edges = sum(self.composite // period for period, _ in self.classes)
        fired = sum(self.composite // window.slide for window in self.windows)
        return edges + fired <= MOST_EDGES

    @cached_property
    def slicing(self) -> Slicing:
        """All edges of the composite slide."""
        self._must_be_listed()
        return union(self.parts)

    @cached_property
    def common_edges(self) -> tuple[int, ...]:
        """The edges of the composite slide that more than one query has."""
        self._must_be_listed()
        counts = Counter(e for part in self.parts for e in part.within(self.composite))
        return tuple(sorted(edge for edge, count in counts.items() if count > 1))

    @cached_property
    def firings(self) -> tuple[Firing, ...]:
        """Which queries fire where in the composite slide, from tick 1 to its end, in order."""
        self._must_be_listed()
        found = [
            Firing(tick, i, self.slicing.count(tick - window.reach, tick))
            for i, window in enumerate(self.windows)
            for tick in range(window.fires or window.slide, self.composite + 1, window.slide)
        ]
        return tuple(sorted(found))

    @cached_property
    def slices_a_tick(self) -> float:
        """How many slices begin at a tick, on average, where every slice has a row."""
        if self.is_listed:
            return len(self.slicing.edges) / self.slicing.period
        return min(1.0, sum(1 / period for period, _ in self.classes))

    @property
    def firings_a_tick(self) -> float:
        """How many queries fire at a tick, on average."""
        return sum(1 / window.slide for window in self.windows)

    def slices_in(self, window: Periodic) -> int:
        """About how many slices `window` has."""
        return max(1, math.ceil(window.reach * self.slices_a_tick))

    @cached_property
    def longest(self) -> int:
        """The paper's wSize: the slices of the longest window, about."""
        return self.slices_in(max(self.windows, key=lambda window: window.reach))

    def _must_be_listed(self) -> None:
        if not self.is_listed:
            raise ValueError(
                f"the composite slide of {self.composite} ticks has more than {MOST_EDGES} edges"
            )


def unshared(windows: Sequence[Periodic], technique: Technique = "pairs") -> list[SharedPlan]:
    """A plan for each alone."""
    return [SharedPlan((window,), technique) for window in windows]
