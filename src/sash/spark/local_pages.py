"""Pages near the worker: Spark's state store is slow to read, a local file is not.

A page never changes and has a name of its own, so a file of that name is a copy of that page,
whichever worker of the machine wrote it and whatever became of its batch. Whoever reads a copy
holds it against the size and the checksum in the manifest (`StatePages.get`), and reads the page
from the state store when they do not fit. Nothing that is wrong with the files is an error.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

LIMIT = 4 << 30
"""Bytes of files that are kept on a machine, the least recently used ones go."""

OLD = 24 * 3600
"""Seconds after which a file that no one has read goes: its stream is gone."""

OFTEN = 300
"""Seconds between two times that a machine's files are looked through."""


class LocalPages:
    """Files by the name of a page, in the user's temporary directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(tempfile.gettempdir()) / f"sash-pages-{os.getuid()}"

    def _own(self) -> bool:
        """Whether only this user can write to the directory: other directories are not read."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.directory.lstat()
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        return ours and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def get(self, name: str) -> Any:
        """The bytes of a file, mapped into memory and not yet verified, or None."""
        path = self.directory / name
        with contextlib.suppress(OSError, pa.ArrowException):
            if self._own() and stat.S_ISREG(path.lstat().st_mode):
                found = pa.memory_map(str(path)).read_buffer()
                os.utime(path)
                return found
        return None

    def put(self, name: str, data: Any) -> None:
        """Keep a page if that is possible. A file has its name only when it is whole."""
        with contextlib.suppress(OSError):
            if self._own():
                self._write(self.directory / name, data)

    def _write(self, path: Path, data: Any) -> None:
        """Write, flush, rename. Not to the disk: the checksum finds what a power cut leaves."""
        with tempfile.NamedTemporaryFile(dir=self.directory, delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.replace(file.name, path)
            except OSError:  # the disk is full, or something else has the name
                os.unlink(file.name)
                raise

    def delete(self, name: str) -> None:
        """Forget a page."""
        with contextlib.suppress(OSError):
            if self._own():
                (self.directory / name).unlink(missing_ok=True)

    def tidy(self, limit: int = LIMIT, often: float = OFTEN) -> None:
        """Delete what is old, and what is too much; if that was not done just now."""
        with contextlib.suppress(OSError):
            if not self._own():
                return
            kept, now = 0, time.time()
            done = self.directory / ".tidied"
            if done.exists() and now - done.stat().st_mtime < often:
                return
            done.touch()
            found = [(entry.stat(), entry.path) for entry in os.scandir(self.directory)]
            for status, path in sorted(found, key=lambda each: -each[0].st_mtime):
                kept += status.st_size
                if kept > limit or now - status.st_mtime > OLD:
                    Path(path).unlink(missing_ok=True)


class NoPages:
    """No files: what a stream with cache=False uses."""

    def get(self, name: str) -> Any:
        return None

    def put(self, name: str, data: Any) -> None:
        """Nothing is kept."""

    def delete(self, name: str) -> None:
        """Nothing was kept."""

    def tidy(self) -> None:
        """There is nothing to tidy."""
