"""Excluding combiners: a monoid over windows that leave rows out in their middle.

The oldest piece of the windows is a window by itself. The rows of a further piece are combined
to it one by one where they are few, such as the row itself. The peers after a row are those after
the next row, and the next row: one combine more. Any other piece is a window too, and its partials
are combined to those of the first.

Two-Stacks Lite combines the row itself, or those peers, as it goes (`_at_once`). With other
algorithms and other pieces, partials of all windows are kept, and answers given at the end.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import localcontext
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.adding import (
    OVER_ROWS,
    PEERS,
    At,
    Columns,
    add_partials,
    add_peers,
    add_rows,
    give_all,
)
from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT
from sash.engine.combiners import Combiner, SearchingCombiner, partials_of
from sash.engine.pieces import PeersAfter
from sash.kernel.answers import Allocate, Answers, new_array
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel, Target, compiled
from sash.kernel.layout import Layout
from sash.memory.columns import held_rows
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.swag.coming import Further
from sash.swag.inputs import Asked, addresses, columns_of, items
from sash.swag.registry import ALGORITHMS
from sash.swag.two_stacks_lite import TwoStacksLite
from sash.swag.window import Window
from sash.windows.frames import OwnBounds

FEW = 4
"""Rows of a piece, on average, up to which they are combined one by one: a window takes three
combines per row, and one more to combine what it has."""


SAMPLED = 256
"""Of so many windows, one is looked at to know how many rows a piece has."""


class Step(NamedTuple):
    """One piece more: the monoid of the answers, what there is so far, and what gives memory."""

    monoid: Monoid
    columns: Columns
    at: At
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
        others = [piece for piece in others if piece.longest > 0] or others[-1:]
        further = self._further(others)
        if further is not None:
            return self._at_once(first, further, allocate)
        in_place = self._monoid.lower is same  # partials are answers, and lie where those go
        total, _ = super().follow(first, allocate if in_place else self._cells.take)
        columns = Columns(total, total, self._some(first), self._cells.none, 0)
        at = At(full=first.shortest > 0)
        for piece in others[:-1]:
            self._with(piece, Step(self._partial, columns, at, lambda *_: total))
        last = (lambda *_: total) if in_place else allocate
        return self._with(others[-1], Step(self._monoid, columns, at, last))

    def _further(self, pieces: list[Bounds]) -> Further | None:
        """The further piece that the window combines as it goes; None: it cannot."""
        [piece, *others], window, values = pieces, self._window, self._inputs.values
        lo, hi = piece.ends
        row = isinstance(lo, range) and isinstance(hi, range) and hi.start - lo.start == 1
        if others or not (row or isinstance(piece, PeersAfter)):
            return None
        if not isinstance(window, TwoStacksLite) or not window.compiles_with(values, self._monoid):
            return None
        base = self._inputs.base
        if isinstance(piece, PeersAfter):
            return Further(self._monoid, piece.rows.start - base, piece.which, piece.last)
        assert isinstance(lo, range)
        return Further(self._monoid, lo.start - base)

    def _at_once(self, first: Bounds, further: Further, allocate: Allocate) -> tuple[Any, Any]:
        """The answers over windows that have a further piece, in one pass."""
        self._younger = None
        assert isinstance(self._window, TwoStacksLite)
        asked = Asked(self._inputs.base, *first.ends, first.longest, first.shape)
        return self._window.follow_with(self._inputs.values, asked, further, allocate)

    def _some(self, first: Bounds) -> np.ndarray:
        """Which windows have rows of the first piece."""
        if first.shortest > 0:
            return self._cells.ones(len(first.lo))
        return (first.lo < first.hi).view(np.int8)

    def _with(self, piece: Bounds, step: Step) -> tuple[Any, Any]:
        """The answers over what windows have so far and a further piece."""
        drivers: list[Any] = [add_rows]
        if isinstance(piece, PeersAfter):
            at = step.at._replace(named=len(piece.which), last=piece.last)
            step = step._replace(columns=step.columns._replace(which=piece.which), at=at)
            drivers = [add_peers, give_all]
        elif not self._has_few(piece):
            columns = step.columns._replace(younger=self._partials(piece))
            return self._run([add_partials], step._replace(columns=columns), piece)
        self._younger = None
        return self._run(drivers, step, piece)

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
        monoid, columns, at, allocate = step
        base, n, values = self._inputs.base, len(piece), self._inputs.values
        asked = Asked(base, *piece.ends, piece.longest, piece.shape)
        if isinstance(columns.total, list):
            answers: list[Any] = [None] * n
            for driver in drivers:
                given: Any = (items(values),) if driver in OVER_ROWS else ()
                out: Any = () if driver is add_peers else (answers,)
                with localcontext(EXACT):
                    bind_plain(monoid, {})(driver)(columns, at, *given, asked.plain(), *out)
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
        for driver in drivers:
            if driver is give_all and found.values is columns.total:
                continue  # its partials are answers, and are where those go
            kernel, _ = self._kernel(driver, monoid, arrays)
            given = (addresses(arrays),) if driver in OVER_ROWS else ()
            out = () if driver is add_peers else (found.address,)
            kernel.run(memory, at, *given, asked.compiled(), *out)
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
