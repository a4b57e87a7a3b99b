"""Sent: kernels that one process has compiled, as bytes for others that need the same ones.

Bytes are those of the cache's files, with their digest; a kernel's name has all that it is made
from, and the processor it is made for. So a process that gets them takes what fits, and compiles
what does not. Whoever sends a task sends code, so kernels in it are as trusted as the task.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from sash.kernel import cache

_received: dict[str, bytes] = {}
_noted: ContextVar[dict[str, bytes] | None] = ContextVar("noted", default=None)


@contextlib.contextmanager
def noted() -> Iterator[dict[str, bytes]]:
    """The kernels that are asked for meanwhile and did not come with Sash, by name."""
    found: dict[str, bytes] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note(name: str) -> None:
    """A kernel is asked for; it is in the user's cache, where it could be kept."""
    found = _noted.get()
    if found is not None and name not in found:
        entry = received(name) or cache.read(name)
        if entry is not None:
            found[name] = cache.as_bytes(entry)


def receive(kernels: Mapping[str, bytes]) -> None:
    """Take kernels from now on that another process has sent."""
    _received.update(kernels)


def received(name: str) -> cache.Entry | None:
    """The entry of a kernel that was sent; None if there is none, or none that is whole."""
    content = _received.get(name)
    try:
        return None if content is None else cache.from_bytes(content, f"{name}, as it was sent,")
    except cache.Unusable as problem:
        cache.warn(f"{problem}; compiling instead")
        return None
