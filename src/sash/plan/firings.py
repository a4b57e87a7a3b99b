"""Where the rows of a stream are cut, and where queries fire among them, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.plan.query import Periodic
from sash.plan.shared import SharedPlan

DENSE = 4
"""Edges are listed by tick where there are at most this many to a row, else row by row."""


def firings(window: Periodic, ticks: np.ndarray, after: int, until: int) -> np.ndarray:
    """The ticks after `after`, up to `until`, at which a window with rows fires.

    `ticks` are those of the rows, sorted.
    """
    if len(ticks) == 0:
        return np.empty(0, np.int64)
    reach = window.reach
    breaks = np.flatnonzero(np.diff(ticks) >= reach)  # no window has rows on both sides
    first = ticks[np.concatenate(([0], breaks + 1))]
    last = ticks[np.concatenate((breaks, [len(ticks) - 1]))]
    lo = np.maximum(first, after)
    hi = np.minimum(last + reach, until)
    start = (lo - window.fires) // window.slide + 1
    count = np.maximum((hi - window.fires) // window.slide + 1 - start, 0)
    ends = np.cumsum(count)
    k = np.arange(ends[-1]) + np.repeat(start - (ends - count), count)
    return k * window.slide + window.fires


def slices(plan: SharedPlan, ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slices that rows at `ticks` are in: the tick that each begins at, its first row."""
    lo, hi = int(ticks[0]), int(ticks[-1])
    began = edge_before(plan, lo)
    count = sum((hi - began) // period + 1 for period, _ in plan.classes)
    if count > DENSE * len(ticks) + 64:
        edges = edges_before(plan, ticks)
        rows = np.flatnonzero(np.concatenate(([True], edges[1:] != edges[:-1])))
        return edges[rows], rows
    edges = edges_from(plan, began, hi)
    rows = np.searchsorted(ticks, edges, "left")
    last = np.concatenate((rows[1:] != rows[:-1], [True]))  # of edges without rows between
    rows[0] = 0
    return edges[last], rows[last]


def edge_before(plan: SharedPlan, tick: int) -> int:
    """The last edge that is not after `tick`."""
    return max(tick - (tick - edge) % period for period, edge in plan.classes)


def edges_before(plan: SharedPlan, ticks: np.ndarray) -> np.ndarray:
    """The last edge that is not after each of `ticks`."""
    found = np.full(len(ticks), np.iinfo(np.int64).min)
    for period, edge in plan.classes:
        np.maximum(found, ticks - (ticks - edge) % period, out=found)
    return found


def edges_from(plan: SharedPlan, began: int, hi: int) -> np.ndarray:
    """The edge `began` and all later ones up to `hi`."""
    parts = [
        np.arange(began + (edge - began) % period, hi + 1, period) for period, edge in plan.classes
    ]
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def in_order(fired: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All firings by tick, those of the first queries first; and where each came from."""
    together = np.concatenate(fired)
    where = np.argsort(together, kind="stable")
    return together[where], where
