"""Collections: the items themselves, as lists or as text."""

from __future__ import annotations

from typing import Any

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry
from sash.monoids.sums import plus
from sash.monoids.variants import nullable


def Collect() -> Monoid:
    """All items that are not null, as a list in order of arrival. A combine copies both.

    >>> w = Collect()
    >>> w.lower(w.combine(w.lift(1), w.lift(2)))
    [1, 2]
    >>> w.lower(w.identity)
    []
    """
    return entry(Collect, nullable("Collect", alone, plus, list, empty=list, inverse=rest))


def alone(x: Any) -> tuple[Any, ...]:
    """(x,)."""
    return (x,)


def rest(total: Any, old: Any) -> Any:
    """The items that follow `old` in `total`."""
    return total[len(old) :] or None


def Concat(separator: str = "") -> Monoid:
    """Strings joined in order of arrival, null where there are none. A combine copies both.

    >>> w = Concat(", ")
    >>> w.lower(w.combine(w.lift("a"), w.lift("b")))
    'a, b'
    """
    if not isinstance(separator, str):
        raise TypeError(f"Concat: separator must be a string, not {separator!r}")

    def combine(a: str, b: str) -> str:
        return a + separator + b

    return entry(Concat, nullable("Concat", text, combine), separator=separator)


def text(x: Any) -> str:
    """A string as it is."""
    if not isinstance(x, str):
        raise TypeError(f"Concat takes strings, not {x!r}")
    return x
