"""Lookups in many pages at once: where keys are, what stands there, and rows merged by time.

A batch may ask for some keys of dozens of pages: of the nodes of a middle, of the bulks that late
rows come into. A call per page costs more than what it finds, so a pass takes all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.engine.frames import time_target
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, Partials, attach, get
from sash.kernel.words import numbers as integers

INT64 = np.dtype(np.int64)


class Found(NamedTuple):
    """Where a pass has got to."""

    done: int


class Asked(NamedTuple):
    """The columns of `find_runs`: per page its sorted numbers and those that are asked
    for, as addresses and counts; per number that is asked for where its run begins and ends."""

    ids: Int64
    size: Int64
    wanted: Int64
    count: Int64
    first: Int64
    stop: Int64
    held: int


class Between(NamedTuple):
    """The columns of `narrow_runs`: per page its times, as addresses; per number its first
    and last time, and its run of rows in order of time."""

    times: Int64
    count: Int64
    least: Int64
    most: Int64
    first: Int64
    stop: Int64
    held: int


class Spread(NamedTuple):
    """The columns of `spread_runs`: runs, and of each of their rows the page, which of the
    page's numbers it has, and its place."""

    count: Int64
    first: Int64
    stop: Int64
    page: Int64
    key: Int64
    place: Int64
    held: int


class Sides(NamedTuple):
    """The columns of `merge_sides`: codes, numbers and times of both sides, their order."""

    time: Partials
    code: Int64
    id: Int64
    order: Int64
    held: int


def find_runs(memory: Memory, at: Found, pages: int) -> Found:
    """Where each number that is asked for begins and ends among a page's, all of them sorted."""
    q = attach(memory)
    done = 0
    for page in range(pages):
        ids, wanted, n = integers(q.ids[page]), integers(q.wanted[page]), q.size[page]
        low = 0
        for i in range(q.count[page]):
            low = first_from(ids, low, n, wanted[i])
            q.first[done] = low
            if low < n and ids[low] == wanted[i]:
                low = first_from(ids, low + 1, n, wanted[i] + 1)
            q.stop[done] = low
            done += 1
    return Found(done)


def narrow_runs(memory: Memory, at: Found, pages: int) -> Found:
    """Let runs be of the rows between two times, both included."""
    q = attach(memory)
    done = 0
    for page in range(pages):
        times = integers(q.times[page])
        for _ in range(q.count[page]):
            if q.first[done] < q.stop[done]:
                q.first[done] = first_from(times, q.first[done], q.stop[done], q.least[done])
                q.stop[done] = first_from(times, q.first[done], q.stop[done], q.most[done] + 1)
            done += 1
    return Found(done)


def spread_runs(memory: Memory, at: Found, pages: int) -> Found:
    """The page, the number and the place of each row of runs."""
    q = attach(memory)
    done = rows = 0
    for page in range(pages):
        for key in range(q.count[page]):
            for place in range(q.first[done], q.stop[done]):
                q.page[rows] = page
                q.key[rows] = key
                q.place[rows] = place
                rows += 1
            done += 1
    return Found(rows)


def first_from(ids: Any, low: int, n: int, wanted: int) -> int:
    """The first place from `low` on whose number is not smaller, in steps that double."""
    step, high = 1, low
    while high < n and ids[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def merge_sides(memory: Memory, at: Found, many: int, few: int) -> Found:
    """Merge two sides, each in order of code, number and time; of equals the first side's first."""
    q = attach(memory)
    i, j = 0, many
    for k in range(many + few):
        take = j == many + few
        if not take and i < many:
            take = q.code[i] < q.code[j]
            if q.code[i] == q.code[j]:
                take = q.id[i] < q.id[j]
                if q.id[i] == q.id[j]:
                    take = get(q.time, i) <= get(q.time, j)
        if take:
            q.order[k] = i
            i += 1
        else:
            q.order[k] = j
            j += 1
    return Found(many + few)


@functools.cache
def loop(driver: Callable[..., Any], store: type, dtype: np.dtype = INT64) -> Any:
    """A compiled pass."""
    return compiled(driver, time_target(dtype, Found, store)).run


class Column(NamedTuple):
    """Numbers of a page, and where they begin in memory: that is looked up once."""

    array: np.ndarray
    address: int

    @staticmethod
    def of(array: np.ndarray) -> Column:
        array = np.ascontiguousarray(array)
        return Column(array, array.ctypes.data)

    def slice(self, first: int, stop: int) -> Column:
        """Neighbouring numbers; nothing is copied."""
        if stop - first == len(self.array):
            return self
        return Column(self.array[first:stop], self.address + first * self.array.itemsize)


def addresses(columns: Sequence[Column]) -> np.ndarray:
    """Where columns begin."""
    return np.array([column.address for column in columns], np.int64)


def runs(
    ids: np.ndarray, sizes: np.ndarray, wanted: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where numbers that are wanted of pages begin and end in them, page by page. `ids`: where
    those of each page begin in memory."""
    first, stop = (np.empty(len(wanted), np.int64) for _ in range(2))
    where = wanted.ctypes.data + (np.cumsum(counts) - counts) * wanted.itemsize
    given = (np.ascontiguousarray(ids), sizes, where, counts, first, stop)
    loop(find_runs, Asked)(memory_of(given), Found(0), len(ids))
    return first, stop


def narrowed(
    times: np.ndarray, counts: np.ndarray, between: tuple[np.ndarray, np.ndarray],
    run: tuple[np.ndarray, np.ndarray],
) -> None:  # fmt: skip
    """Let runs in order of time be of the rows between two times; see `sortable`. `times`: where
    those of each page begin in memory."""
    given = (np.ascontiguousarray(times), counts, *between, *run)
    loop(narrow_runs, Between)(memory_of(given), Found(0), len(times))


def spread(
    counts: np.ndarray, first: np.ndarray, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The page, the number and the place of each row of runs; pages have `counts` runs."""
    rows = int((stop - first).sum())
    page, key, place = (np.empty(rows, np.int64) for _ in range(3))
    given = (counts, first, stop, page, key, place)
    loop(spread_runs, Spread)(memory_of(given), Found(0), len(counts))
    return page, key, place


LEAST, MOST = -(1 << 63), (1 << 63) - 2
"""All times are between them; so is the one after a time."""


def sortable(times: np.ndarray) -> np.ndarray:
    """Times as integers of the same order."""
    if times.dtype.kind != "f":
        return times.astype(np.int64, copy=False)
    bits = (times.astype(np.float64, copy=False) + 0.0).view(np.int64)  # one zero, not two
    return bits ^ ((bits >> 63) & MOST + 1)


def merged_order(codes: np.ndarray, ids: np.ndarray, times: np.ndarray, many: int) -> np.ndarray:
    """The order that merges the first `many` rows and the others, both in order of code, number
    and time; of equals the first ones come first."""
    order = np.empty(len(codes), np.int64)
    times, codes, ids = (np.ascontiguousarray(each) for each in (times, codes, ids))
    given = (times.ctypes.data, -1, *memory_of((codes, ids, order)))
    loop(merge_sides, Sides, times.dtype)(given, Found(0), many, len(codes) - many)
    return order


def memory_of(arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Arrays as the store of a pass."""
    return (*(number for a in arrays for number in (a.ctypes.data, 0)), 0)
