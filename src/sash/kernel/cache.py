"""The kernel cache: machine code on disk, keyed by content, safe with many processes.

A kernel's driver is written to a file whose name is a hash of everything that
went into it, so numba's own file cache, which looks only at that file, can
never be stale: one signature a file, a fixed time stamp, the user's functions
as globals. A lock on the file makes other processes wait for the one that
compiles instead of compiling too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORMAT = 2
STAMP = 1_000_000_000  # numba compares time stamps: the same file, the same stamp


@functools.cache
def versions() -> tuple[str, ...]:
    """What machine code depends on besides its source."""
    packages = tuple(version(package) for package in ("numba", "llvmlite", "numpy"))
    return (str(FORMAT), platform.python_version(), *packages)


def cache_dir() -> Path:
    """Where kernels are kept: SASH_CACHE_DIR, or the user's cache directory."""
    chosen = os.environ.get("SASH_CACHE_DIR")
    if chosen:
        return Path(chosen) / "kernels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sash" / "kernels"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sash" / "kernels"


def _writable_dir() -> Path:
    directory = cache_dir()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:  # no home, a read-only disk: this process compiles for itself
        return Path(tempfile.mkdtemp(prefix="sash-kernels-"))


class KernelFile:
    """A driver's source in the cache, with its notes and machine code beside it."""

    def __init__(self, driver: str, key: str, text: str) -> None:
        directory = _writable_dir()
        self._driver, self._text = driver, text
        self.path = directory / f"{driver}_{key}.py"
        self._notes = self.path.with_suffix(".json")
        if not self.path.exists():
            _write_atomically(self.path, text)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file's lock, where the system has such locks."""
        with open(self.path, "rb") as file:
            try:
                import fcntl
            except ImportError:
                yield
                return
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def read_notes(self) -> dict[str, Any] | None:
        try:
            notes = json.loads(self._notes.read_text())
        except (OSError, ValueError):
            return None
        return notes if isinstance(notes, dict) else None

    def write_notes(self, notes: dict[str, Any]) -> None:
        _write_atomically(self._notes, json.dumps(notes))

    def load(self, scope: Callable[[], dict[str, Any]], signature: tuple[Any, ...]) -> Any:
        """The compiled driver, from the cache or compiled now."""
        try:
            return self._compile(scope(), signature)
        except Exception:
            entries = list((self.path.parent / "__pycache__").glob(self.path.stem + ".*"))
            if not entries:
                raise
            for damaged in entries:  # a full disk, a crash: make it anew
                damaged.unlink(missing_ok=True)
            return self._compile(scope(), signature)

    def _compile(self, scope: dict[str, Any], signature: tuple[Any, ...]) -> Any:
        from numba import njit

        from sash.kernel.machine import JIT

        scope["__name__"] = __name__
        exec(compile(self._text, str(self.path), "exec"), scope)
        driver = scope[self._driver]
        driver.__name__ = driver.__qualname__ = self.path.stem  # linked by name: no two alike
        made = njit(signature, cache=True, nogil=True, **JIT)(driver)
        # Entered by its signature: numba takes two named tuples of the same shape for one type.
        return made.get_overload(signature)


def _write_atomically(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.utime(temporary, (STAMP, STAMP))
    os.replace(temporary, path)


def clear() -> None:
    """Remove every cached kernel."""
    shutil.rmtree(cache_dir(), ignore_errors=True)
