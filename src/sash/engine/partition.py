"""Partition: the loops that bring the rows of each code together and sort them.

A counting sort in parts that run side by side: each part counts its rows of every code,
which says where its first row of each goes, and then places its rows. Rows of one code, a
run, keep their order. Where that is not the order of time, each run is sorted by radix, in
the processor's cache. `arrangement.py` runs these loops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import Int32, Int64, Memory, Partials, attach, get, prefetch, put, straight
from sash.monoids.monoid import Monoid, same


class Rows(NamedTuple):
    """The columns that `count` and `place` read and write."""

    codes: Int64
    next: Int64  # for each code, where the next row of it goes
    ranks: Int32  # where each row goes
    held: int


class WideRows(NamedTuple):
    """The same for more rows than 32 bits can number."""

    codes: Int64
    next: Int64
    ranks: Int64
    held: int


def count(memory: Memory, begin: int, end: int) -> int:
    """Count the rows of each code."""
    q = attach(memory)
    for i in range(begin, end):
        q.next[q.codes[i]] += 1
    return 0


def place(memory: Memory, begin: int, end: int) -> int:
    """Say where each row goes."""
    q = attach(memory)
    for i in range(begin, end):
        code = q.codes[i]
        rank = q.next[code]
        q.ranks[i] = rank
        q.next[code] = rank + 1
    return 0


class Counts(NamedTuple):
    """What `begin_codes` reads and writes: for each part, its rows of each code."""

    counts: Int64
    held: int


def begin_codes(memory: Memory, size: int, parts: int) -> int:
    """Turn counts into where the first row of each code of each part goes."""
    q = attach(memory)
    row = 0
    for code in range(size):
        for i in range(code, parts * size, size):
            n = q.counts[i]
            q.counts[i] = row
            row += n
    return row


class Cells(NamedTuple):
    """The columns that `scatter` and `gather` read and write."""

    source: Partials
    to: Partials
    places: Int32
    held: int


class WideCells(NamedTuple):
    """The same for more rows than 32 bits can number."""

    source: Partials
    to: Partials
    places: Int64
    held: int


AHEAD = 32
"""Rows ahead of the one that is moved, whose place is asked for: writing does not wait for it."""


def scatter(memory: Memory, begin: int, end: int) -> int:
    """Row i goes to its place."""
    q = attach(memory)
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(q.to, q.places[i + AHEAD])
        put(q.to, q.places[i], get(q.source, i))
    return 0


def gather(memory: Memory, begin: int, end: int) -> int:
    """Row i comes from its place."""
    q = attach(memory)
    for i in range(begin, end):
        put(q.to, i, get(q.source, q.places[i]))
    return 0


class Pairs(NamedTuple):
    """The columns of sorting: pairs of a value, which is a time from 0 on, and a row.

    A pair lies in one place, so that bringing it there costs one access and not two.
    """

    times: Int64
    codes: Int64
    next: Int64
    pairs: Int64
    spare: Int64  # as long as the longest run
    begins: Int64  # where each run begins, and where the last one ends
    counts: Int64  # of the values of each digit
    held: int


def fine_code(q: Any, i: int, keyed: int, more: int, rest: int, zero: int) -> int:
    """A row's code and the first `more` bits of its value, of which `rest` are left."""
    fine = ((q.times[i] - zero) >> rest) & ((1 << more) - 1)
    return fine + (q.codes[i] << more) if keyed else fine


def count_fine(
    memory: Memory, begin: int, end: int, keyed: int, more: int, rest: int, zero: int
) -> int:
    """Count the rows of each fine code."""
    q = attach(memory)
    for i in range(begin, end):
        q.next[fine_code(q, i, keyed, more, rest, zero)] += 1
    return 0


def place_pairs(
    memory: Memory, begin: int, end: int, keyed: int, more: int, rest: int, zero: int
) -> int:
    """Bring each row's value and number to the run of its fine code."""
    q = attach(memory)
    for i in range(begin, end):
        if i + AHEAD < end:
            code = fine_code(q, i + AHEAD, keyed, more, rest, zero)
            prefetch(q.pairs, 2 * q.next[code])
        code = fine_code(q, i, keyed, more, rest, zero)
        rank = q.next[code]
        q.next[code] = rank + 1
        q.pairs[2 * rank], q.pairs[2 * rank + 1] = q.times[i] - zero, i
    return 0


SHORT = 24
"""Runs of up to this many rows are sorted by insertion."""


def sort_runs(memory: Memory, begin: int, end: int, digits: int, width: int) -> int:
    """Sort each of some runs by its values of that many digits, each `width` bits wide."""
    q = attach(memory)
    for run in range(begin, end):
        first, stop = q.begins[run], q.begins[run + 1]
        if stop - first <= SHORT:
            insertion_sort(q.pairs, first, stop)
        else:
            radix_sort(q, first, stop - first, digits, width)
    return 0


def insertion_sort(pairs: Any, first: int, stop: int) -> None:
    """Sort a few rows."""
    for i in range(first + 1, stop):
        value, row = pairs[2 * i], pairs[2 * i + 1]
        j = i
        while j > first and pairs[2 * j - 2] > value:
            pairs[2 * j], pairs[2 * j + 1] = pairs[2 * j - 2], pairs[2 * j - 1]
            j -= 1
        pairs[2 * j], pairs[2 * j + 1] = value, row


def radix_sort(q: Any, first: int, n: int, digits: int, width: int) -> None:
    """Sort the n rows from `first` on by one digit after the other, from the last one on."""
    count_digits(q, first, n, digits, width)
    source, to, mask, moved = q.pairs, q.spare, (1 << width) - 1, False
    at, to_at = 2 * first, 0
    for digit in range(digits):
        shift, base = digit * width, digit << width
        if begin_digits(q, base, mask, (source[at] >> shift) & mask, n):
            for i in range(n):
                value = source[at + 2 * i]
                place = base + ((value >> shift) & mask)
                j = q.counts[place]
                q.counts[place] = j + 1
                to[to_at + 2 * j], to[to_at + 2 * j + 1] = value, source[at + 2 * i + 1]
            source, to, at, to_at, moved = to, source, to_at, at, not moved
    if moved:
        for i in range(2 * n):
            to[to_at + i] = source[at + i]


def count_digits(q: Any, first: int, n: int, digits: int, width: int) -> None:
    """How many rows have each value of each digit, in one go."""
    for d in range(digits << width):
        q.counts[d] = 0
    mask = (1 << width) - 1
    for i in range(first, first + n):
        value = q.pairs[2 * i]
        for digit in range(digits):
            q.counts[(digit << width) + ((value >> (digit * width)) & mask)] += 1


def begin_digits(q: Any, base: int, mask: int, one: int, n: int) -> bool:
    """Where the rows of each value of a digit begin; False if all n have the same one."""
    if q.counts[base + one] == n:
        return False
    start = 0
    for d in range(base, base + mask + 1):
        count = q.counts[d]
        q.counts[d] = start
        start += count
    return True


class Sorted(NamedTuple):
    """The columns that `unpair` reads and writes."""

    pairs: Int64
    rows: Int32
    times: Int64
    held: int


class WideSorted(NamedTuple):
    """The same for more rows than 32 bits can number."""

    pairs: Int64
    rows: Int64
    times: Int64
    held: int


def unpair(memory: Memory, begin: int, end: int, zero: int) -> int:
    """Sorted pairs as rows and times."""
    q = attach(memory)
    for i in range(begin, end):
        q.rows[i] = q.pairs[2 * i + 1]
        q.times[i] = q.pairs[2 * i] + zero
    return 0


class Steps(NamedTuple):
    """The columns that `disorder` reads."""

    time: Partials
    codes: Int64
    held: int


def disorder(memory: Memory, begin: int, end: int) -> tuple[int, int]:
    """How many of rows `begin` to `end` - 1 come before the row before them: in order of code
    and time, and in order of time alone."""
    q = attach(memory)
    by_both, by_time = 0, 0
    for i in range(begin, end):
        earlier = int(get(q.time, i) < get(q.time, i - 1))
        by_time += earlier
        code, before = q.codes[i], q.codes[i - 1]
        by_both += int(code < before) | (int(code == before) & earlier)
    return by_both, by_time


def goes_back(memory: Memory, begin: int, end: int) -> tuple[int, int]:
    """As `disorder`, of rows that have no code: both are in order of time."""
    q = attach(memory)
    times, earlier = straight(q.time, begin - 1), 0
    for i in range(end - begin):
        earlier += int(get(times, i + 1) < get(times, i))
    return earlier, earlier


@functools.cache
def kernel(driver: Callable[..., Any], columns: type, dtype: np.dtype) -> Any:
    """A compiled loop over cells of `dtype`."""
    cells = Monoid("cells", dtype.type(0).item(), same, max, dtype=dtype)
    return compiled(driver, Target(cells, Layout(dtype), {}, columns, columns)).run
