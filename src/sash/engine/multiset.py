"""Multisets: distinct counts and exact percentiles of windows, a few steps a row.

Neither is a small monoid: what is combined is the whole window. But a window that
slides changes by a row at a time, and a multiset takes rows in and out: counts by value
for distinct counts, a binary indexed tree of counts by rank for percentiles.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import answers_as, numbers, objects
from sash.engine.frames import time_target
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Address, Int64, Memory, Partial, attach
from sash.kernel.words import numbers as column
from sash.monoids.distinct import key
from sash.plan.plan import Plan, State
from sash.plan.types import number_type


class Columns(NamedTuple):
    """Counts, by value's code or as the nodes of a tree; and the rows of each piece that are in.

    A window is one piece, or several where rows are left out in its middle: a multiset does
    not mind. Piece p has rows first[p] to end[p] - 1.
    """

    count: Int64
    first: Int64
    end: Int64
    held: int


class At(NamedTuple):
    """How many rows are in, how many distinct values they have, and the share asked for."""

    size: int
    distinct: int
    share: Partial


def distinct(
    memory: Memory, at: At, codes: Address, base: int, n: int, pieces: int,
    lo: Address, hi: Address, found: Address,
) -> At:  # fmt: skip
    """For each window of rows the number of distinct codes."""
    q = attach(memory)
    code, begins, ends, answers = column(codes), column(lo), column(hi), column(found)
    size, seen, share = at
    for i in range(n):
        for p in range(pieces):
            f, e, begin, end = q.first[p], q.end[p], begins[p * n + i], ends[p * n + i]
            while f < e and f < begin:
                c = code[f - base]
                q.count[c] -= 1
                seen -= q.count[c] == 0
                f += 1
            if f == e:  # nothing of the last window is in this one
                f = e = max(e, begin)
            while e < end:
                c = code[e - base]
                seen += q.count[c] == 0
                q.count[c] += 1
                e += 1
            q.first[p], q.end[p] = f, e
        answers[i] = seen
    return At(size, seen, share)


def order(
    memory: Memory, at: At, codes: Address, base: int, n: int, pieces: int,
    lo: Address, hi: Address, found: Address,
    codes_there: int, top: int, between: int,
) -> At:  # fmt: skip
    """For each window the codes of the rows at and just above the share asked for.

    The tree has so many codes; `top` is the largest power of two in that. Counted from 0,
    a share s of c rows is at s * (c - 1), `between` two rows, or at ceil(s * c) - 1.
    """
    q = attach(memory)
    code, begins, ends, answers = column(codes), column(lo), column(hi), column(found)
    size, seen, share = at
    for i in range(n):
        for p in range(pieces):
            size += slide(q, code, base, p, begins[p * n + i], ends[p * n + i], codes_there)
        if size > 0:
            place = int(share * (size - 1))
            if not between:
                place = max(0, math.ceil(share * size) - 1)
            answers[2 * i] = find(q, place, codes_there, top)
            answers[2 * i + 1] = find(q, min(place + 1, size - 1), codes_there, top)
    return At(size, seen, share)


def ranks(
    memory: Memory, at: At, codes: Address, base: int, n: int, pieces: int,
    lo: Address, hi: Address, found: Address,
    codes_there: int, own: Address,
) -> At:  # fmt: skip
    """For each window how many of its codes are below a code of its own, and how many equal it.

    `own`: a code per window, negative where it has none.
    """
    q = attach(memory)
    code, begins, ends, answers = column(codes), column(lo), column(hi), column(found)
    asked = column(own)
    size, seen, share = at
    for i in range(n):
        for p in range(pieces):
            size += slide(q, code, base, p, begins[p * n + i], ends[p * n + i], codes_there)
        if asked[i] >= 0:
            answers[2 * i] = below(q, asked[i])
            answers[2 * i + 1] = below(q, min(asked[i] + 1, codes_there)) - answers[2 * i]
    return At(size, seen, share)


def slide(q: Any, code: Any, base: int, p: int, begin: int, end: int, codes_there: int) -> int:
    """Bring piece p of the window to rows begin to end - 1; by how many rows it grew."""
    f, e = q.first[p], q.end[p]
    before = e - f
    while f < e and f < begin:
        add(q, code[f - base], codes_there, -1)
        f += 1
    if f == e:
        f = e = max(e, begin)
    while e < end:
        add(q, code[e - base], codes_there, 1)
        e += 1
    q.first[p], q.end[p] = f, e
    return e - f - before


def below(q: Any, code: int) -> int:
    """How many rows have a smaller code."""
    node, total = code, 0
    while node > 0:
        total += q.count[node]
        node -= node & -node
    return total


def add(q: Any, code: int, size: int, by: int) -> None:
    """Count a code `by` more, in all nodes that have it."""
    node = code + 1
    while node <= size:
        q.count[node] += by
        node += node & -node


def find(q: Any, place: int, size: int, top: int) -> int:
    """The code of the row that is at `place`, in order."""
    node, step = 0, top
    while step > 0:
        further = node + step
        if further <= size and q.count[further] <= place:
            node = further
            place -= q.count[further]
        step >>= 1
    return node


PIECES = 3
"""Of a window, at most."""


def memory(count: np.ndarray, first: np.ndarray, end: np.ndarray) -> tuple[int, ...]:
    """A store's addresses."""
    return (count.ctypes.data, 0, first.ctypes.data, 0, end.ctypes.data, 0, 0)


def stacked(bounds: Bounds | Pieces) -> tuple[int, np.ndarray, np.ndarray]:
    """How many pieces windows have, and their bounds, all of one piece after the other."""
    if not isinstance(bounds, Pieces):
        return 1, bounds.lo, bounds.hi
    lo, hi = ([getattr(part, end) for part in bounds.parts] for end in ("lo", "hi"))
    return len(lo), np.concatenate(lo), np.concatenate(hi)


class Distinct:
    """Counts the distinct values of a window that are not null."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._ranks, self._codes = Ranks(), Tape(np.int64)
        self._known: dict[Any, int] = {}
        self._count = np.zeros(1024, np.int64)
        self._at = At(0, 0, np.float64(0))
        self._first, self._end = np.zeros(PIECES, np.int64), np.zeros(PIECES, np.int64)
        self._run = compiled(distinct, time_target(np.dtype(np.float64), At, Columns)).run

    def take(self, columns: list[pa.Array]) -> None:
        known = self._ranks.take(columns[0])
        if pa.types.is_nested(known.type):  # which Arrow does not tell apart
            values, places = [key(x) for x in objects(known)], np.arange(len(known))
        else:
            encoded = known.dictionary_encode()
            values = [_as_key(x) for x in objects(encoded.dictionary)]
            places = encoded.indices.to_numpy()
        codes = [self._known.setdefault(x, len(self._known)) for x in values]
        if len(self._known) > len(self._count):
            larger = np.zeros(2 * len(self._known), np.int64)
            larger[: len(self._count)] = self._count
            self._count = larger
        self._codes.add(np.array(codes, np.int64)[places])

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        count, lo, hi = stacked(self._ranks.of(bounds))
        out = np.empty(len(bounds.lo), np.int64)
        places = (lo.ctypes.data, hi.ctypes.data, out.ctypes.data)
        self._at = self._run(
            memory(self._count, self._first, self._end), self._at,
            self._codes.data, self._codes.base, len(out), count, *places,
        )  # fmt: skip
        return [pa.array(out)]

    def forget(self, row: int) -> None:
        inside = self._first[self._first < self._end]  # rows that still have to be taken out
        self._codes.forget(min([self._ranks.before(row), *inside.tolist()]))
        self._ranks.forget(row)
        if len(self._known) > max(1 << 20, 4 * len(self._codes)):
            self._renumber()

    def _renumber(self) -> None:
        """Forget the values that are in no window any more."""
        live = np.unique(self._codes.values)
        new = {int(code): i for i, code in enumerate(live)}
        self._known = {v: new[code] for v, code in self._known.items() if code in new}
        tape = Tape(np.int64)
        tape.add(np.searchsorted(live, self._codes.values))
        tape.base, self._codes = self._codes.base, tape
        self._count = np.append(self._count[live], np.zeros(len(live) + 1024, np.int64))


def _as_key(value: Any) -> Any:
    """A value as what it is equal to; NaN is like NaN, and true is not 1."""
    return "NaN" if value != value else (value, isinstance(value, bool))


def _part_of(steps: np.ndarray, share: Any) -> np.ndarray:
    """A share of a number of steps, rounded down; a half exactly."""
    unsigned = steps.view(np.uint64)  # a difference of integers may not fit one with a sign
    part = np.floor(unsigned * share).astype(np.uint64)
    return np.where(share == 0.5, unsigned // 2, part).view(np.int64)


class Percentile:
    """A share of a window's values, exactly: a value, or what is between two of them."""

    def __init__(self, plan: Plan, state: State) -> None:
        [asked] = state.asked
        kind, interpolation = plan.schema.field(state.columns[0]).type, asked.interpolation
        dtype = number_type(kind) or np.dtype(object)  # decimals
        self._share, self._interpolation = asked.share, interpolation
        self._mixes = interpolation in ("linear", "midpoint")
        self._times = pa.types.is_temporal(kind)
        self._kind = pa.float64() if self._mixes and not self._times else kind
        self._ranks, self._values = Ranks(), Tape(dtype)
        self._run = compiled(order, time_target(np.dtype(np.float64), At, Columns)).run

    def take(self, columns: list[pa.Array]) -> None:
        known = self._ranks.take(columns[0])
        is_decimal = self._values.values.dtype == object
        self._values.add(np.array(objects(known), object) if is_decimal else numbers(known))

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._ranks.of(bounds)
        count, lo, hi = stacked(known)
        first, base = int(known.lo[0]), self._values.base
        rows = self._values.values[first - base : int(hi.max()) - base]
        values, codes = np.unique(rows, return_inverse=True)
        pairs = np.zeros((len(known.lo), 2), np.int64)
        size = len(values)
        tree, codes = np.zeros(size + 1, np.int64), np.ascontiguousarray(codes, np.int64)
        starts = np.full((2, PIECES), first)
        self._run(
            memory(tree, *starts), At(0, 0, np.float64(self._share)),
            codes.ctypes.data, first, len(pairs), count, lo.ctypes.data, hi.ctypes.data,
            pairs.ctypes.data, size, 1 << max(0, size.bit_length() - 1),
            int(self._interpolation != "approx"),
        )  # fmt: skip
        if not len(values):
            return [pa.nulls(len(pairs), self._kind)]
        found = self._interpolated(values, pairs, known.sizes)
        if found.dtype == object:
            return [answers_as(found.tolist(), known.sizes == 0, self._kind)]
        return [answers_as(found, known.sizes == 0, self._kind)]

    def _interpolated(
        self, values: np.ndarray, pairs: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """From the values at and just above the share, as `between` has it for one window."""
        lower, upper = values[pairs[:, 0]], values[pairs[:, 1]]
        part = self._share * (counts - 1)
        place = np.floor(part)
        part -= place
        if self._mixes:
            share = part if self._interpolation == "linear" else 0.5
            if self._times:  # doubles would lose nanoseconds
                return np.where(part > 0, lower + _part_of(upper - lower, share), lower)
            if lower.dtype == object:
                lower, upper = lower.astype(np.float64), upper.astype(np.float64)
            with np.errstate(invalid="ignore"):
                mixed = lower * (1 - share) + upper * share
            return np.where((part > 0) & (lower != upper), mixed, lower).astype(np.float64)
        above = {
            "higher": part > 0,
            "nearest": (part > 0.5) | ((part == 0.5) & (place % 2 == 1)),
        }
        return np.where(above.get(self._interpolation, False), upper, lower)

    def forget(self, row: int) -> None:
        self._values.forget(self._ranks.before(row))
        self._ranks.forget(row)
