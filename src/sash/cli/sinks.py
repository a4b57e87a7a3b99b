"""Sinks: where answers go, whichever engine writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from sash.cli.errors import EndError
from sash.cli.pipeline import Sink, Source
from sash.cli.replace import LOG, Place, check_replaceable, replacing


def check_free(sink: Sink) -> None:
    """End if something is at the sink's place and may not be replaced."""
    if sink.path is None or not sink.path.exists():
        return
    if not sink.replace:
        sink.table.wrong(
            "path",
            f'{sink.path} is there already; choose another, or say if_exists = "replace"',
        )
    try:
        check_replaceable(Place(sink.path))
    except EndError as problem:
        sink.table.wrong("path", str(problem))


def write(sink: Sink, save: Callable[[Path], int]) -> int:
    """Have a batch's answers written, whole or not at all; returns how many rows there are.

    `save` writes a folder and returns its number of rows.
    """
    assert sink.path is not None
    with replacing(sink.path) as unfinished:
        return some(save(unfinished))


def some(count: int) -> int:
    """A number of rows; ends if there are none."""
    if count == 0:
        raise EndError("the source is empty: no rows, so nothing is written")
    return count


def no_rows(source: Source) -> EndError:
    """The error of a run over a source without rows."""
    return EndError(f"{source}: the source is empty: no rows, nothing is written")


def sweep(sink: Sink) -> None:
    """Remove what a stream wrote and did not commit: Spark's readers skip it, others do not."""
    kept = committed(sink)
    if sink.path is None or kept is None:
        return
    for part in sink.path.glob("part-*"):
        if part.name not in kept:
            part.unlink()
            part.with_name(f".{part.name}.crc").unlink(missing_ok=True)


def committed(sink: Sink) -> set[str] | None:
    """The names of the parts that a stream has committed; None where there is no log of them."""
    log = None if sink.path is None else sink.path / LOG
    if log is None or not log.is_dir():
        return None
    found = set()
    for file in log.iterdir():
        if not file.name.startswith("."):
            entries = file.read_text().splitlines()[1:]  # the first is the format's version
            found |= {unquote(json.loads(e)["path"]).rpartition("/")[2] for e in entries}
    return found
