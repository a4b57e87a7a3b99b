"""Run: the slices of a shared plan, and an algorithm over them, from feed to feed.

one kind of windows      what is due next is known in the loop
many, rows are dense     a timer wheel over the plan's grid says what is due
many, rows are sparse    what is due is found out before, in NumPy
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sash.monoids.monoid import Monoid
from sash.plan import drivers
from sash.plan.enter import Slices
from sash.plan.firings import edge_before, firings, in_order, slices
from sash.plan.grid import Grid, Wheel, first_slices
from sash.plan.query import Periodic
from sash.plan.shared import SharedPlan

BEYOND = np.iinfo(np.int64).max
NONE = np.empty(0, np.int64)
DENSE = 8
"""The wheel turns where there are at most so many slots to a row, longest window included."""


@dataclass(frozen=True)
class Fired:
    """The windows of a query that fired: from `start` to `end`, and the answer of each."""

    window: Periodic
    ticks: Any  # at which they fired: an array, or a range
    answer: Any

    @property
    def start(self) -> np.ndarray:
        return self.window.bounds(np.asarray(self.ticks, np.int64))[0]

    @property
    def end(self) -> np.ndarray:
        return self.window.bounds(np.asarray(self.ticks, np.int64))[1]

    def __len__(self) -> int:
        return len(self.ticks)

    def __iter__(self) -> Iterator[Any]:
        """Start, end and answer, to unpack."""
        return iter((self.start, self.end, self.answer))


class Rows(NamedTuple):
    """Rows of a feed: their ticks (by time), items, the tick before and the last tick due."""

    ticks: np.ndarray | None
    items: Any
    n: int
    base: int  # the tick of row 0
    after: int  # all until here is done
    until: int

    @property
    def clock(self) -> list[Any]:
        """What drivers take: whether rows have ticks, which, or from where they count."""
        timed = self.ticks is not None
        return [int(timed), self.ticks if timed else NONE, self.base, self.until]


class Runner:
    """A shared plan at work: rows in, in order, and what fires out.

    A window of slices, the ticks that they begin at and the tick of the last row are all
    that is kept between feeds. A slice in progress is closed at the end of a feed.
    """

    def __init__(
        self, plan: SharedPlan, monoid: Monoid, algorithm: str, compiled: bool | None = None
    ) -> None:
        self.plan = plan
        self._slices = Slices(monoid, algorithm, compiled)
        self._grid = Grid(plan) if plan.technique == "pairs" and algorithm == "FlatFIT" else None
        self._algorithm = algorithm
        self._by_count = plan.windows[0].by == "count"
        self._every_row = self._by_count and all(window.slide == 1 for window in plan.windows)
        self._reach = max(window.reach for window in plan.windows)
        self._seen = 0  # rows
        self._last: int | None = None  # the last row's tick
        self._begun = NONE  # the ticks at which the slices that are kept begin
        self._oldest = 0  # the number of the first of them
        self._finished = False

    def feed(self, ticks: Any, items: Any) -> list[Fired]:
        """Take rows, sorted; `ticks` is None by count. What fires for each kind of windows."""
        if self._finished:
            raise RuntimeError("feed after finish: a new Runner takes a new stream")
        rows = self._rows(ticks, items)
        if rows.n == 0:
            return [Fired(window, NONE, []) for window in self.plan.windows]
        answers = self._run(rows)
        self._seen += rows.n
        self._last = rows.until
        return answers

    def finish(self) -> list[Fired]:
        """What is left when there are no more rows: by time, the windows that have some."""
        if self._last is None or self._by_count or self._finished:
            return [Fired(window, NONE, []) for window in self.plan.windows]
        self._finished = True
        last = self._last
        return self._run(Rows(NONE, [], 0, last, last, last + self._reach))

    def _rows(self, ticks: Any, items: Any) -> Rows:
        n = len(items[0]) if isinstance(items, tuple) else len(items)
        if self._by_count:
            return Rows(None, items, n, self._seen, self._seen, self._seen + n)
        at = np.asarray(ticks)
        if len(at) != n:
            raise ValueError(f"{len(at)} times for {n} values: each value needs a time of its own")
        if at.dtype.kind not in "iu" and n:
            raise TypeError(f"times must be integers (ticks), not {at.dtype}")
        at = np.ascontiguousarray(at, np.int64)
        if n == 0:
            return Rows(at, items, 0, 0, 0, 0)
        first, last = int(at[0]), int(at[-1])
        late = self._last is not None and first < self._last
        if late or (at[1:] < at[:-1]).any():
            raise ValueError("times are not sorted: sort them, or give late=True to the plan")
        return Rows(at, items, n, first, first if self._last is None else self._last, last)

    def _run(self, rows: Rows) -> list[Fired]:
        columns = self._slices.columns(rows.items, rows.n)
        if self._every_row:
            return self._run_rows(rows, columns)
        if len(self.plan.windows) == 1 and self.plan.technique == "cutty":
            return self._run_one(rows, columns)
        if self._grid is not None:
            slots = self._grid.count(rows.after, rows.until) + self._grid.longest
            if slots <= DENSE * rows.n:
                return self._run_grid(rows, columns, self._grid)
        return self._run_cut(rows, columns)

    def _run_rows(self, rows: Rows, columns: Any) -> list[Fired]:
        """Windows that fire after every row: nothing is sliced."""
        windows, ticks = self.plan.windows, range(rows.after + 1, rows.until + 1)
        sizes = np.array([window.size for window in windows])
        if len(windows) == 1:
            return [Fired(windows[0], ticks, self._slices.slide(rows.items, int(sizes[0])))]
        back = self._algorithm == "Recalc"
        driver = drivers.slide_back if back else drivers.slide_ranges
        self._slices.reserve(int(sizes.max()) + 2 * drivers.BLOCK)
        arguments = [sizes, len(sizes)]
        answers, _ = self._slices.enter(
            driver, rows.items, columns, rows.n, arguments, rows.n * len(sizes)
        )
        if back:
            return _split(windows, [ticks] * len(windows), answers)
        return [Fired(window, ticks, answers[k :: len(sizes)]) for k, window in enumerate(windows)]

    def _run_one(self, rows: Rows, columns: Any) -> list[Fired]:
        """Windows of one kind."""
        window = self.plan.windows[0]
        begin = _next(window.slide, window.begins, rows.after)
        fire = _next(window.slide, window.fires, rows.after)
        kept = -(-window.reach // window.slide) + 1
        most = max(0, (rows.until - fire) // window.slide + 1)
        most = min(most, (rows.n + 1) * kept)  # a window without rows does not fire
        self._slices.reserve(min(kept + len(self._begun), len(self._begun) + rows.n) + 1)
        begun = self._room_for(min(rows.n, (rows.until - begin) // window.slide + 2))
        ends = np.empty(most, np.int64)
        arguments = [
            *rows.clock, begin, fire, window.slide, window.reach, begun, self._oldest, ends,
        ]  # fmt: skip
        answers, fired = self._slices.enter(
            drivers.fire_one, rows.items, columns, rows.n, arguments, most
        )
        self._keep(begun, rows.until)
        return [Fired(window, ends[:fired], answers[:fired])]

    def _run_grid(self, rows: Rows, columns: Any, grid: Grid) -> list[Fired]:
        """Windows of many kinds, of which some are due at most rows."""
        windows = self.plan.windows
        wheel = Wheel(grid, rows.after)
        first = first_slices(grid, wheel.now, self._begun, self._oldest)
        most = [max(0, (rows.until - rows.after) // w.slide + 1) for w in windows]
        spots = np.cumsum([0, *most])
        spot = np.append(spots[:-1], np.zeros(len(wheel.hop) - len(windows), np.int64))
        begun = self._room_for(min(rows.n, grid.count(rows.after, rows.until)) + 1)
        ends = np.empty(0 if self._by_count else spots[-1], np.int64)
        self._slices.reserve(min(grid.longest + len(self._begun), len(begun)) + 2)
        arguments = [
            *rows.clock, edge_before(self.plan, rows.after), wheel.tick, wheel.now, grid.steps,
            len(grid.phases), wheel.head, len(wheel.head) - 1, wheel.chain, wheel.hop, wheel.back,
            spot, first, len(first) - 1, grid.longest, begun, self._oldest, ends,
        ]  # fmt: skip
        answers, _ = self._slices.enter(
            drivers.fire_grid, rows.items, columns, rows.n, arguments, int(spots[-1])
        )
        self._keep(begun, rows.until)
        found = []
        for window, start, end in zip(windows, spots, spot, strict=False):
            fire = _next(window.slide, window.fires, rows.after)
            by_count = range(fire, rows.until + 1, window.slide)
            ticks = by_count if self._by_count else ends[start:end]
            found.append(Fired(window, ticks, answers[start:end]))
        return found

    def _run_cut(self, rows: Rows, columns: Any) -> list[Fired]:
        """Windows of any kinds, whatever the rows."""
        windows = self.plan.windows
        ticks = np.arange(rows.base, rows.base + rows.n) if rows.ticks is None else rows.ticks
        begun, row = slices(self.plan, ticks) if rows.n else (NONE, NONE)
        known = ticks if self._last is None else np.concatenate(([self._last], ticks))
        fired = [firings(window, known, rows.after, rows.until) for window in windows]
        due, where = in_order(fired)
        reach = np.repeat([w.reach for w in windows], list(map(len, fired)))[where]
        begun = np.concatenate((self._begun, begun))
        first = self._oldest + np.searchsorted(begun, due - reach)
        later = self._oldest + np.searchsorted(begun, [rows.until + 1 - self._reach])
        keep = np.minimum.accumulate(np.concatenate((first, later))[::-1])[::-1][:-1].copy()
        hi = np.searchsorted(ticks, due)
        cut = np.append(row[1:], BEYOND)
        inserted = self._slices.next + np.searchsorted(cut, hi, "right")
        before = np.append(self._slices.first, keep)  # what is not evicted yet
        at_end = self._slices.next + len(cut)
        self._slices.reserve(int((np.append(inserted, at_end) - before).max()))
        many = len(windows) > 1
        answers, _ = self._slices.enter(
            drivers.fire_many if many else drivers.fire_cut, rows.items, columns, rows.n,
            [cut, len(due), hi, first, *([keep, where] if many else [])], len(due),
        )  # fmt: skip
        self._keep(begun, rows.until)
        return _split(windows, fired, answers)

    def _room_for(self, more: int) -> np.ndarray:
        """The ticks at which slices begin, with room for so many more."""
        return np.concatenate((self._begun, np.empty(max(more, 0) + 1, np.int64)))

    def _keep(self, begun: np.ndarray, until: int) -> None:
        """Keep the ticks of the slices that windows after `until` may have."""
        begun = begun[: self._slices.next - self._oldest]
        gone = int(np.searchsorted(begun, until + 1 - self._reach))
        self._begun, self._oldest = begun[gone:].copy(), self._oldest + gone


def _next(period: int, edge: int, after: int) -> int:
    """The first tick after `after` that is `edge` modulo the period."""
    return after + 1 + (edge - after - 1) % period


def _split(windows: tuple[Periodic, ...], fired: Sequence[Any], answers: Any) -> list[Fired]:
    found, start = [], 0
    for window, ticks in zip(windows, fired, strict=True):
        found.append(Fired(window, ticks, answers[start : start + len(ticks)]))
        start += len(ticks)
    return found
