"""The kernel cache: machine code on disk, one file per kernel, named by its content.

A file is a head, the SHA-256 digest of the rest, notes (JSON) and machine code. It is
loaded only if its digest fits, and only if nobody but this user and root can have written
it: machine code runs as whoever loads it. The cache saves time and nothing else: whatever
is wrong with it, the kernel is compiled, and one warning per process says what was wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SHIPPED = Path(__file__).parent / "shipped"
HEAD = b"sash kernel 3\n"
DIGEST = hashlib.sha256().digest_size
LENGTH = 8  # bytes that say how long the notes are


class Entry(NamedTuple):
    """The contents of a kernel's file."""

    notes: dict[str, Any]
    code: bytes


class Unusable(Exception):
    """Why a file or the whole cache is not used, in words for a warning."""


def cache_dir() -> Path:
    """Where kernels are kept: SASH_CACHE_DIR, or the user's cache directory."""
    chosen = os.environ.get("SASH_CACHE_DIR")
    if chosen:
        return Path(chosen) / "kernels"
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "sash" / "kernels"
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    except RuntimeError:
        raise Unusable("this user has no home directory; set SASH_CACHE_DIR") from None
    return Path(base) / "sash" / "kernels"


def shipped(name: str) -> Entry | None:
    """The entry of a kernel that came with Sash; as trusted as the files beside it."""
    try:
        return from_bytes((SHIPPED / f"{name}.kernel").read_bytes(), SHIPPED / name)
    except Unusable as problem:
        warn(f"{problem}; compiling instead")
    except OSError:  # not there, or Sash is in an archive
        pass
    return None


def read(name: str) -> Entry | None:
    """The entry of a kernel; None if there is none, or none that may be loaded."""
    try:
        directory = _existing(cache_dir())
        return None if directory is None else _read(directory / f"{name}.kernel")
    except Unusable as problem:
        warn(f"{problem}; compiling instead")
        return None


def write(name: str, entry: Entry) -> None:
    """Keep an entry, and replace one that is there."""
    try:
        directory = cache_dir()
        _make(directory)
        if _existing(directory) is not None:
            _write(directory / f"{name}.kernel", as_bytes(entry))
    except (Unusable, OSError) as problem:
        warn(f"{problem}; the kernel is not kept, and other processes will compile it again")


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a kernel's lock, where that can be: one process compiles, the others wait for it."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(Unusable, OSError, ImportError):
            import fcntl

            directory = cache_dir()
            _make(directory)
            if _existing(directory) is not None:
                path = directory / f"{name}.lock"
                lock = stack.enter_context(open(path, "w", opener=_own))
                fcntl.flock(lock, fcntl.LOCK_EX)
                stack.callback(_remove, path)  # those who wait for the lock have it open
        yield


def clear() -> None:
    """Remove every cached kernel."""
    with contextlib.suppress(Unusable):
        shutil.rmtree(cache_dir(), ignore_errors=True)


_warned = False


def warn(problem: str) -> None:
    """Say, once per process, what is wrong with the cache."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(f"kernel cache: {problem}", RuntimeWarning, stacklevel=2)


def _existing(directory: Path) -> Path | None:
    """The directory, if it exists; Unusable if others can put files there.

    Directories above it need no look: who can write those can put another directory here,
    but not one that belongs to this user.
    """
    try:
        _check_owner(os.stat(directory), directory)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Unusable(str(problem)) from None
    return directory


def _check_owner(found: os.stat_result, path: Path) -> None:
    """Unusable unless only this user and root can have written what `found` describes."""
    if not hasattr(os, "geteuid"):  # no owners to look at
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise Unusable(
            f"{path} belongs to another user (uid {found.st_uid}), who could have put any code "
            "there; set SASH_CACHE_DIR to a directory of your own"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable(
            f"others can write to {path} and could have put any code there; run "
            f"chmod -R go-w {path.parent if path.suffix else path}, or set SASH_CACHE_DIR"
        )


def _make(directory: Path) -> None:
    """Make a directory that only this user can write to, and those above it.

    Others may read it: who builds an image fills its cache as root.
    """
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o755, exist_ok=True)


def _read(path: Path) -> Entry | None:
    try:
        with open(path, "rb", opener=_unfollowed) as file:
            found = os.fstat(file.fileno())  # of what is open: a name may change hands
            _check_owner(found, path)
            return from_bytes(file.read(), path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Unusable(str(problem)) from None


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), mode=0o644)


def _write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    temporary = path.with_name(f"{path.stem}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb", opener=_own) as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def as_bytes(entry: Entry) -> bytes:
    """A file's content."""
    notes = json.dumps(entry.notes).encode()
    rest = len(notes).to_bytes(LENGTH, "little") + notes + entry.code
    return HEAD + hashlib.sha256(rest).digest() + rest


def from_bytes(content: bytes, path: Path | str) -> Entry:
    """What a file's content says; `path`: what it is called where it is damaged."""
    start = len(HEAD) + DIGEST
    rest = memoryview(content)[start:]
    digest = content[len(HEAD) : start]
    if not content.startswith(HEAD) or hashlib.sha256(rest).digest() != digest:
        raise Unusable(f"{path} is damaged")
    end = LENGTH + int.from_bytes(rest[:LENGTH], "little")
    return Entry(json.loads(bytes(rest[LENGTH:end])), bytes(rest[end:]))
