"""A pipeline file on Spark, in a batch or as a stream."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from sash.cli import checks, replace, sinks, sources
from sash.cli.call import Outcome, answers, asked, planned
from sash.cli.errors import INTERRUPTED, EndError, one_line
from sash.cli.pipeline import Pipeline, Setting, Sink, Source
from sash.cli.progress import Stage, stage, watched
from sash.cli.spark_types import DataFrame, SparkSession, StreamingQuery
from sash.cli.watch import Watch
from sash.plan.explain import Explanation
from sash.windows.duration import Duration

SETTINGS: dict[str, Setting] = {
    # Spark's own default is a type that other readers of Parquet have given up
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
NAME = "on Spark"
RECENT = 1000
"""Batches of a stream of which the figures are kept."""


@contextmanager
def started(pipeline: Pipeline, new_java: bool = False) -> Iterator[SparkSession]:
    """Spark while the body runs; `new_java`: not in the Java of a Spark that was stopped before."""
    if new_java:
        from sash.spark.gateway import end_java

        end_java()
    spark = start(pipeline)
    try:
        yield spark
    finally:
        spark.stop()


def start(pipeline: Pipeline) -> SparkSession:
    """A Spark session with the file's settings, silent except for errors that end the command."""
    settings = SETTINGS | pipeline.spark
    master = str(settings.pop("master", "local[*]"))
    try:
        from sash.spark import NoJavaError, session
    except ImportError as problem:
        raise EndError(f"this needs Spark: pip install 'sash[spark]' ({problem})") from None

    home = str(pipeline.file.resolve().parent)  # workers may import what is beside the file
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [home, *paths]))
    with silenced() as said, stage("starting Spark", out=said):
        try:
            spark = session(f"sash {pipeline.name}", master, **settings)
        except NoJavaError as problem:
            raise EndError(one_line(problem)) from problem
        spark.sparkContext.setLogLevel("OFF")
    _interruptible()
    return spark


def _interruptible() -> None:
    """Ctrl-C ends what runs, in one line.

    PySpark's own handler calls Java while a call is under way, which fails, and Py4J logs the
    traceback of every call that is interrupted.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not os.environ.get("SASH_TRACE"):
        logging.getLogger().addHandler(logging.NullHandler())


@contextmanager
def silenced() -> Iterator[TextIO]:
    """Processes that the body starts print nothing on standard error, which it gets as a file.

    Java and PySpark's workers print notes there that no setting turns off; SASH_TRACE=1 shows
    them. Errors come as exceptions.
    """
    said = os.fdopen(os.dup(2), "w")
    try:
        if not os.environ.get("SASH_TRACE"):
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
        yield said
    finally:
        os.dup2(said.fileno(), 2)
        said.close()


def explain(
    pipeline: Pipeline, spark: SparkSession, as_stream: bool = False, engine: str = NAME
) -> str:
    """The plan in words; rows are read only to find their schema."""
    rows = sources.rows(pipeline, spark, as_stream)
    return planned(pipeline, rows, engine, sources.spine(pipeline, spark))


def batch(pipeline: Pipeline, spark: SparkSession, engine: str = NAME) -> Outcome:
    """Run a pipeline once over all that its source has."""
    checks.check(pipeline, as_stream=False)
    with stage("checking the source"):
        rows, spine = sources.rows(pipeline, spark), sources.spine(pipeline, spark)
        found = answers(pipeline, rows, spine)
        plan = planned(pipeline, rows, engine, spine)
        if pipeline.spine is not None:  # else there are as many answers
            _check_rows(rows, pipeline.source)
            _check_rows(spine, pipeline.spine.source)
    outcome = written("running", found, pipeline.sink)
    outcome.plan = plan if isinstance(plan, Explanation) else None
    return outcome


def _check_rows(rows: DataFrame, source: Source) -> None:
    """End if a source has no rows."""
    if asked(rows.isEmpty):
        raise sinks.no_rows(source)


def written(name: str, found: DataFrame, sink: Sink) -> Outcome:
    """Have answers computed and written, which is a stage of this name."""
    begun, spark = time.monotonic(), found.sparkSession
    with stage(name) as running, watched(running, lambda: tasks(spark, running)):
        count = asked(lambda: _write(found, sink))
        running.note = f"{count:,} rows"
    return Outcome(count, time.monotonic() - begun)


def _write(found: DataFrame, sink: Sink) -> int:
    """Write answers; returns how many rows there are, at least one."""
    if sink.path is None:
        found = found.cache()
        count: int = sinks.some(found.count())
        found.show(20, truncate=False)
        return count

    from sash.spark.progress import counted

    def save(place: Path) -> int:
        options = {"header": True} if sink.format == "csv" else {}
        rows, seen = counted(found)
        writer = rows.write.format(sink.format).options(**(options | sink.options))
        writer.save(str(place))
        return int(seen.get["rows"])

    return sinks.write(sink, save)


def _rows(spark: SparkSession, sink: Sink, place: Path) -> int:
    """How many rows are at a place."""
    reader = spark.read.format(sink.format)
    if sink.format == "csv":
        reader = reader.options(**({"header": True} | sink.options))
    return int(reader.load(str(place)).count())


def tasks(spark: SparkSession, running: Stage) -> None:
    """How many tasks of the running jobs are done."""
    tracker = spark.sparkContext.statusTracker()
    total = done = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for number in info.stageIds if info else ():
            one = tracker.getStageInfo(number)
            if one:
                total, done = total + one.numTasks, done + one.numCompletedTasks
    running.total, running.done = total, done


def stream(
    pipeline: Pipeline,
    spark: SparkSession,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run a pipeline as a stream: over what is there, or with a trigger until it is stopped.

    `watch` gets the progress of each micro-batch.
    """
    watch = watch or Watch(pipeline)
    checks.check(pipeline, as_stream=True)
    with stage("checking the source"):
        rows = sources.rows(pipeline, spark, stream=True)
        found = answers(pipeline, rows)
    begun = time.monotonic()
    with stage("streaming", out=watch.instead_of_a_bar) as running:
        places = checks.places(pipeline, as_stream=True)
        with replace.held(*places):
            sinks.sweep(pipeline.sink)  # of a run that was killed
            for place in places if pipeline.sink.replace else ():
                place.set_aside()
            query = asked(lambda: _started(pipeline, found))
            try:
                outcome = _followed(
                    query, running, seconds, lambda: replace.drop_old(places), watch
                )
            except KeyboardInterrupt:
                raise _interrupted(pipeline) from None
            finally:
                _stop(query)
                watch.finish()
                sinks.sweep(pipeline.sink)
    outcome.seconds = time.monotonic() - begun
    if pipeline.sink.path is not None and any(pipeline.sink.path.glob("part-*")):
        outcome.rows = _rows(spark, pipeline.sink, pipeline.sink.path)
    return outcome


def _interrupted(pipeline: Pipeline) -> EndError:
    again = "goes on from there"
    if pipeline.sink.replace:
        again += ' once if_exists = "replace" is taken out of the file'
    return EndError(
        f"interrupted; the output is complete so far, and the same command {again}", INTERRUPTED
    )


def _stop(query: StreamingQuery) -> None:
    """Stop a query, whatever state it is in; what it failed of has been said."""
    with suppress(Exception):
        query.stop()


def _started(pipeline: Pipeline, found: DataFrame) -> StreamingQuery:
    sink = pipeline.sink
    options = {"header": True} if sink.format == "csv" else {}
    writer = found.writeStream.format(sink.format).outputMode("append")
    writer = writer.options(**(options | sink.options))
    checkpoint = checks.place_of_checkpoint(pipeline)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    if pipeline.stream.trigger is not None:
        every = f"{Duration.of(pipeline.stream.trigger).ns / 1e6:.0f} milliseconds"
        writer = writer.trigger(processingTime=every)
    elif pipeline.source.format != "rate":
        writer = writer.trigger(availableNow=True)
    return writer.start(str(sink.path)) if sink.path is not None else writer.start()


def _followed(
    query: StreamingQuery,
    running: Stage,
    seconds: float | None,
    each: Callable[[], object],
    watch: Watch,
) -> Outcome:
    """Wait for the query's end, noting its batches; ends with what went wrong in it.

    `each` is called every second.
    """
    batches: dict[int, dict[str, Any]] = {}
    rows = late = 0  # of batches that are no longer kept
    begun = time.monotonic()
    while True:
        ended = asked(lambda: query.awaitTermination(1))
        each()
        for progress in query.recentProgress:
            one = json.loads(progress.json)
            watch.see(progress)
            if one["batchId"] >= min(batches, default=0):
                batches[one["batchId"]] = one
        while len(batches) > RECENT:
            oldest = batches.pop(min(batches))
            rows, late = rows + oldest["numInputRows"], late + _late(oldest)
        count = rows + sum(one["numInputRows"] for one in batches.values())
        watch.show()
        running.note = f"{max(batches, default=-1) + 1} batches, {count:,} rows in"
        if ended or (seconds is not None and time.monotonic() - begun >= seconds):
            late += sum(map(_late, batches.values()))
            return Outcome(0, 0.0, batches=list(batches.values()), late=late)


def _late(batch: dict[str, Any]) -> int:
    figures = batch.get("observedMetrics", {}).values()
    return sum(int(each.get("rows_late") or 0) for each in figures)
