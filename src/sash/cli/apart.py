"""A run's outputs lie apart from its inputs: one never contains the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn


def check_apart(
    path: Path, others: Mapping[str, Iterable[Path]], wrong: Callable[[str], NoReturn]
) -> None:
    """Call `wrong` if a path to write is, contains or lies in one of the others, by their names."""
    for name, places in others.items():
        for place in places:
            how = overlap(path, place)
            if how:
                wrong(f"{path} {how} {name} {place}; choose a path apart from it")


def overlap(one: Path, other: Path) -> str:
    """How two paths overlap, links resolved: "is", "contains", "lies in"; "" if they do not.

    >>> overlap(Path("/a/b"), Path("/a/b/c")), overlap(Path("/a/b"), Path("/a/bc"))
    ('contains', '')
    """
    one, other = one.resolve(), other.resolve()
    if _same(one, other):
        return "is"
    if any(_same(one, parent) for parent in other.parents):
        return "contains"
    if any(_same(parent, other) for parent in one.parents):
        return "lies in"
    return ""


def _same(one: Path, other: Path) -> bool:
    """Also where two spellings name one file, as on file systems that ignore case."""
    return one == other or (one.exists() and other.exists() and one.samefile(other))
