"""Gathered: rows of some keys from all the pages that have them, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import changes, numbers, one_array
from sash.engine.pages import KEY, ROWS, Listing, Pages, places_of, rest_of
from sash.engine.table import key_codes
from sash.plan.definition import Query


class Gathered(NamedTuple):
    """Rows of some keys in order: where they are from, and where each key begins."""

    table: pa.Table
    times: np.ndarray
    page: np.ndarray
    place: np.ndarray
    begins: np.ndarray


@dataclass
class Reader:
    """Finds rows in pages, by key and time."""

    query: Query
    pages: Pages
    listing: Listing

    def keys_between(self, after: float, upto: float) -> np.ndarray:
        """The keys of the rows of these times: after the first, up to the second."""
        found = []
        for page in self.listing.pages:
            if page.youngest > after and page.oldest <= upto:
                keys, times = self.pages.keys(page), self.pages.times(page)
                found.append(keys[(times > after) & (times <= upto)])
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def gather(
        self, keys: np.ndarray | None, oldest: float, youngest: float, kind: str = ROWS
    ) -> Gathered:
        """The rows of some keys, or of all, from one time to another, in order."""
        tables, page_of, place_of = [], [], []
        for number, page in enumerate(self.listing.pages):
            if page.kind != kind or page.youngest < oldest or page.oldest > youngest:
                continue
            hashes = self.pages.keys(page)
            places = np.arange(len(hashes)) if keys is None else places_of(hashes, keys)
            if page.oldest < oldest or page.youngest > youngest:
                times = self.pages.times(page)[places]
                places = places[(times >= oldest) & (times <= youngest)]
            if len(places):
                table = self.pages.table(page.name)
                tables.append(table if len(places) == page.rows else table.take(places))
                page_of.append(np.full(len(places), number))
                place_of.append(places)
        if not tables:
            none = np.zeros(0, np.int64)
            return Gathered(pa.table({}), none, none, none, none)
        table = pa.concat_tables(tables).combine_chunks()
        return self._ordered(table, np.concatenate(page_of), np.concatenate(place_of))

    def _ordered(self, table: pa.Table, page: np.ndarray, place: np.ndarray) -> Gathered:
        hashes = numbers(one_array(table.column(KEY)))
        times = numbers(one_array(table.column(self.query.time)))
        order = by_key_and_time(hashes, times)
        if order is not None:
            table, hashes, times = table.take(order), hashes[order], times[order]
            page, place = page[order], place[order]
        columns = [one_array(table.column(name)) for name in self.query.by]
        differ = changes(columns) if columns else np.zeros(max(0, len(times) - 1), np.bool_)
        if (differ & (hashes[1:] == hashes[:-1])).any():  # two keys of one hash
            codes = [key_codes(column) for column in columns]
            order = np.lexsort([times, *reversed(codes), hashes])
            table, times, page, place = table.take(order), times[order], page[order], place[order]
            differ = changes([one_array(table.column(name)) for name in self.query.by])
        begins = np.append(0, 1 + np.flatnonzero(differ))
        return Gathered(table, times, page, place, begins)

    def rest(self, page: np.ndarray, place: np.ndarray) -> pa.Table:
        """The other columns of rows, from their pages."""
        order = np.argsort(page, kind="stable")
        numbers_, first = np.unique(page[order], return_index=True)
        parts = [
            self.pages.table(rest_of(self.listing.pages[number].name)).take(place[order[a:b]])
            for number, a, b in zip(numbers_, first, np.append(first[1:], len(order)), strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).combine_chunks().take(back)


def by_key_and_time(hashes: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """The order that sorts rows by hash and time, ties as they come; None: they are sorted."""
    back = hashes[1:] < hashes[:-1]
    if not back.any():
        order, at = None, times
    else:  # runs that are sorted are merged, not sorted again
        order = np.argsort(hashes, kind="stable")
        hashes, at = hashes[order], times[order]
    earlier = (at[1:] < at[:-1]) & (hashes[1:] == hashes[:-1])
    if not earlier.any():
        return order
    if order is None:
        return np.lexsort([times, hashes])
    within = np.lexsort([at, hashes])
    return order[within]


def sorted_rows(table: pa.Table, time: str) -> pa.Table:
    """Rows sorted by the hash of their key and by time, ties as they come."""
    keys, times = (numbers(one_array(table.column(name))) for name in (KEY, time))
    order = by_key_and_time(keys, times)
    return table if order is None else table.take(order)
