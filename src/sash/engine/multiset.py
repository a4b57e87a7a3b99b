"""Multisets: distinct counts of windows and ranks within them, a few steps per row.

Neither is a small monoid: its partial would be the whole window. A window that slides changes
by a row at a time, however, and a multiset takes rows in and out: counts by value for distinct
counts, a binary indexed tree of counts by rank for ranks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import objects
from sash.engine.frames import time_target
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Address, Int64, Memory, Partial, attach
from sash.kernel.words import numbers as column
from sash.monoids.distinct import key
from sash.plan.plan import Plan, State


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


class CodeWindows(NamedTuple):
    """n windows over rows that have a code each; codes[0] is that of row `base`.

    Piece p of window i has rows lo[p * n + i] to hi[p * n + i] - 1.
    """

    codes: Address
    base: int
    n: int
    pieces: int
    lo: Address
    hi: Address


def distinct(memory: Memory, at: At, windows: CodeWindows, found: Address) -> At:
    """For each window of rows the number of distinct codes."""
    q, base, n = attach(memory), windows.base, windows.n
    code, begins, ends = column(windows.codes), column(windows.lo), column(windows.hi)
    answers = column(found)
    size, seen, share = at
    for i in range(n):
        for p in range(windows.pieces):
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


def ranks(
    memory: Memory, at: At, windows: CodeWindows, codes_there: int, own: Address, found: Address
) -> At:
    """For each window how many of its codes are below a code of its own, and how many equal it.

    `own`: a code per window, negative where it has none.
    """
    q, base, n = attach(memory), windows.base, windows.n
    code, begins, ends = column(windows.codes), column(windows.lo), column(windows.hi)
    asked, answers = column(own), column(found)
    size, seen, share = at
    for i in range(n):
        for p in range(windows.pieces):
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
        bounds_at = lo.ctypes.data, hi.ctypes.data
        windows = CodeWindows(self._codes.data, self._codes.base, len(out), count, *bounds_at)
        counts = memory(self._count, self._first, self._end)
        self._at = self._run(counts, self._at, windows, out.ctypes.data)
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
