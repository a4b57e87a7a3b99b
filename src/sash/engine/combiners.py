"""Combiners: a monoid over the windows of a frame, by the algorithm that the plan chose."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT, leaves, with_empty
from sash.engine.fixed import Room, room
from sash.engine.inputs import AnyInputs, Inputs, ObjectInputs, SharedInputs
from sash.engine.masks import MaskedInputs, without
from sash.kernel.answers import Allocate, new_array
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.swag.fiba import FiBA
from sash.swag.raising import function_may_raise
from sash.swag.registry import ALGORITHMS


class Combiner:
    """Combines a monoid over the known rows of its columns, by the algorithm of the plan."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        assert state.monoid is not None
        assert state.choice is not None
        kinds = kinds or [plan.schema.field(name).type for name in state.reads]
        self._window = ALGORITHMS[state.choice.algorithm](state.monoid)
        self._inputs = inputs_of(state, kinds)
        self._shares = False  # whether others read the inputs too, and someone else fills them
        self._typed, self._state, self._results = state.typed, state, results_of(plan, state)
        self._answers_nothing = state.filtering == "identity" and lowers_nothing(state)
        self._spares = [Spare() for _ in self._results]

    def share(self, inputs: SharedInputs, columns: tuple[str, ...]) -> None:
        """Read the inputs that all states over these columns read."""
        self._inputs, self._shares = inputs.join(self._inputs, columns, self), True

    def take(self, columns: list[pa.Array]) -> None:
        if not self._shares:
            self._inputs.take(columns)
        for spare in self._spares:
            spare.expect(len(columns[0]))

    def write_to(self, member: int, there: Room | None, n: int) -> None:
        """Write the n answers of one of the aggregations there; None: they are read at once."""
        self._spares[member] = OneBlock() if there is None else Spare(there, n)

    def known(self, bounds: Any) -> Any:
        """The windows among the rows that are known."""
        return self._inputs.known(bounds)

    @property
    def reached(self) -> int:
        """The first known row that the window has not taken in."""
        return self._window.reached

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        known = self.known(bounds)
        empty = self._empty(known)
        if empty is not None and self._may_not_lower_nothing:
            with without(empty, known) as others:
                found = self.follow(others, self._memory)
        else:
            found = self.follow(known, self._memory)
        return as_arrow(self._state, self._results, *found, empty)

    @functools.cached_property
    def _may_not_lower_nothing(self) -> bool:
        """Whether windows in which no row passes are not to be asked for their answer."""
        monoid = self._state.monoid
        assert monoid is not None
        return self._state.filtering == "identity" and function_may_raise(monoid.lower)

    def _empty(self, known: Any) -> np.ndarray | None:
        """Which windows have no answer yet, as none of their rows counts; None: all have one."""
        return known.empty if self._answers_nothing else self._inputs.empty(known)

    def follow(self, known: Bounds, allocate: Allocate = new_array) -> tuple[Any, Any]:
        """The answers over windows of known rows, and which are null."""
        inputs, window = self._inputs, self._window
        if self._typed:
            asked = (*known.ends, known.longest, allocate, known.shape)
            return window.follow(inputs.values, inputs.base, *asked)
        with localcontext(EXACT):  # Python's own rounds decimals to 28 digits
            return window.follow(inputs.values, inputs.base, *known.ends, known.longest)

    def _memory(self, dtype: np.dtype, n: int) -> np.ndarray | list[np.ndarray]:
        """An array for answers, or one for the answers of each aggregation."""
        if len(self._spares) == 1:
            return self._spares[0].take(dtype, n)
        kinds = [dtype[i] for i in range(len(self._spares))]
        return [spare.take(kind, n) for spare, kind in zip(self._spares, kinds, strict=True)]

    def forget(self, row: int) -> None:
        if not self._shares:
            self._inputs.forget(row, self.reached)


def inputs_of(state: State, kinds: list[pa.DataType]) -> AnyInputs:
    """What a state reads of columns of these types."""
    if state.filtering == "identity":
        return MaskedInputs(kinds)
    return Inputs(kinds) if state.typed else ObjectInputs(kinds)


def lowers_nothing(state: State) -> bool:
    """Whether the identity can be lowered, to the answers over no rows, of which none is null."""
    assert state.monoid is not None
    wanted = state.nothing
    if None in wanted or function_may_raise(state.monoid.lower):
        return False
    found = state.monoid.nothing
    return wanted == ([found] if len(wanted) == 1 else list(found or ()))


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


class OneBlock(Spare):
    """One array for the answers of block after block, as no one reads those of the last one.

    Only numbers: lists and structs of them may go on into results as they are.
    """

    def take(self, dtype: np.dtype, n: int) -> np.ndarray:
        if dtype.kind == "V":
            return super().take(dtype, n)
        if len(self._array) < n or self._array.dtype != dtype.base:
            self._array = np.empty(n, dtype)
        return self._array[:n]


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


def partials_of(monoid: Monoid) -> Monoid:
    """The monoid whose answers are its partials."""
    return monoid.with_(lower=same, typed=None)
