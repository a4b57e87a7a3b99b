"""Arguments: a monoid whose `lift` takes several values, each by its name.

A window's items are single values or tuples. `spread` gives a monoid over tuples whose lift
hands the parts on as arguments; it is generated source, so that it compiles.
"""

from __future__ import annotations

import inspect
from typing import Any

from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.recipe import known_as, whole


def parameters(monoid: Monoid) -> tuple[inspect.Parameter, ...]:
    """The parameters of `lift` (for a vector, what `fill` takes besides the vector).

    >>> vwap = Monoid("vwap", (0.0, 0.0), lambda price, size: (price * size, size), max)
    >>> [p.name for p in parameters(vwap)]
    ['price', 'size']
    """
    function = monoid.lift if monoid.fill is None else monoid.fill
    try:
        found = tuple(inspect.signature(function).parameters.values())
    except ValueError:  # a built-in, such as float, that does not say
        return (inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY),)
    taken = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(taken if monoid.fill is None else taken[1:])


def takes_several(monoid: Monoid) -> bool:
    """Whether `lift` must be given more than one value."""
    needed = [p for p in parameters(monoid) if p.default is inspect.Parameter.empty]
    return len(needed) > 1


def order(monoid: Monoid, columns: dict[str, str]) -> tuple[str, ...]:
    """Columns by the name of their parameter, in the order that `lift` takes them.

    >>> vwap = Monoid("vwap", (0.0, 0.0), lambda price, size: (price * size, size), max)
    >>> order(vwap, {"size": "s", "price": "p"})
    ('p', 's')
    """
    known = parameters(monoid)
    names = [p.name for p in known]
    wrong = [name for name in columns if name not in names]
    if wrong:
        raise TypeError(
            f"lift of {monoid.name} takes {', '.join(names)}, not {', '.join(wrong)}: name columns "
            "as its parameters, or give them by position"
        )
    given = [p.name for p in known if p.name in columns]
    needed = [p.name for p in known if p.default is inspect.Parameter.empty]
    missing = [name for name in names[: len(given)] + needed if name not in columns]
    if missing:
        raise TypeError(f"lift of {monoid.name} also takes {missing[0]}: name a column for it")
    return tuple(columns[name] for name in given)


def spread(monoid: Any, count: int) -> Monoid:
    """`monoid` over tuples of `count` values, which its `lift` takes one by one.

    >>> range_of = Monoid("range", 0, lambda low, high: high - low, max)
    >>> spread(range_of, 2).lift((3, 7))
    4
    """
    inner, count = as_monoid(monoid), whole("spread", "count", count, 1)
    variants = inner.typed

    def typed(dtype: Any) -> Monoid | None:
        found = None if variants is None else variants(dtype)
        return None if found is None else spread(found, count)

    parts = ", ".join(f"x[{i}]" for i in range(count))
    if inner.fill is None:
        changes = {"lift": _generated(f"def lift(x):\n    return own({parts})\n", inner.lift)}
    else:
        fill = _generated(f"def fill(out, x):\n    own(out, {parts})\n", inner.fill)
        changes = {"fill": fill, "lift": _filled(inner.identity, fill)}
    made = inner.with_(**changes, typed=None if variants is None else typed)
    return known_as(made, spread, {"monoid": inner, "count": count})


def _generated(source: str, own: Any) -> Any:
    scope: dict[str, Any] = {"__name__": __name__, "own": own}
    exec(source, scope)
    return scope["lift" if "lift" in scope else "fill"]


def _filled(identity: Any, fill: Any) -> Any:
    def lift(x: Any) -> Any:
        out = identity.copy()
        fill(out, x)
        return out

    return lift
