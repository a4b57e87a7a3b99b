"""Slice partials: rows combined once per key and slice, and windows that follow slices.

A slice's partial is an item of the windows that it is in: numbers in columns, one for each
number of the state, or a list of objects. Slices in which all rows are null have none.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import EXACT
from sash.engine.combiners import as_arrow, partials_of, results_of
from sash.engine.fold import At, Columns, Groups, fold, folded, folded_plain
from sash.engine.inputs import Inputs, ObjectInputs, SharedInputs
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.kernel.compiled import Kernel, Target, compiled_or_none
from sash.kernel.layout import Layout
from sash.kernel.words import FIRST_FREE
from sash.memory.columns import held_rows
from sash.monoids.monoid import Monoid, same
from sash.plan.plan import Plan, State
from sash.swag.inputs import items
from sash.swag.registry import ALGORITHMS


class SlicePartials:
    """The partials of a monoid over the slices of rows, for all states that read them."""

    def __init__(self, plan: Plan, state: State, inputs: SharedInputs) -> None:
        assert state.monoid is not None
        kinds = [plan.schema.field(name).type for name in state.columns]
        own = (Inputs if state.typed else ObjectInputs)(kinds)
        self._inputs = inputs.join(own, state.columns, self)
        self._monoid = partials_of(state.monoid)
        self._kernel = self._compiled(plan, state) if state.typed else None
        self._layout = Layout.of(self._monoid.identity, self._monoid.dtype)
        self._some = Ranks()  # which slices have a partial
        self._columns: list[Tape] = []
        if self._kernel is not None and self._layout is not None:
            self._columns = [Tape(leaf) for leaf in self._layout.leaves]
        self._objects: list[Any] = []
        self._base = 0
        self.reached = 0  # the first known row that is in no slice yet
        self.readers: list[SliceCombiner] = []

    def _compiled(self, plan: Plan, state: State) -> Kernel | None:
        layout = Layout.of(self._monoid.identity, self._monoid.dtype)
        assert layout is not None
        xs = self._inputs.values
        dtypes = tuple(x.dtype for x in (xs if isinstance(xs, tuple) else (xs,)))
        target = Target(self._monoid, layout, {}, At, Columns, inputs=dtypes)
        found: Kernel | None = compiled_or_none(fold, target)
        return found

    def fold(self, slices: Bounds) -> None:
        """Combine the rows of slices that are complete, all rows or those that pass a filter."""
        known = self._inputs.known(slices)
        some = known.sizes > 0
        self._some.take(pa.array(np.zeros(len(some), np.int8), mask=~some))
        lo, hi = (np.ascontiguousarray(x[some]) for x in (known.lo, known.hi))
        if len(lo):
            self._add(lo, hi)
        self.reached = int(known.hi[-1])

    def _add(self, lo: np.ndarray, hi: np.ndarray) -> None:
        inputs = self._inputs
        groups = Groups(lo, hi, inputs.base)
        if self._kernel is None:
            with localcontext(EXACT):
                self._objects += folded_plain(self._monoid, items(inputs.values), groups)
            return
        held = held_rows(self._layout, self._monoid.identity, FIRST_FREE)
        columns = inputs.values if isinstance(inputs.values, tuple) else (inputs.values,)
        made = folded(self._kernel, columns, groups, held)
        for tape, column in zip(self._columns, made, strict=True):
            tape.add(column)

    def known(self, slices: Bounds) -> Bounds:
        """Windows of slices as windows of those that have a partial."""
        return self._some.of(slices)

    @property
    def values(self) -> Any:
        """The partials from number `base` on."""
        if self._kernel is None:
            return self._objects
        arrays = tuple(tape.values if len(tape) else tape.blank for tape in self._columns)
        return arrays[0] if len(arrays) == 1 else arrays

    @property
    def base(self) -> int:
        return self._columns[0].base if self._columns else self._base

    def forget(self, slice_: int) -> None:
        """No later window reaches slices before this one."""
        known = min(reader.reached for reader in self.readers)
        for tape in self._columns:
            tape.forget(known)
        if self._kernel is None:
            del self._objects[: max(0, known - self._base)]
            self._base = max(self._base, known)
        self._some.forget(slice_)


class SliceCombiner:
    """Combines the partials of slices over the windows of a frame, by the plan's algorithm."""

    def __init__(self, plan: Plan, state: State, partials: SlicePartials) -> None:
        assert state.monoid is not None
        assert state.choice is not None
        self.partials = partials
        self._state, self._results = state, results_of(plan, state)
        self._window = ALGORITHMS[state.choice.algorithm](over_partials(state.monoid, state.typed))
        partials.readers.append(self)

    def take(self, columns: list[pa.Array]) -> None:
        """Rows go into slices, which come by themselves."""

    def answer(self, bounds: Bounds) -> list[pa.Array]:
        """The answers over windows of slices."""
        known = self.partials.known(bounds)
        with localcontext(EXACT):
            asked = (*known.ends, known.longest)
            found = self._window.follow(self.partials.values, self.partials.base, *asked)
        return as_arrow(self._state, self._results, *found, known.empty)

    @property
    def reached(self) -> int:
        """The first partial that the window has not taken in."""
        return self._window.reached

    def forget(self, row: int) -> None:
        """Slices are forgotten by themselves."""


def over_partials(monoid: Monoid, typed: bool) -> Monoid:
    """The monoid whose items are partials, one number for each number of the state."""
    layout = Layout.of(monoid.identity, monoid.dtype) if typed else None
    if layout is None:
        return monoid.with_(lift=same, dtype=object, typed=None)
    count = len(layout.leaves)
    found = layout.expression(["x"] if count == 1 else [f"x[{i}]" for i in range(count)])
    scope: dict[str, Callable[[Any], Any]] = {}
    exec(f"def lift(x):\n    return {found}\n", {"__name__": __name__}, scope)
    return monoid.with_(lift=scope["lift"], typed=None)
