"""A plan in words."""

from __future__ import annotations

from collections.abc import Sequence

from sash.plan.plan import Group, Plan
from sash.plan.query import Periodic
from sash.plan.shared import SharedPlan
from sash.windows import Duration

MOST = 8
"""As many windows or lengths are named, as many queries planned alone to compare with."""


def explain(plan: Plan) -> str:
    """What is sliced, what is shared, the algorithm and why, the combines to expect.

    >>> from sash import monoids as m
    >>> from sash.plan import by_count, plan
    >>> print(plan([by_count(m.Max(), 6, 2), by_count(m.Max(), 8, 4)]).explain())
    2 queries by count, in 1 group
    1. q0, q1
       windows    8 rows every 4 rows; 6 rows every 2 rows
       slices     pairs: 2 in a composite slide of 4 rows, of 2, 2 rows; 1 common edge
       state      Max, for Max
       algorithm  FlatFIT: 2 ranges share what is combined for any of them
    combines about 1.5 a row; 3.25 if each query were alone
    """
    many = "queries" if len(plan.queries) > 1 else "query"
    groups = f"{len(plan.groups)} group{'s' * (len(plan.groups) > 1)}"
    lines = [f"{len(plan.queries)} {many} by {plan.queries[0].window.by}, in {groups}"]
    for number, group in enumerate(plan.groups, 1):
        lines += [f"{number}. {_some([plan.queries[i].name for i in group.answers])}"]
        lines += [f"   {name:10} {text}" for name, text in _group(group)]
    return "\n".join([*lines, _combines(plan)])


def _combines(plan: Plan) -> str:
    text = f"combines about {plan.combines:.3g} a row"
    if 1 < len(plan.queries) <= MOST:
        text += f"; {plan.alone().combines:.3g} if each query were alone"
    first = plan.queries[0].window
    if first.by == "time":
        text += f", with a row every {text_of_ticks(plan.options.tick, first)}"
    return text


def _group(group: Group) -> list[tuple[str, str]]:
    slices = group.slices
    return [
        ("windows", _some([text_of(window) for window in slices.windows], "; ")),
        ("slices", _slices(slices)),
        ("state", _states(group)),
        ("algorithm", str(group.choice)),
    ]


def _slices(slices: SharedPlan) -> str:
    length = text_of_ticks(slices.composite, slices.windows[0])
    if not slices.is_listed:
        return f"{slices.technique}: a composite slide of {length}, too long to list"
    lengths = [text_of_ticks(n, slices.windows[0], bare=True) for n in slices.slicing.lengths]
    text = f"{slices.technique}: {len(lengths)} in a composite slide of {length}"
    text += f", of {_some(lengths)}{' rows' if slices.windows[0].by == 'count' else ''}"
    if len(slices.windows) > 1:
        common = len(slices.common_edges)
        text += f"; {common} common edge{'s' * (common != 1)}"
    return text


def _states(group: Group) -> str:
    served: dict[int, list[str]] = {}
    for name, server in zip(group.names, group.states.server, strict=True):
        served.setdefault(server, []).append(name)
    kept = group.states.kept
    return "; ".join(f"{kept[s].name}, for {', '.join(names)}" for s, names in served.items())


def text_of(window: Periodic) -> str:
    """A window in words, in durations where its ticks are nanoseconds."""
    size, slide = (text_of_ticks(n, window) for n in (window.size, window.slide))
    closed = "" if window.closed == "left" else f", closed {window.closed}"
    return f"{size} every {slide}{closed}"


def text_of_ticks(ticks: int, window: Periodic, bare: bool = False) -> str:
    """A number of ticks in words."""
    if window.by == "count":
        return str(ticks) if bare else f"{ticks} rows"
    return str(Duration(ticks)) if window.in_ns else str(ticks)


def _some(texts: Sequence[str], between: str = ", ") -> str:
    if len(texts) <= MOST:
        return between.join(texts)
    return between.join([*texts[: MOST - 1], f"… ({len(texts)} in all)"])
