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
from sash.kernel.cells import Table, as_columns
from sash.kernel.compiled import Kernel, Target, compiled_or_none
from sash.kernel.compiled import compiled as compiled_or_error
from sash.kernel.room import Arena
from sash.kernel.words import (
    FIRST_FREE,
    Int64,
    Partial,
    Partials,
    attach,
    combine,
    get,
    hold,
    item,
    lift,
    one,
    outlined,
    put,
)
from sash.monoids.monoid import as_monoid
from sash.swag.window import addresses, rows

PREFIX, SUFFIX = FIRST_FREE, FIRST_FREE + 1
PLACES = FIRST_FREE + 2


class Store(NamedTuple):
    """The store."""

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
    put(q.part, v, combine(get(q.part, 2 * v), get(q.part, 2 * v + 1)))


@outlined
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
    """Algorithm 2 for one leaf v: its path to the root, the last result kept at hand."""
    a = get(q.part, v)
    while v > 1:
        sibling = get(q.part, v ^ 1)
        left = sibling if v & 1 else a
        right = a if v & 1 else sibling
        v >>= 1
        a = put(q.part, v, combine(left, right))


def aggregate(q: Any) -> Partial:
    """All values, combined."""
    return get(q.part, 1)


def prefix(q: Any, n: int, i: int) -> Partial:
    """Algorithm 3: locations 0 to i, combined."""
    v = n + i
    a = get(q.part, v)
    while v > 1:
        if v & 1:
            a = hold(q, PREFIX, combine(get(q.part, v - 1), a))
        v >>= 1
    return a


def suffix(q: Any, n: int, j: int) -> Partial:
    """Locations j to n - 1, combined: Algorithm 3 in a mirror."""
    v = n + j
    a = get(q.part, v)
    while v > 1:
        if v & 1 == 0:
            a = hold(q, SUFFIX, combine(a, get(q.part, v + 1)))
        v >>= 1
    return a


def create(memory: Any, at: At, xs: Any, n: int) -> At:
    """A driver: write items 0 to n - 1 to the leaves, then `new`."""
    q = attach(memory)
    for i in range(n):
        put(q.part, at.n + i, lift(q, item(xs, i)))
    for i in range(n, at.n):
        put(q.part, at.n + i, one(q))
    new(q, at.n)
    return at


def overwrite(memory: Any, at: At, xs: Any, pairs: int) -> At:
    """A driver: write items to the leaves that W holds, in its order, then `update`."""
    q = attach(memory)
    i = 0
    for k in range(pairs):
        for v in range(q.work[2 * k], q.work[2 * k + 1] + 1):
            put(q.part, v, lift(q, item(xs, i)))
            i += 1
    update(q, pairs)
    return at
