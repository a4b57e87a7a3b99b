"""Excluding combiners: a monoid over windows that leave rows out in their middle.

The oldest piece of the windows is a window by itself. The rows of a further piece are combined
to it one by one where they are few: the row itself, or the peers after it. Where they are more,
that piece is a window too, and its partials are combined to those of the first.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import localcontext
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT
from sash.engine.combiners import Combiner, SearchingCombiner, partials_of
from sash.kernel.answers import Allocate, Answers, new_array
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel, Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
    InputColumns,
    Int8,
    Memory,
    Outputs,
    Partials,
    Windows,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
)
from sash.memory.columns import held_rows
from sash.monoids.monoid import Monoid
from sash.plan.plan import Plan, State
from sash.swag.inputs import addresses, columns_of, items
from sash.swag.registry import ALGORITHMS
from sash.swag.window import Window
from sash.windows.frames import OwnBounds

FEW = 4
"""Rows of a piece, on average, up to which they are combined one by one: a window takes three
combines per row, and one more to combine what it has."""


class Columns(NamedTuple):
    """The partials of windows so far and of a further piece; which windows have had some rows."""

    total: Partials
    younger: Partials
    some: Int8
    held: int


class At(NamedTuple):
    """Nothing is kept from one window to the next."""

    none: int


def add_rows(memory: Memory, at: At, xs: InputColumns, windows: Windows, out: Outputs) -> At:
    """For each window the answer with its rows lo to hi - 1 too; none where it has no rows."""
    q = attach(memory)
    begins, ends, base = numbers(windows.lo), numbers(windows.hi), windows.base
    for i in range(windows.n):
        row, end, v = begins[i], ends[i], get(q.total, i)
        if not q.some[i] and row < end:
            v = hold(q, ANSWER, lift(q, item(xs, row - base)))
            row, q.some[i] = row + 1, 1
        while row < end:
            v = hold(q, ANSWER, combine(v, lift(q, item(xs, row - base))))
            row += 1
        if q.some[i]:
            give(out, i, lower(hold(q, ANSWER, v)))
    return at


def add_partials(memory: Memory, at: At, windows: Windows, out: Outputs) -> At:
    """For each window the answer with the partial of its rows lo to hi - 1 too."""
    q = attach(memory)
    begins, ends = numbers(windows.lo), numbers(windows.hi)
    for i in range(windows.n):
        more = begins[i] < ends[i]
        if more and q.some[i]:
            give(out, i, lower(hold(q, ANSWER, combine(get(q.total, i), get(q.younger, i)))))
        elif more:
            give(out, i, lower(hold(q, ANSWER, get(q.younger, i))))
            q.some[i] = 1
        elif q.some[i]:
            give(out, i, lower(hold(q, ANSWER, get(q.total, i))))
    return at


class Step(NamedTuple):
    """One piece more: the monoid of the answers, what there is so far, and what gives memory."""

    monoid: Monoid
    columns: Columns
    allocate: Allocate


class ExcludingCombiner(Combiner):
    """Combines a monoid over windows in pieces."""

    def __init__(self, plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> None:
        assert state.monoid is not None
        self._monoid, self._partial = state.monoid, partials_of(state.monoid)
        super().__init__(plan, replace(state, monoid=self._partial), kinds)
        self._younger: Window | None = None  # of a further piece, where it has many rows
        self._origin = 0  # the row that is that window's first
        self._kernels: dict[Any, tuple[Kernel, Any]] = {}
        self._cells = Cells()

    @property
    def reached(self) -> int:
        older = super().reached
        return older if self._younger is None else min(older, self._origin + self._younger.reached)

    def follow(self, known: Any, allocate: Allocate = new_array) -> tuple[Any, Any]:
        """The answers over windows of known rows, and which are null."""
        self._cells.begin()
        first, *others = known.parts
        total, _ = super().follow(first, self._cells.take)
        some = (first.lo < first.hi).view(np.int8)
        others = [piece for piece in others if piece.longest > 0] or others[-1:]
        for piece in others[:-1]:
            given = Step(self._partial, Columns(total, total, some, 0), self._cells.take)
            total, _ = self._with(piece, given)
        return self._with(others[-1], Step(self._monoid, Columns(total, total, some, 0), allocate))

    def _with(self, piece: Bounds, step: Step) -> tuple[Any, Any]:
        """The answers over what windows have so far and a further piece."""
        if not self._has_few(piece):
            columns = step.columns._replace(younger=self._partials(piece))
            return self._run(add_partials, step._replace(columns=columns), piece)
        self._younger = None
        return self._run(add_rows, step, piece, self._inputs.values)

    def _has_few(self, piece: Bounds) -> bool:
        """Whether the rows of a piece are combined one by one."""
        few = FEW * len(piece.lo)
        return piece.longest <= FEW or int(piece.hi.sum() - piece.lo.sum()) <= few

    def _partials(self, piece: Bounds) -> Any:
        """The partials of a further piece, which is a window of its own."""
        assert self._state.choice is not None
        if self._younger is None:
            self._younger = ALGORITHMS[self._state.choice.algorithm](self._partial)
            self._origin = int(piece.lo[0])
        base, origin = self._inputs.base, self._origin
        bounds = piece.lo - origin, piece.hi - origin, piece.longest
        with localcontext(EXACT):
            values = self._inputs.values
            return self._younger.follow(values, base - origin, *bounds, self._cells.take)[0]

    def _run(self, driver: Any, step: Step, piece: Bounds, *inputs: Any) -> tuple[Any, Any]:
        """The answers that a driver gives; as arrays, or as a list where partials are objects."""
        monoid, columns, allocate = step
        base, n = self._inputs.base, len(piece.lo)
        if isinstance(columns.total, list):
            answers: list[Any] = [None] * n
            windows = Windows(base, n, piece.lo.tolist(), piece.hi.tolist())
            with localcontext(EXACT):
                run = bind_plain(monoid, {})(driver)
                run(columns, At(0), *map(items, inputs), windows, answers)
            return answers, None
        arrays = [columns_of(xs) or () for xs in inputs]
        kernel, held = self._kernel(driver, monoid, *arrays)
        assert kernel.answer is not None
        out = Answers(kernel.answer, n, allocate(kernel.answer.layout.array_dtype, n))
        cells = (number for array in columns[:2] for number in (array.ctypes.data, -1))
        memory = (*cells, columns.some.ctypes.data, 0, 0 if held is None else held.ctypes.data)
        windows = Windows(base, n, piece.lo.ctypes.data, piece.hi.ctypes.data)
        kernel.run(memory, At(0), *map(addresses, arrays), windows, out.address)
        return out.arrays()

    def _kernel(
        self, driver: Any, monoid: Monoid, arrays: tuple[np.ndarray, ...] = ()
    ) -> tuple[Kernel, Any]:
        """A driver, compiled, and the places where it holds vectors."""
        key = driver, monoid is self._monoid
        if key not in self._kernels:
            layout = Layout.of(monoid.identity, monoid.dtype)
            assert layout is not None
            dtypes = tuple(array.dtype for array in arrays)
            kernel = compiled(driver, Target(monoid, layout, {}, At, Columns, inputs=dtypes))
            self._kernels[key] = kernel, held_rows(layout, monoid.identity, FIRST_FREE)
        return self._kernels[key]


class Cells:
    """Arrays for the partials of a block's pieces, kept for the next block."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._taken = 0

    def begin(self) -> None:
        """Those of the last block are free."""
        self._taken = 0

    def take(self, dtype: np.dtype, n: int) -> np.ndarray:
        """An array of n partials."""
        at = self._taken
        self._taken += 1
        if at == len(self._arrays):
            self._arrays.append(np.empty(n, dtype))
        elif len(self._arrays[at]) < n:
            self._arrays[at] = np.empty(n, dtype)
        return self._arrays[at][:n]


class SearchingExcludingCombiner(ExcludingCombiner, SearchingCombiner):
    """Combines a monoid over windows in pieces that lie anywhere: one tree has all of them."""

    def _has_few(self, piece: Bounds) -> bool:
        return False  # their rows may be in the tree alone

    def _partials(self, piece: Bounds) -> Any:
        return SearchingCombiner.follow(self, piece, self._cells.take)[0]


def combiner_of(plan: Plan, state: State, kinds: list[pa.DataType] | None = None) -> Combiner:
    """What combines a state: over windows in one piece or several, which move on or do not."""
    own = isinstance(plan.frames[state.frame].frame, OwnBounds)
    if state.pieces > 1:
        return (SearchingExcludingCombiner if own else ExcludingCombiner)(plan, state, kinds)
    return (SearchingCombiner if own else Combiner)(plan, state, kinds)
