"""Order statistics: the rows of a window by value, as a set of bits with a pointer.

A row's code is its place in the order of all rows at hand. A window is a set of codes, one bit
each, and a pointer to the code at the share asked for. A row that enters or leaves sets or clears
a bit, and the pointer follows by at most one code. Words of bits have a bit in words above them
where they are not empty, so that a gap is crossed in few steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sash.engine.multiset import CodeWindows
from sash.kernel.words import (
    Address,
    Float64,
    Int64,
    Memory,
    Partial,
    Partials,
    attach,
    get,
    highest_bit,
    lowest_bit,
    numbers,
    put,
)

WORD = 5
"""A word has 2 ** WORD bits."""

LAST = (1 << WORD) - 1
"""The last bit of a word."""


class Columns(NamedTuple):
    """The bits of codes and of words, and the rows of each piece of a window that are in."""

    bits: Int64
    words: Int64
    first: Int64
    end: Int64
    held: int


class At(NamedTuple):
    """The share asked for."""

    share: Partial


def order(memory: Memory, at: At, windows: CodeWindows, between: int, found: Address) -> At:
    """For each window the codes of the rows at and just above the share asked for.

    Counted from 0, a share s of c rows is at s * (c - 1), `between` two rows, or at
    ceil(s * c) - 1. `below` rows of the window have codes before that of the pointer.
    """
    q, base, n, pieces = attach(memory), windows.base, windows.n, windows.pieces
    code, begins, ends = numbers(windows.codes), numbers(windows.lo), numbers(windows.hi)
    answers = numbers(found)
    size, pointer, below = 0, 0, 0
    for i in range(n):
        for p in range(pieces):  # a row that changes pieces leaves one before it enters another
            f = q.first[p]
            while f < q.end[p] and f < begins[p * n + i]:
                c = code[f - base]
                remove(q, c)
                size, below, f = size - 1, below - int(c < pointer), f + 1
            q.first[p] = f
        for p in range(pieces):
            e = q.end[p]
            if q.first[p] == e:
                q.first[p] = e = max(e, begins[p * n + i])
            while e < ends[p * n + i]:
                c = code[e - base]
                add(q, c)
                size, below, e = size + 1, below + int(c < pointer), e + 1
            q.end[p] = e
        if size > 0:
            place = int(at.share * (size - 1))
            if not between:
                place = max(0, math.ceil(at.share * size) - 1)
            while below > place:
                pointer, below = code_before(q, pointer), below - 1
            pointer = code_from(q, pointer)
            while below < place:
                pointer, below = code_from(q, pointer + 1), below + 1
            answers[i] = pointer
            answers[n + i] = code_from(q, pointer + 1) if place + 1 < size else pointer
    return at


def add(q: Any, code: int) -> None:
    """A code is in the window."""
    word = code >> WORD
    q.bits[word] |= 1 << (code & LAST)
    q.words[word >> WORD] |= 1 << (word & LAST)


def remove(q: Any, code: int) -> None:
    """A code is no longer in the window."""
    word = code >> WORD
    q.bits[word] &= ~(1 << (code & LAST))
    if q.bits[word] == 0:
        q.words[word >> WORD] &= ~(1 << (word & LAST))


def code_from(q: Any, code: int) -> int:
    """The first code of the window from `code` on; there is one."""
    word = code >> WORD
    bits = q.bits[word] >> (code & LAST)
    if bits != 0:
        return code + lowest_bit(bits)
    word += 1
    above = word >> WORD
    bits = q.words[above] >> (word & LAST)
    if bits == 0:
        above += 1
        while q.words[above] == 0:
            above += 1
        word, bits = above << WORD, q.words[above]
    word += lowest_bit(bits)
    return (word << WORD) + lowest_bit(q.bits[word])


def code_before(q: Any, code: int) -> int:
    """The last code of the window before `code`; there is one."""
    last = code - 1
    word = last >> WORD
    bits = q.bits[word] & ((2 << (last & LAST)) - 1)
    if bits == 0:
        word -= 1
        above = word >> WORD
        bits = q.words[above] & ((2 << (word & LAST)) - 1)
        while bits == 0:
            above -= 1
            bits = q.words[above]
        word = (above << WORD) + highest_bit(bits)
        bits = q.bits[word]
    return (word << WORD) + highest_bit(bits)


class Merging(NamedTuple):
    """The columns that `merge` reads and writes."""

    values: Partials  # by row number
    kept: Int64  # rows in order of value, of which those before `first` are left out
    new: Int64  # rows in order of value
    rows: Int64  # both
    codes: Int64  # the place of each row in `rows`, from row `first` on
    sorted: Partials
    held: int


def merge(memory: Memory, kept: int, new: int, first: int) -> int:
    """Rows in order of value, their codes and their values, from two orders; older ones first."""
    q = attach(memory)
    i, j, code = 0, 0, 0
    while i < kept or j < new:
        if i < kept and q.kept[i] < first:
            i += 1
        elif j == new or (i < kept and not less(q, q.new[j], q.kept[i])):
            number(q, q.kept[i], code, first)
            i, code = i + 1, code + 1
        else:
            number(q, q.new[j], code, first)
            j, code = j + 1, code + 1
    return code


def less(q: Any, a: int, b: int) -> bool:
    """Whether the value of row a is less than that of row b; NaN is larger than any number."""
    x, y = get(q.values, a), get(q.values, b)
    return bool(x < y or (y != y and x == x))


def number(q: Any, row: int, code: int, first: int) -> None:
    """A row has a code."""
    q.rows[code] = row
    q.codes[row - first] = code
    put(q.sorted, code, get(q.values, row))


class Mixed(NamedTuple):
    """The columns that `mix` reads and writes."""

    values: Float64  # by code
    codes: Int64  # for each window that of the lower value, then for each that of the upper one
    sizes: Int64
    out: Float64
    held: int


def mix(memory: Memory, at: At, n: int, midpoint: int) -> At:
    """What is between the lower and the upper value of each of n windows, at the share asked for.

    A window without rows gets 0.
    """
    q = attach(memory)
    for i in range(n):
        part = at.share * (q.sizes[i] - 1)
        part -= math.floor(part)
        lower, upper = q.values[q.codes[i]], q.values[q.codes[n + i]]
        found = lower
        if part > 0 and lower != upper:
            part = 0.5 if midpoint else part
            found = lower * (1 - part) + upper * part
        q.out[i] = found if q.sizes[i] > 0 else 0.0
    return at
