"""Rows without a time: which rows their windows by time have."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.engine.bounds import FURTHEST, LEAST, Bounds
from sash.engine.rows import Rows
from sash.windows.frames import Range


def without_times(frame: Range, bounds: Bounds, rows: Rows, begin: int) -> Bounds:
    """Bounds in which rows without a time reach each other alone, as in SQL.

    However far a frame reaches, null plus its bound is null. An end without a bound stays
    where it is, and an upper end that is not included leaves the window empty. Rows without a
    time are next to each other; those that came before `begin` are still in memory, as the
    windows of rows before it reach them.
    """
    times, base = rows.time.values, rows.time.base
    null = times == _stand_in(rows)
    starts = np.zeros(len(null) + 1, np.bool_)
    starts[1:-1] = null[1:] != null[:-1]
    keys = rows.keys - base
    starts[keys[(keys > 0) & (keys < len(null))]] = True
    starts[0] = starts[-1] = True
    edges = np.flatnonzero(starts)
    run = np.cumsum(starts[:-1]) - 1
    of = slice(begin - base, begin - base + len(bounds.lo))
    run, null = run[of], null[of]
    first, last = edges[run] + base, edges[run + 1] + base
    lo, hi = bounds.lo.copy(), bounds.hi.copy()
    if frame.preceding is not None:
        lo[null] = first[null]
    if frame.following is not None:
        hi[null] = (last if frame.closed in ("both", "right") else lo)[null]
    return Bounds.of(lo, hi)


def _stand_in(rows: Rows) -> Any:
    """The number that stands for null among the times of rows."""
    if rows.dtype.kind == "f":
        return np.inf if rows.query.descending else -np.inf
    return FURTHEST if rows.query.descending else LEAST
