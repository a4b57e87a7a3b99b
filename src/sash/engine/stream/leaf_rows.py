"""The rows of a forest's leaves: those of some keys or of all, and blocks of rows.

A leaf's rows are in its own page, in pages of late rows that came into it, and in the buffer of
late rows. Late rows that are in no leaf yet wait in a page of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.stream.blocks import Blocks, Cuts, are_small, blocks_of
from sash.engine.stream.buffer import Buffers
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.items import Items
from sash.engine.stream.manifest import Node, Trunk
from sash.engine.stream.maps import KeyMap, prefix
from sash.engine.stream.pages import Page, Pages
from sash.engine.stream.partials import PartialState
from sash.engine.stream.selected import Folding, Selected, Wanted, selected


class LeafRows:
    """The rows of a tree; `sliced`: they are slices."""

    def __init__(
        self,
        trunk: Trunk,
        pages: Pages,
        buffers: Buffers,
        states: Sequence[PartialState],
        sliced: bool,
    ) -> None:
        self._trunk, self._pages, self._buffers = trunk, pages, buffers
        self._states, self._sliced = states, sliced
        time = buffers.time
        read = {name for state in states for name in state.reads}
        self._read = [time, *sorted(read - {time})]
        ordered = not all(state.is_commutative for state in states)
        small = are_small(states) and not sliced
        self._folding = Folding(self._blocks, ordered) if small else None
        self._kept: dict[str, Blocks] = {}  # of pages of leaves, by their names

    def of(self, table: pa.Table) -> Rows:
        """The rows that a leaf's table has."""
        return self._buffers.rows_of(table)

    def at(self, page: Page) -> Rows:
        """The rows that a page is."""
        found: Rows = self._pages.read(page, self.of)
        return found

    def wanted(
        self,
        leaf: Node,
        keys: KeyMap | None,
        between: tuple[np.ndarray, np.ndarray] | None = None,
        cuts: Cuts | None = None,
    ) -> Wanted:
        """The rows of a leaf, of some keys, each between two times, or all rows; blocks of rows
        where there are cuts."""
        assert leaf.rows is not None
        pages = [self.at(page) for page in (leaf.rows, *leaf.late)]
        if cuts is not None and pages[0].blocks is None:
            pages[0].page = leaf.rows.name
            pages[0].blocks = self._kept.get(leaf.rows.name)
        buffer = self._buffers.late_rows
        late = None if buffer is None else buffer.at(leaf)
        return Wanted(pages if late is None else [*pages, late], keys, between, cuts)

    def waiting(
        self, keys: KeyMap | None, between: tuple[np.ndarray, np.ndarray] | None = None
    ) -> list[Wanted]:
        """The late rows that are in no leaf yet, if there are any."""
        page = self._trunk.waiting
        return [] if page is None else [Wanted([self.at(page)], keys, between, late=True)]

    def wait(self, rows: Rows | None) -> None:
        """Let late rows, in order of key and time, be in no leaf, instead of those that are not."""
        trunk, pages = self._trunk, self._pages
        pages.drop(trunk.waiting)
        trunk.waiting = pages.add(rows.table) if rows is not None and len(rows) else None

    def read(self, asked: Sequence[Wanted], columns: Sequence[str] | None = None) -> Selected:
        """Rows of leaves; `columns`: those that states read, and these, instead of all."""
        names = None if columns is None else [*self._read, *columns]
        found = selected(asked, names, self._folding)
        cost, blocks = self._pages.cost, len(found.of) - len(found.rows)
        cost.rows_read += len(found.rows) + blocks  # a block is read like a row
        cost.bytes_read += len(found.rows) * asked[0].pages[0].width
        cost.bytes_read += blocks * sum(8 + (state.width or 0) for state in self._states)
        return found

    def items(self, state: int, rows: Rows) -> Items:
        """The items of a state for rows of a leaf."""
        if self._sliced:
            return self._states[state].items_of(rows.table, prefix(state))
        return self._states[state].lifted(rows.table)

    def found_items(self, state: int, found: Selected) -> Items:
        """The items of a state for what was found: those of rows, then those of blocks."""
        items = self.items(state, found.rows)
        if found.folded is None:
            return items
        return Items.concat([items, found.folded.items[state]])

    def _blocks(self, rows: Rows) -> Blocks:
        """The blocks of the rows of a page."""
        cost, made = self._pages.cost, blocks_of(self._states, rows.table, rows.ids)
        cost.rows_read += len(rows)
        cost.bytes_read += len(rows) * rows.width
        cost.combined += sum(len(rows) + len(each) for each in made.items)
        self._kept[rows.page] = made
        if len(self._kept) > self._pages.keep:
            del self._kept[next(iter(self._kept))]
        return made

    def forget(self, page: Page) -> None:
        """A leaf's page is gone: its blocks go too."""
        self._kept.pop(page.name, None)
