"""The windows of a definition by the structure that keeps them, ready to answer."""

from __future__ import annotations

from typing import Any

from sash.engine.order import tick_type
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.filled import FilledWindows
from sash.engine.stream.key_windows import SoFarWindows, TailWindows, keyed
from sash.engine.stream.partials import PartialState
from sash.engine.stream.sliced import RereadWindows, SlicedWindows
from sash.engine.stream.time_windows import TimeWindows
from sash.engine.stream.updates import Changes
from sash.engine.stream.waiting import WaitingRows


class Work:
    """The windows of a definition, ready to answer; made once, used for every batch."""

    def __init__(self, definition: StreamDefinition) -> None:
        self.definition, plan = definition, definition.plan
        self.dtype = tick_type(plan.schema.field(definition.time).type)
        states = definition.of_structure
        self.by_time = [
            TimeWindows(frame, plan.unit, self.dtype, [self._partial(s) for s in of])
            for frame in definition.by_time
            if (of := [s for s in states.get("tree", []) if s.frame == frame.number])
        ]
        self.so_far = {
            f"so far {frame.number}": SoFarWindows(
                frame, [self._partial(s) for s in of], definition.time, plan.unit, self.dtype
            )
            for frame in plan.frames
            if (of := [s for s in states.get("so far", []) if s.frame == frame.number])
        }
        self.tails = {
            f"tail {frame.number}": TailWindows.of(plan, names)
            for frame in plan.frames
            if (names := self._names("tail", frame.number))
        }
        waiting = definition.outputs_of("waiting")
        self.waiting = WaitingRows(keyed(plan, waiting), definition.rows_ahead) if waiting else None
        rows = definition.outputs_of("rows")
        self.rows = keyed(plan, rows) if rows and plan.query.every is None else None
        every = plan.query.every is not None
        self.sliced = SlicedWindows(definition) if every else None
        self.every_row = RereadWindows(definition, rows) if every and rows else None
        self.filled = FilledWindows(definition) if definition.fills else None
        self.changes = Changes(definition, self.dtype) if definition.emit == "update" else None

    def _partial(self, state: Any) -> PartialState:
        return PartialState(self.definition.plan, state, self.definition.allow_pickle)

    def _names(self, structure: Any, frame: int) -> list[str]:
        plan = self.definition.plan
        kept = {
            s.number for s in self.definition.of_structure.get(structure, []) if s.frame == frame
        }
        return [output.name for output in plan.outputs if output.state in kept]
