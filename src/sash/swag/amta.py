"""Amortized MTA: in-order windows in amortized constant time, bulk evictions in O(log n).

Order   in order.   Needs   associativity.
Cost    combines, on average: insert 2, evict 1, query 1; at most 4 log n + 3 for any of
        them, however many items are evicted; enforcing a policy O(log k) to evict k. A query
        that follows a query combines nothing.
        Space n items and n inner nodes, in 2 n to 8 n rows, and log n for the stack.
Kept    with store=…: O(log n) pages' worth of nodes here, n in the store; a combine more for
        each item that is evicted after it left memory (decision 9).
Paper   Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient
        Bulk Evictions, 2018, section 4.2.
Legend  f..e is the window, a forest. f..m is the oldest tree, its root at level h; front
        and back are the paper's result pair, R0 = f..m and R1 = m..e combined. The stack
        has s entries: for each level on which f's node is the left one of a pair, from
        the root down, all of f..m behind that node.
        A node is made when a younger pair begins beside it; so level l has its nodes
        below ((e + 1) >> l) - 1, and no tail needs to be kept.
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
    get,
    hold,
    one,
    outlined,
    policy,
    put,
)
from sash.memory.rings import Levels
from sash.swag.mta import MTA
from sash.swag.mta_steps import node, older, recent
from sash.swag.parts import Part
from sash.swag.window import agree

FRONT, BACK, OLD = FIRST_FREE, FIRST_FREE + 1, FIRST_FREE + 2


class Columns(NamedTuple):
    """The columns: all levels in one column, and the stack."""

    part: Partials
    stack: Partials
    cap: Int64
    held: int


class PagedColumns(NamedTuple):
    """The columns of a window over a store: see `sash.swag.stored.paged`."""

    part: Partials
    stack: Partials
    levels: Int64
    fetch: Int64
    held: int


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int
    h: int
    m: int
    s: int
    front: Partial
    back: Partial


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0, 0, 0, one(q), one(q))


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def end(e: int, level: int) -> int:
    """How many nodes a level has had in all: those of full pairs except the youngest."""
    return ((e + 1) >> level) - 1


def final(at: At, level: int) -> int:
    """The nodes of a level below this one are made; none of them changes again."""
    return end(at.e, level)


def extent(at: At, level: int) -> tuple[int, int]:
    """The nodes of a level all of whose items are in the window: from, and up to."""
    return -(-at.f >> level), end(at.e, level)


def query(q: Any, at: At) -> Partial:
    """The result pair, combined."""
    return combine(at.front, at.back)


def insert(q: Any, at: At, v: Partial) -> At:
    """Algorithm 3, and the result pair from scratch where that is due."""
    at, due = add(q, at, v)
    return results(q, at.f, at.e) if due else at


def add(q: Any, at: At, v: Partial) -> tuple[At, bool]:
    """Algorithm 3: add a leaf; where it begins a pair, the pair before it gets its parent.

    Also whether the oldest tree has taken in all of a level: then `results` is due. Until it is
    done, front and back are right, and no eviction may be.
    """
    f, e, h, m, s, front, back = at
    put(q.part, recent(q, 0, e), v)
    if f == e:
        return At(f, e + 1, 0, e + 1, 0, hold(q, FRONT, v), back), False
    back = hold(q, BACK, combine(back, v))
    j, level = e, 0
    while j & 1 == 0 and level < h:
        j, level = (j >> 1) - 1, level + 1
        parent(q, f, level, j)
    if level == h and j & 1 == 0:  # a third node of the root's level: a new root over the pair
        parent(q, f, h + 1, (j >> 1) - 1)
        return At(f, e + 1, h + 1, m, s, front, back), False
    return At(f, e + 1, h, m, s, front, back), level == h


def parent(q: Any, f: int, level: int, j: int) -> None:
    """Make node j, unless some of its items are gone: such a node is never read."""
    if j << level >= f:
        left, right = recent(q, level - 1, 2 * j), recent(q, level - 1, 2 * j + 1)
        put(q.part, recent(q, level, j), combine(get(q.part, left), get(q.part, right)))


def evict(q: Any, at: At) -> At:
    """Algorithms 6 and 7: pop the stack; push what the pairs that now come first give."""
    f, e, h, m, s, front, back = at
    f += 1
    if f == m:
        return results(q, f, e)
    s -= 1
    front = hold(q, FRONT, get(q.stack, s))
    level = 0
    while (f >> level) & 1 == 0:  # up to the level on which a right node is first now
        level += 1
    while level > 0:
        level -= 1
        push(q, s, node(q, level, (f >> level) + 1))
        s += 1
    return At(f, e, h, m, s, front, back)


def push(q: Any, s: int, v: Partial) -> None:
    """Push v, combined with the top of the stack, which is younger."""
    if s == 0:
        put(q.stack, s, v)
    else:
        put(q.stack, s, combine(v, get(q.stack, s - 1)))


@outlined
def results(q: Any, f: int, e: int) -> At:
    """Algorithms 4 and 5: the oldest tree, the stack and the result pair from scratch."""
    if f == e:
        return At(f, e, 0, e, 0, hold(q, FRONT, one(q)), hold(q, BACK, one(q)))
    h = 0
    while f >> (h + 1) < end(e, h + 1):
        h += 1
    m, s = end(e, h) << h, 0
    for level in range(h, -1, -1):
        right = (f >> level) + 1
        if right & 1 == 1 and right << level < m:
            push(q, s, node(q, level, right))
            s += 1
    front = hold(q, FRONT, node(q, 0, f))
    if s > 0:
        front = hold(q, FRONT, combine(front, get(q.stack, s - 1)))
    back = hold(q, BACK, one(q))
    for level in range(h - 1, -1, -1):
        for j in range(2 * end(e, level + 1), end(e, level)):
            if j << level == m:
                back = hold(q, BACK, node(q, level, j))
            else:
                back = hold(q, BACK, combine(back, node(q, level, j)))
    return At(f, e, h, m, s, front, back)


@outlined
def bulk(q: Any, at: At, k: int) -> At:
    """Section 4.2.4: evict a few items one by one, more of them at once."""
    if k > at.h + 1:
        return results(q, at.f + k, at.e)
    for _ in range(k):
        at = evict(q, at)
    return at


def enforced(q: Any, at: At, v: Partial) -> At:
    """Insert, then evict what the policy says; the result pair is set from scratch only once,
    though both may ask for that (section 5.2)."""
    at, due = add(q, at, v)
    k = search(q, at)
    if due:
        return results(q, at.f + k, at.e)
    return at if k == 0 else bulk(q, at, k)


def enforce(q: Any, at: At) -> At:
    """Evict what the policy says."""
    k = search(q, at)
    return at if k == 0 else bulk(q, at, k)


@outlined
def search(q: Any, at: At) -> int:
    """How many of the oldest items to evict.

    From the oldest leaf up, by ever larger nodes, as long as the policy is true; then
    down into the first node that stays. So only nodes are read that are all in the
    window; those on the oldest branch, which evictions leave as they were, are not.
    """
    f, e = at.f, at.e
    total = hold(q, ANSWER, query(q, at))
    old = hold(q, OLD, one(q))
    p, level, up = f, 0, True
    while level >= 0 and p < e:
        if p >> level < end(e, level):
            tried = older(q, p == f, old, node(q, level, p >> level))
            if policy(total, tried):
                old = hold(q, OLD, tried)
                p += 1 << level
                while up and p & ((2 << level) - 1) == 0 and p >> (level + 1) < end(e, level + 1):
                    level += 1
            else:
                up = False
            if up:
                continue
        level -= 1
    return p - f


def stacked(at: At) -> list[int]:
    """The first item of each entry of the stack."""
    starts = ((at.f >> k) + 1 << k for k in range(at.h, -1, -1) if not at.f >> k & 1)
    return [first for first in starts if first < at.m]


class AMTA(MTA):
    """In-order window, amortized constant time; bulk evictions and slide policies in O(log n).

    An item older than the maximum is never part of a later answer, so it may go:

    >>> from sash import monoids as m, swag
    >>> w = swag.AMTA(m.Max(), policy=lambda total, old: old < total)
    >>> w.slide([3, 1, 5, 4, 2])
    [3, 3, 5, 5, 5]
    >>> len(w)
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
    final = staticmethod(final)

    def _levels(self) -> Any:
        return Levels(Columns, self._layout, self._monoid.identity, self._places, extent)

    def _check(self) -> None:
        self._check_cursors()
        at = self._at
        if len(self) == 0:
            return
        for level in range(1, at.h + 1):
            for j in range(*extent(at, level)):
                self._require(self._is(level, j), f"node {j} of level {level} is its children")
        self._require(agree(at.front, self._fold(at.f, at.m)), "front is f..m combined")
        self._require(agree(at.back, self._fold(at.m, at.e)), "back is m..e combined")
        for s, first in enumerate(stacked(at)):
            top = self._q.stack[s]
            self._require(agree(top, self._fold(first, at.m)), f"entry {s} is {first}..m combined")

    def _broken(self) -> Iterator[str]:
        at = self._at
        if self._memory.cap < len(self):
            yield "there is room"
        if len(self) == 0:
            if (at.h, at.m, at.s) != (0, at.e, 0):
                yield "an empty window has no tree and no stack"
            return
        highest = max(level for level in range(64) if at.f >> level < end(at.e, level))
        if at.h != highest:
            yield f"the root is at level {highest}"
        elif at.m != end(at.e, highest) << highest:
            yield "f..m is the oldest tree"
        elif at.s != len(stacked(at)):
            yield f"the stack has {len(stacked(at))} entries"

    def _extent(self, level: int) -> tuple[int, int]:
        return extent(self._at, level)

    def _kept_cells(self) -> Iterator[Part]:
        yield from super()._kept_cells()
        yield from (Part("stack", s, self._q.stack[s]) for s in range(self._at.s))

    def _saved(self, k: int) -> Any:
        """Nodes are only added, as there is room for all insertions; the stack changes."""
        return self._memory.columns["stack"].array.copy()

    def _restore(self, k: int, saved: Any) -> None:
        self._memory.columns["stack"].array[:] = saved

    def _is(self, level: int, j: int) -> bool:
        at_node = self._plain(node)
        left, right = (at_node(self._q, level - 1, c) for c in (2 * j, 2 * j + 1))
        return agree(at_node(self._q, level, j), self._monoid.combine(left, right))

    def _fold(self, lo: int, hi: int) -> Any:
        total = self._monoid.identity
        for i in range(lo, hi):
            total = self._monoid.combine(total, self._plain(node)(self._q, 0, i))
        return total
