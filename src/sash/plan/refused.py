"""Definitions that a stream refuses: their answers have no meaning, or no end, on a stream."""

from __future__ import annotations

from typing import Any

from sash.plan.about import About, about, concerning
from sash.plan.aggregation import Aggregation
from sash.plan.definition import Query
from sash.plan.expressions import columns_of
from sash.plan.periodic import Periodic
from sash.plan.plan import Plan
from sash.plan.types import tick_kind
from sash.windows.frames import Calendar, Groups, OwnBounds, Sliding, SlidingRows, length


def check(plan: Plan) -> None:
    """Raise ValueError where a definition does not run on a stream."""
    query, emit = plan.query, plan.options.emit
    for name, a in query.aggregations.items():
        out = query.output_of(name)
        with about("output", out):
            _check_frame(out, a.frame, emit)
    if emit == "update":
        _check_values(plan)
    kinds = () if query.every is None else query.every.kinds
    whole = tick_kind(plan.schema.field(query.time).type) == "i"
    for kind in kinds:
        _check_every(kind, whole)
    if query.every is not None and query.every.by_rows:
        _check_every_rows(query.every)
    if query.every is not None and query.every.fills and query.every.changes:
        raise ValueError(
            "every: with fill=True, emit='changes' does not run on a stream: windows without rows "
            "come out with the next one of their key that has some, long after the window before "
            "them; leave out one of both"
        )
    if query.ties and emit == "arrival":
        raise ValueError(
            f"time: rows of one time come out as they arrive, before {query.ties[0]!r} can order "
            "them: give one column of order, or use emit='final'"
        )


def check_kept(plan: Plan) -> None:
    """Raise ValueError where what has to be kept does not answer, or not as it was asked to."""
    query, algorithm = plan.query, plan.options.algorithm
    outs = {o.state: query.output_of(o.name) for o in plan.outputs}
    if query.every is not None and len(query.every.kinds) > 1 and plan.of("rows"):
        names = ", ".join(outs[state.number] for state in plan.of("rows"))
        raise ValueError(
            f"{names}: on a stream with windows of several kinds, every takes aggregations "
            "that slices answer: make a call for each kind"
        )
    for state in plan.states if algorithm is not None else ():
        if state.choice is not None and state.choice.algorithm != algorithm:
            out = outs[state.number]
            problem = ValueError(
                f"{out}: algorithm={algorithm!r} cannot be chosen, as a stream keeps this window "
                f"by {state.choice.algorithm}: leave it out, or choose one for frames by rows only"
            )
            raise concerning(problem, About("output", out))


def _check_frame(out: str, frame: Any, emit: str) -> None:
    """Raise ValueError where a frame has no answer, or no final one, on a stream."""
    if isinstance(frame, OwnBounds):
        raise ValueError(
            f"{out}: bounds of each row's own do not run on a stream: they may reach any "
            "row of the key; give a duration or a number of rows"
        )
    if emit == "final" and getattr(frame, "following", 0) is None:
        raise ValueError(
            f"{out}: {frame} never ends on a stream, so it has no final answer: bound it, or use "
            "emit='arrival'"
        )
    if emit == "final" and isinstance(frame, Groups) and frame.needs_following:
        raise ValueError(
            f"{out}: {frame}: when so many more times of a key have come is not known, so the "
            "window has no final answer: use rows_between or range_between, or emit='arrival'"
        )


def _check_every_rows(every: Periodic) -> None:
    """Raise ValueError where windows by rows do not run on a stream."""
    if not all(isinstance(kind, SlidingRows) for kind in every.kinds):
        raise ValueError(
            "every: on a stream, windows by rows and windows by time come out at different "
            "moments: make a call for each"
        )
    if every.changes:
        raise ValueError(
            "every: emit='changes' does not run on a stream with windows by rows: compare them "
            "where they come out, or give windows by time"
        )


def _check_every(kind: Sliding | SlidingRows, whole: bool) -> None:
    """Raise ValueError where periodic windows do not run on a stream; `whole`: time has steps."""
    if isinstance(kind, SlidingRows):
        return
    if kind.closed != "left" and not whole:
        raise ValueError(
            "every: windows of a stream whose time is a float are [start, end): leave out closed, "
            "or use times or whole numbers"
        )


def _check_values(plan: Plan) -> None:
    """Raise ValueError where a key's value at a moment has no meaning."""
    query = plan.query
    if length(plan.options.lead) and tick_kind(plan.schema.field(query.time).type) != "i":
        raise ValueError(f"lead: {query.time!r} is a float: use times or whole numbers")
    for name, a in query.aggregations.items():
        out = query.output_of(name)
        with about("output", out):
            _check_value(out, a)
    check_results(query)


def _check_value(out: str, a: Aggregation) -> None:
    frame = a.frame
    if frame is not None and frame.needs_following:
        raise ValueError(
            f"{out}: {frame} looks ahead, and the value of a key is that of now: end the "
            "window at the row, or use emit='final'"
        )
    if isinstance(frame, Calendar) or a.how == "rank":
        raise ValueError(
            f"{out}: {a} over {frame} has no value at a moment without a row: use a "
            "window of a length, or emit='final'"
        )
    if frame is not None and (frame.exclude is not None or not frame.peers):
        raise ValueError(
            f"{out}: there is no row at a moment that {frame} could leave out: use a "
            "frame without exclude and peers, or emit='final'"
        )


def check_results(query: Query) -> None:
    """Raise ValueError where a result is not made of aggregations alone."""
    for out, result in query.results.items():
        own = [name for name in columns_of(result) if name not in query.aggregations]
        if own:
            problem = ValueError(
                f"{out}: it reads the row's column {own[0]!r}, and the value of a key has no "
                "row: make it of aggregations alone"
            )
            raise concerning(problem, About("output", out))
