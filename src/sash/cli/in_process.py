"""A pipeline file in this process: Arrow tables in, Arrow tables out, without Spark."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from sash.cli import checks, local_files, sinks
from sash.cli.aggregations import read_by
from sash.cli.call import Outcome, answers, asked, planned
from sash.cli.columns import check_columns, check_spine_columns
from sash.cli.engine import delimiter
from sash.cli.errors import EndError
from sash.cli.pipeline import Pipeline, Sink
from sash.cli.progress import stage
from sash.plan.explain import Explanation

NAME = "in process"
SHOWN = 20


def batch(pipeline: Pipeline, engine: str = NAME) -> Outcome:
    """Run a pipeline once over all that its source has."""
    checks.check(pipeline, as_stream=False)
    with stage("reading") as reading:
        rows, names = source_rows(pipeline)
        if not len(rows):
            raise sinks.no_rows(pipeline.source)
        spine, names = (None, names) if pipeline.spine is None else spine_rows(pipeline)
        plan = planned(pipeline, rows, engine, spine)
        reading.note = f"{len(rows):,} rows"
    begun = time.monotonic()
    with stage("running") as running:
        found = asked(lambda: answers(pipeline, rows, spine))
        found = found.rename_columns([names.get(name, name) for name in found.column_names])
        count = asked(lambda: write(found, pipeline.sink))
        running.note = f"{count:,} rows"
    return Outcome(count, time.monotonic() - begun, plan if isinstance(plan, Explanation) else None)


def explain(pipeline: Pipeline, engine: str = NAME) -> str:
    """The plan in words."""
    spine = None if pipeline.spine is None else spine_rows(pipeline)[0]
    return planned(pipeline, source_rows(pipeline)[0], engine, spine)


def source_rows(pipeline: Pipeline) -> tuple[pa.Table, dict[str, str]]:
    """The source's rows, columns spelled as in the file; and by these names as in the source.

    As in Spark, whether letters are capital does not tell columns apart.
    """
    rows = local_files.read(pipeline.source)
    check_columns(pipeline, rows.column_names)
    if pipeline.sql is not None:
        return rows, {}
    asked_for = {pipeline.time, *pipeline.ties, *pipeline.keys}
    for a in pipeline.aggregations.values():
        asked_for |= {name for _, name in read_by(a, pipeline.aggregations)}
    return as_spelled(rows, asked_for)


def spine_rows(pipeline: Pipeline) -> tuple[pa.Table, dict[str, str]]:
    """The rows of the spine, as `source_rows` gives those of the source."""
    spine = pipeline.spine
    assert spine is not None
    rows = local_files.read(spine.source)
    check_spine_columns(pipeline, rows.column_names)
    if not len(rows):
        raise sinks.no_rows(spine.source)
    asked_for = {spine.time, *spine.keys}
    for a in pipeline.aggregations.values():
        read = read_by(a, pipeline.aggregations)
        asked_for |= {name for key, name in read if key == "result"}
    return as_spelled(rows, asked_for)


def as_spelled(rows: pa.Table, asked_for: set[str]) -> tuple[pa.Table, dict[str, str]]:
    """Rows with columns named as they are asked for; and by these names as they were."""
    spelled = {name.lower(): name for name in asked_for - set(rows.column_names)}
    names = {spelled[name.lower()]: name for name in rows.column_names if name.lower() in spelled}
    renamed = [spelled.get(name.lower(), name) for name in rows.column_names]
    return rows.rename_columns(renamed), names


def write(found: pa.Table, sink: Sink) -> int:
    """Write answers as a folder of one part, or show them; returns how many rows there are."""
    if sink.path is None:
        print(shown(found))
        return len(found)

    def save(place: Path) -> int:
        place.mkdir()
        part = place / f"part-00000.{sink.format}"
        if sink.format == "parquet":
            parquet.write_table(found, part)
        else:
            _check_csv(found)
            options = csv.WriteOptions(delimiter=delimiter(sink.options))
            csv.write_csv(found, part, options)
        return len(found)

    return sinks.write(sink, save)


def _check_csv(found: pa.Table) -> None:
    for field in found.schema:
        if pa.types.is_nested(field.type):
            raise EndError(f'column {field.name}: CSV has no lists; use format = "parquet"')


def shown(found: pa.Table) -> str:
    """The first rows as text, in columns.

    >>> print(shown(pa.table({"user": [1, 20], "hi": [None, "x"]})))
    +----+----+
    |user|hi  |
    +----+----+
    |1   |NULL|
    |20  |x   |
    +----+----+
    """
    first = found.slice(0, SHOWN)
    columns = [
        [name, *("NULL" if value is None else str(value) for value in first[name].to_pylist())]
        for name in found.column_names
    ]
    widths = [max(map(len, column)) for column in columns]
    edge = "+".join(["", *("-" * width for width in widths), ""])
    head, *body = (
        "|".join(["", *(text.ljust(width) for text, width in zip(row, widths)), ""])
        for row in zip(*columns)
    )
    more = [f"only the first {SHOWN} rows of {len(found):,}"] if len(found) > SHOWN else []
    return "\n".join([edge, head, edge, *body, edge, *more])
