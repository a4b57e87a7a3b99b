"""Cursors at the border of compiled code: vectors go in as addresses of held rows."""

from __future__ import annotations

import inspect
from typing import Any

from sash.kernel.layout import Layout
from sash.kernel.words import FIRST_FREE

MOST = 1 << 62  # a window never counts so far


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


def plain(at: Any) -> tuple[Any, ...]:
    """The cursors as plain data."""
    partials = _partials(type(at))
    return tuple(x if name in partials else int(x) for name, x in zip(at._fields, at))


def checked(cursors: type, parts: Any, layout: Layout | None) -> Any:
    """The cursors that `plain` gave; ValueError if they cannot be ones.

    All count from 0, and in the order of their names they do not decrease up to the end, e;
    partials fit the layout. An algorithm checks by itself what else it relies on.
    """
    at = cursors(*parts)
    partials = _partials(cursors)
    counts = [(name, x) for name, x in zip(at._fields, at) if name not in partials]
    if any(type(x) is not int or not 0 <= x < MOST for _, x in counts):
        raise ValueError(f"the cursors are {dict(counts)}")
    ends = [x for _, x in counts[: [name for name, _ in counts].index("e") + 1]]
    if ends != sorted(ends):
        raise ValueError(f"the cursors are out of order: {dict(counts)}")
    if layout is not None:
        for name in partials:
            layout.check(getattr(at, name), f"cursor {name!r}")
    return at
