"""Percentiles: exact shares of windows, a few steps per row.

The rows of a block are sorted once, and a row's code is its place in that order. A window is a
set of codes, one bit each, and a pointer to the code at the share asked for. A row that enters
or leaves sets or clears a bit, and the pointer follows by at most one code. Words of bits have
a bit in words above them where they are not empty, so that a gap is crossed in few steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.arrangement import memory_of
from sash.engine.bounds import Bounds
from sash.engine.columns import answers_as, numbers, objects
from sash.engine.frames import time_target
from sash.engine.multiset import PIECES, CodeWindows, stacked
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Address, Int64, Memory, Partial, attach
from sash.kernel.words import numbers as column
from sash.plan.plan import Plan, State
from sash.plan.types import number_type

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
    code, begins, ends = column(windows.codes), column(windows.lo), column(windows.hi)
    answers = column(found)
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
        return code + lowest(bits)
    word += 1
    above = word >> WORD
    bits = q.words[above] >> (word & LAST)
    if bits == 0:
        above += 1
        while q.words[above] == 0:
            above += 1
        word, bits = above << WORD, q.words[above]
    word += lowest(bits)
    return (word << WORD) + lowest(q.bits[word])


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
        word = (above << WORD) + highest(bits)
        bits = q.bits[word]
    return (word << WORD) + highest(bits)


def lowest(bits: int) -> int:
    """The place of the lowest bit of a word that has some."""
    place = 0
    for half in (16, 8, 4, 2, 1):
        none = int(bits & ((1 << half) - 1) == 0)
        place += none * half
        bits >>= none * half
    return place


def highest(bits: int) -> int:
    """The place of the highest bit of a word that has some."""
    place = 0
    for half in (16, 8, 4, 2, 1):
        some = int(bits >> half != 0)
        place += some * half
        bits >>= some * half
    return place


def _part_of(steps: np.ndarray, share: Any) -> np.ndarray:
    """A share of a number of steps, rounded down; a half exactly."""
    unsigned = steps.view(np.uint64)  # a difference of integers may not fit one with a sign
    part = np.floor(unsigned * share).astype(np.uint64)
    return np.where(share == 0.5, unsigned // 2, part).view(np.int64)


class Percentile:
    """A share of a window's values, exactly: a value, or what is between two of them."""

    def __init__(self, plan: Plan, state: State) -> None:
        [asked] = state.asked
        kind, interpolation = plan.schema.field(state.columns[0]).type, asked.interpolation
        dtype = number_type(kind) or np.dtype(object)  # decimals
        self._share, self._interpolation = asked.share, interpolation
        self._mixes = interpolation in ("linear", "midpoint")
        self._times = pa.types.is_temporal(kind)
        self._kind = asked.result([kind]) or pa.float64()
        self._ranks, self._values = Ranks(), Tape(dtype)
        self._sorted = np.empty(0, np.int64)  # rows of the last block, by value
        self._run = compiled(order, time_target(np.dtype(np.float64), At, Columns)).run

    def take(self, columns: list[pa.Array]) -> None:
        known = self._ranks.take(columns[0])
        is_decimal = self._values.values.dtype == object
        self._values.add(np.array(objects(known), object) if is_decimal else numbers(known))

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._ranks.of(bounds)
        count, lo, hi = stacked(known)
        first, n = int(known.lo[0]), len(known.lo)
        rows = self._in_order(first, max(first, int(hi.max())))
        if not len(rows):
            return [pa.nulls(n, self._kind)]
        codes = np.empty(len(rows), np.int64)
        codes[rows - first] = np.arange(len(rows))
        pairs, starts = np.zeros((2, n), np.int64), np.full((2, PIECES), first)
        words = (len(rows) >> WORD) + 2
        arrays = (np.zeros(words, np.int64), np.zeros((words >> WORD) + 2, np.int64), *starts)
        bounds_at = lo.ctypes.data, hi.ctypes.data
        windows = CodeWindows(codes.ctypes.data, first, n, count, *bounds_at)
        at, between = At(np.float64(self._share)), int(self._interpolation != "approx")
        self._run(memory_of(*arrays), at, windows, between, pairs.ctypes.data)
        values = self._values.values[rows - self._values.base]
        found = self._interpolated(values, pairs, known.sizes)
        if found.dtype == object:
            return [answers_as(found.tolist(), known.sizes == 0, self._kind)]
        if self._kind == pa.float64():
            found = found.astype(np.float64, copy=False)  # Arrow refuses what it has to round
        return [answers_as(found, known.sizes == 0, self._kind)]

    def _in_order(self, first: int, end: int) -> np.ndarray:
        """Rows `first` to `end` - 1 by value. Of a long window most were in the last block: they
        are in order, and the new ones are merged with them.
        """
        values, base = self._values.values, self._values.base
        kept = self._sorted[self._sorted >= first]
        if 2 * len(kept) < end - first:
            self._sorted = first + np.argsort(values[first - base : end - base])
            return self._sorted
        begin = first + len(kept)  # what is kept are all rows up to the last block's end
        new = begin + np.argsort(values[begin - base : end - base])
        both = np.concatenate([kept, new])
        self._sorted = both[np.argsort(values[both - base], kind="stable")]
        return self._sorted

    def _interpolated(
        self, values: np.ndarray, pairs: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """From the values at and just above the share, as `between` has it for one window."""
        lower, upper = values[pairs[0]], values[pairs[1]]
        part = self._share * (counts - 1)
        place = np.floor(part)
        part -= place
        if self._mixes:
            share = part if self._interpolation == "linear" else 0.5
            if self._times:  # doubles would lose nanoseconds
                return np.where(part > 0, lower + _part_of(upper - lower, share), lower)
            if lower.dtype == object:
                lower, upper = lower.astype(np.float64), upper.astype(np.float64)
            with np.errstate(invalid="ignore"):
                mixed = lower * (1 - share) + upper * share
            return np.where((part > 0) & (lower != upper), mixed, lower).astype(np.float64)
        above = {
            "higher": part > 0,
            "nearest": (part > 0.5) | ((part == 0.5) & (place % 2 == 1)),
        }
        return np.where(above.get(self._interpolation, False), upper, lower)

    def forget(self, row: int) -> None:
        self._values.forget(self._ranks.before(row))
        self._ranks.forget(row)
