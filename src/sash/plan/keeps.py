"""What a stream keeps for a frame, in words: its structure, and what a batch reads of it."""

from __future__ import annotations

import math

from sash.plan.kept import Structure
from sash.plan.plan import FramePlan, Plan
from sash.windows.duration import Duration
from sash.windows.frames import Lifetime, Range, Session, Until

KEEPS: dict[Structure, str] = {
    "forest": "the rows of {span} in bulks, and a partial per key of 2^k neighbouring bulks (AMTA"
    "{late}); a batch reads the rows that enter and leave, and of O(log n) nodes its keys",
    "rows": "the rows of {span}; a batch reads the rows of the windows of its keys: this grows "
    "with the window ({flat})",
    "tail": "the last rows of each key that a later one reaches; a batch reads those of its keys"
    "{grows}",
    "so far": "one partial per key; a batch reads those of its keys",
    "waiting": "rows until those after them have come; a batch reads those of its keys",
    "slices": "a partial per key and slice of {span}, and per key of 2^k neighbouring bulks of "
    "slices (AMTA); a batch reads the slices that enter and leave, and O(log n) nodes",
}

FLAT = {
    "distinct": "approx_count_distinct",
    "percentile": "sf.apply(monoids.Quantiles(at=…), …)",
    "rank": "sf.apply(monoids.Quantiles(at=…), …) for the values at ranks",
}
"""Sketches for the kinds of states that have no small partial."""


def keeps(plan: Plan, frame: FramePlan) -> str | None:
    """What stays between batches for a frame; None where there are none."""
    if plan.kept is None:
        return None
    found: dict[Structure, list[str]] = {}
    for state in plan.over(frame):
        assert state.structure is not None
        found.setdefault(state.structure, []).extend(map(str, state.asked))
    late = ", late rows as in FiBA" if plan.kept.emit == "arrival" else ""
    flat = flat_instead(plan, frame)
    so_far = isinstance(frame.frame, Session | Until | Lifetime | Range)
    grows = f": this grows with the window ({flat})" if so_far else ""
    words = {"span": span(plan), "late": late, "flat": flat, "grows": grows}
    parts = []
    for structure, names in found.items():
        text = KEEPS[structure].format(**words)
        parts.append(f"{text} [{', '.join(names)}]" if len(found) > 1 else text)
    if plan.kept.fills:
        parts.append("of each key the number of its last window, for those without rows after it")
    return "; ".join(parts)


def flat_instead(plan: Plan, frame: FramePlan) -> str:
    """What costs a batch the same however long the window is, where this does not."""
    kinds = {state.kind for state in plan.over(frame)}
    known = [text for kind, text in FLAT.items() if kind in kinds]
    if frame.frame.exclude is not None or frame.frame.most is not None or not frame.frame.peers:
        known.append("the same frame without exclude, most and peers=False")
    return f"flat: {', '.join(known)}; or a shorter window" if known else "less: a shorter window"


def span(plan: Plan) -> str:
    """How far back rows are kept."""
    steps = 0.0 if plan.kept is None else plan.kept.span
    return "all time" if math.isinf(steps) else f"the last {length_of(plan, steps)}"


def length_of(plan: Plan, steps: float) -> str:
    """A length of time as a person reads it."""
    unit = plan.unit
    if unit is None:
        return f"{steps:g} steps of {plan.query.time}"
    return str(Duration(round(steps * unit)))
