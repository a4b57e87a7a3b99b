"""Ranks: rows numbered among those whose column is not null."""

from __future__ import annotations

from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.pieces import Pieces
from sash.engine.tape import Tape


class Ranks:
    """The number of each row among the known ones, where there are nulls; itself where not."""

    def __init__(self) -> None:
        self._rows = 0
        self._tape: Tape | None = None  # from the first null on
        self._known = 0

    def take(self, column: pa.Array) -> pa.Array:
        """Count a column's rows; give its known ones."""
        if column.null_count == 0 and self._tape is None:
            self._rows += len(column)
            return column
        self.mark(np.asarray(pc.is_valid(column)))
        return column.drop_null() if column.null_count else column

    def mark(self, known: np.ndarray) -> None:
        """Count rows, of which some are known."""
        if self._tape is None:
            self._tape = Tape(np.int64)
            self._tape.base, self._known = self._rows, self._rows
        counted = np.cumsum(known, dtype=np.int64)
        last = int(counted[-1]) if len(counted) else 0
        counted -= known
        counted += self._known
        self._tape.add(counted)
        self._known += last
        self._rows += len(known)

    @overload
    def of(self, bounds: Bounds) -> Bounds: ...

    @overload
    def of(self, bounds: Pieces) -> Pieces: ...

    def of(self, bounds: Bounds | Pieces) -> Bounds | Pieces:
        """The same windows among the known rows."""
        if self._tape is None:
            return bounds
        if isinstance(bounds, Pieces):
            return bounds.each(self.of)
        return Bounds.of(self._before(bounds.lo), self._before(bounds.hi))

    def _before(self, rows: np.ndarray) -> np.ndarray:
        """How many known rows come before each of `rows`."""
        tape = self._tape
        assert tape is not None
        if len(tape) == 0:
            return np.minimum(rows, tape.base)
        if len(rows) and rows[0] >= tape.base and rows[-1] < tape.base + len(tape):
            return tape.values[rows - tape.base]  # rows grow: all are within
        inside = np.clip(rows - tape.base, 0, len(tape) - 1)
        ranks = tape.values[inside]
        ranks = np.where(rows >= tape.base + len(tape), self._known, ranks)
        return np.where(rows < tape.base, rows - tape.base + tape.values[0], ranks)

    def before(self, row: int) -> int:
        """How many known rows come before one."""
        return row if self._tape is None else int(self._before(np.array([row]))[0])

    def forget(self, row: int) -> None:
        if self._tape is not None:
            self._tape.forget(min(row, self._tape.base + len(self._tape) - 1))
