"""Grid: the ticks at which anything of a shared plan is due, numbered as slots.

All begins and firings repeat with the greatest common divisor of the slides, so there
are as many slots in that time as there are different remainders. A firing is then a
fixed number of slots after its window began, and comes again after a fixed number of
slots: a timer wheel finds what is due at a slot in O(1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sash.plan.query import Periodic
from sash.plan.shared import SharedPlan


@dataclass(frozen=True)
class Grid:
    """The slots of a plan that is sliced by pairs."""

    plan: SharedPlan

    @cached_property
    def cell(self) -> int:
        """After so many ticks the slots repeat."""
        return math.gcd(*(window.slide for window in self.plan.windows))

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """Where in a cell slots begin."""
        windows = self.plan.windows
        edges = {edge for w in windows for edge in (w.fires, w.begins)}
        return tuple(sorted({edge % self.cell for edge in edges}))

    @cached_property
    def steps(self) -> np.ndarray:
        """The length of each slot of a cell."""
        return np.diff([*self.phases, self.phases[0] + self.cell])

    def slot(self, tick: int) -> int:
        """The slot that begins at `tick`, which is one of the grid."""
        cell, phase = divmod(tick, self.cell)
        return cell * len(self.phases) + self.phases.index(phase)

    def after(self, tick: int) -> int:
        """The first tick of the grid after `tick`."""
        return min(tick + 1 + (phase - tick - 1) % self.cell for phase in self.phases)

    def ticks(self, slots: np.ndarray) -> np.ndarray:
        """The ticks at which slots begin."""
        cells, phase = np.divmod(slots, len(self.phases))
        return cells * self.cell + np.array(self.phases)[phase]

    def hop(self, ticks: int) -> int:
        """A multiple of the cell, in slots."""
        return ticks // self.cell * len(self.phases)

    def back(self, window: Periodic) -> int:
        """How many slots a window has."""
        return self.slot(window.fires) - self.slot(window.fires - window.reach)

    @cached_property
    def longest(self) -> int:
        """The slots of the longest window."""
        return max(map(self.back, self.plan.windows))

    def count(self, after: int, until: int) -> int:
        """About how many slots there are between two ticks."""
        return (until - after) // self.cell * len(self.phases) + len(self.phases)


class Wheel:
    """What is due at each slot: lists of entries, the firings first, then other begins."""

    def __init__(self, grid: Grid, after: int) -> None:
        """The wheel of what is due after the tick `after`."""
        windows = grid.plan.windows
        fires = [(window.slide, window.fires) for window in windows]
        begins = [found for found in grid.plan.classes if found not in set(fires)]
        entries = [*fires, *begins]
        self.tick = grid.after(after)
        self.now = grid.slot(self.tick)
        self.hop = np.array([grid.hop(period) for period, _ in entries])
        self.back = np.array([*map(grid.back, windows), *([0] * len(begins))])
        size = 1 << int(self.hop.max()).bit_length()
        self.head = np.full(size, -1)
        self.chain = np.full(len(entries), -1)
        for e, (period, edge) in reversed(list(enumerate(entries))):
            slot = grid.slot(self.tick + (edge - self.tick) % period) & (size - 1)
            self.chain[e], self.head[slot] = self.head[slot], e


def first_slices(grid: Grid, now: int, begun: np.ndarray, oldest: int) -> np.ndarray:
    """For the last slots before `now`, in a ring by slot, the first slice from each on.

    `begun`: the ticks at which slices begin, from slice `oldest` on.
    """
    ring = np.full(1 << (grid.longest + 1).bit_length(), oldest)
    if len(begun):
        slots = np.arange(now - grid.longest, now)
        ring[slots & (len(ring) - 1)] = oldest + np.searchsorted(begun, grid.ticks(slots))
    return ring
