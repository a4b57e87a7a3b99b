"""Upkeep: what a shard's pages no longer need goes, and many small pages become few."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.gathered import Gathered, Reader, sorted_rows
from sash.engine.live import Live
from sash.engine.pages import KEY, ROWS, SLICES, Listing, Page, Pages, runs
from sash.engine.rows import HELD
from sash.plan.plan import plan_of

SMALL = (16 << 10, 128 << 10)
FEW = 8
"""Eight pages of a size become one: a row is written again twice at most."""


@dataclass
class Upkeep:
    """Looks after the pages of a shard."""

    live: Live
    pages: Pages
    listing: Listing

    def run(self, now: float | None) -> None:
        """After a batch, at its watermark."""
        self.expire(now)
        self.merge()
        self.sweep(now)

    def expire(self, now: float | None) -> None:
        """Drop the pages that no later row can reach, and the rest of those that are answered."""
        if now is None:
            return
        live, kept = self.live, []
        for page in self.listing.pages:
            if page.youngest <= now - live.ahead - live.behind:
                self.pages.drop(page)
            elif page.rest and page.youngest <= now - live.ahead and not live.rows_ahead:
                self.pages.drop_rest(page)
                kept.append(replace(page, rest=0))
            else:
                kept.append(page)
        self.listing.pages = kept

    def merge(self) -> None:
        """Make one page of several small ones whose rows have all been answered."""
        for limit in SMALL:
            pages = self.listing.pages
            kind = ROWS if self.live.slices is None else SLICES
            start = runs((p.kind == kind and not p.rest and p.size <= limit for p in pages), FEW)
            if start is not None:
                few = [self.pages.table(page.name) for page in pages[start : start + FEW]]
                self._rewrite(start, start + FEW, few)

    def _rewrite(self, start: int, stop: int, tables: list[pa.Table]) -> None:
        """Write rows in the place of neighbouring pages."""
        pages = self.listing.pages[start:stop]
        table = pa.concat_tables(tables).combine_chunks()
        new = self.pages.add(sorted_rows(table, self.live.query.time), kind=pages[0].kind)
        for page in pages:
            self.pages.drop(page)
        self.listing.pages[start:stop] = new

    def sweep(self, now: float | None) -> None:
        """Where time does not say what can go: write pages anew once half of their rows could."""
        live, total = self.live, self.listing.rows
        if live.behind < math.inf or now is None or total < 2 * self.listing.kept + live.slack:
            return
        rows = Reader(live.query, self.pages, self.listing).gather(None, -math.inf, now)
        if not len(rows.times):
            return
        settled = (
            rows.times <= now if live.emit == "arrival" else live.due(rows.times, rows.begins, now)
        )
        for page in self._open_pages_done(rows, settled):
            self.pages.drop_rest(page)
        closed = np.array([not page.rest for page in self.listing.pages])
        settled = leading(settled & closed[rows.page], rows.begins)
        table = rows.table.drop_columns([KEY])
        first = row_windows.first_reached(plan_of(live.query, table.schema), table)
        dead = unreachable(first, settled, rows.begins)
        keep = [np.ones(page.rows, np.bool_) for page in self.listing.pages]
        hold = [np.zeros(page.rows, np.bool_) for page in self.listing.pages]
        for number in np.unique(rows.page):
            here = rows.page == number
            keep[number][rows.place[here & dead]] = False
            hold[number][rows.place[here & settled]] = True
        self._rewrite_closed(keep, hold)
        self.listing.kept = self.listing.rows

    def _open_pages_done(self, rows: Gathered, settled: np.ndarray) -> list[Page]:
        """Pages with a rest, all of whose rows have been answered; they are marked so."""
        answered = np.bincount(rows.page[settled], minlength=len(self.listing.pages))
        found = []
        for number, page in enumerate(self.listing.pages):
            if page.rest and answered[number] == page.rows:
                found.append(page)
                self.listing.pages[number] = replace(page, rest=0)
        return found

    def _rewrite_closed(self, keep: list[np.ndarray], hold: list[np.ndarray]) -> None:
        stop = len(self.listing.pages)
        while stop > 0:  # from the end, so that numbers before it stay as they are
            if self.listing.pages[stop - 1].rest:
                stop -= 1
                continue
            start = stop - 1
            while start > 0 and not self.listing.pages[start - 1].rest:
                start -= 1
            tables = []
            for number in range(start, stop):
                table = self.pages.table(self.listing.pages[number].name)
                if self.live.holds:
                    place = table.column_names.index(HELD)
                    table = table.set_column(place, HELD, pa.array(hold[number]))
                tables.append(table.filter(pa.array(keep[number])))
            self._rewrite(start, stop, tables)
            stop = start


def leading(flags: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The rows of each key before the first one whose flag is not set."""
    n = len(flags)
    places = np.arange(n)
    stop = np.minimum.reduceat(np.where(flags, n, places), begins)
    return places < np.repeat(stop, np.diff(np.append(begins, n)))


def unreachable(first: np.ndarray, settled: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The rows before the first one that the window of a key's last settled row reaches."""
    n = len(first)
    lengths = np.diff(np.append(begins, n))
    counts = np.add.reduceat(settled, begins)
    last = np.maximum(begins, begins + counts - 1)
    floor = np.where(counts > 0, first[last], begins)
    return np.arange(n) < np.repeat(floor, lengths)
