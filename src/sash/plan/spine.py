"""The spine of as-of windows: a table whose times windows end at, over the events of another.

A spine row is no event: it has a window, and no value of its own. Windows by time end before
its time t, so that nothing that was not known at t gets in, unless `closed` says otherwise.
Frames that count rows count from the last event before t: `rows(50)` is the last 50 events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from sash.plan.about import About, about
from sash.plan.checks import check_known, check_time
from sash.windows import Closed, Frame, Range
from sash.windows.frames import OwnBounds, Policy

if TYPE_CHECKING:
    from sash.plan.aggregation import Aggregation
    from sash.plan.definition import Query

Role = Literal["key", "time"]


@dataclass(frozen=True)
class Spine:
    """The table whose times windows end at: its keys in the order of the events', time, columns.

    `closed`: which ends of windows are included, of frames that do not say it themselves;
    "right" and "both" have an event at the very time of a spine row in its windows.
    """

    by: tuple[str, ...]
    time: str
    schema: pa.Schema
    closed: Closed = "left"

    @property
    def with_moment(self) -> bool:
        """Whether an event at the very time of a spine row is before it."""
        return self.closed in ("right", "both")

    def over(self, query: Query) -> Query:
        """A definition over frames that end at a spine row; ValueError where one cannot."""
        asked = {}
        for name, a in query.aggregations.items():
            out = query.output_of(name)
            with about("output", out):
                asked[name] = replace(a, frame=self._frame(out, a))
        return replace(query, aggregations=asked, spine=self)

    def _frame(self, name: str, a: Aggregation) -> Frame | None:
        frame = a.frame
        if frame is not None and not isinstance(frame, Frame):
            raise TypeError(
                f"{name}: at the times of a spine, give a frame of Sash's, not {frame!r}"
            )
        if a.how == "rank":
            raise ValueError(f"{name}: a spine row is no event and has no rank among them")
        if isinstance(frame, OwnBounds):
            raise ValueError(f"{name}: a spine row is no event and has no bounds of its own")
        if isinstance(frame, Policy):
            raise ValueError(
                f"{name}: {frame} decides row by row what is in: as of a moment, use a frame by "
                "time or by rows"
            )
        if frame is not None and (frame.exclude is not None or not frame.peers):
            raise ValueError(
                f"{name}: a spine row is no event: there is no row, and there are no peers, to "
                f"leave out of {frame}"
            )
        if isinstance(frame, Range) and not frame.told:
            return replace(frame, closed=self.closed)
        return frame

    def check(self, by: tuple[str, ...], time: str, events: pa.Schema) -> None:
        """Raise what is wrong with the spine's keys and time, given those of the events."""
        if len(self.by) != len(by):
            raise ValueError(
                f"the spine has {len(self.by)} key(s) ({', '.join(self.by)}), the events have "
                f"{len(by)} ({', '.join(by)}): name as many, in the same order, in at(…, by=…)"
            )
        for name in self.by:
            check_known(name, self.schema.names, About("key", name, of_spine=True))
        check_known(self.time, self.schema.names, About("time", self.time, of_spine=True))
        with about("time", self.time, of_spine=True):
            check_time(self.time, self.schema.field(self.time).type)
            common_type("time", (time, self.time), events, self.schema)
        for pair in zip(by, self.by, strict=True):
            with about("key", pair[1], of_spine=True):
                common_type("key", pair, events, self.schema)

    def __str__(self) -> str:
        keys = f", by {', '.join(self.by)}" if self.by else ""
        until = "up to and with" if self.with_moment else "before"
        return f"one row per row of the spine, over the events {until} its {self.time}{keys}"


def common_type(
    role: Role, names: tuple[str, str], events: pa.Schema, spine: pa.Schema
) -> pa.DataType:
    """The type in which a column of the events and one of the spine are compared."""
    kinds = [schema.field(name).type for schema, name in zip((events, spine), names, strict=True)]
    ours, theirs = (_plain(kind) for kind in kinds)
    if pa.types.is_timestamp(ours) and pa.types.is_timestamp(theirs) and ours.tz and theirs.tz:
        theirs = pa.timestamp(theirs.unit, ours.tz)  # the same moments, by another clock
    try:
        schemas = [pa.schema([("x", kind)]) for kind in (ours, theirs)]
        return pa.unify_schemas(schemas, promote_options="permissive").field("x").type
    except pa.ArrowTypeError:
        raise TypeError(
            f"the {role} {names[0]!r} of the events is {kinds[0]}, {names[1]!r} of the spine is "
            f"{kinds[1]}: cast one of them"
        ) from None


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, however they are stored."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind
