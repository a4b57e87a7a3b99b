"""Loops over the rows and the firings of a plan; the same source, plain or compiled.

Rows are combined into the slice in progress, `live`, which is held at `place`; where a
slice ends it is inserted into the window, and where a window fires its answer is that of
its slices and of `live`, if that has begun. Slices are numbered through all feeds.

Row i comes at tick ticks[i], or base + i if it is not `timed`. All that is due at tick
`until` or before is done; then the slice in progress is closed. `begun` has the ticks
that slices begin at, from slice `oldest` on.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    Partial,
    attach,
    combine,
    evict,
    get,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    numbers,
    one,
    put,
    query,
)
from sash.swag.flat_fit import suffix

BLOCK = 128
"""Rows that `slide_back` takes together."""


def fire_one(
    memory: Any, at: Any, xs: Any, n: int, timed: int, ticks: Any, base: int, until: int,
    begin: int, fire: int, slide: int, reach: int, begun: Any, oldest: int, ends: Any,
    place: int, out: Any,
) -> Any:  # fmt: skip
    """One kind of windows, whose next begin and next firing are at ticks `begin` and `fire`.

    The tick of each firing goes to `ends`; gives the cursors and how many fired.
    """
    q = attach(memory)
    times, starts, given = numbers(ticks), numbers(begun), numbers(ends)
    live = hold(q, place, one(q))
    rows = k = 0
    while at.f < oldest:
        at = evict(q, at)
    for i in range(n + 1):
        t = until
        if i < n:
            t = times[i] if timed else base + i
        while begin <= t or fire <= t:
            if begin <= fire:
                if rows > 0:
                    starts[at.e - oldest] = begin - slide
                    at = insert(q, at, live)
                    rows = 0
                begin += slide if begin + slide > fire else (t - begin) // slide * slide + slide
            else:
                while at.f < at.e and starts[at.f - oldest] < fire - reach:
                    at = evict(q, at)
                if at.f < at.e or rows > 0:
                    given[k] = fire
                    give(out, k, lower(with_live(q, at, rows, live)))
                    k += 1
                    fire += slide
                else:  # nothing is in it, nor in any other until the row
                    fire += (t - fire) // slide * slide + slide
        if i < n:
            live = add(q, live, rows, item(xs, i), place)
            rows += 1
    if rows > 0:
        starts[at.e - oldest] = begin - slide
        at = insert(q, at, live)
    return at, k


def add(q: Any, live: Partial, rows: int, x: Any, place: int) -> Partial:
    """`live`, of so many rows, with one row more."""
    if rows == 0:
        return hold(q, place, lift(q, x))
    return hold(q, place, combine(live, lift(q, x)))


def with_live(q: Any, at: Any, rows: int, live: Partial) -> Partial:
    """The window and the slice in progress; at least one of them has rows."""
    if at.f == at.e:
        return hold(q, ANSWER, live)
    total = hold(q, ANSWER, query(q, at))
    if rows > 0:
        total = hold(q, ANSWER, combine(total, live))
    return total


def fire_grid(
    memory: Any, at: Any, xs: Any, n: int, timed: int, ticks: Any, base: int, until: int,
    edge: int, tick: int, now: int, steps: Any, phases: int, head: Any, wheel: int, chain: Any,
    hop: Any, back: Any, spot: Any, first: Any, ring: int, longest: int, begun: Any,
    oldest: int, ends: Any, place: int, out: Any,
) -> Any:  # fmt: skip
    """Many kinds of windows on FlatFIT, over a grid of slots that has all begins and firings.

    `now` is the next slot and `tick` where it begins; `steps` are the slots' lengths, by
    slot modulo `phases`; `edge` is the last tick at which a slice began. What is due at a
    slot is a list, from head[slot & wheel] on by `chain`: entry e is due every hop[e]
    slots, and fires for the last back[e] of them, or if that is 0 only begins a slice.
    first[slot & ring] is the first slice from a slot on, for the `longest` last slots.
    The answer of entry e goes to spot[e], which moves on, and its tick to `ends`.
    """
    q = attach(memory)
    times, lengths, heads, chains = numbers(ticks), numbers(steps), numbers(head), numbers(chain)
    hops, backs, spots, firsts = numbers(hop), numbers(back), numbers(spot), numbers(first)
    starts, given = numbers(begun), numbers(ends)
    live = hold(q, place, one(q))
    rows, phase = 0, now % phases
    for i in range(n + 1):
        t = until
        if i < n:
            t = times[i] if timed else base + i
        while tick <= t:
            e = heads[now & wheel]
            if e >= 0:
                if rows > 0:
                    starts[at.e - oldest] = edge
                    at = insert(q, at, live)
                    rows = 0
                edge = tick
                heads[now & wheel] = -1
            firsts[now & ring] = at.e
            while at.f < firsts[(now - longest) & ring]:
                at = evict(q, at)
            while e >= 0:
                if backs[e] > 0:
                    oldest_in = firsts[(now - backs[e]) & ring]
                    if oldest_in < at.e:
                        if timed:
                            given[spots[e]] = tick
                        give(out, spots[e], lower(remembered(q, at, oldest_in)))
                        spots[e] += 1
                slot = (now + hops[e]) & wheel
                following = chains[e]
                chains[e] = heads[slot]
                heads[slot] = e
                e = following
            tick += lengths[phase]
            now += 1
            phase = phase + 1 if phase + 1 < phases else 0
        if i < n:
            live = add(q, live, rows, item(xs, i), place)
            rows += 1
    if rows > 0:
        starts[at.e - oldest] = edge
        at = insert(q, at, live)
    return at


def remembered(q: Any, at: Any, i: int) -> Partial:
    """Slices i..e combined, and remembered at i: a longer window's way may lead there later."""
    total = suffix(q, at, i)
    k = i & (q.cap[0] - 1)
    q.ahead[k] = at.e - i
    return put(q.part, k, total)


def slide_ranges(
    memory: Any, at: Any, xs: Any, n: int, sizes: Any, m: int, place: int, out: Any
) -> Any:  # fmt: skip
    """After each of n rows, an answer for each of m sizes, the longest first, on FlatFIT.

    Answer k of row i goes to i * m + k.
    """
    q = attach(memory)
    last = numbers(sizes)
    for i in range(n):
        at = insert(q, at, lift(q, item(xs, i)))
        while at.e - at.f > last[0]:
            at = evict(q, at)
        for k in range(m):
            first = max(at.f, at.e - last[k])
            give(out, i * m + k, lower(remembered(q, at, first)))
    return at


def slide_back(
    memory: Any, at: Any, xs: Any, n: int, sizes: Any, m: int, place: int, out: Any
) -> Any:  # fmt: skip
    """After each of n rows, an answer for each of m sizes, the longest first, on one way back.

    Range by range for a block of rows, each row's partial in a cell beyond the last item:
    so one row need not wait for another. Answer k of row i goes to k * n + i.
    """
    q = attach(memory)
    last = numbers(sizes)
    for begin in range(0, n, BLOCK):
        rows = min(BLOCK, n - begin)
        f, e = max(at.f, at.e - last[0]), at.e
        while at.f < f:
            at = evict(q, at)
        for i in range(begin, begin + rows):
            at = insert(q, at, lift(q, item(xs, i)))
        for i in range(rows):
            put(q.part, at.e + i, get(q.part, e + i))
        done = 1
        for k in range(m - 1, -1, -1):
            while done < last[k] - 1:
                for i in range(lacking(f, e, done, rows), rows):
                    extend(q, e, at.e, i, done)
                done += 1
            first = rows if done == last[k] else lacking(f, e, done, rows)
            for i in range(first):
                give(out, k * n + begin + i, lower(get(q.part, at.e + i)))
            for i in range(first, rows):
                give(out, k * n + begin + i, lower(extend(q, e, at.e, i, done)))
            done = last[k]
    return at


def lacking(f: int, e: int, done: int, rows: int) -> int:
    """How many rows of a block, from the one that is item e on, have no item `done` before."""
    return min(rows, max(0, f + done - e))


def extend(q: Any, e: int, cells: int, i: int, done: int) -> Partial:
    """Row i's partial, of `done` items, with one older item."""
    return put(q.part, cells + i, combine(get(q.part, e + i - done), get(q.part, cells + i)))


def fold(q: Any, xs: Any, live: Partial, since: int, row: int, end: int, place: int) -> Partial:
    """`live`, which began at row `since`, with the rows from `row` up to `end`."""
    for i in range(row, end):
        live = add(q, live, i - since, item(xs, i), place)
    return live


def fire_cut(
    memory: Any, at: Any, xs: Any, rows: int, cut: Any, n: int, hi: Any, first: Any, place: int,
    out: Any,
) -> Any:  # fmt: skip
    """One kind of windows, where it was found out before what is due.

    Slices end before the rows `cut`; the answer of firing k, in order, is due before row
    hi[k] and begins with slice first[k].
    """
    q = attach(memory)
    cuts, due, firsts = numbers(cut), numbers(hi), numbers(first)
    live = hold(q, place, one(q))
    row = since = j = 0
    for k in range(n):
        while cuts[j] <= due[k]:
            at = insert(q, at, fold(q, xs, live, since, row, cuts[j], place))
            row = since = cuts[j]
            j += 1
        live = fold(q, xs, live, since, row, due[k], place)
        row = due[k]
        while at.f < firsts[k]:
            at = evict(q, at)
        give(out, k, lower(with_live(q, at, row - since, live)))
    while since < rows:
        end = min(rows, cuts[j])
        at = insert(q, at, fold(q, xs, live, since, row, end, place))
        row = since = end
        j += 1
    return at


def fire_many(
    memory: Any, at: Any, xs: Any, rows: int, cut: Any, n: int, hi: Any, first: Any, keep: Any,
    where: Any, place: int, out: Any,
) -> Any:  # fmt: skip
    """As `fire_cut`, for many kinds of windows, on FlatFIT.

    The answer of firing k goes to where[k]; it and those that follow need slices from
    keep[k] on.
    """
    q = attach(memory)
    cuts, due, firsts = numbers(cut), numbers(hi), numbers(first)
    kept, places = numbers(keep), numbers(where)
    live = hold(q, place, one(q))
    row = since = j = 0
    for k in range(n):
        while cuts[j] <= due[k]:
            at = insert(q, at, fold(q, xs, live, since, row, cuts[j], place))
            row = since = cuts[j]
            j += 1
        live = fold(q, xs, live, since, row, due[k], place)
        row = due[k]
        while at.f < kept[k]:
            at = evict(q, at)
        if firsts[k] == at.e:
            total = hold(q, ANSWER, live)
        else:
            total = remembered(q, at, firsts[k])
            if row > since:
                total = hold(q, ANSWER, combine(total, live))
        give(out, places[k], lower(total))
    while since < rows:
        end = min(rows, cuts[j])
        at = insert(q, at, fold(q, xs, live, since, row, end, place))
        row = since = end
        j += 1
    return at
