"""A stream's plan in words: what each frame keeps, what a batch reads, which structure keeps it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sash.engine.stream.definition import StreamDefinition, Structure
from sash.plan.explain import Explanation, Step, explain
from sash.plan.plan import FramePlan
from sash.windows.duration import Duration
from sash.windows.frames import Lifetime, Range, Session, Until

KEEPS: dict[Structure, str] = {
    "tree": "the rows of {span} in bulks, and a partial per key of 2^k neighbouring bulks (AMTA"
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


def explain_stream(definition: StreamDefinition, steps: Sequence[Step] = ()) -> Explanation:
    """The plan of a stream."""
    kept = {frame.number: _kept(definition, frame) for frame in definition.plan.frames}
    return explain(definition.as_kept, steps, kept)


def _kept(definition: StreamDefinition, frame: FramePlan) -> str:
    found: dict[Structure, list[str]] = {}
    for state in definition.plan.over(frame):
        names = found.setdefault(definition.structure(state), [])
        names += [str(a) for a in state.asked]
    late = ", late rows as in FiBA" if definition.emit == "arrival" else ""
    flat = flat_instead(definition, frame)
    so_far = isinstance(frame.frame, Session | Until | Lifetime | Range)
    grows = f": this grows with the window ({flat})" if so_far else ""
    words = {"span": span(definition), "late": late, "flat": flat, "grows": grows}
    parts = []
    for structure, names in found.items():
        text = KEEPS[structure].format(**words)
        parts.append(f"{text} [{', '.join(names)}]" if len(found) > 1 else text)
    if definition.fills:
        parts.append("of each key the number of its last window, for those without rows after it")
    return "; ".join(parts)


def flat_instead(definition: StreamDefinition, frame: FramePlan) -> str:
    """What costs a batch the same however long the window is, where this does not."""
    kinds = {state.kind for state in definition.plan.over(frame)}
    known = [text for kind, text in FLAT.items() if kind in kinds]
    if frame.frame.exclude is not None or frame.frame.most is not None or not frame.frame.peers:
        known.append("the same frame without exclude, most and peers=False")
    return f"flat: {', '.join(known)}; or a shorter window" if known else "less: a shorter window"


def span(definition: StreamDefinition) -> str:
    """How far back rows are kept."""
    steps = definition.ahead + definition.behind
    if math.isinf(steps):
        return "all time"
    return f"the last {length_of(definition, steps)}"


def length_of(definition: StreamDefinition, steps: float) -> str:
    """A length of time as a person reads it."""
    unit = definition.plan.unit
    if unit is None:
        return f"{steps:g} steps of {definition.time}"
    return str(Duration(round(steps * unit)))
