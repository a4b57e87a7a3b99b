"""Slices: rows combined once per slice, and the windows of several kinds that share them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from sash.engine.bounds import Bounds
from sash.engine.periodic_windows import KindAtWork
from sash.engine.rows import Rows
from sash.engine.slicer import Slicer
from sash.pictures.recording import Recording, Step, said
from sash.pictures.rows import Shown, StateRows
from sash.pictures.trace import Row, Trace, Traced
from sash.plan.explain import counted, slices_in_words
from sash.plan.plan import Plan, State
from sash.plan.slicing import Slices
from sash.swag.parts import Part
from sash.swag.registry import ALGORITHMS


@dataclass
class KindShown:
    """Windows of one kind, kept by the plan's algorithm over the partials of slices."""

    name: str
    window: Any
    bounds: list[tuple[int, int]] = field(default_factory=list)  # slices of each window
    edges: list[str] = field(default_factory=list)
    front: int = 0
    reached: int = 0

    def move(self, lo: int, hi: int, partials: dict[int, Traced]) -> Any:
        """The answer over slices lo to hi - 1; both only grow."""
        if lo >= self.reached:
            self.window.evict_many(len(self.window))
            self.front = self.reached = lo
        while self.front < lo:
            if self.front in partials:
                self.window.evict()
            self.front += 1
        while self.reached < hi:
            if self.reached in partials:
                self.window.insert(partials[self.reached])
            self.reached += 1
        return self.window.query()

    def parts(self) -> list[Part]:
        """The partials that its algorithm keeps, without the slices themselves."""
        kept = [part for part in self.window.parts() if part.group not in ("items", "level 0")]
        return [Part(f"{self.name}: {part.group}", part.place, part.partial) for part in kept]


def of_slices(shown: Shown) -> list[Recording]:
    """A recording for each column and monoid whose partials the windows share."""
    rows = Rows(shown.plan, ordered=True)
    slicers = [Slicer(slices, rows) for slices in shown.plan.slices]
    [batch] = shown.table.combine_chunks().to_batches()
    columns = rows.take(batch)
    for slicer in slicers:
        slicer.take(0)
    cuts = [slicer.complete(last=True) for slicer in slicers]
    found = []
    for number, states in _sharing(shown.plan):
        taken = StateRows(states[0], columns, shown.query.time)
        cut = cuts[number]
        assert cut is not None
        play = Play(shown, shown.plan.slices[number], taken, cut, states)
        for state in states:
            frame = shown.plan.frames[state.frame]
            play.add(state, KindAtWork(shown.plan, frame, rows, slicers, None, None))
        play.run()
        found.append(play.recording)
    return found


def _sharing(plan: Plan) -> list[tuple[int, list[State]]]:
    """The states of a plan that read the same partials of the same slices."""
    groups: dict[Any, list[State]] = {}
    for state in plan.states:
        if state.slices is not None and state.monoid is not None:
            same = (state.slices, state.condition, state.columns, state.monoid.state_digest)
            groups.setdefault(same, []).append(state)
    if not groups:
        raise ValueError(
            "show: no window of this plan is made of slices: explain() says why; combine a "
            "column, as in sf.sum, over windows by whole times"
        )
    return [(same[0], states) for same, states in groups.items()]


class Play:
    """Slice by slice: its rows are combined, then the windows that end with it are answered."""

    def __init__(
        self, shown: Shown, slices: Slices, taken: StateRows, cuts: Bounds, states: list[State]
    ) -> None:
        assert states[0].monoid is not None
        self.trace = Trace(states[0].monoid)
        numbers = [state.number for state in states]
        names = [output.name for output in shown.plan.outputs if output.state in numbers]
        line = slices_in_words(shown.plan, slices)
        card = inspect.getdoc(inspect.getmodule(type(slices))) or ""
        title = f"The slices of {', '.join(names)}"
        self.recording = Recording(title, f"{shown.lead}, {line}", self.trace, card)
        for value, time in zip(taken.values, shown.times, strict=True):
            self.recording.add_row(value, time)
        self._taken, self._cuts = taken, cuts
        self._kinds: list[KindShown] = []
        self._partials: dict[int, Traced] = {}  # by the number of the slice

    def add(self, state: State, kind: KindAtWork) -> None:
        """Windows of one kind, by the algorithm that the plan has chosen for a state."""
        assert state.choice is not None
        assert state.monoid is not None
        window = ALGORITHMS[state.choice.algorithm](self.trace.over(state.monoid), compiled=False)
        shown = KindShown(kind.name, window)
        for items, _, (begins, ends) in kind.complete(last=True):
            shown.bounds += list(zip(items.lo.tolist(), items.hi.tolist(), strict=True))
            pairs = zip(begins.to_pylist(), ends.to_pylist(), strict=True)
            shown.edges += [f"{said(a, 19)} to {said(b, 19)}" for a, b in pairs]
        self._kinds.append(shown)

    def run(self) -> None:
        """All steps."""
        first = self._cuts.lo.tolist()
        for number, (lo, hi) in enumerate(zip(first, self._cuts.hi.tolist(), strict=True)):
            rows = self._fold(number, lo, hi)
            self._step(f"slice {number}: {counted(rows, 'row')}", range(lo, hi))
            for kind in self._kinds:
                for (begin, end), edges in zip(kind.bounds, kind.edges, strict=True):
                    if end == number + 1:
                        answer = said(kind.move(begin, end, self._partials))
                        call = f"{kind.name}: window {edges}"
                        self._step(call, range(first[begin], hi), answer)

    def _fold(self, number: int, lo: int, hi: int) -> int:
        """Combine the rows of a slice; how many there are."""
        rows = [
            Row(int(row), self._taken.items[row]) for row in self._taken.known if lo <= row < hi
        ]
        if rows:
            total = self.trace.lift(rows[0])
            for row in rows[1:]:
                total = self.trace.combine(total, self.trace.lift(row))
            self._partials[number] = total
        return len(rows)

    def _step(self, call: str, window: range, answer: str | None = None) -> None:
        oldest = min((kind.front for kind in self._kinds if kind.reached), default=0)
        parts = [Part("slices", k, v) for k, v in self._partials.items() if k >= oldest]
        parts += [part for kind in self._kinds for part in kind.parts()]
        combines = tuple(self.trace.taken())
        step = Step(call, window.stop, tuple(window), tuple(parts), combines, answer)
        self.recording.steps.append(step)
