"""Coming: the items and windows of a call of `follow`, and what windows have besides their rows.

Windows may have a further piece, rows after those of the window itself, such as the later peers of
a row that is left out of its own window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.kernel.words import FIRST_FREE, Address, Partial, Windows, get, item, lift
from sash.monoids.monoid import Monoid

GROUP = 128
"""Rows that are answered together."""

STRIDE = 16
"""Rows that are passed at once where one further on is looked for."""

BACK = FIRST_FREE
MORE = FIRST_FREE + 1
"""Places for the back list, combined, and for the rows of a further piece."""


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


def coming(q: Any, new: Coming, j: int) -> Partial:
    """Item j, which is inserted now."""
    return lift(q, item(new.xs, j + new.first))


def item_or_cell(q: Any, new: Coming, j: int) -> Partial:
    """Item j, from its cell where it was inserted before."""
    return coming(q, new, j) if j >= new.old else get(q.part, j)
