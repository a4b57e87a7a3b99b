"""The files of a source: whether there are any, which are read, and where links in them lead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from sash.cli.pipeline import Sink, Source


def check_there(source: Source) -> None:
    """End if the source is of files, and there are none."""
    path = source.path
    if path is None:
        return
    if _is_pattern(path):
        if not any(_matching(path)):
            source.table.wrong("path", f"no file matches {path}")
        return
    if not path.exists():
        source.table.wrong("path", f"there is no file or directory {path}")
    if path.is_dir() and not any(_is_data(file) for file in path.rglob("*")):
        source.table.wrong("path", f"the directory {path} holds no files: the source is empty")


def places(source: Source) -> Iterator[Path]:
    """All that a source of files reads: its path, what matches it, and where links in it lead."""
    if source.path is None:
        return
    for path in _roots(source.path):
        yield path
        for folder, folders, files in os.walk(path):
            inner = (Path(folder, name) for name in (*folders, *files))
            yield from (link for link in inner if link.is_symlink())


def matches(source: Source, sink: Sink) -> bool:
    """Whether the source's pattern is one of the sink, so that a later run reads its answers."""
    if source.path is None or sink.path is None or not _is_pattern(source.path):
        return False
    written = (sink.path.resolve() / f"part-00000.{sink.format}").parts
    wanted = source.path.resolve().parts  # the part before the pattern may hold links
    return len(written) >= len(wanted) and all(map(fnmatch, written, wanted))


def data_files(source: Source) -> list[Path]:
    """The files that Spark reads of a source without partitions: those in a folder, no deeper."""
    found: list[Path] = []
    for path in _roots(source.path) if source.path is not None else ():
        found += filter(_is_data, path.iterdir()) if path.is_dir() else [path]
    return sorted(found)


def has_partitions(source: Source) -> bool:
    """Whether a source has folders such as day=2024-01-01, of which Spark makes a column."""
    roots = _roots(source.path) if source.path is not None else ()
    inner = (entry for path in roots if path.is_dir() for entry in path.iterdir())
    return any("=" in entry.name and entry.is_dir() for entry in inner)


def _roots(path: Path) -> Iterable[Path]:
    return _matching(path) if _is_pattern(path) else [path]


def _is_pattern(path: Path) -> bool:
    return any(letter in str(path) for letter in "*?[")


def _matching(pattern: Path) -> Iterator[Path]:
    return Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


def _is_data(file: Path) -> bool:
    return file.is_file() and not file.name.startswith((".", "_"))
