"""Loops that are entered once per bulk, plain or compiled; `tree` is the address of its memory."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    Address,
    InputColumns,
    Outputs,
    Windows,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
    put,
)
from sash.swag.fiba.aggregate import query, ready, size
from sash.swag.fiba.evict import bulk_evict, evict, settle
from sash.swag.fiba.insert import append, insert_treelets
from sash.swag.fiba.nodes import block_size
from sash.swag.fiba.ranges import range_query
from sash.swag.fiba.search import insertion_sites
from sash.swag.fiba.tree import (
    EPOCH,
    HEIGHT,
    KID_ROWS,
    MIN,
    NEED,
    NEED_KIDS,
    ROWS,
    USED,
    USED_KIDS,
    most,
)

DONE, UNSORTED, NO_ROOM = 0, 1, 2


def insert_bulk(tree: Address, times: Address, xs: InputColumns, n: int) -> int:
    """Insert n items, in order of time; with nothing changed if it cannot: see the answer."""
    q = attach(numbers(tree))
    m = stage(q, numbers(times), xs, n)
    if m == 0:
        return UNSORTED
    runs, added, overflows = insertion_sites(q, m)
    if not has_room(q, runs, added, overflows):
        return NO_ROOM
    settle(q)
    insert_treelets(q, runs)
    ready(q)
    return DONE


def insert_staged(tree: Address) -> int:
    """Insert the entry that was put into the first treelet; NO_ROOM, with nothing changed."""
    q = attach(numbers(tree))
    runs, added, overflows = insertion_sites(q, 1)
    if not has_room(q, runs, added, overflows):
        return NO_ROOM
    settle(q)
    insert_treelets(q, runs)
    ready(q)
    return DONE


def stage(q: Any, times: Address, xs: InputColumns, n: int) -> int:
    """Lift the items into treelets, equal times combined: how many; 0 if they are not sorted."""
    ascending = True
    for i in range(1, n):
        ascending &= times[i - 1] < times[i]
    if not ascending:
        return stage_slowly(q, times, xs, n)
    for i in range(n):  # without a branch, so that it becomes vector instructions
        q.new_time[i] = times[i]
    for i in range(n):
        put(q.new_val, i, lift(q, item(xs, i)))
    return n


def stage_slowly(q: Any, times: Address, xs: InputColumns, n: int) -> int:
    """As stage, where times are equal or not in order."""
    m = 0
    t = times[0]
    q.new_time[0] = t
    put(q.new_val, 0, lift(q, item(xs, 0)))
    for i in range(1, n):
        older, t = t, times[i]
        if older < t:
            m += 1
            q.new_time[m] = t
            put(q.new_val, m, lift(q, item(xs, i)))
        elif t < older:
            return 0
        else:
            put(q.new_val, m, combine(get(q.new_val, m), lift(q, item(xs, i))))
    return m + 1


def has_room(q: Any, runs: int, added: int, overflows: int) -> bool:
    """Whether there are rows enough; NEED and NEED_KIDS say how many at most.

    Each overflow can go up to the root; beyond that, a level adds a node for every
    `full` nodes of the level below. The journal saves nodes on the ways up, and new ones.
    """
    levels = q.head[HEIGHT] + 2
    full = most(q) - q.head[MIN]
    kids = added // full + levels * (overflows + 1)
    rows = added + kids + block_size(q.head[USED_KIDS] + kids)
    if q.head[EPOCH] != 0:
        rows += min(q.head[USED], rows + levels * (runs + 2))
        kids += min(q.head[USED_KIDS], kids + levels * (runs + 2))
    q.head[NEED] = rows
    q.head[NEED_KIDS] = kids
    return q.head[USED] + rows <= q.head[ROWS] and q.head[USED_KIDS] + kids <= q.head[KID_ROWS]


def evict_bulk(tree: Address, t: int) -> int:
    """Evict all entries up to time t."""
    q = attach(numbers(tree))
    bulk_evict(q, t)
    ready(q)
    return DONE


def slide_bulk(tree: Address, xs: InputColumns, n: int, limit: int, out: Outputs, t: int) -> int:
    """Insert n items at times t, t + 1, …; after each, answer for the last `limit` entries."""
    q = attach(numbers(tree))
    count = size(q)
    while count > limit:
        evict(q)
        count -= 1
    for i in range(n):
        if count == limit:
            evict(q)
        else:
            count += 1
        append(q, t + i, lift(q, item(xs, i)))
        ready(q)
        give(out, i, lower(query(q)))
    return DONE


def follow_bulk(
    tree: Address,
    xs: InputColumns,
    done: int,
    windows: Windows,
    out: Outputs,
) -> int:
    """For each of some windows the answer over its items.

    A row's time is its number; rows before `done` were inserted. Rows that leave are one bulk
    eviction. A window without rows is left as it is. Gives the row after the last that was
    inserted.
    """
    q = attach(numbers(tree))
    begins, ends = numbers(windows.lo), numbers(windows.hi)
    for i in range(windows.n):
        begin, end = begins[i], ends[i]
        if begin < end:
            bulk_evict(q, begin - 1)
            done = max(done, begin)
            while done < end:
                append(q, done, lift(q, item(xs, done - windows.base)))
                done += 1
            ready(q)
            give(out, i, lower(query(q)))
    return done


def query_ranges(tree: Address, los: Address, his: Address, n: int, out: Outputs) -> int:
    """Answer for n ranges of times."""
    q = attach(numbers(tree))
    los, his = numbers(los), numbers(his)
    for i in range(n):
        give(out, i, lower(hold(q, ANSWER, range_query(q, los[i], his[i]))))
    return DONE
