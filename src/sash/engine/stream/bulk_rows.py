"""Rows of bulks: some keys of many pages, looked up at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.lookups import (
    LEAST,
    MOST,
    Column,
    cells,
    merged_order,
    narrowed,
    runs,
    sortable,
    spread,
    values_at,
)
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.sorted_keys import order_of, prove


@dataclass
class Rows:
    """Rows, or slices, of leaves in order of key and time."""

    table: pa.Table
    time: str  # the column with their times
    _part_of: tuple[Rows, int, int] | None = None  # where in which rows they are
    _plain: dict[str, Column | None] = field(default_factory=dict)

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


class Wanted(NamedTuple):
    """Rows that are asked for: of pages, the first of which has most, of some keys or of all.

    `between`: the first and the last time of each key, where not all of its rows are wanted;
    see `sortable`.
    """

    pages: Sequence[Rows]
    keys: KeyMap | None
    between: tuple[np.ndarray, np.ndarray] | None = None


class Selected(NamedTuple):
    """Rows that were found: of which request, which of its keys, and whether they are of
    another than its first page. Request by request, page by page, in order of key and time."""

    of: np.ndarray
    key: np.ndarray
    late: np.ndarray
    rows: Rows


def selected(asked: Sequence[Wanted], columns: Sequence[str] | None = None) -> Selected:
    """The rows that are asked for, of which some columns are read, or all of them. Raises
    Collision where a key's number is that of another."""
    every = [(i, rows, rows is not w.pages[0]) for i, w in enumerate(asked) for rows in w.pages]
    parts = [rows for _, rows, _ in every]
    of_page = np.array([i for i, _, _ in every])
    page, key, place = _places(asked, of_page, parts)
    late = np.array([late for _, _, late in every], np.bool_)[page]
    if len(place) == sum(len(rows) for rows in parts):
        return Selected(of_page[page], key, late, joined(parts))
    return Selected(of_page[page], key, late, _rows_at(parts, page, place, columns))


def _places(
    asked: Sequence[Wanted], of_page: np.ndarray, parts: list[Rows]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pages of rows, which of the keys they are of, and their places."""
    keys = [wanted for i in of_page if (wanted := asked[i].keys) is not None]
    if not keys:
        counts = np.ones(len(parts), np.int64)
        return spread(counts, 0 * counts, np.array([len(rows) for rows in parts]))
    ids, checks = (np.concatenate([getattr(k, name) for k in keys]) for name in ("ids", "checks"))
    counts = np.array([len(wanted.ids) for wanted in keys])
    begins = np.cumsum(counts) - counts
    first, stop = runs([rows.column(KEY) for rows in parts], ids, begins, counts)
    there = np.flatnonzero(stop > first)  # all rows of a page with one number are of one key
    page = np.repeat(np.arange(len(parts)), counts)[there]
    known = cells([rows.column(CHECK) for rows in parts], page, first[there])
    prove(known, checks[there], ids[there])
    if any(w.between is not None for w in asked):
        limits = [
            asked[i].between or (np.full(n, LEAST), np.full(n, MOST))
            for i, n in zip(of_page, counts, strict=True)
        ]
        least, most = (np.concatenate(side) for side in zip(*limits, strict=True))
        narrowed([rows.ticks for rows in parts], counts, (least, most), (first, stop))
    return spread(counts, first, stop)


def _rows_at(
    parts: list[Rows], page: np.ndarray, place: np.ndarray, names: Sequence[str] | None
) -> Rows:
    """Rows at places of pages, with some columns or all."""
    table = parts[0].table
    columns = {}
    for name in table.column_names if names is None else names:
        known = [rows.plain(name) for rows in parts]
        plain = [column for column in known if column is not None]
        if len(plain) == len(parts):
            made, kind = pa.array(cells(plain, page, place)), table.schema.field(name).type
            columns[name] = made if made.type == kind else made.view(kind)
        else:
            arrays = [one_array(rows.table.column(name)) for rows in parts]
            columns[name] = values_at(arrays, page, place)
    return Rows(pa.table(columns), parts[0].time)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    tables = pa.concat_tables([part.table for part in parts])
    return Rows(tables.combine_chunks(), parts[0].time)


def taken(rows: Rows, places: np.ndarray) -> Rows:
    """Some of the rows, in another order."""
    if len(places) == len(rows) and (np.diff(places) == 1).all():
        return rows
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
