"""Queue: the memory of a first-in-first-out window, its cells by ever-growing index.

`plain` has the columns that steps take in plain Python; `memory()` is what a compiled driver is
given instead, and `attach` turns it into the same columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.layout import Layout
from sash.kernel.words import Partials
from sash.memory.columns import Chunks, Ring, fitting, held_rows


class Columns(NamedTuple):
    """The columns of a queue."""

    part: Partials
    held: int


class Queue:
    """Memory of a queue whose cells are f to e - 1, the cursors' own names.

    In chunks, so that no step copies it all; in a ring while it is being slid over
    at least as many items as it holds, which is faster.
    """

    def __init__(self, layout: Layout | None, identity: Any, places: int, an_item: int = 1) -> None:
        """`an_item`: how many cells an item takes."""
        self.layout, self._an_item = layout, an_item
        self.cells: Ring | Chunks = Chunks(layout)
        self.held = held_rows(layout, identity, places)

    @property
    def plain(self) -> Columns:
        return Columns(self.cells, 0)

    @property
    def chunked(self) -> bool:
        return self.cells.chunked

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions."""
        lo, hi = at.f * self._an_item, (at.e + more) * self._an_item
        if isinstance(self.cells, Ring):
            if hi - lo <= len(self.cells):
                return
            self._fill(at, self._read(at))
        assert isinstance(self.cells, Chunks)
        self.cells.reserve(lo, hi)

    def reserve_ring(self, at: Any, most: int) -> None:
        """Make room for `most` items, in a ring."""
        if isinstance(self.cells, Ring) and most * self._an_item <= len(self.cells):
            return
        ring = Ring(self.layout, most * self._an_item)
        ring.write(at.f * self._an_item, self._read(at))
        self.cells = ring

    def memory(self) -> tuple[int, ...]:
        held = 0 if self.held is None else self.held.ctypes.data
        return (*self.cells.address, held)

    def dump(self, at: Any) -> dict[str, Any]:
        """The contents, as arrays or lists by name."""
        return {"part": self._read(at)}

    def load(self, at: Any, columns: dict[str, Any]) -> None:
        """Take what `dump` gave; ValueError if that does not fit the cursors."""
        self._fill(at, fitting(columns["part"], self.layout, (at.e - at.f) * self._an_item))

    def text(self, at: Any) -> str:
        """The cells, for a person."""
        return f"cells from {at.f * self._an_item} on: {list(self._read(at))}"

    def _read(self, at: Any) -> Any:
        return self.cells.read(at.f * self._an_item, at.e * self._an_item)

    def _fill(self, at: Any, values: Any) -> None:
        self.cells = Chunks(self.layout)
        self.cells.reserve(at.f * self._an_item, (at.e + 1) * self._an_item)
        self.cells.write(at.f * self._an_item, values)
