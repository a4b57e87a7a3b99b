"""Bulk insertion: the pass up, interleave and split (section 5).

A treelet (time, value, node, target) is an entry for the target, with the child that
follows it; a node of 0 says only that the target's aggregate is to be repaired. The
bulk itself are treelets for leaves. Each level reads its treelets from one half of the
columns `new_…`, and writes those for the next level to the other.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import Partial, combine, get, move, outlined, put
from sash.swag.fiba.aggregate import aggregate, dirty, left_spine, pass_down
from sash.swag.fiba.evict import settle
from sash.swag.fiba.journal import touch
from sash.swag.fiba.search import below, insertion_sites
from sash.swag.fiba.split import split
from sash.swag.fiba.tree import (
    HEIGHT,
    RIGHT_LEAF,
    RUN,
    SKIP,
    TREELETS,
    arity,
    first,
    first_child,
    is_leaf,
    most,
    move_entries,
    parent,
    set_arity,
    set_parent,
    side_of,
)


def insert(q: Any, t: Any, v: Partial) -> None:
    """Insert one entry, anywhere: amortized O(log d), d its distance from the nearer end."""
    settle(q)
    q.new_time[0] = t
    put(q.new_val, 0, v)
    runs, _, _ = insertion_sites(q, 1)
    insert_treelets(q, runs)


def append(q: Any, t: Any, v: Partial) -> None:
    """Insert an entry that is younger than all others: amortized O(1), 1 combine mostly."""
    x = q.head[RIGHT_LEAF]
    a = arity(q, x)
    if a < most(q):
        touch(q, x)
        put(q.agg, x, combine(get(q.agg, x), v))  # first: nothing is changed if this fails
        cell = first(q, x) + a - 1
        q.time[cell] = t
        put(q.val, cell, v)
        set_arity(q, x, a + 1)
    else:
        append_to_full(q, t, v)


@outlined
def append_to_full(q: Any, t: Any, v: Partial) -> None:
    """As append, where the right finger has to be split, or is the left finger as well."""
    if q.head[HEIGHT] == 0 and q.head[SKIP] > 0:
        settle(q)
    q.new_time[0] = t
    put(q.new_val, 0, v)
    site(q, 0, q.head[RIGHT_LEAF], 1)
    insert_treelets(q, 1)


def site(q: Any, run: int, leaf: int, end: int) -> None:
    """Write the site of treelets up to `end` that all go to one leaf."""
    q.run[RUN * run] = leaf
    q.run[RUN * run + 1] = end
    q.run[RUN * run + 2] = -1
    q.run[RUN * run + 3] = 0


@outlined
def insert_treelets(q: Any, runs: int) -> None:
    """Pass up and pass down: insert treelets whose sites have been found."""
    half = q.head[TREELETS]
    i, out = 0, half
    for run in range(runs):
        leaf, end = q.run[RUN * run], q.run[RUN * run + 1]
        cell, level = q.run[RUN * run + 2], q.run[RUN * run + 3]
        if cell < 0:
            out = interleave(q, leaf, 0, i, match(q, leaf, i, end), out)
        else:
            out = combine_into(q, cell, level, leaf, i, out)
        i = end
    level, source = 1, half
    while out > source:
        end = out
        target = half - source
        out = target
        i = source
        while i < end:
            x, j = 0 + q.new_target[i], i + 1
            while j < end and q.new_target[j] == x:
                j += 1
            out = interleave(q, x, level, i, entries_of(q, i, j), out)
            i = j
        level, source = level + 1, target
    pass_down(q, left_spine(q))


def match(q: Any, leaf: int, start: int, end: int) -> int:
    """Combine treelets whose times the leaf has already, and leave them out of start..end."""
    base, n = first(q, leaf), arity(q, leaf) - 1
    i = below(q, leaf, q.new_time[start])
    if i == n or q.new_time[end - 1] < q.time[base + i]:  # all in one gap
        return end
    keep = start
    for j in range(start, end):
        t = q.new_time[j]
        while i < n and q.time[base + i] < t:
            i += 1
        if i < n and not t < q.time[base + i]:
            touch(q, leaf)
            put(q.val, base + i, combine(get(q.val, base + i), get(q.new_val, j)))
        else:
            keep_treelet(q, keep, j)
            keep += 1
    return keep


def combine_into(q: Any, cell: int, level: int, leaf: int, i: int, out: int) -> int:
    """Combine a treelet with an inner node's entry of the same time.

    The aggregate of a node off the spines is repaired by an event that rides up with the
    others, from the leaf just before the entry: all nodes on that way are off the spines.
    """
    x = cell // (most(q) - 1)
    touch(q, x)
    put(q.val, cell, combine(get(q.val, cell), get(q.new_val, i)))
    if side_of(q, x) != 0:
        dirty(q, x, level)
        return out
    return repair_event(q, parent(q, leaf), out)


def entries_of(q: Any, start: int, end: int) -> int:
    """Leave the events that only repair out of start..end."""
    keep = start
    for j in range(start, end):
        if q.new_node[j] != 0:
            keep_treelet(q, keep, j)
            keep += 1
    return keep


def keep_treelet(q: Any, to: int, j: int) -> None:
    """Move a treelet towards the start of its node's treelets."""
    if to != j:
        q.new_time[to] = q.new_time[j]
        move(q.new_val, to, j, 1)
        q.new_node[to] = q.new_node[j]


@outlined
def interleave(q: Any, x: int, level: int, start: int, end: int, out: int) -> int:
    """Put treelets start..end into node x; write those for the next level from `out` on."""
    if arity(q, x) + end - start > most(q):
        return split(q, x, level, start, end, out)
    if end > start:
        merge_in(q, x, start, end)
    if side_of(q, x) != 0:
        dirty(q, x, level)
        return out
    aggregate(q, x)
    return repair_event(q, parent(q, x), out)


def repair_event(q: Any, target: int, out: int) -> int:
    """A treelet that only says that the target's aggregate is to be repaired."""
    q.new_target[out] = target
    q.new_node[out] = 0
    return out + 1


def merge_in(q: Any, x: int, start: int, end: int) -> None:
    """Small insertion: the node has room for all. From the youngest, so that each moves once."""
    touch(q, x)
    base, left = first(q, x), arity(q, x) - 1
    kid = first_child(q, x)
    set_arity(q, x, arity(q, x) + end - start)
    for j in range(end - 1, start - 1, -1):
        by = j - start + 1  # treelets that are still to come: how far older entries move
        t = q.new_time[j]
        i = left
        while i > 0 and t < q.time[base + i - 1]:
            i -= 1
        move_entries(q, base + i + by, base + i, left - i)
        q.time[base + i + by - 1] = t
        put(q.val, base + i + by - 1, get(q.new_val, j))
        if not is_leaf(q, x):
            move(q.child, kid + i + 1 + by, kid + i + 1, left - i)
            c = 0 + q.new_node[j]
            q.child[kid + i + by] = c
            set_parent(q, c, x)
        left = i
