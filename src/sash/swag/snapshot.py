"""Snapshots: a window as bytes, behind a header that says what it is.

    SASH  header length  header (JSON)  payload

The header names the format, the algorithm and the monoid, with its version and
a digest of its code. Partials that are objects are pickled: restore such a
snapshot only if you trust where it comes from.
"""

from __future__ import annotations

import base64
import json
import pickle
import platform
import struct
from typing import Any

from sash.monoids.monoid import Monoid, as_monoid

MAGIC = b"SASH"
FORMAT = 1


class SnapshotError(ValueError):
    """Bytes that are not a snapshot of this window, and why."""


def write(window: Any, header: dict[str, Any], payload: bytes) -> bytes:
    """The bytes of a snapshot."""
    full = {
        "format": FORMAT,
        "algorithm": type(window).__name__,
        "monoid": describe(window.monoid),
        **header,
    }
    text = json.dumps(full).encode()
    return MAGIC + struct.pack("<I", len(text)) + text + payload


def describe(monoid: Monoid) -> dict[str, Any]:
    """What a header says of a monoid; bytecode differs between versions of Python."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "name": monoid.name,
        "version": monoid.version,
        "digest": monoid.digest,
        "python": python,
    }


def read(blob: bytes, monoid: Any) -> tuple[dict[str, Any], bytes]:
    """The header and the payload, if they are of `monoid` and of this format."""
    if len(blob) < 8 or blob[:4] != MAGIC:
        raise SnapshotError("not a snapshot of Sash: it does not begin with SASH")
    (length,) = struct.unpack("<I", blob[4:8])
    try:
        header = json.loads(blob[8 : 8 + length])
    except ValueError as problem:
        raise SnapshotError(f"a damaged snapshot: {problem}") from problem
    if header.get("format") != FORMAT:
        raise SnapshotError(
            f"a snapshot of format {header.get('format')}; this version of Sash reads {FORMAT}"
        )
    found, wanted = header["monoid"], describe(as_monoid(monoid))
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
    return header, blob[8 + length :]


def pack(at: Any) -> str:
    """Cursors as text."""
    return base64.b64encode(pickle.dumps(tuple(at))).decode()


def unpack(text: str) -> tuple[Any, ...]:
    """What `pack` packed."""
    return tuple(pickle.loads(base64.b64decode(text)))
