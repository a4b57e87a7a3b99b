"""Join: several aggregations in one window, and one of several columns.

The functions of a join are generated source, one call per member: compiled code cannot
loop over functions of different types.
"""

from __future__ import annotations

import functools
import keyword
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.recipe import entry, known_as, whole

Members = dict[str, Monoid]


def join(**monoids: Any) -> Monoid:
    """Several aggregations of the same items; the answer has a field for each.

    With `column`, each takes a column of its own: the multi-dimensional windows of the
    AMTA paper. A join costs one combine of each member.

    >>> from sash import monoids as m
    >>> w = m.join(hi=m.Max(), n=m.Count())
    >>> w.lower(w.combine(w.lift(3), w.lift(1)))
    Answers(hi=3, n=2)
    >>> w.lower(w.identity)
    Answers(hi=None, n=0)
    """
    if not monoids:
        raise TypeError("join: give at least one monoid, as in join(hi=Max())")
    for name in monoids:
        if name.startswith("_") or keyword.iskeyword(name):
            raise ValueError(f"join: {name!r} cannot be the name of a field")
    members = {name: as_monoid(monoid) for name, monoid in monoids.items()}

    def typed(dtype: Any) -> Monoid | None:
        found = join(**{name: monoid.of(dtype) for name, monoid in members.items()})
        return found if _is_numbers(found.identity) else None

    return known_as(_joined(members, typed), join, members)


def column(index: int, monoid: Any, *, dtype: Any = None) -> Monoid:
    """`monoid` over one column of items that are tuples.

    >>> from sash import monoids as m
    >>> w = m.join(warmest=m.column(0, m.Max()), rain=m.column(1, m.Sum()))
    >>> w.lower(w.combine(w.lift((21, 0.5)), w.lift((19, 2.0))))
    Answers(warmest=21, rain=2.5)
    """
    index, inner = whole("column", "index", index, 0), as_monoid(monoid)

    def of(found: Monoid) -> Monoid:
        lift_one = found.lift

        def lift(x: Any) -> Any:
            return lift_one(x[index])

        return found.with_(lift=lift, typed=None)

    def typed(dtype: Any) -> Monoid | None:
        if not isinstance(dtype, tuple | list) or len(dtype) <= index:
            return None
        found = inner.of(dtype[index])
        return of(found) if _is_numbers(found.identity) else None

    made = of(inner).with_(dtype=object, fill=None, typed=typed)
    return entry(column, made, dtype, index=index, monoid=inner)


def _joined(members: Members, typed: Any) -> Monoid:
    monoids = list(members.values())
    identity = tuple(monoid.identity for monoid in monoids)
    made = functools.partial(_generated, monoids)
    scope = {"Answers": answers(tuple(members))}
    invertible = all(monoid.inverse is not None for monoid in monoids)
    return Monoid(
        "join",
        identity,
        made("lift", "x", "(x)", scope),
        made("combine", "a, b", "(a[{i}], b[{i}])", scope),
        made("lower", "v", "(v[{i}])", scope, "Answers"),
        inverse=made("inverse", "a, b", "(a[{i}], b[{i}])", scope) if invertible else None,
        commutative=all(monoid.commutative for monoid in monoids),
        dtype=tuple(m.dtype for m in monoids) if _is_numbers(identity) else object,
        typed=typed,
    )


def _generated(
    monoids: Sequence[Monoid], role: str, parameters: str, call: str, scope: Any, result: str = ""
) -> Any:
    """`role` of a join: a tuple (or `result`) of what that role of each member gives."""
    calls = "".join(f"{role}_{i}{call.format(i=i)}, " for i in range(len(monoids)))
    functions = {f"{role}_{i}": getattr(monoid, role) for i, monoid in enumerate(monoids)}
    made: dict[str, Any] = {"__name__": __name__, **scope, **functions}
    exec(f"def {role}({parameters}):\n    return {result}({calls})\n", made)
    return made[role]


@functools.cache
def answers(names: tuple[str, ...]) -> Any:
    """The class of a join's answers: a named tuple that pickles.

    >>> answers(("hi", "n"))(3, 2).hi
    3
    """
    fields = namedtuple("Answers", names)  # type: ignore[misc]  # names are not literal
    fields.__module__ = __name__

    def reduced(self: Any) -> Any:
        return _answered, (names, tuple(self))

    fields.__reduce__ = reduced  # type: ignore[method-assign]
    return fields


def _answered(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return answers(names)(*values)


def _is_numbers(identity: Any) -> bool:
    if isinstance(identity, tuple):
        return bool(identity) and all(map(_is_numbers, identity))
    return isinstance(identity, bool | int | float | np.bool_ | np.integer | np.floating)
