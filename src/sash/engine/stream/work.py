"""The windows of a definition by the structure that keeps them, ready to answer."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from sash.engine.order import tick_type
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.filled import FilledWindows
from sash.engine.stream.key_windows import SoFarWindows, TailWindows, keyed
from sash.engine.stream.pages import KEY
from sash.engine.stream.partials import PartialState
from sash.engine.stream.row_slides import RowSlides
from sash.engine.stream.sliced import RereadWindows, SlicedWindows
from sash.engine.stream.time_windows import TimeWindows
from sash.engine.stream.updates import Changes
from sash.engine.stream.waiting import WaitingRows
from sash.plan.keeping import at_moments
from sash.plan.kept import Structure
from sash.plan.plan import FramePlan, Plan, State
from sash.plan.spine import Spine


class Work:
    """The windows of a definition, ready to answer; made once, used for every batch."""

    def __init__(self, definition: StreamDefinition) -> None:
        self.definition, plan = definition, definition.plan
        self.dtype = tick_type(plan.schema.field(definition.time).type)
        self.by_time = [
            TimeWindows(frame, plan.unit, self.dtype, [self._partial(s) for s in of])
            for frame in definition.by_time
            if (of := self._states("forest", frame))
        ]
        self.so_far = {
            f"so far {frame.number}": SoFarWindows(
                frame, [self._partial(s) for s in of], definition.time, plan.unit, self.dtype
            )
            for frame in plan.frames
            if (of := self._states("so far", frame))
        }
        self.tails = {
            f"tail {frame.number}": TailWindows.of(plan, tailed)
            for frame in plan.frames
            if plan.query.every is None and (tailed := self._states("tail", frame))
        }
        waiting, rows, ahead = plan.of("waiting"), plan.of("rows"), definition.kept.rows_ahead
        self.waiting = WaitingRows(keyed(plan, waiting), ahead) if waiting else None
        self.rows = keyed(plan, rows) if rows and plan.query.every is None else None
        by_time = plan.query.every is not None and not plan.query.every.by_rows
        self.sliced = SlicedWindows(definition) if by_time else None
        self.every_row = RereadWindows(definition, rows) if by_time and rows else None
        by_rows = plan.query.every is not None and plan.query.every.by_rows
        self.row_slides = RowSlides(definition) if by_rows else None
        self.filled = FilledWindows(definition) if definition.kept.fills else None
        self.changes = Changes(definition, self.dtype) if definition.kept.emit == "update" else None

    @cached_property
    def rows_at(self) -> Plan | None:
        """The plan of windows that are answered from their rows, at moments instead of at rows."""
        if self.rows is None:
            return None
        key, time = (self.rows.schema.field(name) for name in (KEY, self.definition.time))
        spine = Spine((KEY,), self.definition.time, pa.schema([key, time]), "both")
        return at_moments(self.rows, spine)

    def _partial(self, state: State) -> PartialState:
        return PartialState(self.definition.plan, state, self.definition.allow_pickle)

    def _states(self, structure: Structure, frame: FramePlan) -> list[State]:
        """The states of a frame that a structure keeps."""
        return [s for s in self.definition.plan.over(frame) if s.structure == structure]
