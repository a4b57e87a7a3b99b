"""Latest: the newest answers of some keys, from what a stream has committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from sash.cli import sinks
from sash.cli.pipeline import Pipeline

KEYS = 8
"""Keys that are shown."""

PARTS = 4
"""Parts that are read: those of a micro-batch have keys of their own each."""


class Latest(NamedTuple):
    """Rows of answers, with the names of their columns."""

    names: tuple[str, ...]
    rows: list[list[Any]]


def latest(pipeline: Pipeline) -> Latest:
    """The youngest row of each of some keys, those that came last; nothing of other sinks."""
    time = pipeline.time if pipeline.every is None else "window_end"
    names = (*pipeline.keys, time, *pipeline.aggregations)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for part in _newest(pipeline):
        for row in _youngest_first(parquet.read_table(part, columns=list(names)), time):
            found.setdefault(tuple(row[: len(pipeline.keys)]), row)
            if len(found) == KEYS:
                break
    return Latest(names, [[_said(value) for value in row] for row in found.values()])


def _newest(pipeline: Pipeline) -> list[Path]:
    """The newest parts that a stream has committed, the newest first."""
    sink = pipeline.sink
    names = sinks.committed(sink) if sink.format == "parquet" else None
    if sink.path is None or not names:
        return []
    parts = [part for name in names if (part := sink.path / name).exists()]
    return sorted(parts, key=lambda part: part.stat().st_mtime, reverse=True)[:PARTS]


def _youngest_first(answers: pa.Table, time: str) -> list[list[Any]]:
    ordered = answers.sort_by([(time, "descending")])
    return [list(row.values()) for row in ordered.to_pylist()]


def _said(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:%Y-%m-%d %H:%M:%S}" if hasattr(value, "strftime") else value
