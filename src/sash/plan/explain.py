"""A plan in words, as a drawing and as data: printed from the record that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from sash.plan.definition import Query
from sash.plan.filtering import Filtering
from sash.plan.keeps import keeps
from sash.plan.plan import FramePlan, Plan, State
from sash.plan.slicing import Slices
from sash.windows.duration import Duration

FROM_BOUNDS = {
    "count": "the length of the window, no state",
    "known": "counted from the rows that are null, no state",
    "groups": "counted from the numbers of groups, no state",
    "nth": "the row at a place of the window, no state",
    "function": "called with the window's values, O(window) per row; a monoid, as in "
    "sf.apply(Monoid(name, identity, lift, combine), …), would take O(1)",
    "collect": "the rows of the window, copied: O(window) per row, no state",
    "rank": "a tree of counts by value, O(log n) per row",
    "first": "the row at the start of the window, no state",
    "last": "the row at the end of the window, no state",
    "distinct": "a count per value of the window, O(1) per row",
    "percentile": "a bit per row in order of value, a few steps per row",
}


@dataclass(frozen=True)
class Step:
    """A line about how an executor runs a plan: what it is about, and what happens there."""

    name: str
    what: str


class Explanation(str):
    """A plan as text; notebooks draw it, tools read `.plan`, `.steps` and `.json()`."""

    plan: Plan
    steps: tuple[Step, ...]

    def with_steps(self, *before: Step) -> Explanation:
        """The same, with what comes before and after the executor's own steps."""
        return explain(self.plan, [*before, *self.steps])

    def json(self) -> dict[str, Any]:
        """The plan as data that JSON can hold."""
        return as_data(self.plan, self.steps)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self.plan, self.steps)


def explain(plan: Plan, steps: Sequence[Step] = ()) -> Explanation:
    """The plan, a line per frame and per state; `steps`: what an executor adds to it.

    >>> import pyarrow as pa
    >>> from sash import functions as sf
    >>> from sash.plan import Query, plan_of
    >>> query = Query(("k",), "t", {"hi": sf.max("x").over("1 hour")})
    >>> kinds = {"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.float64()}
    >>> print(explain(plan_of(query, pa.schema(kinds))))
    1 aggregation over 1 frame, by k, in order of t
    1. the last 1 hour; bounds: two pointers over the rows in order
       hi: max(x), TwoStacksLite: in order, one range: 3 combines on average, ...; compiled
    """
    all_steps = [*spine_step(plan.query), *steps]
    lines = [head(plan.query, len(plan.frames)), *(f"{s.name:9} {s.what}" for s in all_steps)]
    lines += [slices_line(plan, each) for each in plan.slices]
    for frame in plan.frames:
        lines.append(f"{frame.number + 1}. {frame.frame}; bounds: {frame.bounds}")
        if (kept := keeps(plan, frame)) is not None:
            lines.append(f"   keeps {kept}")
        lines += [f"   {line}" for state in plan.over(frame) for line in state_lines(plan, state)]
    lines += [f"{out} = {result}" for out, result in plan.query.results.items()]
    found = Explanation("\n".join(lines))
    found.plan, found.steps = plan, tuple(steps)
    return found


def spine_step(query: Query) -> list[Step]:
    """The table whose rows have the answers, where that is a spine."""
    return [] if query.spine is None else [Step("spine", str(query.spine))]


def head(query: Query, frames: int) -> str:
    """How much is asked, by which keys, in which order."""
    many = f"{counted(len(query.outputs), 'aggregation')} over {counted(frames, 'frame')}"
    keys = f"by {', '.join(query.by)}" if query.by else "over no key"
    return f"{many}, {keys}, in order of {order(query)}"


def slices_line(plan: Plan, slices: Slices) -> str:
    """The line of `explain` about slices."""
    return f"slices    {slices_in_words(plan, slices)}"


def slices_in_words(plan: Plan, slices: Slices) -> str:
    """Where rows are cut, and which windows are made of the slices."""
    rows, unit = slices.by == "count", plan.unit
    lengths = [_span(n, rows, unit) for n in dict.fromkeys(slices.lengths)]
    if slices.technique == "panes":
        cut = f"panes of {lengths[0]}"
    elif len(slices.edges) <= MOST_LENGTHS:
        cut = f"pairs, of {' and '.join(_span(n, rows, unit) for n in slices.lengths)} in turn"
    else:
        cut = f"{len(slices.edges)} slices every {_span(slices.period, rows, unit)}"
    windows = " and ".join(str(number + 1) for number in slices.frames)
    return f"{cut}: rows are combined once per key and slice, for windows {windows}"


MOST_LENGTHS = 4


def _span(steps: int, rows: bool, unit: int | None) -> str:
    """A length in words: a number of rows, steps of a number, or a duration."""
    if rows:
        return counted(steps, "row")
    return str(steps) if unit is None else str(Duration(steps * unit))


def order(query: Query) -> str:
    """The time, and whether it is descending."""
    return f"{query.time}{' descending' * query.descending}"


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(2, "frame")
    '2 frames'
    """
    return f"{n} {what}{'s' * (n != 1)}"


def state_lines(plan: Plan, state: State) -> list[str]:
    """A state: the columns that are read from it, what is kept, by which algorithm and why."""
    outs = [output for output in plan.outputs if output.state == state.number]
    names = ", ".join(output.name for output in outs)
    asked = ", ".join(str(plan.query.aggregations[output.name]) for output in outs)
    if len(outs) == 1:
        return [f"{names}: {asked}, {how(state)}"]
    return [
        f"{names}: {asked}",
        f"   one state, {' and '.join(state.kept) or state.kind}: {how(state)}",
    ]


IN_PLAIN_PYTHON = "plain Python (microseconds per combine), as its values are not numbers"


NOT_PASSING: Mapping[Filtering | None, str] = {
    None: "",
    "identity": "; the partial of a row that does not pass is the identity",
    "left out": "; rows that do not pass are left out",
    "no rows": "; the partial of a row that does not pass is one of no rows",
}


def how(state: State) -> str:
    """By which algorithm a state is kept, whether it is compiled, and what a filter does."""
    others = NOT_PASSING[state.filtering]
    if state.choice is None and state.filtering == "identity":
        known = " and are not null" if state.columns else ""
        return f"counted from the rows that pass{known}, no state"
    if state.choice is None:
        return f"{FROM_BOUNDS[state.kind]}{others}"
    over = ", over slices" if state.slices is not None else ""
    way = "compiled" if state.typed else IN_PLAIN_PYTHON
    pieces = f"; in {state.pieces} pieces, combined for each row" if state.pieces > 1 else ""
    return f"{state.choice}{over}{pieces}; {way}{others}"


def as_data(plan: Plan, steps: Sequence[Step] = ()) -> dict[str, Any]:
    """The plan as data that JSON can hold."""
    return {
        "keys": list(plan.query.by),
        "time": plan.query.time,
        "columns": plan.columns,
        "every": None if plan.query.every is None else str(plan.query.every),
        "spine": _spine(plan.query),
        "slices": [_slices(each) for each in plan.slices],
        "frames": [_frame(plan, frame) for frame in plan.frames],
        "states": [_state(state) for state in plan.states],
        "outputs": [
            {"name": o.name, "state": o.state, "member": o.member, "type": str(o.type)}
            for o in plan.outputs
        ],
        "derived": {name: str(e) for name, e in plan.query.derived.items()},
        "results": {name: str(e) for name, e in plan.query.results.items()},
        "kept": None if plan.kept is None else asdict(plan.kept),
        "combines per row": plan.combines,
        "steps": {step.name: step.what for step in steps},
    }


def _spine(query: Query) -> dict[str, Any] | None:
    spine = query.spine
    if spine is None:
        return None
    return {"keys": list(spine.by), "time": spine.time, "closed": spine.closed}


def _frame(plan: Plan, frame: FramePlan) -> dict[str, Any]:
    """A frame; `keeps`: on a stream, what stays between batches."""
    return {
        "number": frame.number,
        "frame": str(frame.frame),
        "bounds": frame.bounds,
        "keeps": keeps(plan, frame),
    }


def _slices(slices: Slices) -> dict[str, Any]:
    return {
        "by": slices.by,
        "technique": slices.technique,
        "period": slices.period,
        "edges": list(slices.edges),
        "frames": list(slices.frames),
    }


def _state(state: State) -> dict[str, Any]:
    choice = state.choice
    return {
        "number": state.number,
        "frame": state.frame,
        "kind": state.kind,
        "structure": state.structure,
        "slices": state.slices,
        "columns": list(state.columns),
        "condition": state.condition,
        "filtering": state.filtering,
        "answers": [str(a) for a in state.asked],
        "keeps": list(state.kept),
        "algorithm": None if choice is None else choice.algorithm,
        "reason": None if choice is None else choice.reason,
        "combines per row": state.combines,
        "compiled": state.typed,
    }


STYLE = "border: 1px solid color-mix(in srgb, currentColor 30%, transparent); border-radius: .5em"


def as_html(plan: Plan, steps: Sequence[Step] = ()) -> str:
    """The plan as boxes: rows, frames, the states of each, and the answers read from them."""
    parts = [f"<b>{escape(head(plan.query, len(plan.frames)))}</b>"]
    all_steps = [*spine_step(plan.query), *steps]
    parts += [f"<div>{escape(s.name)}: <small>{escape(s.what)}</small></div>" for s in all_steps]
    parts += [f"<div>{escape(slices_line(plan, each))}</div>" for each in plan.slices]
    for frame in plan.frames:
        states = "".join(
            f'<div style="{STYLE}; padding: .3em .6em; margin: .3em 0">'
            + "<br>".join(escape(line) for line in state_lines(plan, state))
            + "</div>"
            for state in plan.over(frame)
        )
        title = f"{escape(str(frame.frame))} <small>bounds: {escape(frame.bounds)}</small>"
        if (kept := keeps(plan, frame)) is not None:
            title += f"<div><small>keeps {escape(kept)}</small></div>"
        parts.append(
            f'<div style="{STYLE}; padding: .4em .7em; margin: .5em 0">{title}{states}</div>'
        )
    parts += [f"<div>{escape(f'{o} = {e}')}</div>" for o, e in plan.query.results.items()]
    body = "".join(parts)
    return f'<div style="font: 14px/1.5 system-ui, sans-serif; max-width: 60rem">{body}</div>'
