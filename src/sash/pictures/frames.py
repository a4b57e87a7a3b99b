"""Frames: how the window of each row moves over a table, as the engine finds its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.pieces import Pieces
from sash.engine.row_windows import bounds_of
from sash.monoids.monoid import Monoid
from sash.monoids.sums import Count
from sash.pictures.recording import Recorder, Recording, Step, said
from sash.pictures.rows import Shown, StateRows
from sash.pictures.trace import Row, Trace
from sash.plan.explain import state_lines
from sash.plan.plan import State
from sash.plan.policy import beside
from sash.swag.registry import ALGORITHMS
from sash.windows.frames import Policy


def of_states(shown: Shown) -> list[Recording]:
    """A recording for each state of the plan, one answer per row."""
    rows, bounds, columns = bounds_of(shown.plan, shown.table)
    answers = rows.answers(bounds)
    found = []
    for state in shown.plan.states:
        taken = StateRows(state, columns, shown.query.time)
        window = bounds[state.frame]
        if isinstance(shown.plan.frames[state.frame].frame, Policy):
            recording = _by_policy(shown, state, taken)
        elif isinstance(window, Bounds) and state.kind in ("combine", "argument"):
            recording = _by_bounds(shown, state, taken, window)
        else:
            assert isinstance(window, Bounds | Pieces)
            recording = _by_answers(shown, state, taken, window, answers)
        found.append(recording)
    return found


def _by_bounds(shown: Shown, state: State, taken: StateRows, bounds: Bounds) -> Recording:
    """The plan's algorithm, as it follows the bounds of each row."""
    assert state.choice is not None
    recorder = Recorder(ALGORITHMS[state.choice.algorithm](_monoid(state, taken)))
    items = _with_rows(recorder.recording, shown, state, taken)
    front = reached = 0
    nothing = _nothing(state)
    pairs = zip(taken.among(bounds.lo), taken.among(bounds.hi), strict=True)
    for row, (lo, hi) in enumerate(pairs):
        recorder.begin(row)
        if lo >= reached:  # nothing of the last window is in this one
            front = recorder.drop_all(front, reached)
            reached = front = max(lo, reached)
        while front < lo:
            recorder.evict()
            front += 1
        while reached < hi:
            recorder.take(items[reached])
            reached += 1
        some = np.searchsorted(taken.known, (bounds.lo[row], bounds.hi[row]))
        recorder.answer_of(row, nothing, is_empty=bool(some[0] == some[1]))
    return recorder.recording


def _nothing(state: State) -> Any:
    """The answer over no rows; a tuple where there are several."""
    return state.nothing[0] if len(state.asked) == 1 else tuple(state.nothing)


def _monoid(state: State, taken: StateRows) -> Monoid:
    """The state's monoid; of an argument, which is kept as a row, the answer is its value."""
    monoid = state.monoid
    assert monoid is not None
    if state.kind != "argument":
        return monoid
    row_of = monoid.lower
    return monoid.with_(lower=lambda partial: taken.values[row_of(partial)][1])


def _by_policy(shown: Shown, state: State, taken: StateRows) -> Recording:
    """A window that evicts by itself what its policy says."""
    frame = shown.plan.frames[state.frame].frame
    assert isinstance(frame, Policy)
    assert state.choice is not None
    assert state.monoid is not None
    kept, decide = beside(state.monoid, frame, None)
    algorithm: Any = ALGORITHMS[state.choice.algorithm]
    recorder = Recorder(algorithm(kept, decide))
    taken.items, nothing = taken.values, _nothing(state)
    items = {row.number: row for row in _with_rows(recorder.recording, shown, state, taken)}
    for row in range(len(taken.values)):
        recorder.begin(row)
        if row in items:
            recorder.take(items[row])
        recorder.answer_of(row, nothing, is_empty=not len(recorder.window))
    return recorder.recording


def _by_answers(
    shown: Shown, state: State, taken: StateRows, bounds: Bounds | Pieces, answers: list[pa.Array]
) -> Recording:
    """States that are not combined, and windows in pieces: their rows and their answers."""
    recording = Recording("", "", Trace(Count()))
    _with_rows(recording, shown, state, taken)
    parts = bounds.parts if isinstance(bounds, Pieces) else (bounds,)
    outputs = [k for k, output in enumerate(shown.plan.outputs) if output.state == state.number]
    known = set(taken.known.tolist())
    for row in range(len(taken.values)):
        window = (i for part in parts for i in range(int(part.lo[row]), int(part.hi[row])))
        inside = tuple(i for i in window if i in known or state.kind in ("count", "groups"))
        answer = ", ".join(said(answers[k][row].as_py()) for k in outputs)
        arrived = max([row + 1, *(i + 1 for i in inside)])
        recording.steps.append(Step(f"row {row}", arrived, inside, (), answer=answer, at=row))
    return recording


def _with_rows(recording: Recording, shown: Shown, state: State, taken: StateRows) -> list[Row]:
    """Give a recording its title and all rows; the items of those that are read."""
    names = [output.name for output in shown.plan.outputs if output.state == state.number]
    recording.title = f"{', '.join(names)} over {shown.plan.frames[state.frame].frame}"
    recording.lead = f"{shown.lead}. {' '.join(state_lines(shown.plan, state))}"
    for value, time in zip(taken.values, shown.times, strict=True):
        recording.add_row(value, time)
    return [Row(int(row), taken.items[row]) for row in taken.read]
