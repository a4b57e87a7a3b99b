"""Run: the slices of a shared plan, and an algorithm over them, from feed to feed."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.answers import Answers
from sash.kernel.cursors import entered, left, places
from sash.monoids.monoid import Monoid
from sash.plan import drivers
from sash.plan.firings import firings, in_order, slices
from sash.plan.query import Periodic
from sash.plan.shared import SharedPlan
from sash.swag.registry import ALGORITHMS
from sash.swag.window import addresses, rows

BEYOND = np.iinfo(np.int64).max


class Fired(NamedTuple):
    """The windows of a query that fired: from `start` to `end`, and the answer of each."""

    start: np.ndarray
    end: np.ndarray
    answer: Any


class Cuts(NamedTuple):
    """The firings among some rows, as the drivers take them."""

    cut: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    keep: np.ndarray


class Runner:
    """A shared plan at work: rows in, in order, and what fires out.

    A window in progress, the slices that it needs and the tick of the last row are
    all that is kept between feeds. A slice in progress is closed at the end of a feed.
    """

    def __init__(
        self, plan: SharedPlan, monoid: Monoid, algorithm: str, compiled: bool | None = None
    ) -> None:
        self.plan = plan
        cls = _with_live(ALGORITHMS[algorithm])
        self._window: Any = cls(monoid, compiled=compiled)
        self._place = places(cls.cursors) + cls.scratch - 1
        self._seen = 0  # rows
        self._last: int | None = None  # the last row's tick
        self._begun = np.empty(0, np.int64)  # the ticks at which the slices that are kept begin
        self._base = 0  # the number of the first of them
        self._finished = False

    @property
    def _by_count(self) -> bool:
        return self.plan.windows[0].by == "count"

    def feed(self, ticks: Any, items: Any) -> list[Fired]:
        """Take rows, sorted; `ticks` is None by count. What fires for each query."""
        if self._finished:
            raise RuntimeError("feed after finish: a new Runner takes a new stream")
        at = self._ticks(ticks, items)
        if len(at) == 0:
            return [self._empty(window) for window in self.plan.windows]
        begun, first_row = slices(self.plan, at)
        after = self._done()
        known = at if self._last is None else np.concatenate(([self._last], at))
        until = int(at[-1]) + self._by_count
        fired = [firings(window, known, after, until) for window in self.plan.windows]
        self._begun = np.concatenate((self._begun, begun))
        answers = self._fire(at, items, first_row[1:], fired, until)
        self._seen += len(at)
        self._last = int(at[-1])
        return answers

    def finish(self) -> list[Fired]:
        """What is left when there are no more rows: by time, the windows that have some."""
        if self._last is None or self._by_count or self._finished:
            return [self._empty(window) for window in self.plan.windows]
        until = self._last + max(window.reach for window in self.plan.windows)
        known, none = np.array([self._last]), np.empty(0, np.int64)
        fired = [firings(window, known, self._done(), until) for window in self.plan.windows]
        self._finished = True
        return self._fire(none, [], none, fired, until)

    def _done(self) -> int:
        """The last tick at which queries have fired."""
        if self._by_count:
            return self._seen
        return -BEYOND if self._last is None else self._last

    def _ticks(self, ticks: Any, items: Any) -> np.ndarray:
        if self._by_count:
            n = len(items[0]) if isinstance(items, tuple) else len(items)
            return np.arange(self._seen, self._seen + n)
        at = np.asarray(ticks)
        if at.dtype.kind not in "iu" and len(at):
            raise TypeError(f"times must be integers (ticks), not {at.dtype}")
        at = at.astype(np.int64, copy=False)
        earlier = at[:1] if self._last is None else np.array([self._last])
        if (np.diff(at, prepend=earlier) < 0).any():
            raise ValueError("times are not sorted: sort them, or use a Stream with late rows")
        return at

    def _fire(
        self, at: np.ndarray, items: Any, cut: np.ndarray, fired: list[np.ndarray], until: int
    ) -> list[Fired]:
        ticks, where = in_order(fired) if len(fired) > 1 else (fired[0], np.empty(0, np.int64))
        reach = self._of_each([window.reach for window in self.plan.windows], fired, where)
        later = self._base + int(
            np.searchsorted(
                self._begun, until + 1 - max(window.reach for window in self.plan.windows)
            )
        )
        first = self._base + np.searchsorted(self._begun, ticks - reach)
        keep = np.minimum.accumulate(np.concatenate((first, [later]))[::-1])[::-1]
        hi = ticks - self._seen if self._by_count else np.searchsorted(at, ticks)
        cuts = Cuts(np.append(cut, BEYOND), hi, first, keep[:-1])
        columns = self._columns(items, len(at))
        self._reserve(cuts)
        answers = self._answers(cuts, len(at), items, columns, where, len(fired) > 1)
        self._begun, self._base = self._begun[later - self._base :], later
        return self._split(fired, answers)

    def _of_each(self, values: list[int], fired: list[np.ndarray], where: np.ndarray) -> Any:
        if len(fired) == 1:
            return values[0]
        return np.repeat(values, [len(ticks) for ticks in fired])[where]

    def _columns(self, items: Any, n: int) -> Any:
        """The items as arrays, if they run compiled; an empty window is typed for them first."""
        if n:
            return self._window._columns(items)
        kinds = self._window._inputs
        return None if kinds is None else tuple(np.empty(0, kind) for kind in kinds)

    def _reserve(self, cuts: Cuts) -> None:
        """Room for as many slices as are ever kept at once."""
        inserted = self._window._at.e + np.searchsorted(cuts.cut, cuts.hi, "right")
        most = int((inserted - cuts.keep).max()) if len(inserted) else 0
        oldest = int(cuts.keep[-1]) if len(cuts.keep) else int(self._window._at.f)
        at_end = self._window._at.e + len(cuts.cut) - oldest
        self._window._room.reserve_ring(self._window._at, max(most, at_end, len(self._window)) + 1)

    def _answers(
        self, cuts: Cuts, n: int, items: Any, columns: Any, where: np.ndarray, many: bool
    ) -> Any:
        window, m = self._window, len(cuts.hi)
        driver = drivers.fire_many if many else drivers.fire
        kernel = window._kernel(driver, columns) if columns is not None else None
        used = [cuts.cut, m, cuts.hi, cuts.first]
        used += [cuts.keep, where] if many else []
        if kernel is None:
            out: list[Any] = [None] * m
            plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in used]
            window._at = window._plain(driver)(
                window._q, window._at, list(rows(items)), n, *plain, self._place, out
            )
            return out
        given = Answers(kernel.answer, m)
        held = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in used]
        addressed = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in held]
        at = kernel.run(
            window._room.memory(), entered(window._at, window._room.held), addresses(columns), n,
            *addressed, self._place, given.address,
        )  # fmt: skip
        window._at = left(at, window._room.held)
        return given.result()

    def _split(self, fired: list[np.ndarray], answers: Any) -> list[Fired]:
        found, start = [], 0
        for window, ticks in zip(self.plan.windows, fired, strict=True):
            found.append(Fired(*window.bounds(ticks), answers[start : start + len(ticks)]))
            start += len(ticks)
        return found

    def _empty(self, window: Periodic) -> Fired:
        none = np.empty(0, np.int64)
        return Fired(none, none, [])


@functools.cache
def _with_live(cls: Any) -> Any:
    """The algorithm with one more place, for the slice in progress."""
    if cls.cursors.__name__ == "At":  # numba takes named tuples of one name and shape for one
        cls.cursors.__name__ = f"{cls.__name__}At"
    return type(cls.__name__, (cls,), {"scratch": cls.scratch + 1, "__doc__": cls.__doc__})
