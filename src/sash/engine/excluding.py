"""Excluding combiners: a monoid over windows that leave rows out in their middle.

The oldest piece of the windows is a window by itself. The rows of a further piece are combined
to it one by one where they are few, such as the row itself. The peers after a row are those after
the next row, and the next row: one combine more. Any other piece is a window too, and its partials
are combined to those of the first.
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
    Int64,
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
    one,
    put,
)
from sash.memory.columns import held_rows
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.swag.inputs import addresses, columns_of, items
from sash.swag.registry import ALGORITHMS
from sash.swag.window import Window
from sash.windows.frames import OwnBounds

PEERS = FIRST_FREE

FEW = 4
"""Rows of a piece, on average, up to which they are combined one by one: a window takes three
combines per row, and one more to combine what it has."""


SAMPLED = 256
"""Of so many windows, one is looked at to know how many rows a piece has."""


class Columns(NamedTuple):
    """The partials of windows so far and of a further piece; which windows have had some rows."""

    total: Partials
    younger: Partials
    some: Int8
    which: Int64  # windows whose rows have peers after them, the youngest first
    held: int


class At(NamedTuple):
    """How many windows `which` names; nothing is kept from one window to the next."""

    named: int


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


def give_all(memory: Memory, at: At, windows: Windows, out: Outputs) -> At:
    """For each window the answer of what it has so far."""
    q = attach(memory)
    for i in range(windows.n):
        if q.some[i]:
            give(out, i, lower(hold(q, ANSWER, get(q.total, i))))
    return at


def add_peers(memory: Memory, at: At, xs: InputColumns, windows: Windows) -> At:
    """Combine the rows lo to hi - 1 of windows, the peers after the window's own row, to what
    they have so far. No answers are given.

    Only windows that have some are looked at, the youngest first: their peers are one row more
    than those of the next window. So there are two combines however many peers there are.
    """
    q = attach(memory)
    begins, ends, base = numbers(windows.lo), numbers(windows.hi), windows.base
    peers = one(q)
    if at.named:
        first = q.which[0]
        for row in range(ends[first] - 1, begins[first], -1):
            peers = hold(q, PEERS, combine(lift(q, item(xs, row - base)), peers))
    for j in range(at.named):
        i = q.which[j]
        row = lift(q, item(xs, begins[i] - base))
        if ends[i] - begins[i] > 1:
            peers = hold(q, PEERS, combine(row, peers))
        else:
            peers = hold(q, PEERS, row)
        if q.some[i]:
            put(q.total, i, combine(get(q.total, i), peers))
        else:
            put(q.total, i, peers)
            q.some[i] = 1
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


OVER_ROWS = (add_rows, add_peers)
"""The drivers that read rows."""


class Step(NamedTuple):
    """One piece more: the monoid of the answers, what there is so far, and what gives memory.

    `named`: how many windows have rows of the piece, where `which` says which those are.
    """

    monoid: Monoid
    columns: Columns
    allocate: Allocate
    named: int | None = None


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
        in_place = self._monoid.lower is same  # partials are answers, and lie where those go
        total, _ = super().follow(first, allocate if in_place else self._cells.take)
        which = self._cells.none if known.which is None else known.which
        columns = Columns(total, total, self._some(first), which, 0)
        others = [piece for piece in others if piece.longest > 0] or others[-1:]
        for piece in others[:-1]:
            self._with(piece, Step(self._partial, columns, lambda *_: total))
        last = (lambda *_: total) if in_place else allocate
        named = None if known.which is None else len(known.which)
        return self._with(others[-1], Step(self._monoid, columns, last, named))

    def _some(self, first: Bounds) -> np.ndarray:
        """Which windows have rows of the first piece."""
        if first.shortest > 0:
            return self._cells.ones(len(first.lo))
        return (first.lo < first.hi).view(np.int8)

    def _with(self, piece: Bounds, step: Step) -> tuple[Any, Any]:
        """The answers over what windows have so far and a further piece."""
        if step.named is None and not self._has_few(piece):
            columns = step.columns._replace(younger=self._partials(piece))
            return self._run([add_partials], step._replace(columns=columns), piece)
        self._younger = None
        return self._run([add_rows] if step.named is None else [add_peers, give_all], step, piece)

    def _has_few(self, piece: Bounds) -> bool:
        """Whether the rows of a piece are combined one by one."""
        if piece.longest <= FEW:
            return True
        some = slice(None, None, SAMPLED)
        lengths = piece.hi[some] - piece.lo[some]
        return int(lengths.sum()) <= FEW * len(lengths)

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

    def _run(self, drivers: list[Any], step: Step, piece: Bounds) -> tuple[Any, Any]:
        """The answers that drivers give; as arrays, or as a list where partials are objects."""
        monoid, columns, allocate, named = step
        at = At(named or 0)
        base, n, values = self._inputs.base, len(piece.lo), self._inputs.values
        if isinstance(columns.total, list):
            answers: list[Any] = [None] * n
            windows = Windows(base, n, piece.lo.tolist(), piece.hi.tolist())
            for driver in drivers:
                given: Any = (items(values),) if driver in OVER_ROWS else ()
                out: Any = () if driver is add_peers else (answers,)
                with localcontext(EXACT):
                    bind_plain(monoid, {})(driver)(columns, at, *given, windows, *out)
            if monoid is self._partial:
                columns.total[:] = answers
            return answers, None
        arrays = columns_of(values) or ()
        kernel, held = self._kernel(drivers[-1], monoid, arrays)
        assert kernel.answer is not None
        found = Answers(kernel.answer, n, allocate(kernel.answer.layout.array_dtype, n))
        cells = (number for array in columns[:2] for number in (array.ctypes.data, -1))
        places = (number for array in columns[2:4] for number in (array.ctypes.data, 0))
        memory = (*cells, *places, 0 if held is None else held.ctypes.data)
        windows = Windows(base, n, piece.lo.ctypes.data, piece.hi.ctypes.data)
        for driver in drivers:
            if driver is give_all and found.values is columns.total:
                continue  # its partials are answers, and are where those go
            kernel, _ = self._kernel(driver, monoid, arrays)
            given = (addresses(arrays),) if driver in OVER_ROWS else ()
            out = () if driver is add_peers else (found.address,)
            kernel.run(memory, at, *given, windows, *out)
        return found.arrays()

    def _kernel(
        self, driver: Any, monoid: Monoid, arrays: tuple[np.ndarray, ...]
    ) -> tuple[Kernel, Any]:
        """A driver, compiled, and the places where it holds vectors."""
        key = driver, monoid is self._monoid
        if key not in self._kernels:
            layout = Layout.of(monoid.identity, monoid.dtype)
            assert layout is not None
            dtypes = tuple(array.dtype for array in arrays) if driver in OVER_ROWS else ()
            places = PEERS + 1
            target = Target(monoid, layout, {}, At, Columns, inputs=dtypes, places=places)
            held = held_rows(layout, monoid.identity, places)
            self._kernels[key] = compiled(driver, target), held
        return self._kernels[key]


class Cells:
    """Arrays for the partials of a block's pieces, kept for the next block."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._taken = 0
        self._ones, self.none = np.ones(0, np.int8), np.empty(0, np.int64)

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

    def ones(self, n: int) -> np.ndarray:
        """That n windows have rows."""
        if len(self._ones) < n:
            self._ones = np.ones(n, np.int8)
        return self._ones[:n]


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
