"""Collected: the values of windows as lists, copied from the rows at hand."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.multiset import stacked
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.rows_by_number import ColumnBuffer
from sash.plan.plan import Plan, State

AT_ONCE = 1 << 20
"""Values that are copied at a time, about."""


class Collected:
    """The values of a window that are not null, from older to younger."""

    def __init__(self, plan: Plan, state: State) -> None:
        [asked], kind = state.asked, plan.schema.field(state.columns[0]).type
        self._ranks, self._rows = Ranks(), ColumnBuffer(kind)
        self._kind = asked.result([kind])

    def take(self, columns: list[pa.Array]) -> None:
        self._rows.add(self._ranks.take(columns[0]))

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        pieces, lo, hi = stacked(self._ranks.of(bounds))
        lo, hi = (side.reshape(pieces, -1).T.reshape(-1) for side in (lo, hi))
        ends = np.cumsum(np.maximum(hi - lo, 0))  # of each piece of each window, in the answers
        offsets = np.append(0, ends[pieces - 1 :: pieces])
        total = int(offsets[-1])
        cuts = np.searchsorted(ends, np.arange(AT_ONCE, total, AT_ONCE))
        edges = np.unique([0, *cuts, len(ends)])
        copied = [self._copied(lo[a:b], hi[a:b]) for a, b in itertools.pairwise(edges)]
        values = pa.concat_arrays(copied)
        return [pa.ListArray.from_arrays(offsets.astype(np.int32), values, type=self._kind)]

    def _copied(self, lo: np.ndarray, hi: np.ndarray) -> pa.Array:
        """The values of runs of rows, one after the other."""
        sizes = np.maximum(hi - lo, 0)
        before = np.cumsum(sizes) - sizes
        rows = np.repeat(lo - before, sizes) + np.arange(int(sizes.sum()))
        return self._rows.at(rows)

    def forget(self, row: int) -> None:
        self._rows.forget(self._ranks.before(row))
        self._ranks.forget(row)
