"""Rows that are asked for: some keys of many pages, looked up at once, or blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sash.engine.stream.blocks import WORTH, Blocks, Cover, Cuts, Runs, covered
from sash.engine.stream.bulk_rows import Rows, joined, rows_at
from sash.engine.stream.cells import cells, copied_from
from sash.engine.stream.items import Items
from sash.engine.stream.lookups import LEAST, MOST, narrowed, runs, spread
from sash.engine.stream.maps import KeyMap, items_at
from sash.engine.stream.sorted_keys import prove, ranges


class Wanted(NamedTuple):
    """Rows that are asked for: of pages, the first of which has most, of some keys or of all.

    `between`: the first and the last time of each key, where not all of its rows are wanted;
    see `sortable`. `cuts`: between the cuts of each key, blocks of rows do as well as rows.
    `late`: also the first page is not in order of time with other requests.
    """

    pages: Sequence[Rows]
    keys: KeyMap | None
    between: tuple[np.ndarray, np.ndarray] | None = None
    cuts: Cuts | None = None
    late: bool = False


class InBlocks(NamedTuple):
    """Finds some of which are blocks of rows: their times, where the item of each is if those of
    rows are followed by those of blocks, and the items of blocks."""

    times: np.ndarray
    places: np.ndarray
    items: list[Items]


class Selected(NamedTuple):
    """Rows that were found: of which request, which of its keys, and whether they are of
    another than its first page. Request by request, page by page, in order of key and time.
    Where blocks stand for rows, these are among the finds, and `rows` has the others."""

    of: np.ndarray
    key: np.ndarray
    late: np.ndarray
    rows: Rows
    folded: InBlocks | None = None

    @property
    def times(self) -> np.ndarray:
        """The times of finds; of a block that of its first row."""
        return self.rows.times if self.folded is None else self.folded.times


class Folding(NamedTuple):
    """How the rows of a page become blocks, and whether their order matters."""

    blocks: Callable[[Rows], Blocks]
    ordered: bool


def selected(
    asked: Sequence[Wanted], columns: Sequence[str] | None = None, folding: Folding | None = None
) -> Selected:
    """The rows that are asked for, of which some columns are read, or all of them. Raises
    Collision where a key's number is that of another."""
    parts = [rows for wanted in asked for rows in wanted.pages]
    sizes = [len(wanted.pages) for wanted in asked]
    of_page = np.arange(len(asked)).repeat(sizes)
    late = np.append(False, of_page[1:] == of_page[:-1])
    late |= np.array([wanted.late for wanted in asked])[of_page]
    heads = np.zeros((len(parts), 3), np.int64)  # all rows need no lookup
    if any(wanted.keys is not None for wanted in asked):
        heads = np.concatenate([rows.head for rows in parts]).reshape(-1, 3)
    pages = ReadPages(parts, of_page, heads, np.array([len(rows) for rows in parts]))
    runs = _runs(asked, pages)
    if folding is not None and any(w.cuts is not None for w in asked):
        runs = runs._replace(folded=_folded(asked, pages, runs, folding))
    if runs.folded.any():
        assert folding is not None
        cuts = _cuts(asked, pages, runs, folding.ordered)
        cover = covered(heads[:, 2], pages.sizes, runs, cuts)
        found = _in_blocks(parts, cover, columns)
        return Selected(of_page[cover.page], cover.key, late[cover.page], *found)
    page, key, place = spread(*runs[:3])
    if len(place) == pages.sizes.sum():
        return Selected(of_page[page], key, late[page], joined(parts))
    return Selected(of_page[page], key, late[page], rows_at(parts, page, place, columns))


class ReadPages(NamedTuple):
    """The pages of requests, the request of each, where its columns begin (see `Rows.head`), and
    its rows."""

    parts: list[Rows]
    of: np.ndarray
    heads: np.ndarray
    sizes: np.ndarray


def _runs(asked: Sequence[Wanted], pages: ReadPages) -> Runs:
    """The runs of rows of each page's keys, or of all of its rows."""
    n = len(pages.parts)
    keys = [wanted for i in pages.of.tolist() if (wanted := asked[i].keys) is not None]
    none = np.zeros(n, np.bool_)
    if not keys:
        counts = np.ones(n, np.int64)
        return Runs(counts, 0 * counts, pages.sizes, none)
    ids, checks = (np.concatenate([getattr(k, name) for k in keys]) for name in ("ids", "checks"))
    counts = np.array([len(wanted.ids) for wanted in keys])
    first, stop = runs(pages.heads[:, 0], pages.sizes, ids, counts)
    there = (stop > first).nonzero()[0]  # all rows of a page with one number are of one key
    page = np.arange(n).repeat(counts)[there]
    known = copied_from(pages.heads[:, 1], [checks.dtype], page, first[there])[0]
    prove(known, checks[there], ids[there])
    if any(w.between is not None for w in asked):
        limits = [
            asked[i].between or (np.full(n, LEAST), np.full(n, MOST))
            for i, n in zip(pages.of.tolist(), counts.tolist(), strict=True)
        ]
        least, most = (np.concatenate(side) for side in zip(*limits, strict=True))
        narrowed(pages.heads[:, 2], counts, (least, most), (first, stop))
    return Runs(counts, first, stop, none)


def _folded(asked: Sequence[Wanted], pages: ReadPages, runs: Runs, folding: Folding) -> np.ndarray:
    """Which pages have blocks that are asked for; they are built where that is worth it."""
    folded = np.zeros(len(pages.parts), np.bool_)
    total = np.append(0, np.cumsum(runs.stop - runs.first))
    ends = np.append(0, np.cumsum(runs.counts))
    wanted = np.diff(total[ends]).tolist()
    for page, (i, rows) in enumerate(zip(pages.of.tolist(), pages.parts, strict=True)):
        if asked[i].cuts is None or rows is not asked[i].pages[0]:
            continue
        rows.asked += wanted[page]
        if rows.blocks is None and rows.asked * WORTH >= len(rows) > 0:
            rows.blocks = folding.blocks(rows)
        folded[page] = rows.blocks is not None
    return folded


def _cuts(asked: Sequence[Wanted], pages: ReadPages, runs: Runs, ordered: bool) -> Cuts:
    """The cuts of all runs; where the order of rows matters, also where there are late rows."""
    known = [cuts for i in pages.of[runs.folded].tolist() if (cuts := asked[i].cuts) is not None]
    per_run = np.zeros(len(runs.first), np.int64)
    here = np.repeat(runs.folded, runs.counts)
    per_run[here], least, most = (np.concatenate(side) for side in zip(*known, strict=True))
    if ordered:
        begins = np.cumsum(runs.counts) - runs.counts
        of_run = np.repeat(np.arange(len(pages.of)), runs.counts)
        first_page = np.searchsorted(pages.of, pages.of)  # of the request
        late = np.flatnonzero((runs.folded[first_page] & ~runs.folded)[of_run])
        late = late[runs.stop[late] > runs.first[late]]
        counts = (runs.stop - runs.first)[late]
        page = np.repeat(of_run[late], counts)
        place = ranges(runs.first[late], counts)
        after = copied_from(pages.heads[:, 2], [place.dtype], page, place)[0] + 1
        run = (late - begins[of_run[late]] + begins[first_page[of_run[late]]]).repeat(counts)
        both = np.append(np.repeat(np.arange(len(per_run)), per_run), run)
        least, most = np.append(least, after), np.append(most, after)
        order = np.lexsort([least, both])
        least, most = least[order], most[order]
        per_run += np.bincount(run, minlength=len(per_run))
    return Cuts(per_run, least, most)


def _in_blocks(
    parts: list[Rows], cover: Cover, names: Sequence[str] | None
) -> tuple[Rows, InBlocks]:
    """The rows of a cover, and where they and its blocks are."""
    single, many = np.flatnonzero(cover.block < 0), np.flatnonzero(cover.block >= 0)
    rows = rows_at(parts, cover.page[single], cover.place[single], names)
    used = [i for i, part in enumerate(parts) if part.blocks is not None]
    number = np.zeros(len(parts), np.int64)
    number[used] = np.arange(len(used))
    blocks = [blocks for i in used if (blocks := parts[i].blocks) is not None]
    items = items_at(
        [each.items for each in blocks], [each.numbers for each in blocks],
        number[cover.page[many]], cover.block[many],
    )  # fmt: skip
    time = (parts[0].time,)
    begins = [begin for part in parts if (begin := part.where(time)) is not None]
    if len(begins) == len(parts):
        kind = parts[0].times.dtype
        times = copied_from(np.concatenate(begins), [kind], cover.page, cover.place)[0]
    else:
        times = cells([part.column(part.time) for part in parts], cover.page, cover.place)
    places = np.empty(len(times), np.int64)
    places[single] = np.arange(len(single))
    places[many] = np.arange(len(single), len(times))
    return rows, InBlocks(times, places, items)
