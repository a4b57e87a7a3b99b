"""Pages near the worker: Spark's state store is slow to read, a local file is not.

A page never changes and each gets a new name, so a file of that name is that
page, whichever worker of the machine wrote it and whatever became of its batch. Answers
do not depend on the files: without them, pages are read from the state store.
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
"""Bytes of files that are kept on a machine; the least recently used ones are deleted."""

OLD = 24 * 3600
"""Seconds after which a file that no one has read is deleted: its stream has ended."""

OFTEN = 300
"""Seconds between two times that a machine's files are looked through."""


class LocalPages:
    """Files by the name of a page, in the user's temporary directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(tempfile.gettempdir()) / f"sash-pages-{os.getuid()}"

    def _own(self) -> bool:
        """Whether the directory is ours: what others could write to is not read."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.directory.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()

    def get(self, name: str) -> Any:
        """The page, mapped into memory, or None."""
        path = self.directory / name
        try:
            if not self._own():
                return None
            found = pa.memory_map(str(path)).read_buffer()
            os.utime(path)
        except OSError:
            return None
        return found

    def put(self, name: str, data: Any) -> None:
        """Keep a page; it is no error if it cannot be kept."""
        with contextlib.suppress(OSError):
            if not self._own():
                return
            with tempfile.NamedTemporaryFile(dir=self.directory, delete=False) as file:
                file.write(data)
            os.replace(file.name, self.directory / name)

    def delete(self, name: str) -> None:
        (self.directory / name).unlink(missing_ok=True)

    def tidy(self, limit: int = LIMIT, often: float = OFTEN) -> None:
        """Delete what is old, and what is too much; if that was not done just now."""
        with contextlib.suppress(OSError):
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
