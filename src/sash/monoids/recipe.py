"""Recipe: the call that made a catalogue monoid, by which it pickles and prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sash.monoids.monoid import Monoid


class Recipe:
    """A factory of the catalogue and its keyword arguments.

    >>> from sash.monoids.moments import StdDev
    >>> Recipe(StdDev, {"ddof": 0})
    StdDev(ddof=0)
    """

    __slots__ = ("arguments", "factory")

    def __init__(self, factory: Callable[..., Monoid], arguments: dict[str, Any]) -> None:
        known = inspect.signature(factory).parameters
        self.factory = factory
        self.arguments = {
            name: value
            for name, value in arguments.items()
            if name not in known or not _same(value, known[name].default)
        }

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={_shown(value)}" for name, value in self.arguments.items())
        return f"{self.factory.__name__}({given})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.factory, self.arguments)


def known_as(monoid: Monoid, factory: Any, arguments: dict[str, Any]) -> Monoid:
    """`monoid`, which is new, with the call of `factory` that makes it again."""
    object.__setattr__(monoid, "recipe", Recipe(factory, arguments))
    return monoid


def entry(
    factory: Callable[..., Monoid], monoid: Monoid, dtype: Any = None, /, **parameters: Any
) -> Monoid:
    """`monoid` as `factory` made it from `parameters`; its typed variant if `dtype` is given."""
    variants = monoid.typed

    def typed(dtype: Any) -> Monoid | None:
        found = variants(dtype) if variants is not None else None
        return None if found is None else known_as(found, factory, parameters | {"dtype": dtype})

    if dtype is None:
        made = monoid if variants is None else monoid.with_(typed=typed)
        return known_as(made, factory, parameters)
    found = typed(dtype)
    if found is None:
        raise TypeError(
            f"{factory.__name__} has no variant for dtype {_shown(dtype)}; "
            "leave dtype out, and it runs on any objects"
        )
    return found


def whole(factory: str, name: str, value: Any, least: int) -> int:
    """`value` as a whole number of at least `least`, or an error that names the argument.

    >>> whole("FirstN", "k", 0, 1)
    Traceback (most recent call last):
    ValueError: FirstN: k must be at least 1, not 0
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{factory}: {name} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{factory}: {name} must be at least {least}, not {value}")
    return int(value)


def _make(factory: Callable[..., Monoid], arguments: dict[str, Any]) -> Monoid:
    return factory(**arguments)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_shown, value)) + ")"
    return repr(value.name) if isinstance(value, np.dtype) else repr(value)
