"""Filters: the rows for which a condition is true, numbered among themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks


class Passing:
    """The rows that pass a condition; windows of rows become windows of those that pass.

    So whatever is aggregated never sees the others, and the bounds of a frame are found once
    for all conditions.
    """

    def __init__(self) -> None:
        self._ranks = Ranks()
        self._mask: pa.Array | None = None
        self._found: dict[int, tuple[Bounds, Bounds]] = {}  # of the block at work

    def take(self, condition: pa.Array) -> None:
        """Take the condition of a batch's rows."""
        self._mask = pc.fill_null(condition, False) if condition.null_count else condition
        self._ranks.mark(np.asarray(self._mask))

    def only(self, column: pa.Array) -> pa.Array:
        """The rows of a column, of the batch that was taken last, that pass."""
        return column.filter(self._mask)

    def of(self, bounds: Bounds | Pieces) -> Bounds | Pieces:
        """The same windows among the rows that pass; asked for again, they are at hand."""
        if isinstance(bounds, Pieces):
            return bounds.each(self._of)
        return self._of(bounds)

    def _of(self, bounds: Bounds) -> Bounds:
        known = self._found.get(id(bounds))
        if known is None or known[0] is not bounds:
            known = (bounds, self._ranks.of(bounds))
            self._found[id(bounds)] = known
        return known[1]

    def before(self, row: int) -> int:
        """How many rows before this one pass."""
        return self._ranks.before(row)

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""
        self._found = {}
        self._ranks.forget(row)
