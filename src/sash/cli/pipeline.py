"""The records of a pipeline: where rows come from, what is asked of them, where the answers go.

`sash.cli.pipeline_file` reads them from a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sash.cli.checked import Table
from sash.plan.expressions import Expression
from sash.windows import Closed

FILES = ("parquet", "csv", "json")
Setting = str | int | float | bool


@dataclass(frozen=True)
class Source:
    """Where rows come from; `columns` are added to it by SQL, `where` says which rows stay."""

    table: Table
    format: str
    path: Path | None
    schema: str | None
    options: dict[str, Setting]
    columns: dict[str, str]
    where: str | None

    def __str__(self) -> str:
        place = self.path or self.options.get("topic") or f"{self.options.get('rows_per_second')}/s"
        return f"{self.format} {place}"


@dataclass(frozen=True)
class Spine:
    """A table whose rows have the answers, as of their time; its keys in the events' order."""

    source: Source
    time: str
    keys: tuple[str, ...]
    closed: Closed


@dataclass(frozen=True)
class Sink:
    """Where answers go; `replace`: over what is there."""

    table: Table
    format: str
    path: Path | None
    replace: bool
    options: dict[str, Setting]

    def __str__(self) -> str:
        return f"{self.format} {self.path}" if self.path else self.format


@dataclass(frozen=True)
class Stream:
    """How a stream runs: when rows are answered, how late ones are treated, and how often."""

    emit: str
    late: str
    trigger: str | None  # None: what is there now, then end
    checkpoint: Path | None
    files: int | None  # the most in a batch


@dataclass(frozen=True)
class History:
    """Rows before a stream, from which its state is built; `cut`: up to which time."""

    source: Source
    cut: datetime | date | str | None  # without a zone: as Spark's session has it


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file that has been checked."""

    file: Path
    root: Table
    source: Source
    sink: Sink
    stream: Stream
    time: str
    ties: tuple[str, ...]  # columns that order rows of equal time
    descending: bool
    keys: tuple[str, ...]
    watermark: str | None
    every: dict[str, Any] | None  # the arguments of `every`
    aggregations: dict[str, Expression]
    spark: dict[str, Setting]
    engine: str  # auto: by what the file needs, and by the size of its source
    sql: str | None = None  # a query over the source, instead of aggregations
    functions: dict[str, Any] = field(default_factory=dict)  # monoids by their names in it
    history: History | None = None
    spine: Spine | None = None  # the source's rows are events, and this one's have the answers

    @property
    def name(self) -> str:
        return self.file.stem
