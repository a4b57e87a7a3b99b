"""Cursors at the border of compiled code: vectors go in as addresses of held rows."""

from __future__ import annotations

import inspect
from typing import Any

from sash.kernel.words import FIRST_FREE


def _partials(cursors: type) -> list[str]:
    kinds = inspect.get_annotations(cursors).items()
    return [name for name, kind in kinds if "Partial" in str(kind)]


def places(cursors: type) -> int:
    """How many places `hold` has: the drivers' and one for each partial of the cursors.

    The k-th partial of the cursors is held at place FIRST_FREE + k.
    """
    return FIRST_FREE + len(_partials(cursors))


def entered(at: Any, held: Any) -> Any:
    """The cursors as compiled code takes them."""
    if held is None:
        return at
    changes = {}
    for place, name in enumerate(_partials(type(at)), FIRST_FREE):
        held[place] = getattr(at, name)
        changes[name] = held[place].ctypes.data
    return at._replace(**changes)


def left(at: Any, held: Any) -> Any:
    """The cursors as plain Python takes them, after compiled code."""
    if held is None:
        return at
    base, width = held.ctypes.data, held.strides[0]
    names = _partials(type(at))
    return at._replace(**{n: held[(getattr(at, n) - base) // width].copy() for n in names})
