"""Which engine runs a pipeline file: this process, or Spark where something asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sash.cli import files
from sash.cli.pipeline import FILES, Pipeline, Setting, Sink, Source
from sash.cli.schema import simple_schema

SHARE = 32
"""Files of more than this part of the memory go to Spark: rows take several times their size."""


@dataclass(frozen=True)
class Engine:
    """The engine of a run, and why it is that one."""

    local: bool
    why: str

    def __str__(self) -> str:
        return f"{'in process' if self.local else 'on Spark'}: {self.why}"


def choose(pipeline: Pipeline, as_stream: bool = False) -> Engine:
    """The engine that the file or the command names, or else the one that fits."""
    need = next(needs(pipeline, as_stream), None)
    if pipeline.engine == "local" and need is not None:
        pipeline.root.wrong("engine", f'"local" runs in this process, but {need}')
    if pipeline.engine != "auto":
        return Engine(pipeline.engine == "local", f"engine = {pipeline.engine!r}")
    if need is not None:
        return Engine(False, need)
    if find_spec("pyspark") is None:
        return Engine(True, "Spark is not installed")
    if pipeline.spark:
        return Engine(False, "the file has a [spark] table")
    given = (file for source in sources_of(pipeline) for file in files.data_files(source))
    return by_size(sum(file.stat().st_size for file in given), memory())


def sources_of(pipeline: Pipeline) -> list[Source]:
    """The inputs of a run: the source, and the spine if there is one."""
    return [pipeline.source, *(() if pipeline.spine is None else (pipeline.spine.source,))]


def by_size(source: int, memory: int) -> Engine:
    """The engine for files of this many bytes.

    >>> print(by_size(12_345, 8 << 30))
    in process: the source has 12.3 kB
    >>> print(by_size(3_000_000_000, 8 << 30))
    on Spark: the source has 3.0 GB, and in process run up to 268.4 MB
    """
    most = memory // SHARE
    if source <= most:
        return Engine(True, f"the source has {_size(source)}")
    return Engine(False, f"the source has {_size(source)}, and in process run up to {_size(most)}")


def needs(pipeline: Pipeline, as_stream: bool) -> Iterator[str]:
    """All that only Spark can do of what a pipeline file says."""
    source, sink = pipeline.source, pipeline.sink
    if as_stream:
        yield "a stream runs on Spark"
    if source.format not in FILES:
        yield f"a {source.format} source is read by Spark"
    if source.columns:
        yield "[columns] are in Spark's SQL"
    if source.where is not None:
        yield "`where` is in Spark's SQL"
    for each in sources_of(pipeline):
        if each.schema is not None and simple_schema(each.schema) is None:
            yield "the schema has types that Spark reads"
    places: list[Source | Sink] = [*sources_of(pipeline), sink]
    for place in places:
        if place.format in FILES and not _are_simple(place.format, place.options):
            yield f"{place.table.path[-1]}.options are those of Spark"
    for each in sources_of(pipeline):
        if files.has_partitions(each):
            yield f"the {each.table.path[-1]} has partitions, of which Spark makes columns"


def delimiter(options: dict[str, Setting]) -> str:
    """The separator of the values of a CSV file."""
    return str(options.get("sep", options.get("delimiter", ",")))


def _are_simple(format: str, options: dict[str, Setting]) -> bool:
    """Whether options only say which character separates the values of a CSV file."""
    known = {"sep", "delimiter"} if format == "csv" else set()
    return set(options) <= known and len(delimiter(options)) == 1


def memory() -> int:
    """The bytes of memory that the machine or the container has."""
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text().strip()).isdecimal():
        have = min(have, int(text))
    return have


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
