"""Flips: what Two-Stacks Lite keeps between two flips, with all bounds known.

Windows that begin before b, the end of the front list, are a suffix of the front list and a
prefix of the back list. Straight loops fill both; `flip_answers` combines them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    IN_STEP,
    Address,
    Partial,
    Windows,
    combine,
    get,
    item,
    lift,
    numbers,
    one,
    put,
    room,
    state_size,
    straight,
)
from sash.monoids.monoid import Monoid

GROUP = 128
"""Rows that are answered together."""

TOGETHER = 1 << 13
"""Cells that the front lists of two flips may take, to be filled at once."""


class Piece(NamedTuple):
    """What windows have after their rows lo to hi - 1: a row each, or some of them several.

    Where some have several, those of a window are its first one, and those of the next window.
    """

    row: int = -1  # input of the first window's first row, and those of others in turn; -1: none
    alone: int = 0  # whether each window has just that row; else only those that are named
    named: int = 0
    which: Address = 0  # the windows that are named, the youngest first
    last: int = 0  # how many rows the last window has


class Further(NamedTuple):
    """A further piece of windows, and the monoid whose answers are given with it.

    That monoid is the window's own, but for how it lowers. `which`: the windows that have some
    rows more, the youngest first; None: each has one.
    """

    monoid: Monoid
    row: int
    which: np.ndarray | None = None
    last: int = 0

    def compiled(self) -> Piece:
        """As a compiled driver takes it."""
        if self.which is None:
            return Piece(self.row, 1)
        return Piece(self.row, 0, len(self.which), self.which.ctypes.data, self.last)

    def plain(self) -> Piece:
        """As a driver in plain Python takes it."""
        if self.which is None:
            return Piece(self.row, 1)
        which: Any = self.which.tolist()
        return Piece(self.row, 0, len(which), which, self.last)


class Coming(NamedTuple):
    """The items of a call of `follow`: item j is xs[j + first], or in its cell before `old`."""

    xs: Any
    first: int
    old: int
    ahead: Any  # prefixes: cell j - anchor is the back list up to item j - 1, combined; and,
    # before them, a group of suffixes and one of prefixes
    anchor: int
    windows: Windows
    shift: int  # the row of item 0
    piece: Piece


def from_anchor(new: Coming, anchor: int) -> Coming:
    """The same items, with prefixes from another one on."""
    xs, first, old, ahead, _, windows, shift, piece = new
    return Coming(xs, first, old, ahead, anchor, windows, shift, piece)


class Flip(NamedTuple):
    """A flip and the rows up to the next one, or the rows that are left of the last flip.

    Of the front list, items f to flipped - 1 get their suffixes: all of them after a flip, and
    none where they have them. The back list gets prefixes up to items e to end.
    """

    i: int  # rows i to stop - 1 have windows that begin at items f to last, before b
    stop: int
    f: int
    last: int
    flipped: int
    b: int
    e: int
    end: int


def next_flip(new: Coming, b: int, e: int, i: int) -> Flip:
    """The flip that answers the first window from i on that has rows; its row is n if none has."""
    windows, shift, n = new.windows, new.shift, new.windows.n
    begins, ends, in_step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    while i < n and not in_step and begins[i] >= ends[i]:
        i += 1
    if i == n:
        return Flip(n, n, b, b, b, b, e, e)
    flipped = f = row_at(windows.lo, begins, i, in_step) - shift
    if f >= b:
        b = e = flipped = row_at(windows.hi, ends, i, in_step) - shift
    stop = rows_before(windows, i, b + shift)
    last = row_at(windows.lo, begins, stop - 1, in_step) - shift
    end = row_at(windows.hi, ends, stop - 1, in_step) - shift
    return Flip(i, stop, f, last, flipped, b, e, end)


STRIDE = 16


def rows_before(windows: Windows, i: int, edge: int) -> int:
    """The first row from i on whose window begins at `edge` or later, or n."""
    begins, n = numbers(windows.lo), windows.n
    if windows.shape == IN_STEP:
        return min(n, edge - windows.lo)
    while i + STRIDE < n and begins[i + STRIDE] < edge:
        i += STRIDE
    while i < n and begins[i] < edge:
        i += 1
    return i


def fill(q: Any, new: Coming, flip: Flip, done: int) -> Partial:
    """Suffixes of items flipped - 1 to f, and prefixes of the back list up to items e to end.

    Neither waits for the other, so a processor works on both at once. The first prefix is in its
    cell, and so are the first `done` of both. Gives the last prefix.
    """
    f, b, e = flip.f, flip.flipped, flip.e
    prefixes = straight(new.ahead, e - new.anchor)
    suffix, back = one(q), get(prefixes, done)
    if done > 0:
        suffix = get(q.part, b - done)
    both = max(done, in_pairs(new, flip))
    for k in range(done, both):
        suffix = put(q.part, b - 1 - k, combine(coming(q, new, b - 1 - k), suffix))
        back = put(prefixes, k + 1, combine(back, coming(q, new, e + k)))
    for j in range(b - both - 1, f - 1, -1):
        suffix = put(q.part, j, combine(item_or_cell(q, new, j), suffix))
    for k in range(both, flip.end - e):
        back = put(prefixes, k + 1, combine(back, coming(q, new, e + k)))
    return back


def in_pairs(new: Coming, flip: Flip) -> int:
    """How many suffixes and prefixes of items that are inserted now can be filled in pairs."""
    return min(flip.flipped - max(flip.f, new.old), flip.end - flip.e)


def at_once(q: Any, new: Coming, flip: Flip, following: Flip) -> int:
    """How many pairs of two flips to fill at once: 0 where that does not pay.

    All cells of both must fit in the ring, and in the processor's cache. Partials of one or two
    numbers are combined so fast that the pairs of one flip keep a processor busy.
    """
    if state_size(q) > 2 and following.b - flip.f <= min(room(q.part), TOGETHER):
        return max(0, min(in_pairs(new, flip), in_pairs(new, following)))
    return 0


def fill_two(q: Any, new: Coming, a: Flip, b: Flip, cell: int, pairs: int) -> None:
    """The first pairs of suffixes and prefixes of two flips, as `fill` does those of one.

    No flip waits for the one before it, as all bounds are known: where a combine takes long, a
    processor has four of them to work on. `cell`: where the prefixes of `b` begin in `ahead`.
    """
    ours, theirs = straight(new.ahead, a.e - new.anchor), straight(new.ahead, cell)
    suffix_a = suffix_b = one(q)
    back_a, back_b = get(ours, 0), put(theirs, 0, one(q))
    for k in range(pairs):
        i, j = a.flipped - 1 - k, b.flipped - 1 - k
        suffix_a = put(q.part, i, combine(coming(q, new, i), suffix_a))
        suffix_b = put(q.part, j, combine(coming(q, new, j), suffix_b))
        back_a = put(ours, k + 1, combine(back_a, coming(q, new, a.e + k)))
        back_b = put(theirs, k + 1, combine(back_b, coming(q, new, b.e + k)))


def coming(q: Any, new: Coming, j: int) -> Partial:
    """Item j, which is inserted now."""
    return lift(q, item(new.xs, j + new.first))


def item_or_cell(q: Any, new: Coming, j: int) -> Partial:
    """Item j, from its cell where it was inserted before."""
    return coming(q, new, j) if j >= new.old else get(q.part, j)
