"""A query in words: its frames, the answers over each, the algorithm and why."""

from __future__ import annotations

import pyarrow as pa

from sash.engine.columns import number_type
from sash.engine.definition import Aggregation, Query
from sash.kernel.layout import Layout
from sash.plan.choose import Need, choose
from sash.windows import Frame

FROM_BOUNDS = {
    "count": "from the window's bounds, no state",
    "first": "the row at the window's begin, no state",
    "last": "the row at the window's end, no state",
}


def explain(query: Query, schema: pa.Schema) -> str:
    """What is asked of which rows, a line for each frame and each answer.

    >>> from sash import functions as sf
    >>> query = Query(("k",), "t", {"hi": sf.max("x").over("1 hour")})
    >>> kinds = {"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.float64()}
    >>> print(explain(query, pa.schema(kinds)))
    1 aggregation over 1 frame, by k, in order of t
    1. the last 1 hour; its bounds are found once
       hi: max(x), TwoStacksLite: in order, one range: 3 combines on average, ...; compiled
    """
    query.check(schema)
    return "\n".join([head(query), *frames(query, schema)])


def head(query: Query) -> str:
    """How much is asked, by which keys, in which order."""
    shared = _shared(query)
    many = f"{counted(len(query.aggregations), 'aggregation')} over {counted(len(shared), 'frame')}"
    keys = f"by {', '.join(query.by)}" if query.by else "over no key"
    return f"{many}, {keys}, in order of {order(query)}"


def order(query: Query) -> str:
    """The time, and whether it is descending."""
    return f"{query.time}{' descending' * query.descending}"


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(2, "frame")
    '2 frames'
    """
    return f"{n} {what}{'s' * (n != 1)}"


def frames(query: Query, schema: pa.Schema) -> list[str]:
    """The frames, each once, and under it the answers over it."""
    lines = []
    for number, (frame, outs) in enumerate(_shared(query).items(), 1):
        lines.append(f"{number}. {frame}; its bounds are found once")
        lines += [f"   {out}: {_answer(query.aggregations[out], schema)}" for out in outs]
    return lines


def _shared(query: Query) -> dict[Frame, list[str]]:
    found: dict[Frame, list[str]] = {}
    for out, a in query.aggregations.items():
        assert a.frame is not None
        found.setdefault(a.frame, []).append(out)
    return found


def _answer(a: Aggregation, schema: pa.Schema) -> str:
    if a.monoid is None:
        return f"{a}, {FROM_BOUNDS.get(a.how, a.how)}"
    kinds = [number_type(schema.field(name).type) for name in a.columns]
    if a.how == "argument":  # the argument is looked up by its row
        kinds[1] = number_type(pa.int64())
    known = tuple(kind for kind in kinds if kind is not None)
    typed = a.monoid
    if len(known) == len(kinds):
        typed = typed.of(known[0] if len(known) == 1 else known)
    is_compiled = len(known) == len(kinds) and Layout.of(typed.identity, typed.dtype) is not None
    how = "compiled" if is_compiled else "plain Python, as its values are not numbers"
    return f"{a}, {choose(Need(typed))}; {how}"
