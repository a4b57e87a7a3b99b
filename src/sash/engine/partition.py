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
from sash.kernel.words import Int64, Partials, attach, get, put
from sash.monoids.monoid import Monoid, same


class Rows(NamedTuple):
    """What `count` and `place` read and write."""

    codes: Int64
    next: Int64  # for each code, where the next row of it goes
    ranks: Int64  # where each row goes
    held: int


def count(memory: Any, begin: int, end: int) -> int:
    """Count the rows of each code."""
    q = attach(memory)
    for i in range(begin, end):
        q.next[q.codes[i]] += 1
    return 0


def place(memory: Any, begin: int, end: int) -> int:
    """Say where each row goes."""
    q = attach(memory)
    for i in range(begin, end):
        code = q.codes[i]
        rank = q.next[code]
        q.ranks[i] = rank
        q.next[code] = rank + 1
    return 0


class Cells(NamedTuple):
    """What `scatter` and `gather` read and write."""

    source: Partials
    to: Partials
    places: Int64
    held: int


def scatter(memory: Any, begin: int, end: int) -> int:
    """Row i goes to its place."""
    q = attach(memory)
    for i in range(begin, end):
        put(q.to, q.places[i], get(q.source, i))
    return 0


def gather(memory: Any, begin: int, end: int) -> int:
    """Row i comes from its place."""
    q = attach(memory)
    for i in range(begin, end):
        put(q.to, i, get(q.source, q.places[i]))
    return 0


class Pairs(NamedTuple):
    """What `place_pairs` and `sort_runs` read and write: pairs of a value and a row.

    A pair lies in one place, so that bringing it there costs one access and not two.
    """

    values: Int64  # from 0 on
    codes: Int64
    next: Int64
    pairs: Int64
    spare: Int64
    begins: Int64  # where the run of each code begins, and where the last one ends
    counts: Int64
    held: int


def place_pairs(memory: Any, begin: int, end: int) -> int:
    """Bring each row's value and number to the run of its code."""
    q = attach(memory)
    for i in range(begin, end):
        code = q.codes[i]
        rank = q.next[code]
        q.next[code] = rank + 1
        q.pairs[2 * rank], q.pairs[2 * rank + 1] = q.values[i], i
    return 0


SHORT = 24
"""Runs of up to so many rows are sorted by insertion."""


def sort_runs(memory: Any, begin: int, end: int, digits: int, width: int) -> int:
    """Sort each of some runs by its values of so many digits, each `width` bits wide."""
    q = attach(memory)
    for run in range(begin, end):
        first, stop = q.begins[run], q.begins[run + 1]
        if stop - first <= SHORT:
            insertion_sort(q.pairs, first, stop)
        else:
            radix_sort(q, first, stop, digits, width)
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


def radix_sort(q: Any, first: int, stop: int, digits: int, width: int) -> None:
    """Sort rows by one digit after the other, from the last one on."""
    count_digits(q, first, stop, digits, width)
    source, to, mask, moved = q.pairs, q.spare, (1 << width) - 1, False
    for digit in range(digits):
        shift, base = digit * width, digit << width
        if begin_digits(q, base, mask, (source[2 * first] >> shift) & mask, first, stop):
            for i in range(first, stop):
                value = source[2 * i]
                place = base + ((value >> shift) & mask)
                j = q.counts[place]
                q.counts[place] = j + 1
                to[2 * j], to[2 * j + 1] = value, source[2 * i + 1]
            source, to, moved = to, source, not moved
    if moved:
        for i in range(2 * first, 2 * stop):
            to[i] = source[i]


def count_digits(q: Any, first: int, stop: int, digits: int, width: int) -> None:
    """How many rows have each value of each digit, in one go."""
    for d in range(digits << width):
        q.counts[d] = 0
    mask = (1 << width) - 1
    for i in range(first, stop):
        value = q.pairs[2 * i]
        for digit in range(digits):
            q.counts[(digit << width) + ((value >> (digit * width)) & mask)] += 1


def begin_digits(q: Any, base: int, mask: int, one: int, first: int, stop: int) -> bool:
    """Where the rows of each value of a digit begin; False if all have the same one."""
    if q.counts[base + one] == stop - first:
        return False
    for d in range(base, base + mask + 1):
        n = q.counts[d]
        q.counts[d] = first
        first += n
    return True


class Steps(NamedTuple):
    """What `disorder` reads."""

    time: Partials
    codes: Int64
    held: int


def disorder(memory: Any, begin: int, end: int, keyed: int) -> tuple[int, int]:
    """How many of rows `begin` to `end` - 1 come before the row before them: in order of code
    and time, and in order of time alone."""
    q = attach(memory)
    by_both, by_time = 0, 0
    for i in range(begin, end):
        earlier = int(get(q.time, i) < get(q.time, i - 1))
        by_time += earlier
        if keyed:
            code, before = q.codes[i], q.codes[i - 1]
            by_both += int(code < before) | (int(code == before) & earlier)
        else:
            by_both += earlier
    return by_both, by_time


@functools.cache
def kernel(driver: Callable[..., Any], store: type, dtype: np.dtype) -> Any:
    """A compiled loop over cells of `dtype`."""
    cells = Monoid("cells", dtype.type(0).item(), same, max, dtype=dtype)
    return compiled(driver, Target(cells, Layout(dtype), {}, store, store)).run
