"""Log MTA: in-order windows as one tree, every operation in O(log n), bulk evictions too.

Order   in order.   Needs   associativity.
Cost    combines: insert log n + 1, evict of any number of items log n, query 1;
        enforcing a policy log n + 1 more.   Space 4 n to 16 n rows of a partial.
Kept    with store=…: O(log n) pages' worth of nodes here, n in the store; a combine more for
        each item that is evicted after it left memory (decision 9).
Paper   Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient
        Bulk Evictions, 2018, section 4.1.
Legend  f..e is the window; h is the root's level, the lowest that has at most two nodes.
        A node stands for those of its items that are in the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
    Int64,
    Partial,
    Partials,
    combine,
    hold,
    one,
    outlined,
    policy,
    put,
)
from sash.memory.rings import Levels
from sash.swag.mta import MTA
from sash.swag.mta_steps import cell, node, older
from sash.swag.window import agree

OLD = FIRST_FREE


class Columns(NamedTuple):
    """The columns: all levels in one column."""

    part: Partials
    cap: Int64
    held: int


class PagedColumns(NamedTuple):
    """The columns of a window over a store: see `sash.swag.stored.paged`."""

    part: Partials
    levels: Int64
    fetch: Int64
    held: int


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int
    h: int


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def extent(at: At, level: int) -> tuple[int, int]:
    """The nodes of a level: from, and up to."""
    if level > at.h or at.f == at.e:
        return 0, 0
    return at.f >> level, ((at.e - 1) >> level) + 1


def final(at: At, level: int) -> int:
    """The nodes of a level below this one have all their items; only the oldest changes."""
    return at.e >> level


def query(q: Any, at: At) -> Partial:
    """The root's two nodes, combined."""
    if at.f == at.e:
        return hold(q, ANSWER, one(q))
    i, j = at.f >> at.h, (at.e - 1) >> at.h
    if i == j:
        return hold(q, ANSWER, node(q, at.h, i))
    return hold(q, ANSWER, combine(node(q, at.h, i), node(q, at.h, j)))


def insert(q: Any, at: At, v: Partial) -> At:
    """Algorithm 1: add a leaf, then set the youngest node of each level again."""
    f, e, h = at.f, at.e + 1, at.h
    put(q.part, cell(q, 0, at.e), v)
    if (at.e >> h) - (f >> h) > 1:  # three nodes: a new root
        h += 1
    for level in range(1, h + 1):
        aggregate(q, f, e, level, at.e >> level)
    if h > at.h:
        aggregate(q, f, e, h, f >> h)
    return At(f, e, h)


def aggregate(q: Any, f: int, e: int, level: int, j: int) -> None:
    """Set node j: its children combined, as far as they are in the window."""
    left, right = 2 * j, 2 * j + 1
    if left < f >> (level - 1):
        put(q.part, cell(q, level, j), node(q, level - 1, right))
    elif right > (e - 1) >> (level - 1):
        put(q.part, cell(q, level, j), node(q, level - 1, left))
    else:
        both = combine(node(q, level - 1, left), node(q, level - 1, right))
        put(q.part, cell(q, level, j), both)


def evict(q: Any, at: At) -> At:
    """Remove the oldest item."""
    return bulk(q, at, 1)


@outlined
def bulk(q: Any, at: At, k: int) -> At:
    """Remove the k oldest items, then set the oldest node of each level again."""
    f, e, h = at.f + k, at.e, at.h
    if f == e:
        return At(f, e, 0)
    while h > 0 and ((e - 1) >> (h - 1)) - (f >> (h - 1)) <= 1:
        h -= 1
    for level in range(1, h + 1):
        aggregate(q, f, e, level, f >> level)
    return At(f, e, h)


def edges(q: Any, at: At) -> At:
    """Set the oldest and the youngest node of each level again."""
    at = bulk(q, at, 0)
    for level in range(1, at.h + 1):
        aggregate(q, at.f, at.e, level, (at.e - 1) >> level)
    if at.h > 0:
        aggregate(q, at.f, at.e, at.h, at.f >> at.h)
    return at


def enforced(q: Any, at: At, v: Partial) -> At:
    """Insert, then evict what the policy says."""
    return enforce(q, insert(q, at, v))


def enforce(q: Any, at: At) -> At:
    """Evict what the policy says."""
    k = search(q, at)
    return at if k == 0 else bulk(q, at, k)


@outlined
def search(q: Any, at: At) -> int:
    """Algorithm 2: how many of the oldest items to evict, from the root to a leaf.

    Of a pair only the left node is asked about: if its parent stays and it goes, then
    its sibling stays. The root's nodes have no parent.
    """
    total = query(q, at)
    old = hold(q, OLD, one(q))
    p, level = at.f, at.h
    while level >= 0 and p < at.e:
        j, last = p >> level, (at.e - 1) >> level
        goes = False
        if level == at.h or (j & 1 == 0 and j < last):
            tried = older(q, p == at.f, old, node(q, level, j))
            goes = bool(policy(total, tried))
            if goes:
                old = hold(q, OLD, tried)
                p = min(at.e, (j + 1) << level)
        if not (goes and level == at.h):
            level -= 1
    return p - at.f


class LogMTA(MTA):
    """In-order window as a tree: O(log n), bulk evictions and slide policies too.

    >>> from sash import monoids as m, swag
    >>> w = swag.LogMTA(m.Max(), policy=lambda total, old: total - old >= 4)
    >>> w.insert_many([1, 2, 3, 5]); len(w)
    3
    """

    cursors = At
    columns = Columns
    steps = (start, insert, evict, query, size)
    rewrites = frozenset({"insert", "evict"})
    bulk = bulk
    enforced = enforced
    enforce = enforce
    paged_columns = PagedColumns
    edits = True
    final = staticmethod(final)

    def _mend(self) -> None:
        self._at = self._plain(edges)(self._q, self._at)

    def _levels(self) -> Any:
        # Both edges are kept: a level may have a node more than its share, so twice the room.
        identity = self._monoid.identity
        return Levels(Columns, self._layout, identity, self._places, extent, spare=2)

    def _check(self) -> None:
        self._check_cursors()
        at, q = self._at, self._q
        at_node = self._plain(node)
        for level in range(1, at.h + 1):
            below = range(*extent(at, level - 1))
            for j in range(*extent(at, level)):
                children = [at_node(q, level - 1, c) for c in (2 * j, 2 * j + 1) if c in below]
                whole = children[0]
                for child in children[1:]:
                    whole = self._monoid.combine(whole, child)
                self._require(agree(at_node(q, level, j), whole), f"node {j} of level {level}")

    def _extent(self, level: int) -> tuple[int, int]:
        return extent(self._at, level)

    def _saved(self, k: int) -> Any:
        """The youngest node of each level; a policy's evictions change the oldest ones too."""
        at, part = self._at, self._memory.columns["part"]
        if self.policy is not None:
            return part.array.copy()
        cells = [cell(self._q, level, max(0, at.e - 1) >> level) for level in range(1, at.h + 1)]
        return [(i, part[i]) for i in cells]

    def _restore(self, k: int, saved: Any) -> None:
        part = self._memory.columns["part"]
        if self.policy is not None:
            part.array[:] = saved
            return
        for i, v in saved:
            part[i] = v

    def _broken(self) -> Iterator[str]:
        at = self._at
        if self._memory.cap < 2 * len(self):
            yield "there is room"
        lowest = next(k for k in range(64) if (at.e - 1 >> k) - (at.f >> k) <= 1)
        if at.h != (lowest if at.f < at.e else 0):
            yield f"the root is at level {lowest}"
