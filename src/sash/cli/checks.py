"""Errors that can be found before anything runs: places that overlap, or are not free."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from sash.cli import files, sinks
from sash.cli.apart import check_apart
from sash.cli.errors import WRONG_INPUT, EndError
from sash.cli.pipeline import Pipeline
from sash.cli.replace import CHECKPOINT, Place, check_replaceable, repair


def check(pipeline: Pipeline, as_stream: bool) -> None:
    """Repair what a killed run left at the sink; end if this run cannot begin."""
    check_there(pipeline)
    check_places(pipeline)
    if as_stream:
        check_watermark(pipeline)
    elif pipeline.history is not None:
        pipeline.root.wrong("history", "is for a stream, which goes on from it: sash run --stream")
    repair(*places(pipeline, as_stream))
    checkpoint = place_of_checkpoint(pipeline)
    if not as_stream or checkpoint is None or not checkpoint.exists():
        sinks.check_free(pipeline.sink)
    elif pipeline.sink.replace:
        sinks.check_free(pipeline.sink)
        _check_checkpoint(pipeline, checkpoint)


def check_there(pipeline: Pipeline) -> None:
    """End if the source, the spine or the history is of files, and there are none."""
    files.check_there(pipeline.source)
    if pipeline.spine is not None:
        files.check_there(pipeline.spine.source)
    if pipeline.history is not None:
        files.check_there(pipeline.history.source)


def check_watermark(pipeline: Pipeline) -> None:
    """End if a file cannot run as a stream: it needs a watermark, and has no spine."""
    if pipeline.spine is not None:
        pipeline.root.wrong("spine", "is for batches: a stream answers for its own rows")
    if pipeline.watermark is None:
        pipeline.root.wrong(
            None, 'as a stream it needs watermark = "10 minutes", say: how late a row may come'
        )
    if not pipeline.time:
        pipeline.root.wrong(None, 'as a stream it needs time = "ts", the column of the watermark')


def place_of_checkpoint(pipeline: Pipeline) -> Path | None:
    """Where a stream keeps its progress: the configured place, or beside the sink."""
    if pipeline.stream.checkpoint is not None or pipeline.sink.path is None:
        return pipeline.stream.checkpoint
    return pipeline.sink.path.with_name(f"{pipeline.sink.path.name}.checkpoint")


def places(pipeline: Pipeline, as_stream: bool) -> list[Place]:
    """The places that a run replaces: the sink, and with a stream its checkpoint."""
    if pipeline.sink.path is None:
        return []
    found = [Place(pipeline.sink.path)]
    checkpoint = place_of_checkpoint(pipeline)
    if as_stream and checkpoint is not None:
        found.append(Place(checkpoint, CHECKPOINT))
    return found


def check_places(pipeline: Pipeline) -> None:
    """End if what a run writes overlaps with what it reads."""
    kept: dict[str, Iterable[Path]] = {
        "the source": list(files.places(pipeline.source)),
        "the pipeline file": [pipeline.file],
    }
    if pipeline.spine is not None:
        kept["the spine"] = list(files.places(pipeline.spine.source))
    if pipeline.history is not None:
        kept["the history"] = list(files.places(pipeline.history.source))
    sink, checkpoint = pipeline.sink, place_of_checkpoint(pipeline)
    if sink.path is not None:
        others = kept if checkpoint is None else kept | {"the checkpoint": [checkpoint]}
        check_apart(sink.path, others, lambda problem: sink.table.wrong("path", problem))
        if files.matches(pipeline.source, sink):
            sink.table.wrong(
                "path",
                f"{sink.path} would be read by the next run, as source.path = "
                f"{pipeline.source.path} matches it; choose another",
            )
    if pipeline.stream.checkpoint is not None:
        stream = pipeline.root.table("stream")
        check_apart(
            pipeline.stream.checkpoint, kept, lambda problem: stream.wrong("checkpoint", problem)
        )


def check_report(pipeline: Pipeline) -> None:
    """End if a report cannot be made."""
    sink = pipeline.sink
    if pipeline.sql is not None:
        pipeline.root.wrong("sql", "a report is made of [aggregations], not of a query")
    if sink.format != "parquet" or sink.path is None:
        sink.table.wrong("format", 'a report is made of what was written; use "parquet"')


def check_page(pipeline: Pipeline, option: str, page: Path) -> None:
    """End if what an option writes would be written over what is read or written otherwise."""

    def wrong(problem: str) -> NoReturn:
        raise EndError(f"run: --{option} {problem}", WRONG_INPUT)

    kept = {
        "the source": files.places(pipeline.source),
        "the pipeline file": [pipeline.file],
        "the sink": [] if pipeline.sink.path is None else [pipeline.sink.path],
    }
    check_apart(page, kept, wrong)


def _check_checkpoint(pipeline: Pipeline, checkpoint: Path) -> None:
    try:
        check_replaceable(Place(checkpoint, CHECKPOINT))
    except EndError as problem:
        if pipeline.stream.checkpoint is None:
            pipeline.sink.table.wrong("path", f"its checkpoint {problem}")
        pipeline.root.table("stream").wrong("checkpoint", str(problem))
