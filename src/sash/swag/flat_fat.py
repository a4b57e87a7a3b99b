"""FlatFAT: a fixed number of values; any of them change, any prefix or suffix is combined.

Order   any: a value is written at any location.   Needs   associativity.
Cost    combines: new n - 1; update of m locations at most m (1 + ceil(log2(n / m)));
        prefix and suffix at most log2(n); aggregate 0.   Space 2n partials.
Paper   General Incremental Sliding-Window Aggregation, 2015, section 4.
Legend  T is q.part, the tree in one flat array: node 1 is the root, 2v and 2v + 1 are the
        children of v, n + i is leaf(i). Locations are counted from 0, the paper's from 1.
        n is a power of two; leaves without a value hold the identity.
        W is q.work, the paper's set of nodes to renew: pairs lo, hi of neighbouring nodes
        of one level, from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.kernel import Layout
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel, Target, compiled_or_none
from sash.kernel.compiled import compiled as compiled_or_error
from sash.kernel.words import (
    FIRST_FREE,
    InputColumns,
    Int64,
    Memory,
    Partial,
    Partials,
    attach,
    combine,
    get,
    hold,
    item,
    lift,
    one,
    put,
)
from sash.monoids.monoid import as_monoid
from sash.swag.heap import Heap, zeros
from sash.swag.inputs import addresses, check_null, columns_of, has_nulls, rows
from sash.swag.window import agree

PREFIX, SUFFIX = FIRST_FREE, FIRST_FREE + 1
PLACES = FIRST_FREE + 2


class Columns(NamedTuple):
    """The columns of a window's memory."""

    part: Partials
    work: Int64
    held: int


class At(NamedTuple):
    """The cursors: only the capacity, which never changes."""

    n: int


def new(q: Any, n: int) -> None:
    """Algorithm 1: from the leaves up, every node is its children combined."""
    for v in range(n - 1, 0, -1):
        renew(q, v)


def renew(q: Any, v: int) -> None:
    """Restore invariant (4.1) at node v."""
    left, right = 2 * v, 2 * v + 1
    put(q.part, v, combine(get(q.part, left), get(q.part, right)))


def update(q: Any, pairs: int) -> None:
    """Algorithm 2, lines 3 to 9: level by level, renew the parents of what changed.

    W holds `pairs` pairs of leaves. They are sorted, so what is in W already is what
    the last pair ended with: a node above two changed leaves is renewed once.
    """
    while pairs > 0 and q.work[0] > 1:
        last, kept = 0, 0
        for k in range(pairs):
            lo, hi = max(q.work[2 * k] >> 1, last + 1), q.work[2 * k + 1] >> 1
            for v in range(lo, hi + 1):
                renew(q, v)
            if lo <= hi:
                q.work[2 * kept], q.work[2 * kept + 1] = lo, hi
                last, kept = hi, kept + 1
        pairs = kept


def update_one(q: Any, v: int) -> None:
    """Algorithm 2 for one leaf: its path to the root."""
    a = get(q.part, v)
    while v > 1:
        a = renew_parent(q, v, a)
        v >>= 1


def renew_parent(q: Any, v: int, a: Partial) -> Partial:
    """Restore invariant (4.1) above node v, which holds `a`: that is not read again."""
    sibling = get(q.part, v ^ 1)
    left = sibling if v & 1 else a
    right = a if v & 1 else sibling
    return put(q.part, v >> 1, combine(left, right))


def aggregate(q: Any) -> Partial:
    """All values, combined."""
    return get(q.part, 1)


def prefix(q: Any, n: int, i: int) -> Partial:
    """Algorithm 3: locations 0 to i, combined, from right to left.

    They are a node for each bit of their number: Algorithm 3 without its empty steps,
    and it starts at the highest node that ends with leaf(i).
    """
    rest = i + 1
    a = get(q.part, ((n + rest) >> zeros(rest)) - 1)
    rest &= rest - 1
    while rest != 0:
        a = hold(q, PREFIX, combine(get(q.part, ((n + rest) >> zeros(rest)) - 1), a))
        rest &= rest - 1
    return a


def suffix(q: Any, n: int, j: int) -> Partial:
    """Locations j to n - 1, combined, from left to right: `prefix` in a mirror."""
    rest = n - j
    a = get(q.part, (2 * n - rest) >> zeros(rest))
    rest &= rest - 1
    while rest != 0:
        a = hold(q, SUFFIX, combine(a, get(q.part, (2 * n - rest) >> zeros(rest))))
        rest &= rest - 1
    return a


def create(memory: Memory, at: At, xs: InputColumns, n: int) -> At:
    """A driver: write items 0 to n - 1 to the leaves, then `new`."""
    q = attach(memory)
    for i in range(n):
        put(q.part, at.n + i, lift(q, item(xs, i)))
    for i in range(n, at.n):
        put(q.part, at.n + i, one(q))
    new(q, at.n)
    return at


def overwrite(memory: Memory, at: At, xs: InputColumns, pairs: int) -> At:
    """A driver: write items to the leaves that W holds, in its order, then `update`."""
    q = attach(memory)
    i = 0
    for k in range(pairs):
        for v in range(q.work[2 * k], q.work[2 * k + 1] + 1):
            put(q.part, v, lift(q, item(xs, i)))
            i += 1
    update(q, pairs)
    return at


class FlatFAT:
    """Values at locations 0 to len - 1; aggregates of all, of any prefix, of any suffix.

    NumPy arrays run compiled where the monoid's state is made of numbers.

    >>> from sash import monoids as m, swag
    >>> fat = swag.FlatFAT(m.Max(), [3, 1, 4, 1, 5])
    >>> fat.aggregate(), fat.prefix(1), fat.suffix(3)
    (5, 3, 5)
    >>> fat.update([0, 4], [2, 0]); fat.aggregate(), fat.prefix(1), fat.suffix(3)
    (4, 2, 1)
    """

    def __init__(self, monoid: Any, values: Any, *, compiled: bool | None = None) -> None:
        """n - 1 combines, n the power of two from len(values) on."""
        self.monoid = self._monoid = as_monoid(monoid)
        self._compiled = compiled
        self._kernels: dict[tuple[Any, ...], Kernel | None] = {}
        columns = self._columns(values)
        if columns is not None:
            kinds = tuple(c.dtype for c in columns)
            self._monoid = self.monoid.of(kinds[0] if len(kinds) == 1 else kinds)
        self._layout = Layout.of(self._monoid.identity, self._monoid.dtype)
        self._plain = bind_plain(self._monoid, {})
        items = values if columns is not None else list(rows(values))
        self._length = len(items) if columns is None else len(columns[0])
        n = 1 << max(self._length - 1, 0).bit_length()
        self._at = At(n)
        self._memory = Heap(Columns, self._layout, self._monoid.identity, PLACES, n, work=2)
        self._run(create, items, columns, self._length)

    def __len__(self) -> int:
        return self._length

    def update(self, locations: Any, values: Any) -> None:
        """Write values[k] at locations[k], each location once.

        At most m (1 + ceil(log2(n / m))) combines for m locations: m when all change,
        log2(n) for one.
        """
        columns = self._columns(values)
        items = values if columns is not None else list(rows(values))
        count = len(items) if columns is None else len(columns[0])
        order, leaves = self._leaves(locations, count)
        if columns is not None:
            columns = tuple(c[order] for c in columns)
            items = columns if len(columns) > 1 else columns[0]
        else:
            items = [items[k] for k in order]
        self._run(overwrite, items, columns, self._memory.set_work(leaves))

    def aggregate(self) -> Any:
        """The answer over all values. No combines."""
        if self._length == 0:
            return self.monoid.lower(self.monoid.identity)
        return self._monoid.lower(self._plain(aggregate)(self._memory.plain))

    def prefix(self, i: int) -> Any:
        """The answer over locations 0 to i, both included. At most log2(n) combines."""
        return self._answer(prefix, i)

    def suffix(self, j: int) -> Any:
        """The answer over locations j to the last, both included. At most log2(n) combines."""
        return self._answer(suffix, j)

    def check(self) -> None:
        """Raise AssertionError if a node is not its children combined."""
        part, n = self._memory.plain.part, self._at.n
        for v in range(1, n):
            both = self._monoid.combine(part[2 * v], part[2 * v + 1])
            if not agree(part[v], both):
                raise AssertionError(f"node {v} is {part[v]}, its children combined are {both}")

    def _answer(self, walk: Any, location: int) -> Any:
        if not 0 <= location < self._length:
            raise IndexError(f"location {location} of a FlatFAT of {self._length} values")
        return self._monoid.lower(self._plain(walk)(self._memory.plain, self._at.n, location))

    def _leaves(self, locations: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The order that sorts the locations, and their leaves in that order."""
        given = np.asarray(locations if isinstance(locations, np.ndarray) else list(locations))
        if given.size == 0:
            given = given.astype(np.int64)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError(f"locations must be whole numbers, not {locations!r}")
        if len(given) != count:
            raise ValueError(f"{len(given)} locations for {count} values")
        order = np.argsort(given, kind="stable")
        ordered = given[order].astype(np.int64)
        if count and not (ordered[0] >= 0 and ordered[-1] < self._length):
            wrong = ordered[0] if ordered[0] < 0 else ordered[-1]
            raise IndexError(f"location {wrong} of a FlatFAT of {self._length} values")
        twice = np.flatnonzero(np.diff(ordered) == 0)
        if len(twice):
            raise ValueError(f"location {ordered[twice[0]]} is given twice")
        return order, ordered + self._at.n

    def _columns(self, values: Any) -> tuple[np.ndarray, ...] | None:
        arrays = isinstance(values, np.ndarray) or (
            isinstance(values, tuple) and all(isinstance(x, np.ndarray) for x in values)
        )
        if self._compiled is False or not (arrays or self._compiled) or len(values) == 0:
            return None
        return None if has_nulls(values) else columns_of(values)

    def _run(self, driver: Any, items: Any, columns: Any, count: int) -> None:
        kernel = self._kernel(driver, columns)
        if kernel is not None:
            kernel.run(self._memory.memory(), self._at, addresses(columns), count)
            return
        xs: Sequence[Any] = list(rows(items))
        if any(x is None for x in xs):
            check_null(self.monoid, self._monoid)
        if self._layout is not None:
            for x in {type(x): x for x in xs if x is not None}.values():
                self._layout.check(self._monoid.lift(x), f"lift of monoid {self.monoid.name!r}")
        self._plain(driver)(self._memory.plain, self._at, xs, count)

    def _kernel(self, driver: Any, columns: Any) -> Kernel | None:
        if columns is None or self._layout is None:
            return None
        key = driver, *(c.dtype for c in columns)
        if key not in self._kernels:
            target = Target(
                self._monoid, self._layout, {}, At, Columns, inputs=key[1:], places=PLACES
            )
            make = compiled_or_error if self._compiled else compiled_or_none
            self._kernels[key] = make(driver, target)
        return self._kernels[key]
