"""As-of windows: events sorted by key and time in, an answer per moment of a spine out.

The spine's rows are no events: they say where windows end, and contribute no values. Each
frame finds the windows of the moments as runs of events, and the workers of the plan follow
them, as they follow the windows of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.asof_frames import as_of_frame
from sash.engine.fixed import Room
from sash.engine.moments import Moments, RankFinder
from sash.engine.row_windows import BLOCK
from sash.engine.rows import Rows
from sash.plan.plan import Plan

FEWEST = 1 << 10
"""Moments that are answered at a time, at least."""


class AsOfWindows:
    """A plan with a spine at work: takes events, answers for moments."""

    def __init__(self, plan: Plan, ordered: bool = False, starts: np.ndarray | None = None) -> None:
        """As `Rows` are made."""
        assert plan.query.spine is not None
        self.plan, self._rows = plan, Rows(plan, ordered, starts)
        self._frames = [as_of_frame(each.frame, self._rows) for each in plan.frames]
        self._rank = RankFinder(self._rows.dtype, 0, plan.query.spine.with_moment)

    @property
    def dtype(self) -> np.dtype:
        """The type of the events' times, as numbers."""
        return self._rows.dtype

    @property
    def count(self) -> int:
        """How many events have come."""
        return self._rows.count

    @property
    def newest(self) -> Any:
        """The time of the last event that has come."""
        return self._rows.time.values[-1]

    def take(self, events: pa.RecordBatch) -> None:
        """Take some events."""
        if events.num_rows:
            columns = self._rows.take(events)
            for frame in self._frames:
                frame.take(columns)
            self._rows.keys = self._rows.keys_from(self.count - 1).copy()

    def write_to(self, outputs: Mapping[str, Room], n: int) -> None:
        """Write the answers for the next n moments there, where a worker can."""
        self._rows.write_to(outputs, n)

    def answer(self, moments: Moments) -> list[pa.Array]:
        """A column for each output of the plan; later calls ask for later moments."""
        ranks = self._rank.find(self._rows.time, moments)
        bounds = [frame.find(moments, ranks) for frame in self._frames]
        answers = self._rows.answers(bounds)
        self._forget([int(b.lo[-1]) for b in bounds], int(ranks[-1]))
        return answers

    def _forget(self, frames: list[int], rank: int) -> None:
        """Forget events before those that the last windows, and the last row before, have."""
        rows, oldest = self._rows, min([*frames, max(0, rank - 1)])
        rows.time.forget(oldest)
        rows.groups.forget(oldest)
        for frame in self._frames:
            frame.forget(oldest)
        rows.forget(oldest, frames)


def blocks(work: AsOfWindows, moments: Moments, events: int) -> Iterator[list[pa.Array]]:
    """The answers for moments, for as many at a time as stay in the processor's cache with the
    `events` between them."""
    n = len(moments)
    size = max(FEWEST, BLOCK * n // (n + events + 1))
    for begin in range(0, n, size):
        yield work.answer(moments.part(begin, min(n, begin + size)))
