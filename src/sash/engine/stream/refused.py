"""Definitions that a stream refuses: their answers have no meaning, or no end, on a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.plan.expressions import columns_of
from sash.plan.types import tick_kind
from sash.windows.frames import Calendar, Groups, OwnBounds, Sliding, SlidingRows

if TYPE_CHECKING:
    from sash.engine.stream.definition import StreamDefinition


def check(definition: StreamDefinition) -> None:
    """Raise ValueError where a definition does not run on a stream."""
    query = definition.plan.query
    for out, a in query.aggregations.items():
        if isinstance(a.frame, OwnBounds):
            raise ValueError(
                f"{out}: bounds of each row's own do not run on a stream: they may reach any "
                "row of the key; give a duration or a number of rows"
            )
        if definition.emit == "final" and isinstance(a.frame, Groups) and a.frame.needs_following:
            raise ValueError(
                f"{out}: {a.frame}: when so many more times of a key have come is not known, so "
                "the window has no final answer: use rows_between or range_between, or "
                "emit='arrival'"
            )
    if definition.emit == "update":
        _check_values(definition)
    kinds = () if query.every is None else query.every.kinds
    for kind in kinds:
        _check_every(kind)
    if query.every is not None and query.every.fills and query.every.changes:
        raise ValueError(
            "every: with fill=True, emit='changes' does not run on a stream: windows without rows "
            "come out with the next one of their key that has some, long after the window before "
            "them; leave out one of both"
        )
    if query.ties and definition.emit == "arrival":
        raise ValueError(
            f"time: rows of one time come out as they arrive, before {query.ties[0]!r} can order "
            "them: give one column of order, or use emit='final'"
        )
    if len(kinds) > 1 and "rows" in definition.of_structure:
        names = ", ".join(definition.outputs_of("rows"))
        raise ValueError(
            f"{names}: on a stream with windows of several kinds, every takes aggregations "
            "that slices answer: make a call for each kind"
        )


def _check_every(kind: Sliding | SlidingRows) -> None:
    """Raise ValueError where periodic windows do not run on a stream."""
    if isinstance(kind, SlidingRows):
        raise ValueError(f"every: {kind} does not run on a stream: give windows by time")
    if kind.closed != "left":
        raise ValueError("every: windows of a stream are [start, end): leave out closed")


def _check_values(definition: StreamDefinition) -> None:
    """Raise ValueError where a key's value at a moment has no meaning."""
    query = definition.plan.query
    if query.every is not None:
        raise ValueError("every gives a window once, when it is complete: use emit='final'")
    if definition.lead and tick_kind(definition.schema.field(query.time).type) != "i":
        raise ValueError(f"lead: {query.time!r} is a float: use times or whole numbers")
    for out, a in query.aggregations.items():
        name, frame = out.partition(" #")[0], a.frame
        if frame is not None and frame.needs_following:
            raise ValueError(
                f"{name}: {frame} looks ahead, and the value of a key is that of now: end the "
                "window at the row, or use emit='final'"
            )
        if isinstance(frame, Calendar) or a.how == "rank":
            raise ValueError(
                f"{name}: {a} over {frame} has no value at a moment without a row: use a "
                "window of a length, or emit='final'"
            )
        if frame is not None and (frame.exclude is not None or not frame.peers):
            raise ValueError(
                f"{name}: there is no row at a moment that {frame} could leave out: use a "
                "frame without exclude and peers, or emit='final'"
            )
    check_results(definition)


def check_results(definition: StreamDefinition) -> None:
    """Raise ValueError where a result is not made of aggregations alone."""
    query = definition.plan.query
    for out, result in query.results.items():
        own = [name for name in columns_of(result) if name not in query.aggregations]
        if own:
            raise ValueError(
                f"{out}: it reads the row's column {own[0]!r}, and the value of a key has no "
                "row: make it of aggregations alone"
            )
