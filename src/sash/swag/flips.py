"""Flips: the answers of Two-Stacks Lite between two flips, with all bounds known.

Windows that begin before b, the end of the front list, are a suffix of the front list and a
prefix of the back list. Straight loops fill both, and others combine them. Windows may have a
further piece, which is combined before their answers are given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    EVEN,
    FIRST_FREE,
    IN_STEP,
    SMALL,
    SOME,
    WIDE,
    Address,
    Partial,
    Windows,
    combine,
    get,
    get_small,
    give,
    hold,
    item,
    lift,
    lower,
    magnitude,
    numbers,
    one,
    put,
    straight,
    straight_run,
)
from sash.monoids.monoid import Monoid

MORE = FIRST_FREE + 1  # after Two-Stacks Lite's own place

GROUP = 128
"""Rows that are answered together."""


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


class Lists(NamedTuple):
    """How far two lists are filled: the front list of the next flip down to item f, and the back
    list of this one up to item e - 1."""

    f: int
    suffix: Partial
    e: int
    back: Partial


def fill(q: Any, new: Coming, at: Lists, f: int, e: int) -> Lists:
    """Suffixes down to item f, and prefixes of the back list up to items before e.

    Neither waits for the other, so a processor works on both at once.
    """
    suffix, back = at.suffix, at.back
    prefixes = straight(new.ahead, at.e - new.anchor + 1)
    both = both_coming(new, at, f, e)
    for k in range(both):
        suffix = put(q.part, at.f - 1 - k, combine(coming(q, new, at.f - 1 - k), suffix))
        back = put(prefixes, k, combine(back, coming(q, new, at.e + k)))
    for j in range(at.f - both - 1, f - 1, -1):
        suffix = put(q.part, j, combine(item_or_cell(q, new, j), suffix))
    for k in range(both, e - at.e):
        back = put(prefixes, k, combine(back, coming(q, new, at.e + k)))
    return Lists(f, suffix, e, back)


def both_coming(new: Coming, at: Lists, f: int, e: int) -> int:
    """How many items both lists get that are inserted now."""
    return max(0, min(at.f - max(f, new.old), e - at.e))


def fill_and_bring(q: Any, new: Coming, at: Lists, f: int, e: int, i: int, n: int) -> Lists:
    """As `fill`; also brings together what the answers of rows i to i + n - 1 need.

    Each combine of a list waits for the one before. A processor brings partials meanwhile, so a
    `combine` that takes long costs little more.
    """
    suffix, back = at.suffix, at.back
    prefixes = straight(new.ahead, at.e - new.anchor + 1)
    together = min(n, both_coming(new, at, f, e))
    for k in range(together):
        suffix = put(q.part, at.f - 1 - k, combine(coming(q, new, at.f - 1 - k), suffix))
        back = put(prefixes, k, combine(back, coming(q, new, at.e + k)))
        bring(q, new, i, k)
    for k in range(together, n):
        bring(q, new, i, k)
    return fill(q, new, Lists(at.f - together, suffix, at.e + together, back), f, e)


def bring(q: Any, new: Coming, i: int, k: int) -> None:
    """Bring the suffix and the prefix of row i + k to their places in the group of row i."""
    begins, ends, shift = numbers(new.windows.lo), numbers(new.windows.hi), new.shift
    ahead = straight(new.ahead, 0)
    put(ahead, k, get(q.part, begins[i + k] - shift))
    put(ahead, GROUP + k, get(ahead, ends[i + k] - shift - new.anchor))


def coming(q: Any, new: Coming, j: int) -> Partial:
    """Item j, which is inserted now."""
    return lift(q, item(new.xs, j + new.first))


def item_or_cell(q: Any, new: Coming, j: int) -> Partial:
    """Item j, from its cell where it was inserted before."""
    return coming(q, new, j) if j >= new.old else get(q.part, j)


def fill_and_answer(
    q: Any, new: Coming, at: Lists, f: int, i: int, stop: int, left: int | None, out: Any
) -> tuple[Partial, int | None]:
    """The answers of rows i to stop - 1, suffixes and prefixes combined; and the back list.

    Fills the prefixes that these need, and the next flip's suffixes down to item f. Of the windows
    that a piece names, the first `left` have no answers yet (None: there is no piece); gives how
    many then have none.
    """
    windows, shift = new.windows, new.shift
    begins, ends, shape = numbers(windows.lo), numbers(windows.hi), windows.shape
    step = shape == IN_STEP
    even = shape & EVEN != 0
    by_step = step or (by_one(begins, i, stop, even) and by_one(ends, i, stop, even))
    if WIDE and not by_step and (shape & SOME or none_empty(begins, ends, i, stop)):
        return answer_in_groups(q, new, at, f, i, stop, left, out)
    at = fill(q, new, at, f, row_at(windows.hi, ends, stop - 1, step) - shift)
    if by_step:
        begin = row_at(windows.lo, begins, i, step) - shift
        end = row_at(windows.hi, ends, i, step) - shift
        answer_in_step(q, new, begin, end, i, stop, out)
    else:
        prefixes = straight(new.ahead, 0)
        for k in range(i, stop):
            if begins[k] < ends[k]:
                suffix = get(q.part, begins[k] - shift)
                prefix = get(prefixes, ends[k] - shift - new.anchor)
                give(out, k, lower(hold(q, ANSWER, combine(suffix, prefix))))
    if left is None:
        return at.back, None
    return at.back, answer_named(q, new, left, stop, out)


def by_one(rows: Any, i: int, stop: int, even: bool) -> bool:
    """Whether ends of windows move by one row each time; `even`: by at most one, that is known.

    So windows over regular times are in step too, wherever no row is missing. Of others, a look
    at the first and the last end mostly says that they are not.
    """
    if rows[stop - 1] - rows[i] != stop - 1 - i:
        return False
    others = 0
    if not even:
        for k in range(i + 1, stop):
            others += rows[k] - rows[k - 1] != 1
    return others == 0


def none_empty(begins: Any, ends: Any, i: int, stop: int) -> bool:
    """Whether each of some windows has a row."""
    empty = 0
    for k in range(i, stop):
        empty += begins[k] >= ends[k]
    return empty == 0


def answer_in_groups(
    q: Any, new: Coming, at: Lists, f: int, i: int, stop: int, left: int | None, out: Any
) -> tuple[Partial, int | None]:
    """As `fill_and_answer`, where none of the windows is empty.

    What a group of them needs is first brought together: where a state has several numbers, a
    processor then combines several rows at once, which pays for the way. It is brought while
    lists are filled for the next group.
    """
    ends, shift = numbers(new.windows.hi), new.shift
    suffixes, prefixes = straight(new.ahead, 0), straight(new.ahead, GROUP)
    last = k = i
    rest: Any = left
    while last < stop:
        after = min(stop, k + GROUP)
        groups = max(1, (stop - k + GROUP - 1) // GROUP)
        to = at.f - (at.f - f) // groups
        e = max(at.e, ends[after - 1] - shift)
        at = fill_and_bring(q, new, at, to, e, last, k - last)
        if left is not None:
            rest = bring_rows(q, new, rest, last, k, out)
        answer_group(q, suffixes, prefixes, last, k - last, out)
        last, k = k, after
    return at.back, rest


def bring_rows(q: Any, new: Coming, left: int, i: int, stop: int, out: Any) -> int:
    """Combine the rows that the named windows of rows i to stop - 1 have besides to the prefixes
    that were brought for them.

    The first `left` of them have no answers yet; gives how many then have none. Those before row i
    have no other rows, and get their answers here.
    """
    which, prefixes = numbers(new.piece.which), straight(new.ahead, GROUP)
    rest = left
    while rest > 0 and which[rest - 1] < stop:
        rest -= 1
    if rest == left:
        return rest
    j = rest
    while j > 0 and which[j - 1] == which[j] + 1:  # peers of the next group
        j -= 1
    more, before = after_last(q, new, which[j])
    for each in range(j, left):
        k = which[each]
        row = further_row(q, new, k)
        if k + 1 == before:
            more = hold(q, MORE, combine(row, more))
            if i <= k < stop:
                put(prefixes, k - i, combine(get(prefixes, k - i), more))
        else:  # one row: its partial is known to have one, which a compiler makes use of
            more = hold(q, MORE, row)
            if i <= k < stop:
                put(prefixes, k - i, combine(get(prefixes, k - i), row))
        if k < i:
            give(out, k, lower(hold(q, ANSWER, more)))
        before = k
    return rest


def after_last(q: Any, new: Coming, k: int) -> tuple[Partial, int]:
    """The rows after the first one that named window k has besides, and k + 1 if it has some:
    those of the last window of all, as others are named."""
    more, piece, n = one(q), new.piece, new.windows.n
    if k + 1 < n or piece.last <= 1:
        return more, n + 1
    for row in range(n + piece.last - 2, n - 1, -1):
        more = hold(q, MORE, combine(further_row(q, new, row), more))
    return more, n


def answer_group(q: Any, suffixes: Any, prefixes: Any, i: int, n: int, out: Any) -> None:
    """The answers of rows i to i + n - 1, the suffixes and the prefixes of which lie in a row.

    Where all integers of theirs are small, no sum of two overflows. A compiler then leaves out
    the checks of a user's `combine`, and so can combine several rows at once.
    """
    bits = 0
    for j in range(n):
        bits |= magnitude(get(suffixes, j)) | magnitude(get(prefixes, j))
    if bits < SMALL:
        for j in range(n):
            total = combine(get_small(suffixes, j), get_small(prefixes, j))
            give(out, i + j, lower(hold(q, ANSWER, total)))
    else:
        for j in range(n):
            total = combine(get(suffixes, j), get(prefixes, j))
            give(out, i + j, lower(hold(q, ANSWER, total)))


def answer_in_step(q: Any, new: Coming, f: int, e: int, i: int, stop: int, out: Any) -> None:
    """The answers of rows i to stop - 1, whose windows begin at f and end at e, one row later
    each."""
    prefixes = straight(new.ahead, e - new.anchor)
    k, n = 0, stop - i
    while k < n:
        end = min(n, k + min(GROUP, straight_run(q.part, f + k)))
        answer_group(q, straight(q.part, f + k), straight(prefixes, k), i + k, end - k, out)
        k = end


def answer_with_rows(q: Any, new: Coming, i: int, stop: int, out: Any) -> None:
    """The answers of rows i to stop - 1 whose windows have a further row each, in groups."""
    windows, shift = new.windows, new.shift
    begins, ends, step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    ahead = suffixes = straight(new.ahead, 0)
    prefixes = straight(new.ahead, GROUP)
    for k in range(i, stop, GROUP):
        n = min(GROUP, stop - k)
        for j in range(n):
            begin = row_at(windows.lo, begins, k + j, step) - shift
            end = row_at(windows.hi, ends, k + j, step) - shift
            if begin < end:
                put(suffixes, j, get(q.part, begin))
                put(prefixes, j, get(ahead, end - new.anchor))
            else:
                put(suffixes, j, one(q))
                put(prefixes, j, one(q))
        for j in range(n):
            total = hold(q, ANSWER, combine(get(suffixes, j), get(prefixes, j)))
            row = further_row(q, new, k + j)
            give(out, k + j, lower(hold(q, ANSWER, combine(total, row))))


def further_row(q: Any, new: Coming, k: int) -> Partial:
    """The first row of the further piece of window k."""
    return lift(q, item(new.xs, new.piece.row + k))


def answer_named(q: Any, new: Coming, left: int, stop: int, out: Any) -> int:
    """The answers of the named windows before `stop` again, with the rows that they have besides.

    The first `left` of them have no answers yet; gives how many then have none. Peers begin
    their windows at one row: so none before `stop` has a peer after it, but for the last of all.
    """
    windows, shift, piece = new.windows, new.shift, new.piece
    begins, ends, step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    which, prefixes = numbers(piece.which), straight(new.ahead, 0)
    rest = left
    while rest > 0 and which[rest - 1] < stop:
        rest -= 1
    if rest == left:
        return rest
    more, before = after_last(q, new, which[rest])
    for j in range(rest, left):
        k = which[j]
        begin = row_at(windows.lo, begins, k, step) - shift
        end = row_at(windows.hi, ends, k, step) - shift
        row, total = further_row(q, new, k), one(q)
        if begin < end:
            prefix = get(prefixes, end - new.anchor)
            total = hold(q, ANSWER, combine(get(q.part, begin), prefix))
        if k + 1 == before:
            more = hold(q, MORE, combine(row, more))
            give(out, k, lower(hold(q, ANSWER, combine(total, more))))
        else:
            more = hold(q, MORE, row)
            give(out, k, lower(hold(q, ANSWER, combine(total, row))))
        before = k
    return rest
