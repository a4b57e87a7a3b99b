"""Cells of many pages, copied at once: a call per page and column costs more than it copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.stream.lookups import Column, Found, addresses, loop, memory_of
from sash.kernel.words import Int64, Memory, attach
from sash.kernel.words import numbers as integers


class Copied(NamedTuple):
    """The columns of `copy_columns`: those of each page as addresses, the page of each cell and
    its place there, and the cells, column by column."""

    column: Int64
    page: Int64
    place: Int64
    out: Int64
    held: int


def copy_columns(memory: Memory, at: Found, n: int, columns: int) -> Found:
    """Copy cells of 8 bytes of all columns of pages."""
    q = attach(memory)
    for i in range(n):
        page, place = q.page[i] * columns, q.place[i]
        for column in range(columns):
            q.out[column * n + i] = integers(q.column[page + column])[place]
    return Found(n)


class Numbers(NamedTuple):
    """The columns of a page that are copied together, and where they begin in memory."""

    columns: list[Column]
    addresses: np.ndarray

    @staticmethod
    def of(arrays: Sequence[np.ndarray]) -> Numbers:
        columns = [Column.of(array) for array in arrays]
        return Numbers(columns, addresses(columns))


def copied(pages: Sequence[Numbers], page: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
    """The cells at places of pages, of all columns."""
    kinds = [column.array.dtype for column in pages[0].columns]
    if any(kind.itemsize != 8 for kind in kinds):
        columns = zip(*(each.columns for each in pages), strict=True)
        return [cells(column, page, place) for column in columns]
    return copied_from(np.concatenate([each.addresses for each in pages]), kinds, page, place)


def copied_from(
    begin: np.ndarray, kinds: Sequence[np.dtype], page: np.ndarray, place: np.ndarray
) -> list[np.ndarray]:
    """The cells at places of pages, by where their columns of 8 bytes begin, page by page."""
    out = np.empty((len(kinds), len(page)), np.int64)
    given = (np.ascontiguousarray(begin), page, place, out)
    loop(copy_columns, Copied)(memory_of(given), Found(0), len(page), len(kinds))
    return [column.view(kind) for column, kind in zip(out, kinds, strict=True)]


def cells(columns: Sequence[Column], page: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The cells at places of pages, of a column of each page: those of 8 bytes in one pass."""
    kind = columns[0].array.dtype
    if kind.itemsize == 8:
        return copied_from(addresses(columns), [kind], page, place)[0]
    out = np.empty(len(page), kind)
    for number in np.unique(page):
        here = page == number
        out[here] = columns[number].array[place[here]]
    return out


def values_at(arrays: Sequence[pa.Array], page: np.ndarray, place: np.ndarray) -> pa.Array:
    """The values at places of pages: of page after page, then in their order."""
    if not len(page):
        return arrays[0].slice(0, 0)
    order = np.argsort(page, kind="stable")
    begins = np.flatnonzero(np.diff(page[order], prepend=-1))
    parts = [
        arrays[page[order[begin]]].take(pa.array(place[order[begin:stop]]))
        for begin, stop in zip(begins, np.append(begins[1:], len(order)), strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))
