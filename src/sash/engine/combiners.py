"""Combiners: a monoid over the windows of a frame, by the algorithm that the plan chose.

A window that leaves rows out in its middle is two windows, or three, and one combine more
for each: their partials are combined from older to younger, then lowered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import localcontext
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT, leaves, with_empty
from sash.engine.fixed import Room, room
from sash.engine.inputs import Inputs, ObjectInputs, SharedInputs
from sash.engine.pieces import Pieces
from sash.kernel.answers import Allocate, Answers, new_array
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
    Int8,
    Memory,
    Outputs,
    Partials,
    attach,
    combine,
    get,
    give,
    hold,
    lower,
)
from sash.memory.columns import held_rows
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.swag.fiba import FiBA
from sash.swag.registry import ALGORITHMS
from sash.windows.frames import OwnBounds


class Combiner:
    """Combines a monoid over the known rows of its columns, by the algorithm of the plan."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        assert state.monoid is not None
        assert state.choice is not None
        kinds = kinds or [plan.schema.field(name).type for name in state.columns]
        self._window = ALGORITHMS[state.choice.algorithm](state.monoid)
        self._inputs: Inputs | ObjectInputs = (Inputs if state.typed else ObjectInputs)(kinds)
        self._shares = False  # whether others read the inputs too, and someone else fills them
        self._typed, self._state, self._results = state.typed, state, results_of(plan, state)
        self._spares = [Spare() for _ in self._results]

    def share(self, inputs: SharedInputs, columns: tuple[str, ...]) -> None:
        """Read the inputs that all states over these columns read."""
        self._inputs, self._shares = inputs.join(self._inputs, columns, self), True

    def take(self, columns: list[pa.Array]) -> None:
        if not self._shares:
            self._inputs.take(columns)
        for spare in self._spares:
            spare.expect(len(columns[0]))

    def write_to(self, member: int, there: Room, n: int) -> None:
        """Write the n answers of one of the aggregations there."""
        self._spares[member] = Spare(there, n)

    def known(self, bounds: Any) -> Any:
        """The windows among the rows that are known."""
        return self._inputs.known(bounds)

    @property
    def reached(self) -> int:
        """The first known row that the window has not taken in."""
        return self._window.reached

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        known = self.known(bounds)
        return as_arrow(self._state, self._results, *self.follow(known, self._memory), known.empty)

    def follow(self, known: Bounds, allocate: Allocate = new_array) -> tuple[Any, Any]:
        """The answers over windows of known rows, and which are null."""
        inputs, window = self._inputs, self._window
        if self._typed:
            return window.follow(inputs.values, inputs.base, *known[:3], allocate, known.even)
        with localcontext(EXACT):  # Python's own rounds decimals to 28 digits
            return window.follow(inputs.values, inputs.base, *known[:3])

    def _memory(self, dtype: np.dtype, n: int) -> np.ndarray | list[np.ndarray]:
        """An array for answers, or one for the answers of each aggregation."""
        if len(self._spares) == 1:
            return self._spares[0].take(dtype, n)
        kinds = [dtype[i] for i in range(len(self._spares))]
        return [spare.take(kind, n) for spare, kind in zip(self._spares, kinds, strict=True)]

    def forget(self, row: int) -> None:
        if not self._shares:
            self._inputs.forget(row, self.reached)


class SearchingCombiner(Combiner):
    """Combines a monoid over windows that lie anywhere, as bounds of each row's own do."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        super().__init__(plan, state, kinds)
        assert state.monoid is not None
        self._tree = FiBA(state.monoid)

    @property
    def reached(self) -> int:
        return self._tree.reached

    def follow(self, known: Bounds, allocate: Allocate = new_array) -> tuple[Any, Any]:
        inputs = self._inputs
        with localcontext(EXACT):
            return self._tree.search(inputs.values, inputs.base, known.lo, known.hi, allocate)

    def forget(self, row: int) -> None:
        at = np.array([row])
        self._tree.bulk_evict(int(self.known(Bounds(at, at, 0, 0)).lo[0]) - 1)
        super().forget(row)


def in_one_piece(plan: Plan, state: State, kinds: list[pa.DataType] | None) -> Combiner:
    """The combiner of a state over windows in one piece."""
    own = isinstance(plan.frames[state.frame].frame, OwnBounds)
    return (SearchingCombiner if own else Combiner)(plan, state, kinds)


class Spare:
    """Arrays for answers, out of one that is made for all of a batch: that is cheaper."""

    def __init__(self, first: Room = room, expected: int = 0) -> None:
        """`first`: what gives the first array, of numbers; later ones are made where they fit."""
        self._array, self._first, self._expected = np.empty(0), first, expected

    def expect(self, n: int) -> None:
        """n answers come next."""
        self._expected = n

    def take(self, dtype: np.dtype, n: int) -> np.ndarray:
        """An array for n answers."""
        if len(self._array) < n or self._array.dtype != dtype.base:
            shape = (max(n, self._expected), *dtype.shape)
            make, self._first = room if dtype.kind == "V" else self._first, room
            self._array = make(math.prod(shape), dtype.base).reshape(shape)
        part, self._array = self._array[:n], self._array[n:]
        self._expected = max(0, self._expected - n)
        return part


def results_of(plan: Plan, state: State) -> list[pa.DataType | None]:
    """The types of the answers that are read from a state."""
    return [a.result([plan.schema.field(c).type for c in a.columns]) for a in state.asked]


def as_arrow(
    state: State, kinds: Sequence[Any], values: Any, nulls: Any, empty: np.ndarray | None
) -> list[pa.Array]:
    """Answers as Arrow arrays, one for each aggregation that reads the state."""
    nothing = state.nothing
    if len(kinds) == 1:
        return [with_empty(values, nulls, empty, kinds[0], nothing[0])]
    found, place = [], 0
    for part, kind, none in zip(members(values), kinds, nothing, strict=True):
        width = leaves(part.dtype)
        own = None if nulls is None else nulls[:, place : place + width]
        found.append(with_empty(part, own, empty, kind, none))
        place += width
    return found


def members(values: Any) -> Sequence[np.ndarray]:
    """The answers of each aggregation: an array for each already, or the fields of one."""
    return values if isinstance(values, list) else [values[name] for name in values.dtype.names]


class ExcludingCombiner:
    """Combines a monoid over windows in pieces: each piece is followed, then all are combined."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        assert state.monoid is not None
        self._state, self._results = state, results_of(plan, state)
        partial = replace(state, monoid=partials_of(state.monoid))
        count = 3 if plan.frames[state.frame].frame.exclude == "ties" else 2
        self._parts = [in_one_piece(plan, partial, kinds) for _ in range(count)]
        self._own: SharedInputs | None = SharedInputs()  # where they are not everyone's
        self._names = tuple(map(str, range(len(state.columns))))
        for part in self._parts:
            part.share(self._own, self._names)

    def share(self, inputs: SharedInputs, columns: tuple[str, ...]) -> None:
        """Read the inputs that all states over these columns read."""
        self._own = None
        for part in self._parts:
            part.share(inputs, columns)

    def take(self, columns: list[pa.Array]) -> None:
        if self._own is not None:
            self._own.take(dict(zip(self._names, columns, strict=True)))
        for part in self._parts:
            part.take(columns)

    def known(self, bounds: Any) -> Any:
        """The windows among the rows that are known."""
        return self._parts[0].known(bounds)

    def answer(self, bounds: Pieces) -> list[pa.Array]:
        known = self.known(bounds)
        return as_arrow(self._state, self._results, *self.follow(known), known.empty)

    def follow(self, known: Pieces) -> tuple[Any, Any]:
        """The answers over windows of known rows, and which are null."""
        monoid = self._state.monoid
        assert monoid is not None
        first, *others = [(part, piece) for part, piece in zip(self._parts, known.parts)]
        total, some = first[0].follow(first[1])[0], first[1].lo < first[1].hi
        others = [each for each in others if each[1].longest > 0]
        nulls = None
        if not others:  # no window of this block has a younger piece
            return merged(monoid, total, some, total, np.zeros_like(some))
        for part, piece in others:
            younger, more = part.follow(piece)[0], piece.lo < piece.hi
            given = monoid if part is others[-1][0] else partials_of(monoid)
            total, nulls = merged(given, total, some, younger, more)
            some = some | more
        return total, nulls

    def forget(self, row: int) -> None:
        if self._own is not None:
            self._own.forget(row)


def combiner_of(
    plan: Plan, state: State, kinds: list[pa.DataType] | None = None
) -> Combiner | ExcludingCombiner:
    """The combiner of a state: over windows in one piece, or in several."""
    if plan.frames[state.frame].frame.exclude is not None:
        return ExcludingCombiner(plan, state, kinds)
    return in_one_piece(plan, state, kinds)


def partials_of(monoid: Monoid) -> Monoid:
    """The monoid whose answers are its partials."""
    return monoid.with_(lower=same, typed=None)


class Columns(NamedTuple):
    """Partials of older and of younger pieces; which of them a window has: 1, 2, or both, 3."""

    older: Partials
    younger: Partials
    has: Int8
    held: int


class At(NamedTuple):
    """Nothing is kept from one window to the next."""

    none: int


def merge(memory: Memory, at: At, n: int, out: Outputs) -> At:
    """For each window the answer over both of its pieces; none where it has neither."""
    q = attach(memory)
    for i in range(n):
        if q.has[i] == 3:
            give(out, i, lower(hold(q, ANSWER, combine(get(q.older, i), get(q.younger, i)))))
        elif q.has[i] == 1:
            give(out, i, lower(hold(q, ANSWER, get(q.older, i))))
        elif q.has[i] == 2:
            give(out, i, lower(hold(q, ANSWER, get(q.younger, i))))
    return at


def merged(
    monoid: Monoid, older: Any, is_older: np.ndarray, younger: Any, is_younger: np.ndarray
) -> tuple[Any, Any]:
    """The answers over partials of older and younger pieces, and which numbers are null."""
    has = is_older.view(np.int8) | (is_younger.view(np.int8) << 1)
    if isinstance(older, list):
        with localcontext(EXACT):
            triples = zip(older, younger, has.tolist(), strict=True)
            return [_merged(monoid, *triple) for triple in triples], None
    layout = Layout.of(monoid.identity, monoid.dtype)
    assert layout is not None
    older, younger = (np.ascontiguousarray(p, layout.array_dtype.base) for p in (older, younger))
    kernel = compiled(merge, Target(monoid, layout, {}, At, Columns))
    held = held_rows(layout, monoid.identity, FIRST_FREE)
    memory = (
        older.ctypes.data, -1, younger.ctypes.data, -1, has.ctypes.data, 0,
        0 if held is None else held.ctypes.data,
    )  # fmt: skip
    answers = Answers(kernel.answer, len(has))
    kernel.run(memory, At(0), len(has), answers.address)
    return answers.arrays()


def _merged(monoid: Monoid, older: Any, younger: Any, has: int) -> Any:
    if has == 3:
        return monoid.lower(monoid.combine(older, younger))
    return None if has == 0 else monoid.lower(older if has == 1 else younger)
