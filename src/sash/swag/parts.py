"""Parts: the partials that a window keeps, where a person can look at them.

`sash.show` draws them. Each algorithm knows which of its cells are in use, and the name of the
list, level or cursor that a cell belongs to.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Part(NamedTuple):
    """A partial, its place in the list, level or cursor that it is in, and the name of that."""

    group: str
    place: int
    partial: Any


class Node(NamedTuple):
    """A node of FiBA's tree: its entries are pairs (time, partial), its children numbers."""

    number: int
    level: int  # 0 is a leaf
    side: str  # the spines that it is on: "left", "right", "both" or ""
    entries: tuple[tuple[Any, Any], ...]
    children: tuple[int, ...]


def cursors_of(at: Any) -> list[Part]:
    """The cursors that are partials: totals that an algorithm keeps beside its cells."""
    kinds = type(at).__annotations__
    held = [name for name in at._fields if "Partial" in str(kinds[name])]
    return [Part(name, 0, getattr(at, name)) for name in held]
