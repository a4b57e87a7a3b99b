"""Flips: the answers of Two-Stacks Lite between two flips, with all bounds known.

Windows that begin before b, the end of the front list, are a suffix of the front list and a
prefix of the back list. Straight loops fill both, and others combine them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    EVEN,
    IN_STEP,
    SMALL,
    WIDE,
    Partial,
    combine,
    get,
    get_small,
    give,
    hold,
    lower,
    magnitude,
    numbers,
    put,
    straight,
    straight_run,
)
from sash.swag.coming import BACK, GROUP, Coming, coming, item_or_cell
from sash.swag.further import combine_named


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


def fill_and_answer(
    q: Any, new: Coming, at: Lists, f: int, i: int, stop: int, left: int | None, out: Any
) -> tuple[Partial, int | None]:
    """The answers of rows i to stop - 1, suffixes and prefixes combined; and the back list. None
    of their windows is empty: each begins before b, and the first one ends there or later.

    Fills the prefixes that these need, and the next flip's suffixes down to item f. Of the windows
    that a piece names, the first `left` have no answers yet (None: there is no piece); gives how
    many then have none. Each is asked for its answer once, as `lower` may raise at another.
    """
    windows, shift = new.windows, new.shift
    begins, ends, shape = numbers(windows.lo), numbers(windows.hi), windows.shape
    step = shape == IN_STEP
    even = shape & EVEN != 0
    by_step = step or (by_one(begins, i, stop, even) and by_one(ends, i, stop, even))
    if WIDE and not by_step:
        return answer_in_groups(q, new, at, f, i, stop, left, out)
    at = fill(q, new, at, f, row_at(windows.hi, ends, stop - 1, step) - shift)
    back, rest = hold(q, BACK, at.back), left  # apart from the last prefix, which may change
    if left is not None:
        rest = combine_named(q, new, left, stop)
    if by_step:
        begin = row_at(windows.lo, begins, i, step) - shift
        end = row_at(windows.hi, ends, i, step) - shift
        answer_in_step(q, new, begin, end, i, stop, out)
    else:
        prefixes = straight(new.ahead, 0)
        for k in range(i, stop):
            suffix = get(q.part, begins[k] - shift)
            prefix = get(prefixes, ends[k] - shift - new.anchor)
            give(out, k, lower(hold(q, ANSWER, combine(suffix, prefix))))
    return back, rest


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


def answer_in_groups(
    q: Any, new: Coming, at: Lists, f: int, i: int, stop: int, left: int | None, out: Any
) -> tuple[Partial, int | None]:
    """As `fill_and_answer`, in groups.

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
            at = Lists(at.f, at.suffix, at.e, hold(q, BACK, at.back))
            rest = combine_named(q, new, rest, after)
        answer_group(q, suffixes, prefixes, last, k - last, out)
        last, k = k, after
    return at.back, rest


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
