"""The number of a store's last commit, in a file beside it.

LMDB opens the older of two states where the mark of the newer one is damaged, and a backup of
data.mdb may be older than its directory: either way the last commits would be missing without an
error. A commit therefore keeps its number twice, in the store and, once it is there, in this file.
A store whose own number is lower has lost commits.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

_NUMBER = struct.Struct("<QI")  # the number, and the CRC-32 of its bytes


class CommitCount:
    """A file with the number of the last commit that was written whole, made if it is not there."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not os.fstat(self._file).st_size:
            os.pwrite(self._file, _packed(0), 0)

    def read(self) -> int:
        """The number; ValueError if it is not what was written."""
        found = os.pread(self._file, _NUMBER.size + 1, 0)
        if len(found) == _NUMBER.size:
            number = int(_NUMBER.unpack(found)[0])
            if found == _packed(number):
                return number
        raise ValueError("the number of commits is damaged")

    def write(self, number: int) -> None:
        """Keep the number of a commit that is there. A file that cannot be written stays behind,
        which only makes the check weaker, so it does not fail the commit."""
        with suppress(OSError):
            os.pwrite(self._file, _packed(number), 0)

    def close(self) -> None:
        os.close(self._file)


def _packed(number: int) -> bytes:
    return _NUMBER.pack(number, zlib.crc32(number.to_bytes(8, "little")))
