"""Sinks: where answers go, and how they are read back."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from sash.cli.errors import EndError
from sash.cli.pipeline import Sink
from sash.cli.replace import LOG, Place, check_replaceable, replacing
from sash.cli.spark_types import DataFrame, SparkSession


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


def write(answers: DataFrame, sink: Sink) -> int:
    """Write a batch's answers, whole or not at all; returns how many rows there are."""
    if sink.path is None:
        answers = answers.cache()
        count = answers.count()
        answers.show(20, truncate=False)
        return count
    with replacing(sink.path) as unfinished:
        options = {"header": True} if sink.format == "csv" else {}
        writer = answers.write.format(sink.format).options(**(options | sink.options))
        writer.save(str(unfinished))
        count = written(answers.sparkSession, sink, unfinished).count()
        if count == 0:
            raise EndError("the source is empty: no rows, so nothing is written")
    return count


def written(spark: SparkSession, sink: Sink, place: Path) -> DataFrame:
    """What was written to a place, read back."""
    reader = spark.read.format(sink.format)
    if sink.format == "csv":
        reader = reader.options(**({"header": True} | sink.options))
    return reader.load(str(place))


def sweep(sink: Sink) -> None:
    """Remove what a stream wrote and did not commit: Spark's readers skip it, others do not."""
    log = None if sink.path is None else sink.path / LOG
    if log is None or not log.is_dir():
        return
    committed = set()
    for file in log.iterdir():
        if not file.name.startswith("."):
            entries = file.read_text().splitlines()[1:]  # the first is the format's version
            committed |= {unquote(json.loads(e)["path"]).rpartition("/")[2] for e in entries}
    for part in log.parent.glob("part-*"):
        if part.name not in committed:
            part.unlink()
            part.with_name(f".{part.name}.crc").unlink(missing_ok=True)
