"""Blocks: partials of neighbouring rows of a page, so that an end of a window reads a few of them.

Rows of a page are in order of key and time, so those of a key between two times are neighbours.
Aligned blocks of 8, 64, 512, … rows cover them: at most 14 of each size, and the rows at both ends.

Cost    a page of n rows: 8/7 n combines, once; rows between two times: O(log n) blocks and rows.
Space   n/7 partials per state. They are an index of a page, which never changes: they are kept
        as long as the page, of 256 pages at most, and are no part of the state.
Order   blocks and rows come in order of time, so the order of rows may matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fold import Groups
from sash.engine.stream.cells import Numbers
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import Found, first_from, loop, memory_of
from sash.engine.stream.maps import numbers_of
from sash.engine.stream.partials import PartialState
from sash.kernel.words import Int64, Memory, attach
from sash.kernel.words import numbers as integers

FANOUT = 8
"""Rows of the smallest block, and blocks of the next larger one; a power of two."""

WORTH = 8
"""Blocks are built once one of so many rows of a page was read: reading a row takes about as long
as building the blocks of that many."""

WIDEST = 128
"""Bytes of a partial at most: blocks of larger ones are not kept."""


class Blocks(NamedTuple):
    """The blocks of a page: for each state its items, the smallest blocks first, and the
    numbers of all items as columns."""

    items: list[Items]
    numbers: Numbers


def are_small(states: Sequence[PartialState]) -> bool:
    """Whether the partials of states are so small that blocks of rows are worth their memory."""
    return bool(states) and all((s.width or WIDEST + 1) <= WIDEST for s in states)


def blocks_of(states: Sequence[PartialState], table: pa.Table, ids: np.ndarray) -> Blocks:
    """The blocks of rows in order of key.

    A block with rows of several keys is never read; it has the first of its parts only, since
    combining different keys may overflow.
    """
    size, width = len(ids), 1
    found: list[list[Items]] = []
    while size >= FANOUT or not found:
        size, width = size // FANOUT, width * FANOUT
        first = np.arange(size) * width
        whole = ids[first] == ids[first + width - 1]
        if found and not whole.any():
            break
        begins = np.arange(0, size * FANOUT, FANOUT)
        groups = Groups(begins, begins + np.where(whole, FANOUT, 1))
        if found:
            both = zip(states, found[-1], strict=True)
            found.append([state.fold_groups(items, groups) for state, items in both])
        else:
            found.append([state.fold_rows(table, groups) for state in states])
    items = [Items.concat(each) for each in zip(*found, strict=True)]
    return Blocks(items, numbers_of(items))


class Cuts(NamedTuple):
    """Where runs of rows are cut: how many cuts each run has; and of each cut between which
    times, the second not included, rows are read one by one; see `sortable`."""

    counts: np.ndarray
    least: np.ndarray
    most: np.ndarray


class Runs(NamedTuple):
    """Runs of rows of pages, page by page; see `find_runs`. `folded`: which pages have blocks."""

    counts: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    folded: np.ndarray


class Cover(NamedTuple):
    """What covers runs, in order: its page, which of the page's runs, its first row, and which
    block it is, or less than 0 for a row."""

    page: np.ndarray
    key: np.ndarray
    place: np.ndarray
    block: np.ndarray


class Covered(NamedTuple):
    """The columns of `cover_runs`: per page its times, as addresses, its rows, its runs, and
    whether it has blocks; runs; cuts; and what covers the runs."""

    times: Int64
    size: Int64
    count: Int64
    folded: Int64
    first: Int64
    stop: Int64
    cut: Int64
    least: Int64
    most: Int64
    page: Int64
    key: Int64
    place: Int64
    block: Int64
    held: int


def cover_runs(memory: Memory, at: Found, pages: int, bits: int) -> Found:
    """The fewest blocks and rows that cover runs, none of them on both sides of a cut; blocks of
    2^bits rows, of 2^2bits rows and so on."""
    q = attach(memory)
    run = done = 0
    for page in range(pages):
        times, size = integers(q.times[page]), q.size[page]
        for key in range(q.count[page]):
            place, stop, cut = q.first[run], q.stop[run], q.cut[run]
            while place < stop:
                until = after = stop
                if q.folded[page] == 0:
                    until = place
                elif cut < q.cut[run + 1]:
                    until = first_from(times, place, stop, q.least[cut])
                    after = first_from(times, until, stop, q.most[cut])
                    cut += 1
                while place < after:
                    width, begin, count = 0, -1 - place, 0  # of rows, as a power of two
                    larger = 1 << bits
                    while place & (larger - 1) == 0 and place + larger <= until:
                        begin = 0 if width == 0 else begin + count
                        width += bits
                        count = size >> width
                        larger <<= bits
                    q.page[done] = page
                    q.key[done] = key
                    q.place[done] = place
                    q.block[done] = begin + (place >> width)
                    done += 1
                    place += 1 << width
            run += 1
    return Found(done)


def covered(times: np.ndarray, sizes: np.ndarray, runs: Runs, cuts: Cuts) -> Cover:
    """What covers runs of pages, which are in order of time. `times`: where those of each page
    begin in memory; `sizes`: how many rows it has."""
    most = int((runs.stop - runs.first).sum())
    made = Cover(*(np.empty(most, np.int64) for _ in Cover._fields))
    begins = np.append(0, np.cumsum(cuts.counts))
    given = (
        np.ascontiguousarray(times), sizes, runs.counts, runs.folded.astype(np.int64),
        runs.first, runs.stop, begins, *cuts[1:], *made,
    )  # fmt: skip
    bits = FANOUT.bit_length() - 1
    done = loop(cover_runs, Covered)(memory_of(given), Found(0), len(times), bits)
    n = int(done[0])
    return Cover(*(each[:n] for each in made))
