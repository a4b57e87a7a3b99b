"""Reactive Aggregator: a window in the leaves of a FlatFAT; items leave from anywhere.

Order   in order; any item may be removed.   Needs   associativity.
Cost    combines: insert 0, evict 0; query, after m insertions and any number of evictions
        since the last one, at most m (1 + ceil(log2(n / m))) for the insertions, log2(n) if
        items left, and 2 log2(n) more where the buffer is inverted; n more, amortized over
        them, when the capacity changes, which it never does up to `capacity=` items.
        Space 2n partials where n is a power of two, up to 8n after evictions.
Paper   General Incremental Sliding-Window Aggregation, 2015, section 5.
Legend  f is the paper's front pointer, e - 1 its back pointer; the item of index i is in
        slot i mod capacity. The window is f..e without the holes; q.hole marks them, and
        they hold the identity, the paper's marker. Slots outside of f..e hold anything: a
        node of theirs is never read (section 5.2).
        q.seen holds f and e as of the last trigger: what came and went since is not in
        FlatFAT's inner nodes yet. q.fixed holds the least capacity, and 1 if a partial is one
        number. Node 0, which is none, holds the identity.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.words import (
    ANSWER,
    Int8,
    Int64,
    Memory,
    Partial,
    Partials,
    attach,
    combine,
    get,
    hold,
    one,
    put,
)
from sash.monoids.recipe import whole
from sash.swag.flat_fat import PLACES, aggregate, prefix, suffix
from sash.swag.heap import Heap, log2
from sash.swag.in_order import InOrder
from sash.swag.parts import Part
from sash.swag.reactive_update import leaf, trigger, update_used
from sash.swag.window import Use, agree

LEAST = 4  # the default capacity
PLAIN = 32  # changes up to which a compiled trigger is not worth its call


class Columns(NamedTuple):
    """The columns of a window's memory."""

    part: Partials
    hole: Int8
    seen: Int64
    work: Int64
    fixed: Int64
    held: int


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int
    capacity: int
    holes: int


def start(q: Any) -> At:
    """An empty window."""
    q.seen[0], q.seen[1] = 0, 0
    put(q.part, 0, one(q))
    return At(0, 0, q.fixed[0], 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f - at.holes


def insert(q: Any, at: At, v: Partial) -> At:
    """Write `v` to the next slot, after making one free if need be."""
    if at.e - at.f == at.capacity:
        at = make_room(q, at)
    put(q.part, leaf(at.capacity, at.e), v)
    return At(at.f, at.e + 1, at.capacity, at.holes)


def evict(q: Any, at: At) -> At:
    """Move the front over the oldest item."""
    return tidy(q, At(at.f + 1, at.e, at.capacity, at.holes))


def tidy(q: Any, at: At) -> At:
    """After items left: the front is at an item, and a quarter of the slots are filled."""
    f, holes = at.f, at.holes
    while holes > 0 and q.hole[f & (at.capacity - 1)] != 0:
        q.hole[f & (at.capacity - 1)] = 0
        f, holes = f + 1, holes - 1
    at, capacity = At(f, at.e, at.capacity, holes), at.capacity
    while 4 * size(at) < capacity and capacity > q.fixed[0]:  # more than once if many left at once
        capacity //= 2
    return at if capacity == at.capacity else resize(q, at, capacity)


def make_room(q: Any, at: At) -> At:
    """The buffer is full: compact it if a quarter of it is holes, else double it."""
    if 4 * size(at) <= 3 * at.capacity:
        return compact(q, at)
    return resize(q, at, 2 * at.capacity)


def resize(q: Any, at: At, capacity: int) -> At:
    """Copy the items to a FlatFAT of another capacity, whose nodes are all to be renewed.

    It is in the same cells: the leaves of the one are no leaves of the other.
    """
    e = at.f
    for i in range(at.f, at.e):
        slot = i & (at.capacity - 1)
        if at.holes > 0 and q.hole[slot] != 0:
            q.hole[slot] = 0
        else:
            put(q.part, leaf(capacity, e), get(q.part, at.capacity + slot))
            e += 1
    q.seen[0], q.seen[1] = at.f, at.f
    return At(at.f, e, capacity, 0)


def compact(q: Any, at: At) -> At:
    """Shift items left over the holes; from the first hole on, all is to be renewed."""
    e = at.f
    for i in range(at.f, at.e):
        slot = i & (at.capacity - 1)
        if q.hole[slot] != 0:
            q.hole[slot] = 0
            q.seen[1] = min(q.seen[1], e)
        else:
            put(q.part, leaf(at.capacity, e), get(q.part, at.capacity + slot))
            e += 1
    q.seen[1] = min(q.seen[1], e - 1)  # the nodes above the last item too: it has moved
    return At(at.f, e, at.capacity, 0)


def remove(memory: Memory, at: At, pairs: int) -> At:
    """A driver: turn the items in the leaves that q.work holds into holes; nodes are to be
    renewed."""
    q = attach(memory)
    holes = at.holes
    for k in range(pairs):
        for v in range(q.work[2 * k], q.work[2 * k + 1] + 1):
            put(q.part, v, one(q))
            q.hole[v - at.capacity] = 1
            holes += 1
    return At(at.f, at.e, at.capacity, holes)


def query(q: Any, at: At) -> Partial:
    """Trigger, then the window combined: suffix and prefix where the buffer is inverted."""
    trigger(q, at)
    if at.f == at.e:
        return one(q)
    front, back = at.f & (at.capacity - 1), (at.e - 1) & (at.capacity - 1)
    if front <= back:
        return aggregate(q)
    older, younger = suffix(q, at.capacity, front), prefix(q, at.capacity, back)
    return hold(q, ANSWER, combine(older, younger))


def trigger_now(memory: Memory, at: At) -> At:
    """A driver: trigger."""
    trigger(attach(memory), at)
    return at


def renew_above(memory: Memory, at: At, pairs: int) -> At:
    """A driver: renew the nodes above the leaves that q.work holds."""
    update_used(attach(memory), at, pairs)
    return at


class Reactive(InOrder):
    """In-order window, O(log n), less an item in batches; items can be removed anywhere.

    With `capacity`, no step takes O(n) as long as the window has at most so many items: its
    slots are there from the start, and stay.

    >>> from sash import monoids as m, swag
    >>> w = swag.Reactive(m.Max())
    >>> w.insert_many([3, 1, 4, 1]); w.evict(); w.query()
    4
    >>> w.remove(1); w.query(), len(w)
    (1, 2)
    """

    cursors = At
    columns = Columns
    steps = (start, insert, evict, query, size)
    rewrites = frozenset[str]()

    def __init__(
        self, monoid: Any, capacity: int | None = None, *, compiled: bool | None = None
    ) -> None:
        self.capacity = None if capacity is None else whole("Reactive", "capacity", capacity, 1)
        super().__init__(monoid, compiled=compiled)

    def _answer(self) -> Any:
        self._trigger()
        return super()._answer()

    def remove(self, *positions: int) -> None:
        """Remove the items at these positions, 0 the oldest; IndexError if one is not there.

        At most m (1 + ceil(log2(n / m))) combines for m positions. Where there are
        holes already, they are passed over, a byte a slot.
        """
        with Use(self):
            self._remove([operator.index(i) for i in positions])

    def _remove(self, wanted: list[int]) -> None:
        for i in wanted:
            if not 0 <= i < len(self):
                raise IndexError(f"remove item {i} from a window of {len(self)}")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"remove each item once, not {wanted}")
        at = self._at
        leaves = np.sort(at.capacity | (self._indexes(wanted) & (at.capacity - 1)))
        pairs = self._memory.set_work(leaves)
        self._step(remove, len(wanted), pairs)
        try:
            self._trigger()
            self._memory.set_work(leaves)
            self._step(renew_above, len(wanted), pairs)
        except BaseException:  # a combine raised: at the next trigger, all is to be renewed
            self._memory.columns["seen"][:] = at.f
            raise
        finally:
            self._at = self._plain(tidy)(self._q, self._at)

    def check(self) -> None:
        self._trigger()
        self._check_cursors()
        f, e, capacity, _ = self._at
        self._require(capacity == self._least() or 4 * len(self) >= capacity, "a quarter is filled")
        part, monoid = self._q.part, self._monoid
        for i in range(f, e):
            if self._holes(i, i + 1):
                empty = part[leaf(capacity, i)]
                self._require(agree(empty, monoid.identity), f"slot of index {i} is empty")
        used = self._used()
        for v in range(1, capacity):
            below = [part[child] for child in (2 * v, 2 * v + 1) if used[child]]
            if below:
                total = below[0] if len(below) == 1 else monoid.combine(*below)
                self._require(agree(part[v], total), f"node {v} is its children combined")

    def _broken(self) -> Iterator[str]:
        f, e, capacity, holes = self._at
        if not self._memory.holds(capacity):
            yield "the capacity is a power of two, and there are cells for it"
            return
        if not 0 <= holes <= e - f <= capacity:
            yield "0 <= holes <= e - f <= capacity"
            return
        hole = self._memory.columns["hole"]
        if not np.isin(hole, (0, 1)).all() or not holes == self._holes(f, e) == hole.sum():
            yield "as many slots are holes as the cursors say, all in f..e"
        elif f < e and self._holes(f, f + 1):
            yield "there is no hole at the front"
        if self._memory.columns["seen"].tolist() != [f, e]:
            yield "FlatFAT has seen f..e"

    def _kept_cells(self) -> Iterator[Part]:
        """The nodes of the FlatFAT: the items, and inner nodes as of the last trigger.

        Inner nodes above slots that FlatFAT has not seen yet mean nothing.
        """
        f, e, capacity, _ = self._at
        held = {leaf(capacity, i) for i in range(f, e) if not self._holes(i, i + 1)}
        first, last = self._memory.columns["seen"].tolist()
        seen = {leaf(capacity, i) for i in range(max(f, first), min(e, last))}
        inner = {v >> k for v in seen for k in range(1, log2(capacity) + 1)}
        for v in sorted(range(1, 2 * capacity), key=log2, reverse=True):
            if v in held or v in inner:
                yield Part(f"level {log2(capacity) - log2(v)}", v, self._q.part[v])

    def _used(self) -> np.ndarray:
        """Of each node, whether there are slots of f..e below it."""
        used = np.ones(2 * self._at.capacity, bool)
        for nodes in self._unused():
            used[nodes] = False
        return used

    def _unused(self) -> Iterator[slice]:
        """The nodes below which there is no slot of f..e, level by level, and node 0, which is
        none."""
        f, e, capacity, _ = self._at
        yield slice(0, 1 if f < e else 2 * capacity)
        first, front, back = capacity, leaf(capacity, f), leaf(capacity, e - 1)
        inverted = front > back
        while f < e and first > 0:
            if inverted:
                yield slice(back + 1, front)
            else:
                yield from (slice(first, front), slice(back + 1, 2 * first))
            first, front, back = first >> 1, front >> 1, back >> 1

    def _trigger(self) -> None:
        """Trigger; if it raises, the next trigger does it again."""
        at, (f, e) = self._at, self._memory.columns["seen"].tolist()
        self._step(trigger_now, at.f - max(f, at.e - at.capacity) + at.e - max(e, at.f))

    def _step(self, driver: Any, changes: int, *numbers: int) -> None:
        """Run a driver, compiled where much is to change and other batches run compiled too."""
        in_batches = any(self._kernels.values())
        kernel = self._kernel(driver, ()) if in_batches and changes > PLAIN else None
        if kernel is None:
            self._at = self._plain(driver)(self._q, self._at, *numbers)
        else:
            self._enter(kernel, *numbers)

    def _saved(self, k: int) -> None:
        """No step makes room in the middle: then the cells in use stay as they are."""
        at = self._at
        if at.e - at.f + k > at.capacity:
            fits = len(self) + k <= at.capacity and 4 * len(self) <= 3 * at.capacity
            capacity = 1 << max(len(self) + k - 1, at.capacity).bit_length()
            do, arguments = (compact, ()) if fits else (resize, (capacity,))
            self._at = self._plain(do)(self._q, at, *arguments)

    def _restore(self, k: int, saved: None) -> None:
        self._at = self._plain(tidy)(self._q, self._at)

    def _indexes(self, positions: list[int]) -> np.ndarray:
        """The indexes of items: as far from the front as their positions and the holes before."""
        f, e, capacity, holes = self._at
        if holes == 0:
            return f + np.array(positions, np.int64)
        turned = np.roll(self._memory.columns["hole"][:capacity], -(f % capacity))[: e - f]
        items = np.flatnonzero(turned == 0)
        return f + items[np.array(positions, np.int64)]

    def _holes(self, lo: int, hi: int) -> int:
        """How many of the slots of indexes lo..hi are holes."""
        hole, capacity = self._memory.columns["hole"], self._at.capacity
        start = lo % capacity
        ends = np.count_nonzero(hole[start : min(start + hi - lo, capacity)])
        return int(ends + np.count_nonzero(hole[: max(start + hi - lo - capacity, 0)]))

    def _new_memory(self) -> Heap:
        self._places = PLACES
        least, identity = self._least(), self._monoid.identity
        memory = Heap(Columns, self._layout, identity, PLACES, least, seen=2, work=6, fixed=2)
        is_number = self._layout is not None and self._layout.width <= 8
        memory.columns["fixed"][:] = least, is_number
        return memory

    def _least(self) -> int:
        """The least capacity: a power of two."""
        return max(LEAST, 1 << ((self.capacity or 1) - 1).bit_length())

    @property
    def options(self) -> dict[str, Any]:
        return {"capacity": self.capacity}

    def _make_room_to_slide(self, n: int, most: int) -> None:
        self._memory.reserve(self._at, max(most - len(self), 0))

    def _state(self) -> dict[str, Any]:
        """With nothing of an item that left."""
        self._trigger()
        cells, identity = self._memory.columns["part"].array, self._monoid.identity
        for nodes in (*self._unused(), slice(2 * self._at.capacity, len(cells))):
            count = max(0, nodes.stop - nodes.start)
            cells[nodes] = [identity] * count if isinstance(cells, list) else identity
        return {**super()._state(), "capacity": self.capacity}

    def _set_state(self, state: dict[str, Any]) -> None:
        least = state.get("capacity")
        self.capacity = None if least is None else whole("Reactive", "capacity", least, 1)
        super()._set_state(state)
        self._memory.columns["fixed"][0] = self._least()
        self._q.part[0] = self._monoid.identity
