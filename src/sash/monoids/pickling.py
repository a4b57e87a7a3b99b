"""Whether a monoid can be sent to another process; if not, which variable stands in the way."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from sash.monoids.captured import captured
from sash.monoids.monoid import Monoid

Dumps = Callable[[Any], bytes]
ROLES = ("lift", "combine", "lower", "inverse", "fill", "typed")


def check_pickles(monoid: Monoid, dumps: Dumps) -> None:
    """Raise TypeError, naming function and variable, unless `dumps` can pickle the monoid."""
    problem = _problem(monoid, dumps)
    if problem is None:
        return
    for role in ROLES:
        found = _culprit(getattr(monoid, role), role, dumps, set())
        if found is not None:
            where, value = found
            raise TypeError(
                f"{role} of monoid {monoid.name!r} cannot be sent to other processes: it uses "
                f"{where}, a {type(value).__name__}, which cannot be pickled ({problem}); make "
                "it inside the function, or use plain data instead"
            ) from problem
    raise TypeError(f"monoid {monoid.name!r} cannot be sent to other processes: {problem}")


def _problem(thing: Any, dumps: Dumps) -> Exception | None:
    try:
        dumps(thing)
    except Exception as problem:  # pickling runs any class's own code
        return problem
    return None


def _culprit(thing: Any, where: str, dumps: Dumps, seen: set[int]) -> tuple[str, Any] | None:
    """The innermost part of `thing` that cannot be pickled, and the variable that holds it."""
    if id(thing) in seen or _problem(thing, dumps) is None:
        return None
    seen.add(id(thing))
    for name, part in _parts(thing, where):
        found = _culprit(part, name, dumps, seen)
        if found is not None:
            return found
    return where, thing


def _parts(thing: Any, where: str) -> Iterable[tuple[str, Any]]:
    if isinstance(thing, types.FunctionType):
        return captured(thing)
    if isinstance(thing, types.MethodType):
        return [("self", thing.__self__), (where, thing.__func__)]
    if isinstance(thing, dict):
        return [(f"{where}[{key!r}]", value) for key, value in thing.items()]
    if isinstance(thing, list | tuple):
        return [(f"{where}[{i}]", value) for i, value in enumerate(thing)]
    return [(f"{where}.{name}", value) for name, value in getattr(thing, "__dict__", {}).items()]
