"""Snapshots: a window as bytes, which say what they are and show damage.

    a seal (`sash.stores.encoding`)  with the format and a checksum
    a dict, as plain data            the algorithm, the monoid with its version and a digest of
                                     its code, the cursors, and the cells as arrays or lists

Partials that are neither numbers, text nor collections of them are pickled; to read those, pass
`allow_pickle=True`, and only for a snapshot from a place that you trust.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid, as_monoid
from sash.stores import DamagedState
from sash.stores.encoding import decode, encode, seal, unseal

KIND = b"snapshot"


class SnapshotError(ValueError):
    """Bytes that are not a snapshot of this window, and why."""


def write(window: Any, state: dict[str, Any]) -> bytes:
    """The bytes of a snapshot."""
    what = {"algorithm": type(window).__name__, "monoid": describe(window.monoid)}
    return seal(encode({**what, **state}, allow_pickle=True), kind=KIND)


def describe(monoid: Monoid) -> dict[str, Any]:
    """The description of a monoid in a snapshot; bytecode differs between versions of Python."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "name": monoid.name,
        "version": monoid.version,
        "digest": monoid.digest,
        "python": python,
    }


def read(blob: bytes, monoid: Any, allow_pickle: bool) -> dict[str, Any]:
    """The state that was written, if it is of `monoid`."""
    try:
        state: dict[str, Any] = decode(unseal(blob, KIND), allow_pickle=allow_pickle)
        compare(state["monoid"], monoid)
    except (DamagedState, KeyError, TypeError) as problem:
        raise SnapshotError(str(problem)) from problem
    return state


def compare(found: dict[str, Any], monoid: Any) -> None:
    """SnapshotError if what `describe` said is not said of this monoid."""
    wanted = describe(as_monoid(monoid))
    for part in ("name", "version"):
        if found[part] != wanted[part]:
            raise SnapshotError(
                f"a snapshot of monoid {found['name']!r} version {found['version']}, "
                f"not of {wanted['name']!r} version {wanted['version']}"
            )
    if found["python"] == wanted["python"] and found["digest"] != wanted["digest"]:
        raise SnapshotError(
            f"a snapshot of another monoid that is also named {found['name']!r}: its code differs"
        )


def inputs_of(kinds: tuple[np.dtype, ...] | None) -> list[str] | None:
    """The types that a window is typed for, as plain data."""
    return None if kinds is None else [kind.str for kind in kinds]


def kinds_of(inputs: list[str] | None) -> tuple[np.dtype, ...] | None:
    """The types that `inputs_of` was given; ValueError if they cannot be types."""
    if inputs is None:
        return None
    kinds = tuple(np.dtype(text) for text in inputs)
    if not kinds or any(kind.kind not in "biuf" for kind in kinds):
        raise ValueError(f"a window of numbers of types {inputs}")
    return kinds
