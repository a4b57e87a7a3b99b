"""The call of the library that a pipeline file describes, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import sash
from sash.cli.checks import place_of_checkpoint
from sash.cli.errors import EndError, one_line
from sash.cli.pipeline import Pipeline
from sash.plan.about import about_of
from sash.plan.checks import UnfitColumn
from sash.plan.explain import Explanation, Step
from sash.windows.duration import Duration


@dataclass
class Outcome:
    """The result of a run: how many rows it wrote, in how long, by which plan."""

    rows: int
    seconds: float
    plan: Explanation | None = None  # none of a query in SQL
    batches: list[dict[str, Any]] = field(default_factory=list)  # a stream's last ones
    late: int = 0  # rows of a stream that came after the watermark had passed them


def windowed(pipeline: Pipeline, rows: Any, spine: Any = None) -> Any:
    """The call of the library that the file describes, over DataFrames or Arrow tables."""
    options: dict[str, Any] = {}
    if getattr(rows, "isStreaming", False):
        from sash.cli.sources import history

        options = {"emit": pipeline.stream.emit, "late": pipeline.stream.late}
        options |= history(pipeline, rows.sparkSession)
        checkpoint = place_of_checkpoint(pipeline)
        if checkpoint is not None and checkpoint.exists() and not pipeline.sink.replace:
            options["checkpoint"] = checkpoint
    rows = _with_watermark(pipeline, rows)
    times = (pipeline.time, *pipeline.ties)
    options["descending"] = pipeline.descending
    found = sash.windowed(rows, by=pipeline.keys, time=times, **options)
    if pipeline.spine is not None:
        at = pipeline.spine
        return found.at(spine, at.keys, time=at.time, closed=at.closed)
    return found if pipeline.every is None else found.every(**pipeline.every)


def _with_watermark(pipeline: Pipeline, rows: Any) -> Any:
    if not getattr(rows, "isStreaming", False):
        return rows
    assert pipeline.watermark is not None
    delay = f"{Duration.of(pipeline.watermark).ns / 1e6:.0f} milliseconds"
    return rows.withWatermark(pipeline.time, delay)


def answers(pipeline: Pipeline, rows: Any, spine: Any = None) -> Any:
    """The answers, checked: an error of the call is one of the file."""
    try:
        if pipeline.sql is not None:
            source = _with_watermark(pipeline, rows)
            return sash.sql(pipeline.sql, functions=pipeline.functions, source=source)
        return windowed(pipeline, rows, spine).agg(**pipeline.aggregations)
    except (KeyError, TypeError, ValueError) as problem:
        _blame(pipeline, problem)


def planned(pipeline: Pipeline, rows: Any, engine: str, spine: Any = None) -> str:
    """The plan for rows that are there, in words, from the source to the sink."""
    try:
        if pipeline.sql is not None:
            from sash.sql.run import explain

            source = _with_watermark(pipeline, rows)
            steps = explain(pipeline.sql, functions=pipeline.functions, source=source)
            return f"source    {pipeline.source}\nsink      {pipeline.sink}\n{engine}\n{steps}"
        plan = windowed(pipeline, rows, spine).explain(**pipeline.aggregations)
    except (KeyError, TypeError, ValueError) as problem:
        _blame(pipeline, problem)
    late = f"; a row may come {pipeline.watermark} late" if pipeline.watermark else ""
    read = [Step("source", f"{pipeline.source}{late}")]
    if pipeline.spine is not None:
        read.append(Step("at", f"{pipeline.spine.source}"))
    return plan.with_steps(*read, Step("sink", str(pipeline.sink)), Step("engine", engine))


def _blame(pipeline: Pipeline, problem: Exception) -> NoReturn:
    """End at the line of the file that an error is about."""
    message, subject, root = one_line(problem), about_of(problem), pipeline.root
    if pipeline.sql is not None:
        root.wrong("sql", message)
    if subject is None:
        root.wrong(None, message)
    if subject.role in ("history", "cut"):
        root.table("history").wrong("cut" if subject.role == "cut" else None, message)
    if subject.role == "output":
        table = root.table("aggregations")
        table.wrong(subject.name, message.removeprefix(f"{subject.name}: "))
    key = "keys" if subject.role == "key" else "time"
    spine = pipeline.spine
    if spine is not None and (subject.of_spine or subject.name == spine.time != pipeline.time):
        spine.source.table.wrong(key if key in spine.source.table.data else None, message)
    untyped = pipeline.source.format in ("csv", "json") and pipeline.source.schema is None
    if isinstance(problem, UnfitColumn) and untyped:
        message = f"{problem.wrong}; say its type in source.schema"
    root.wrong(key if key in root.data else None, message)


def asked(job: Callable[[], Any]) -> Any:
    """Run a job; exceptions, of which Spark's are long, become one line."""
    try:
        return job()
    except (EndError, KeyboardInterrupt):
        raise
    except Exception as problem:
        raise EndError(one_line(problem)) from problem
