"""Replacing an output: the old one stays until the new one is whole, even if a run is killed.

A run that writes to `out` works in the folder `.out.sash` beside it, which holds

    _sash   the mark of the folder; locked while a run writes
    new     what a batch is writing; moved to `out` when it is whole
    old     what was at `out`, kept until the new output is there
    none    instead of `old`, where nothing was at `out`

A new output is there once it is marked: by `_SUCCESS` in a batch, and by the first batch in the
log `_spark_metadata` in a stream, which writes to `out` itself and has a checkpoint to replace
together with it. `settle` then drops the old output; before that it restores it. It runs at
the end of every run and at the start of the next one, so that a kill changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from sash.cli.errors import EndError

MARK = "_sash"
DONE = "_SUCCESS"
LOG = "_spark_metadata"


@dataclass(frozen=True)
class Kind:
    """The files that Spark writes, by name, and the names of which one at least must be there."""

    names: tuple[str, ...]
    marks: tuple[str, ...]


OUTPUT = Kind(("part-*", DONE, LOG, "_temporary", ".*.crc"), (DONE, LOG))
CHECKPOINT = Kind(("metadata", "offsets", "commits", "sources", "state", ".*.crc"), ("metadata",))


class Place:
    """An output or a checkpoint, and the folder in which a run replaces it."""

    def __init__(self, path: Path, kind: Kind = OUTPUT) -> None:
        self.path, self.kind = path.resolve(), kind
        self.work = self.path.with_name(f".{self.path.name}.sash")
        self.new, self.old, self.none = (self.work / name for name in ("new", "old", "none"))

    def foreign(self) -> str | None:
        """A name at the place that neither Sash nor Spark writes; None if there is none."""
        if not self.path.exists():
            return None
        return _foreign(self.path, self.kind.names) if self.path.is_dir() else self.path.name

    def finished(self) -> bool:
        """Whether a whole output of a batch, or a batch of a stream, is at the place."""
        return (self.path / DONE).is_file() or any((self.path / LOG).glob("[0-9]*"))

    def set_aside(self) -> None:
        """Make room for a new output; `settle` drops the old one or restores it."""
        check_replaceable(self)
        if self.path.exists():
            self.path.rename(self.old)
        else:
            self.none.touch()

    def drop(self) -> None:
        for leftover in (self.new, self.old, self.none):
            remove(leftover)

    def restore(self) -> None:
        """Undo what a run did that has not come to a new output."""
        remove(self.new)
        if self.old.exists() or self.none.exists():
            if self.foreign() is None:
                remove(self.path)
            elif self.old.exists():
                raise EndError(
                    f"{self.path} was written by another program after a run was killed; what was "
                    f"there before is {self.old}: move one of the two away"
                )
        if self.old.exists():
            self.old.rename(self.path)
        remove(self.none)

    def lock(self) -> int:
        """Keep other runs away from the place; returns the file that holds the lock."""
        while True:
            self.work.mkdir(parents=True, exist_ok=True)
            mark = self.work / MARK
            if not mark.is_file() and any(self.work.iterdir()):
                raise EndError(f"{self.work} is in the way and was not made by Sash: move it away")
            try:
                file = os.open(mark, os.O_CREAT | os.O_RDWR)
            except FileNotFoundError:  # another run has just ended and removed its folder
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                raise EndError(f"another run writes to {self.path}: wait until it ends") from None
            except OSError:  # a file system without locks
                return file
            with suppress(FileNotFoundError):
                if os.path.samestat(mark.stat(), os.fstat(file)):
                    return file
            os.close(file)

    def unlock(self, file: int) -> None:
        with suppress(OSError):  # another run may have just begun
            if {p.name for p in self.work.iterdir()} == {MARK}:
                (self.work / MARK).unlink()
                self.work.rmdir()
        os.close(file)


def check_replaceable(place: Place) -> None:
    """End unless what is at a place was written by Sash or Spark, so that it may be replaced."""
    if not place.path.exists():
        return
    foreign, marks = place.foreign(), place.kind.marks
    if not place.path.is_dir():
        why = "it is a file"
    elif foreign is not None:
        why = f"it holds {foreign}"
    elif any(place.path.iterdir()) and not any((place.path / mark).exists() for mark in marks):
        why = f"it has no {marks[0]}"
    else:
        return
    raise EndError(
        f"{place.path} was not written by Sash or Spark ({why}), so it is not replaced; "
        "move it away or choose another path"
    )


@contextmanager
def held(*places: Place) -> Iterator[None]:
    """Places for this run alone, settled before and after: the first is the output's."""
    with ExitStack() as stack:
        for place in places:
            stack.callback(place.unlock, place.lock())
        settle(places)
        stack.callback(settle, places)
        yield


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write a batch's output to, which is then moved to its place, whole."""
    place = Place(path)
    with held(place):
        yield place.new
        (place.new / DONE).touch()  # Spark's own mark, which a setting of Spark's turns off
        place.set_aside()
        place.new.rename(place.path)


def repair(*places: Place) -> None:
    """Settle what a run that was killed has left."""
    if any(place.work.exists() for place in places):
        with held(*places):
            pass


def settle(places: Sequence[Place]) -> None:
    """Keep the new output where there is one, and the old one otherwise."""
    if not drop_old(places):
        for place in places:
            place.restore()


def drop_old(places: Sequence[Place]) -> bool:
    """Drop the old output, and its checkpoint, if the new one is there; returns whether it is."""
    found = bool(places) and places[0].finished()
    for place in places if found else ():
        place.drop()
    return found


def remove(place: Path) -> None:
    """Remove a file or a directory, if there is one; of a link, only the link."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _foreign(folder: Path, names: Sequence[str]) -> str | None:
    for entry in folder.iterdir():
        if "=" in entry.name and entry.is_dir():  # a partition: day=2024-01-01
            inner = _foreign(entry, names)
            if inner is not None:
                return f"{entry.name}/{inner}"
        elif not any(fnmatch(entry.name, name) for name in names):
            return entry.name
    return None
