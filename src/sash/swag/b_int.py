"""B-Int: the base intervals of a stream, each combined once, when its last item comes.

Order   in order.   Needs   associativity.
Cost    combines: insert under 1 on average and log2(n) at most, evict 0, query 2 log2(n) + 1 at
        most.   Space 2n partials where n is a power of two, up to 8n after evictions.
Paper   Resource Sharing in Continuous Sliding-Window Aggregates, 2004, section on B-Int;
        the baseline of General Incremental Sliding-Window Aggregation, 2015. Capacities
        that change are an addition: the papers' windows have a largest size.
Legend  f..e is the window. Base interval i of level l is the items i 2^l to (i + 1) 2^l - 1;
        it is active if all of them are in the window. A level is a ring of
        capacity / 2^l cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sash.kernel.words import FIRST_FREE, Partial, Partials, combine, get, hold, one, put
from sash.swag.heap import Heap, log2, zeros
from sash.swag.in_order import InOrder
from sash.swag.parts import Part
from sash.swag.window import agree

LEAST = 4  # the default capacity
OLDER, YOUNGER = FIRST_FREE, FIRST_FREE + 1


class Columns(NamedTuple):
    """The columns of a window's memory."""

    part: Partials
    held: int


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int
    capacity: int


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, LEAST)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def cell(ring: int, i: int) -> int:
    """The cell of base interval i, in the level whose ring has `ring` cells."""
    return ring | (i & (ring - 1))


def insert(q: Any, at: At, v: Partial) -> At:
    """Keep `v`, then combine the active base intervals that end with it."""
    if at.e - at.f == at.capacity:
        at = resize(q, at, 2 * at.capacity)
    i, level, ring = at.e, 0, at.capacity
    a = put(q.part, cell(ring, i), v)
    while i & 1 and (i - 1) << level >= at.f:
        older = get(q.part, cell(ring, i - 1))
        i, level, ring = i >> 1, level + 1, ring >> 1
        a = put(q.part, cell(ring, i), combine(older, a))
    return At(at.f, at.e + 1, at.capacity)


def evict(q: Any, at: At) -> At:
    """Forget the oldest item; the base intervals that it is in are no longer active."""
    at = At(at.f + 1, at.e, at.capacity)
    if 4 * size(at) < at.capacity and at.capacity > LEAST:
        at = resize(q, at, at.capacity // 2)
    return at


def query(q: Any, at: At) -> Partial:
    """Split the window into base intervals: longer and longer ones, then shorter ones."""
    lo, older = at.f, one(q)
    length = longest(at, lo)
    while lo + length <= at.e:
        level = log2(length)
        v = get(q.part, cell(at.capacity >> level, lo >> level))
        older = hold(q, OLDER, combine(older, v))
        lo += length
        length = longest(at, lo)
    rest, younger = at.e - lo, one(q)
    while rest != 0:
        level = zeros(rest)
        v = get(q.part, cell(at.capacity >> level, (lo + rest - 1) >> level))
        younger = hold(q, YOUNGER, combine(v, younger))
        rest &= rest - 1
    return combine(older, younger)


def longest(at: At, lo: int) -> int:
    """How many items has the longest base interval that begins with item lo."""
    return (lo | at.capacity) & -(lo | at.capacity)


def resize(q: Any, at: At, capacity: int) -> At:
    """Move every level to a ring of another size, without a combine.

    It is in the same cells: a level's new ring is where the level below, or above, had
    its own, so levels go in an order in which that one has moved already.
    """
    top = 0
    while 2 << top <= size(at):
        top += 1
    for step in range(top + 1):
        level = step if capacity > at.capacity else top - step
        for i in range(-(-at.f >> level), at.e >> level):
            v = get(q.part, cell(at.capacity >> level, i))
            put(q.part, cell(capacity >> level, i), v)
    return At(at.f, at.e, capacity)


class BInt(InOrder):
    """In-order window of base intervals, O(log n): the baseline of Reactive.

    >>> from sash import monoids as m, swag
    >>> swag.BInt(m.Max()).slide([3, 1, 2, 0], size=2)
    [3, 3, 2, 2]
    """

    cursors = At
    columns = Columns
    steps = (start, insert, evict, query, size)
    rewrites = frozenset({"insert"})  # it may resize, and then combine

    def check(self) -> None:
        self._check_cursors()
        f, e, capacity = self._at
        self._require(capacity == LEAST or 4 * len(self) >= capacity, "a quarter is filled")
        part, level, ring = self._q.part, 1, capacity >> 1
        while ring:
            for i in range(-(-f >> level), e >> level):
                halves = (part[cell(2 * ring, 2 * i)], part[cell(2 * ring, 2 * i + 1)])
                both = self._monoid.combine(*halves)
                what = f"base interval {i} of level {level} is its halves combined"
                self._require(agree(part[cell(ring, i)], both), what)
            level, ring = level + 1, ring >> 1

    def _broken(self) -> Iterator[str]:
        if not self._memory.holds(self._at.capacity):
            yield "the capacity is a power of two, and there are cells for it"
        if len(self) > self._at.capacity:
            yield "e <= f + capacity"

    def _kept_cells(self) -> Iterator[Part]:
        f, e, capacity = self._at
        for level in range(log2(capacity) + 1):
            for i in range(-(-f >> level), e >> level):
                yield Part(f"level {level}", i, self._q.part[cell(capacity >> level, i)])

    def _saved(self, k: int) -> None:
        """No step resizes in the middle: then the cells in use stay as they are."""
        capacity = 1 << max(0, len(self) + k - 1).bit_length()
        if capacity > self._at.capacity:
            self._at = self._plain(resize)(self._q, self._at, capacity)

    def _restore(self, k: int, saved: None) -> None:
        capacity = self._at.capacity
        while capacity > LEAST and 4 * len(self) < capacity:
            capacity //= 2
            self._at = self._plain(resize)(self._q, self._at, capacity)

    def _new_memory(self) -> Heap:
        self._places = FIRST_FREE + 2
        return Heap(Columns, self._layout, self._monoid.identity, self._places, LEAST)

    def _make_room_to_slide(self, n: int, most: int) -> None:
        self._memory.reserve(self._at, max(most - len(self), 0))
