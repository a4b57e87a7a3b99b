"""Late: rows by time in any order, each falling into its slice, until a watermark passes.

The slices are the entries of a FiBA tree, by the tick that they begin at; a row is
combined into its slice in order of arrival. Where that order matters, in a monoid that
is not commutative, every tick is a slice of its own. A window's answer is a range query.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.monoids.monoid import Monoid
from sash.plan.firings import edges_before, firings
from sash.plan.run import BEYOND, Fired
from sash.plan.shared import SharedPlan
from sash.swag.fiba import FiBA
from sash.swag.window import rows


class Late(NamedTuple):
    """A row that came after a window that it belongs to had fired."""

    time: int
    item: Any


class LateRunner:
    """A shared plan at work on rows in any order; fires as the watermark passes.

    A row that comes after some of its windows have fired is in the others only, and is
    also in `late`; `dropped` counts those that are in no window any more.
    """

    def __init__(self, plan: SharedPlan, monoid: Monoid, compiled: bool | None = None) -> None:
        if plan.technique == "cutty":
            raise ValueError("technique='cutty' has one slice in progress; on FiBA give 'pairs'")
        self.plan = plan
        self.late: list[Late] = []
        self.dropped = 0
        self._tree = FiBA(monoid, compiled=compiled)
        self._in_slices = monoid.commutative
        self._begun = np.empty(0, np.int64)  # the ticks at which slices with rows begin
        self._done = -BEYOND  # the watermark

    def feed(self, ticks: Any, items: Any, watermark: int | None = None) -> list[Fired]:
        """Take rows, in any order; then fire what ends at or before `watermark`."""
        at = np.asarray(ticks)
        if at.dtype.kind not in "iu" and len(at):
            raise TypeError(f"times must be integers (ticks), not {at.dtype}")
        at = at.astype(np.int64, copy=False)
        if len(at):
            self._insert(at, items)
        return self._fire(self._done if watermark is None else max(self._done, watermark))

    def finish(self) -> list[Fired]:
        """No more rows come: all windows that have some."""
        last = int(self._begun[-1]) if len(self._begun) else self._done
        ends = [last - (last - w.fires) % w.slide + w.reach + w.slide for w in self.plan.windows]
        return self._fire(max(ends))

    def _insert(self, at: np.ndarray, items: Any) -> None:
        began = edges_before(self.plan, at) if self._in_slices else at
        missed, open_ = self._missed(at)
        if missed.any():
            whole = list(rows(items))
            late = np.flatnonzero(missed).tolist()
            self.late += [Late(int(at[i]), whole[i]) for i in late]
            self.dropped += int((~open_).sum())
            began, items = began[open_], _taken(items, whole, open_)
        if len(began):
            self._tree.bulk_insert(began, items)
            self._begun = np.union1d(self._begun, began)

    def _missed(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which rows come after a window of theirs fired, and which are in one that has not."""
        missed, open_ = np.zeros(len(at), bool), np.zeros(len(at), bool)
        if self._done == -BEYOND:
            return missed, ~open_
        for window in self.plan.windows:
            fired = self._done - (self._done - window.fires) % window.slide  # the last firing
            missed |= at < fired
            open_ |= at + window.reach >= fired + window.slide
        return missed, open_

    def _fire(self, until: int) -> list[Fired]:
        found = []
        for window in self.plan.windows:
            fired = firings(window, self._begun, self._done, until)
            query = self._tree.range_query
            answers = [query(f - window.reach, f - 1) for f in fired.tolist()]
            found.append(Fired(window, fired, answers))
        self._done = until
        self._evict(until)
        return found

    def _evict(self, until: int) -> None:
        """Forget the slices that no window after the watermark has."""
        oldest = min(
            until - (until - w.fires) % w.slide + w.slide - w.reach for w in self.plan.windows
        )
        gone = int(np.searchsorted(self._begun, oldest))
        if gone:
            self._tree.bulk_evict(int(self._begun[gone - 1]))
            self._begun = self._begun[gone:]


class TreeRunner(LateRunner):
    """A shared plan at work on FiBA, on rows in order: no row takes longer than O(log n)."""

    _seen = 0

    def feed(self, ticks: Any, items: Any, watermark: int | None = None) -> list[Fired]:
        """Take rows, sorted; `ticks` is None by count."""
        if self.plan.windows[0].by == "count":
            n = len(items[0]) if isinstance(items, tuple) else len(items)
            at = np.arange(self._seen, self._seen + n)
            self._seen += n
            return super().feed(at, items, self._seen)
        at = np.asarray(ticks)
        if (at[1:] < at[:-1]).any() or (len(at) and at[0] < self._done):
            raise ValueError("times are not sorted: sort them, or give late=True to the plan")
        return super().feed(at, items, int(at[-1]) if len(at) else None)

    def finish(self) -> list[Fired]:
        """No more rows come: by time, the windows that have some."""
        by_count = self.plan.windows[0].by == "count"
        return super().feed([], [], self._seen) if by_count else super().finish()


def _taken(items: Any, whole: list[Any], which: np.ndarray) -> Any:
    """The items of the rows that `which` is true of, as arrays where they are arrays."""
    if isinstance(items, np.ndarray):
        return items[which]
    if isinstance(items, tuple):
        return tuple(column[which] for column in items)
    return [x for x, take in zip(whole, which.tolist(), strict=True) if take]
