"""Monoids whose partials know how many rows they are of, for items that may be of none."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.monoids.extremes import second
from sash.monoids.monoid import Monoid, same
from sash.monoids.order import above
from sash.plan.plan import State
from sash.plan.planner import by_row

INT64 = np.dtype(np.int64)


def is_typed(state: State) -> bool:
    """Whether partials of a state are a few numbers."""
    if state.kind in ("first", "last"):
        return True
    if not state.typed or state.monoid is None:
        return False
    layout = Layout.of(state.monoid.identity, state.monoid.dtype)
    return layout is not None and layout.length is None


def first_of(a: Any, b: Any) -> Any:
    """The older one."""
    return a


def last_of(a: Any, b: Any) -> Any:
    """The younger one."""
    return b


def inner_monoid(state: State) -> Monoid:
    """The monoid over numbers whose partials are kept; of first and last, over places of items."""
    if state.kind in ("first", "last"):
        choose = first_of if state.kind == "first" else last_of
        return Monoid(state.kind, 0, same, choose, dtype=INT64)
    assert state.monoid is not None
    if state.kind == "argument":
        layout = Layout.of(state.monoid.identity, state.monoid.dtype)
        assert layout is not None
        largest = state.asked[0].monoid is not None and by_row(state.asked[0]).name == "ArgMax"
        better = better_of_largest if largest else better_of_smallest
        measure = layout.leaves[1]
        identity = (measure.type(0).item(), 0)
        return Monoid(state.monoid.name, identity, same, better, second, dtype=(measure, INT64))
    return state.monoid


def better_of_largest(a: Any, b: Any) -> Any:
    """The pair with the larger measure, the older of equals."""
    return b if above(b[0], a[0]) else a


def better_of_smallest(a: Any, b: Any) -> Any:
    """The pair with the smaller measure, the older of equals."""
    return b if above(a[0], b[0]) else a


def counted(inner: Monoid) -> Monoid:
    """`inner` with a count of rows before its numbers, all in one flat tuple.

    Over no rows the count is zero, and what is combined with it stays as it is.
    """
    layout = Layout.of(inner.identity, inner.dtype)
    assert layout is not None
    n = len(layout.leaves)
    whole = {x: layout.expression([f"{x}[{i + 1}]" for i in range(n)]) for x in "abv"}
    parts = ", ".join(layout.paths("s"))
    scope: dict[str, Any] = {"__name__": __name__, "inner": inner.combine}
    scope |= {"inner_lift": inner.lift, "inner_lower": inner.lower}
    text = (
        f"def lift(x):\n    s = inner_lift(x)\n    return (1, {parts},)\n"
        "def combine(a, b):\n"
        "    if a[0] == 0:\n        return b\n"
        "    if b[0] == 0:\n        return a\n"
        f"    s = inner({whole['a']}, {whole['b']})\n"
        f"    return (a[0] + b[0], {parts},)\n"
        f"def lower(v):\n    return inner_lower({whole['v']})\n"
    )
    exec(compile(text, "<sash.engine.stream.counted>", "exec"), scope)
    zeros = tuple(dtype.type(0).item() for dtype in layout.leaves)
    return Monoid(
        f"{inner.name}, counted", (0, *zeros), scope["lift"], scope["combine"], scope["lower"],
        dtype=(INT64, *layout.leaves),
    )  # fmt: skip


def counted_objects(monoid: Monoid) -> Monoid:
    """The monoid over partials that are objects, in the shape that `answer_items` reads."""
    both, down = monoid.combine, monoid.lower

    def lift_one(x: Any) -> Any:
        return (1, x)

    def combine_both(a: Any, b: Any) -> Any:
        if a[0] == 0:
            return b
        return a if b[0] == 0 else (1, both(a[1], b[1]))

    def lower_one(v: Any) -> Any:
        return down(v[1])

    return Monoid(monoid.name, (0, None), lift_one, combine_both, lower_one, dtype=object)
