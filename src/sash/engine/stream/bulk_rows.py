"""Rows of bulks, in order of key and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.blocks import Blocks
from sash.engine.stream.cells import cells, copied_from, values_at
from sash.engine.stream.lookups import Column, addresses, merged_order, sortable
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sorted_keys import order_of

FEW = 2048
"""Up to so many rows are copied by their addresses: a table's `take` takes longer to begin."""


@dataclass
class Rows:
    """Rows, or slices, of leaves in order of key and time."""

    table: pa.Table
    time: str  # the column with their times
    _part_of: tuple[Rows, int, int] | None = None  # where in which rows they are
    _plain: dict[str, Column | None] = field(default_factory=dict)
    _where: dict[tuple[str, ...], np.ndarray | None] = field(default_factory=dict)
    _head: tuple[Column, ...] = ()  # what `head` says where it is
    page: str = ""  # the name of theirs, where they are a leaf's
    blocks: Blocks | None = None  # of a page, once they are worth it
    asked: int = 0  # rows that blocks would have covered

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> np.ndarray:
        """The numbers of their keys."""
        return self._numbers(KEY)

    @cached_property
    def checks(self) -> np.ndarray:
        """The proofs of their keys."""
        return self._numbers(CHECK)

    @cached_property
    def times(self) -> np.ndarray:
        """Their times, in ticks."""
        return self._numbers(self.time)

    def _numbers(self, name: str) -> np.ndarray:
        known = None if self._part_of is None else self.plain(name)
        return numbers(one_array(self.table.column(name))) if known is None else known.array

    @cached_property
    def ticks(self) -> Column:
        """Their times as integers of the same order."""
        known = self.plain(self.time)
        whole = known is not None and known.array.dtype == np.int64
        return known if known and whole else Column.of(sortable(self.times))

    @cached_property
    def head(self) -> np.ndarray:
        """Where the numbers of their keys, the proofs and `ticks` begin in memory."""
        if self._part_of is not None:
            whole, first, _ = self._part_of
            return whole.head + 8 * first
        self._head = self.column(KEY), self.column(CHECK), self.ticks
        return addresses(self._head)

    def where(self, names: tuple[str, ...]) -> np.ndarray | None:
        """Where columns begin in memory if they are numbers of 8 bytes, none of them null."""
        if names not in self._where:
            if self._part_of is not None:
                whole, first, _ = self._part_of
                known = whole.where(names)
                self._where[names] = None if known is None else known + 8 * first
            else:
                columns = [c for c in map(self.plain, names) if c and c.array.itemsize == 8]
                self._where[names] = addresses(columns) if len(columns) == len(names) else None
        return self._where[names]

    @cached_property
    def width(self) -> int:
        """Bytes of a row, about."""
        return int(self.table.nbytes // max(1, self.table.num_rows))

    def plain(self, name: str) -> Column | None:
        """A column if it is numbers, none of them null."""
        if name not in self._plain:
            if self._part_of is None:
                found = _plain(self.table.column(name))
            else:
                whole, first, stop = self._part_of
                of_all = whole.plain(name)
                found = None if of_all is None else of_all.slice(first, stop)
            self._plain[name] = found
        return self._plain[name]

    def column(self, name: str) -> Column:
        """A column that is numbers."""
        found = self.plain(name)
        return Column.of(numbers(one_array(self.table.column(name)))) if found is None else found

    def slice(self, first: int, stop: int) -> Rows:
        """Neighbouring rows; nothing is copied."""
        return Rows(self.table.slice(first, stop - first), self.time, (self, first, stop))


def _plain(column: pa.ChunkedArray) -> Column | None:
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind)
    return Column.of(numbers(one_array(column))) if plain and column.null_count == 0 else None


def rows_at(
    parts: Sequence[Rows], page: np.ndarray, place: np.ndarray, names: Sequence[str] | None
) -> Rows:
    """Rows at places of pages, with some columns or all."""
    table = parts[0].table
    chosen = tuple(table.column_names if names is None else names)
    begins = [begin for rows in parts if (begin := rows.where(chosen)) is not None]
    if len(begins) == len(parts):
        plain = [parts[0].plain(name) for name in chosen]
        kinds = [column.array.dtype for column in plain if column is not None]
        found = copied_from(np.concatenate(begins), kinds, page, place)
        columns = {
            name: _typed(array, table.schema.field(name).type)
            for name, array in zip(chosen, found, strict=True)
        }
    else:
        columns = {name: _column_at(parts, page, place, name) for name in chosen}
    return Rows(pa.table(columns), parts[0].time)


def _column_at(parts: Sequence[Rows], page: np.ndarray, place: np.ndarray, name: str) -> pa.Array:
    """A column at places of pages."""
    known = [rows.plain(name) for rows in parts]
    plain = [column for column in known if column is not None]
    if len(plain) == len(parts):
        return _typed(cells(plain, page, place), parts[0].table.schema.field(name).type)
    return values_at([one_array(rows.table.column(name)) for rows in parts], page, place)


def _typed(array: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Numbers as a column of a type."""
    made = pa.array(array)
    return made if made.type == kind else made.view(kind)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    tables = pa.concat_tables([part.table for part in parts])
    return Rows(tables.combine_chunks(), parts[0].time)


def taken(rows: Rows, places: np.ndarray) -> Rows:
    """Some of the rows, in another order."""
    if len(places) == len(rows) and (places[1:] > places[:-1]).all():
        return rows
    if 0 < len(places) <= FEW:
        return rows_at([rows], np.zeros(len(places), np.int64), places, None)
    return Rows(rows.table.take(pa.array(places)), rows.time)


def in_order(codes: np.ndarray, times: np.ndarray, late: np.ndarray) -> np.ndarray:
    """The order that sorts rows by code and time; those of a code that are not late are."""
    order = np.flatnonzero(~late)
    order = order[order_of(codes[order])]
    if len(order) == len(codes):
        return order
    few = np.flatnonzero(late)
    few = few[np.lexsort([times[few], codes[few]])]
    both = np.concatenate([order, few])
    codes = codes[both]
    return both[merged_order(codes, codes, times[both], len(order))]
