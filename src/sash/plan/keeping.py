"""Keeping: what a stream keeps between batches for each state of a plan, and how far back.

Windows by time whose answers are small partials are kept in a forest of bulks: a batch costs what
comes and goes, however long the window is. The others keep rows; see `kept.py`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sash.plan.choose import Choice, Cost
from sash.plan.kept import PARTIALS, Kept, Structure
from sash.plan.plan import Plan, State
from sash.plan.reach import reach_of_frame, steps_of
from sash.plan.refused import check, check_kept
from sash.plan.slicing import Slices, steps_within
from sash.plan.spine import Spine
from sash.plan.types import tick_kind
from sash.windows.frames import (
    Frame,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    SlidingCalendar,
    SlidingRows,
    Until,
    length,
)

COMBINED = ("count", "known", "first", "last", "argument", "combine")
"""The kinds of states that partials answer; others need the rows of a window."""


def on_stream(plan: Plan) -> Plan:
    """The plan with what a stream keeps between batches; raises what a stream refuses."""
    check(plan)
    plan = replace(plan, states=tuple(_kept_state(plan, state) for state in plan.states))
    plan = replace(plan, slices=_slices(plan), kept=_kept(plan))
    check_kept(plan)
    return plan


def _kept_state(plan: Plan, state: State) -> State:
    """A state with the structure that keeps it, and the algorithm that this is."""
    structure = _structure(plan, state)
    if structure not in PARTIALS:
        return replace(state, structure=structure)
    typed = state.typed or state.kind in ("count", "known", "first", "last")
    state = replace(state, structure=structure, typed=typed)
    if state.condition is not None:
        state = replace(state, filtering="no rows")
    if structure == "slices":
        state = replace(state, slices=0)
    return replace(state, choice=_choice(structure, plan.options.emit == "arrival"))


def _choice(structure: Structure, arrival: bool) -> Choice:
    if structure == "so far":
        why = "the partial of the window so far, then the rows of a batch one by one"
        return Choice("TwoStacks", why, Cost(2, 1))
    why = "AMTA's nodes over bulks in order, O(log n) per batch: it costs what comes and goes"
    if arrival:
        why = "AMTA's nodes over bulks; late rows go where they belong, as in FiBA: O(log d) change"
    return Choice("Forest", why, Cost(2, 3))


def _structure(plan: Plan, state: State) -> Structure:
    """The structure that keeps a state between batches."""
    frame = plan.frames[state.frame].frame
    whole = frame.exclude is None and frame.most is None and frame.peers
    combines = state.kind in COMBINED and whole
    if isinstance(frame, SlidingRows):
        return "tail"
    if plan.query.every is not None:
        return "slices" if combines and _is_made_of_slices(plan, frame) else "rows"
    if isinstance(frame, Session | Lifetime | Until) or _from_the_first(frame):
        return "so far" if combines else "tail"
    if isinstance(frame, Range | Sliding):
        return "forest" if combines else "rows"
    if isinstance(frame, Rows) and plan.options.emit == "final" and frame.needs_following:
        return "waiting"
    return "tail"


def _from_the_first(frame: Frame) -> bool:
    """Whether a frame has all rows so far, up to the current one."""
    if isinstance(frame, Range | Rows) and frame.preceding is None and frame.following is not None:
        return not length(frame.following)
    return False


def at_moments(plan: Plan, spine: Spine) -> Plan:
    """A plan's windows at the moments of a spine instead of at their own rows."""
    query, frames = spine.over(plan.query), {}
    for name, a in plan.query.aggregations.items():
        frame = query.aggregations[name].frame
        assert frame is not None
        frames[a.frame] = replace(
            next(each for each in plan.frames if each.frame == a.frame),
            frame=frame,
            reach=reach_of_frame(frame, plan.unit, as_of=True),
        )
    return replace(plan, query=query, frames=tuple(frames[each.frame] for each in plan.frames))


# How far back rows are kept.


def _kept(plan: Plan) -> Kept:
    options, every, unit = plan.options, plan.query.every, plan.unit
    idle = None if options.idle is None else steps_of(options.idle, unit)
    noticed = _noticed(plan, idle) if options.emit == "update" else 0
    ahead: float = 0
    if options.emit != "arrival" and every is None:
        ahead = max((_or_infinity(frame.reach.ahead) for frame in plan.frames), default=0)
    kept = {s.frame for kind in ("forest", "rows") for s in plan.of(kind)}
    waiting = [plan.frames[s.frame].reach.rows_ahead or 0 for s in plan.of("waiting")]
    given = options.emit, idle, steps_of(options.lead, unit)
    if every is None:
        behind = max((_or_infinity(plan.frames[number].reach.behind) for number in kept), default=0)
        bulks = bool(kept) or ahead > 0 or options.emit == "arrival" or noticed > 1
        return Kept(*given, max(behind, noticed), ahead, max(waiting, default=0), bulks)
    if every.by_rows:
        return Kept(*given, 0, 0, 0, bulks=False)
    lengths = [_lengths(plan, kind) for kind in every.kinds if isinstance(kind, Sliding)]
    back = max(slide for _, slide in lengths) if every.changes else 0
    behind = max(size for size, _ in lengths) + back
    return Kept(
        *given, behind, 0, 0, bool(kept), _slice_length(plan), steps_back=back, fills=every.fills
    )


def _noticed(plan: Plan, idle: float | None) -> float:
    """How long rows are kept so that it is noticed when sessions end and keys are idle."""
    frames = [each.frame for each in plan.frames]
    gaps = [steps_of(f.gap, plan.unit) for f in frames if isinstance(f, Session)]
    return max((*gaps, idle or 0), default=0) + 1


def _or_infinity(value: float | None) -> float:
    return math.inf if value is None else value


# The slices of `every`.


def _slices(plan: Plan) -> tuple[Slices, ...]:
    """The slices that are kept: of one length, as windows of a stream begin at any of them. Those
    of windows by rows are made again from the rows that keys keep."""
    sliced, every = plan.of("slices"), plan.query.every
    if every is not None and every.by_rows:
        return plan.slices
    if not sliced:
        return ()
    step, frames = _slice_length(plan), sorted({state.frame for state in sliced})
    within = [_steps(plan, plan.frames[number].frame) for number in frames]
    longest = tuple(int(size // step) for size, _, _ in within)
    return (Slices(0, "time", step, (within[0][2] % step,), tuple(frames), longest),)


def _steps(plan: Plan, frame: Frame) -> tuple[Any, Any, Any]:
    assert isinstance(frame, Sliding)
    return steps_within(frame, plan.unit)


def _is_made_of_slices(plan: Plan, frame: Frame) -> bool:
    """Whether windows of `every` begin and end where slices do; see `_slice_length`."""
    if isinstance(frame, SlidingCalendar):
        return False
    if tick_kind(plan.schema.field(plan.query.time).type) == "i":
        return True
    _, step, start = _steps(plan, plan.frames[0].frame)
    size, slide, offset = _steps(plan, frame)
    return all(length % step == 0 for length in (size, slide, offset - start))


def _slice_length(plan: Plan) -> float:
    """The length of a slice: the greatest common divisor of sizes, slides and offsets; of times
    that are no integers the first slide."""
    bounds = [_steps(plan, each.frame) for each in plan.frames]
    if tick_kind(plan.schema.field(plan.query.time).type) != "i":
        return float(bounds[0][1])
    first = bounds[0][2]
    lengths = [x for size, slide, offset in bounds for x in (size, slide, offset - first)]
    return math.gcd(*(int(x) for x in lengths))


def _lengths(plan: Plan, kind: Sliding) -> tuple[float, float]:
    """How long periodic windows are, and how far apart; of a calendar's, at most."""
    size, slide, _ = _steps(plan, kind)
    if not isinstance(kind, SlidingCalendar):
        return size, slide
    period = steps_of(kind.calendar.longest, plan.unit)
    return size * period, slide * period
