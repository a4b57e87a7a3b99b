"""The planner: from a definition to the plan that every executor runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.kernel.layout import Layout
from sash.monoids.extremes import ArgMax, ArgMin
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid
from sash.monoids.sums import TwoSums
from sash.plan.about import About, concerning
from sash.plan.aggregation import Aggregation
from sash.plan.at_hand import from_rows
from sash.plan.choose import Need, choose
from sash.plan.definition import Query
from sash.plan.filtering import filtered
from sash.plan.keeping import on_stream
from sash.plan.plan import BY_DEFAULT, FramePlan, Kind, Options, Output, Plan, State
from sash.plan.policy import obeys_typed
from sash.plan.reach import reach_of_frame
from sash.plan.sharing import loops, share
from sash.plan.slicing import Slices, slices_of
from sash.plan.typed import typed_monoid, with_nanoseconds
from sash.plan.types import is_ranked, number_type, tick_kind, unit_of
from sash.windows.frames import Calendar, Frame, Groups, OwnBounds, Policy, Rows, Session

NUMBERS = "numbers"
"""Of a group of aggregations: their states are numbers, which can be parts of each other."""


def plan_of(query: Query, schema: pa.Schema, options: Options = BY_DEFAULT) -> Plan:
    """The plan of a definition over a table of these columns; raises what is wrong with it."""
    query.check(schema)
    query = with_nanoseconds(query, query.with_derived(schema))
    schema = query.with_derived(schema)
    unit = unit_of(schema.field(query.time).type)
    frames: dict[Any, FramePlan] = {}
    groups: dict[Any, list[str]] = {}
    given = query.aggregations
    wanted = {out: from_rows(a, query, schema, options) for out, a in given.items()}
    for out, a in wanted.items():
        frame = a.frame
        assert frame is not None
        if frame not in frames:
            reach = reach_of_frame(frame, unit, query.spine is not None)
            frames[frame] = FramePlan(len(frames), frame, reach, _bounds(frame, query))
        group = (frame, a.condition, a.columns, _kind(a), _apart(a, schema))
        groups.setdefault(group, []).append(out)
    whole = tick_kind(schema.field(query.time).type) == "i"
    kinds_of_windows = () if query.every is None else tuple(frames)
    slices = slices_of(kinds_of_windows, unit, whole)
    states: list[State] = []
    place: dict[str, tuple[int, int]] = {}
    for (frame, condition, columns, kind, _), outs in _by_server(groups, wanted, schema):
        asked, members = _distinct([wanted[out] for out in outs])
        try:
            state = State(len(states), frames[frame].number, kind, columns, asked)
            state = _kept(state, frames[frame], slices, schema, options)
        except ValueError as problem:
            named = list(dict.fromkeys(map(query.output_of, outs)))
            wrong = ValueError(f"{', '.join(named)}: {problem}")
            raise concerning(wrong, About("output", named[0])) from None
        pieces = frame.pieces(bool(query.ties))
        windows = 2 if frame.exclude is not None and frame.needs_following else 1
        state = replace(state, pieces=pieces, windows=windows)
        states.append(filtered(state, condition, frame, options, schema))
        place |= {out: (state.number, k) for out, k in zip(outs, members, strict=True)}
    kinds = {
        out: a.result([schema.field(name).type for name in a.columns]) for out, a in given.items()
    }
    query.output_types(schema, kinds)  # raises what is wrong with results
    outputs = tuple(Output(out, *place[out], kind) for out, kind in kinds.items())
    planned = tuple(frames.values()), tuple(states), outputs, options, slices
    plan = Plan(query, schema, *planned)
    return on_stream(plan) if options.rows == "stream" else plan


def _kind(a: Aggregation) -> Kind:
    if isinstance(a.frame, Policy):
        return "policy"
    if a.how == "count":
        return "known" if a.columns else "count"
    return a.how  # type: ignore[return-value]


def _apart(a: Aggregation, schema: pa.Schema) -> Any:
    """A key that aggregations must have in common to share a state, beyond frame, columns and kind.

    Monoids over numbers may have one state that answers for several, see `_by_server`.
    Others share only with themselves.
    """
    typed = typed_monoid(a, schema)
    if _kind(a) == "combine" and typed is not None and _has_parts(typed):
        return NUMBERS
    if a.monoid is not None and _kind(a) != "distinct":
        return a.monoid.digest
    if a.how == "rank":
        return a.how
    if a.function is not None:
        return fingerprint(a.function)
    kind = a.result([schema.field(name).type for name in a.columns])
    return (a.how, a.share, a.interpolation, a.place, str(kind))


def _by_server(
    groups: dict[Any, list[str]], wanted: Mapping[str, Aggregation], schema: pa.Schema
) -> Iterator[tuple[Any, list[str]]]:
    """Each group of aggregations that one state, or one loop over several, answers for."""
    for group, outs in groups.items():
        if group[-1] != NUMBERS:
            yield group, outs
            continue
        typed = [typed_monoid(wanted[out], schema) for out in outs]
        shared = share(typed)
        loop = loops(shared.kept)
        served: dict[int, list[str]] = {}
        for out, server in zip(outs, shared.server, strict=True):
            served.setdefault(loop[server], []).append(out)
        for some in served.values():
            yield group, some


def _has_parts(typed: Monoid) -> bool:
    layout = Layout.of(typed.identity, typed.dtype)
    return layout is not None and layout.length is None and typed.recipe is not None


def _distinct(asked: Sequence[Aggregation]) -> tuple[tuple[Aggregation, ...], list[int]]:
    """The aggregations that compute different things, and which of them each one is."""
    found: dict[Any, int] = {}
    first: list[Aggregation] = []
    members = []
    for a in asked:
        key = (
            a.monoid.digest if a.monoid is not None else (a.how, a.share, a.interpolation, a.place)
        )
        if key not in found:
            found[key] = len(first)
            first.append(a)
        members.append(found[key])
    # Sorted, so that one kernel serves calls that name them in another order.
    order = sorted(range(len(first)), key=lambda i: first[i].name)
    return tuple(first[i] for i in order), [order.index(member) for member in members]


def _kept(
    state: State, frame: FramePlan, slices: Sequence[Slices], schema: pa.Schema, options: Options
) -> State:
    """A state with what is kept for it: the monoid, over rows or over slices, and by what."""
    kind, asked = state.kind, state.asked
    if isinstance(frame.frame, OwnBounds):
        if kind in ("distinct", "percentile", "rank"):
            raise ValueError(
                f"{asked[0].name} keeps a window that moves on, and bounds of each row's own go "
                "anywhere: take sf.function, or a sketch"
            )
        if frame.frame.exclude not in (None, "current row"):
            raise ValueError("bounds of each row's own leave out the current row or nothing")
        options = options._replace(algorithm=options.algorithm or "FiBA")
        if options.algorithm != "FiBA":
            raise ValueError("bounds of each row's own are searched for: only FiBA can do that")
    items = frame.frame.preceding if isinstance(frame.frame, Rows) else None
    items = None if items is None else max(1, items + 1 + max(0, frame.reach.rows_ahead or 0))
    if kind == "argument":
        return _argument(state, schema, items, options)
    if kind == "decimal":
        monoid = TwoSums()
        choice = choose(Need(monoid, items, latency=options.latency), options.algorithm)
        return replace(state, monoid=monoid, kept=(monoid.name,), choice=choice, typed=True)
    if kind == "combine":
        cuts = [each for each in slices if frame.number in each.frames]
        if cuts and _sliceable(asked, schema):
            items = cuts[0].longest[cuts[0].frames.index(frame.number)]
            state = replace(state, slices=cuts[0].number)
        return replace(state, **_combined(asked, schema, items, options))
    if kind == "policy":
        monoid = asked[0].combined()
        choice = choose(Need(monoid, policy=True), options.algorithm)
        typed = obeys_typed(asked[0], schema)
        return replace(state, monoid=monoid, kept=(monoid.name,), choice=choice, typed=typed)
    return state


def _argument(state: State, schema: pa.Schema, items: int | None, options: Options) -> State:
    """The state of an argument: measures and rows, ranks of measures that are not numbers, or
    the pairs themselves."""
    kind = schema.field(state.columns[0]).type
    row, measure = np.dtype(np.int64), number_type(kind)
    by_rank = measure is None and options.rows == "whole" and is_ranked(kind)
    if measure is None and not by_rank:
        return replace(state, kind="combine", **_combined(state.asked, schema, items, options))
    monoid = by_row(state.asked[0]).of((measure or row, row))
    choice = choose(Need(monoid, items, latency=options.latency), options.algorithm)
    if by_rank:
        choice = replace(choice, reason=f"{choice.reason}; by rank, values are sorted once")
    return replace(state, monoid=monoid, kept=(monoid.name,), choice=choice, typed=True)


def _sliceable(asked: Sequence[Aggregation], schema: pa.Schema) -> bool:
    """Whether partials can be items: all but vectors of numbers, which live in place."""
    typed = typed_monoid(asked[0], schema)
    return typed is None or Layout.of(typed.identity, typed.dtype).length is None  # type: ignore[union-attr]


def by_row(a: Aggregation) -> Monoid:
    """The monoid over pairs (measure, row) whose answer is the row of the best measure."""
    assert a.monoid is not None
    assert a.monoid.recipe is not None
    return ArgMax() if a.monoid.recipe.factory is ArgMax else ArgMin()


def _combined(
    asked: tuple[Aggregation, ...], schema: pa.Schema, items: int | None, options: Options
) -> dict[str, Any]:
    typed = [typed_monoid(a, schema) for a in asked]
    if None not in typed:
        shared = share(typed)
        monoid, names = shared.monoid, tuple(monoid.name for monoid in shared.kept)
    else:
        [monoid] = [a.monoid for a in asked if a.monoid is not None]
        names = (monoid.name,)
    choice = choose(Need(monoid, items, latency=options.latency), options.algorithm)
    return {"monoid": monoid, "kept": names, "choice": choice, "typed": None not in typed}


def _bounds(frame: Frame, query: Query) -> str:
    if query.every is not None:
        return "one window after the other, both ends only move on"
    if query.spine is not None:
        by_row = not isinstance(frame, Rows) and frame.by != "time"
        first = "one pass over the events, then " if by_row or isinstance(frame, Session) else ""
        return f"{first}by galloping search from one spine row to the next"
    if isinstance(frame, Policy):
        return "found by the window itself, as rows are combined"
    if isinstance(frame, Rows):
        return "by row number"
    if isinstance(frame, Calendar):
        return "by the number of the calendar period"
    if isinstance(frame, OwnBounds):
        return "searched for each row, when all rows of its key are in memory"
    if isinstance(frame, Groups):
        return "two pointers over the numbers of groups"
    return "two pointers over the rows in order" if frame.by == "time" else "one pass over the rows"
