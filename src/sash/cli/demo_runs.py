"""The demo's runs, each the first of its kind: from files to files, with nothing warmed up.

In process, `sash run --engine local` is a new Python, timed from its start to its end. On Spark a
run is the first job of a new Java, timed from the call to the last file, the start of Java left
out. Every run begins with an empty cache of kernels, so that each of Sash's compiles the demo's
own monoid.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory

from pyarrow import parquet

from sash.cli import on_spark
from sash.cli.call import Outcome
from sash.cli.errors import EndError
from sash.cli.pipeline import Pipeline
from sash.cli.progress import stage
from sash.cli.spark_types import DataFrame, SparkSession

CACHE = "SASH_CACHE_DIR"
COMMAND = "from sash.cli import main; raise SystemExit(main())"  # as the script `sash` has it
RANGE = "PARTITION BY origin, carrier ORDER BY scheduled RANGE BETWEEN INTERVAL '{}' DAY PRECEDING AND CURRENT ROW"  # noqa: E501
ROWS = "PARTITION BY origin, carrier ORDER BY scheduled ROWS BETWEEN 49 PRECEDING AND CURRENT ROW"
DAYS = {"day": 1, "week": 7, "month": 30}
NATIVE = {
    **{f"n_{w}": f"count(1) OVER ({RANGE.format(d)})" for w, d in DAYS.items()},
    **{f"mean_{w}": f"avg(delay) OVER ({RANGE.format(d)})" for w, d in DAYS.items()},
    "worst_week": f"max(delay) OVER ({RANGE.format(7)})",
    "planes_week": f"CAST(size(collect_set(tailnum) OVER ({RANGE.format(7)})) AS BIGINT)",
    "last_50": f"avg(delay) OVER ({ROWS})",
}
"""Spark's own frames can compute this part; their max_by takes any of equals: it is left out."""


@contextmanager
def empty_cache() -> Iterator[None]:
    """No kernel is kept from before while the body runs; those that come with Sash are there."""
    before = os.environ.get(CACHE)
    with TemporaryDirectory(prefix="sash-demo-") as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            del os.environ[CACHE]
            if before is not None:
                os.environ[CACHE] = before


@contextmanager
def new_java(pipeline: Pipeline) -> Iterator[SparkSession]:
    """Spark in a Java of its own, with an empty cache of kernels."""
    with empty_cache(), on_spark.started(pipeline, new_java=True) as spark:
        yield spark


def writing_to(pipeline: Pipeline, name: str) -> Pipeline:
    """The same pipeline, with a sink of another name."""
    assert pipeline.sink.path is not None
    return replace(pipeline, sink=replace(pipeline.sink, path=pipeline.sink.path.with_name(name)))


def in_process(pipeline: Pipeline, name: str) -> Outcome:
    """Have a new Python run the pipeline file, as `sash run` does; its answers go to `name`."""
    assert pipeline.sink.path is not None
    command = [sys.executable, "-c", COMMAND, "run", "--engine", "local", str(pipeline.file)]
    with empty_cache(), stage("sash run --engine local") as running:
        begun = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds = time.monotonic() - begun
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["it gave no reason"]
            raise EndError(f"sash run --engine local: {said[-1].removeprefix('sash: ')}")
        parts = pipeline.sink.path.rename(pipeline.sink.path.with_name(name)).glob("*.parquet")
        rows = sum(parquet.read_metadata(part).num_rows for part in parts)
        running.note = f"{rows:,} rows"
    return Outcome(rows, seconds)


def batch(pipeline: Pipeline, spark: SparkSession) -> Outcome:
    """Sash's batch on Spark, its checks included."""
    return _timed(lambda: on_spark.batch(pipeline, spark))


def native(pipeline: Pipeline, spark: SparkSession) -> Outcome:
    """Have Spark's own frames write what they can answer."""

    def run() -> Outcome:
        rows: DataFrame = spark.read.parquet(str(pipeline.source.path))
        answered = rows.selectExpr("*", *[f"{sql} AS {name}" for name, sql in NATIVE.items()])
        return on_spark.written("Spark's own frames", answered, pipeline.sink)

    return _timed(run)


def _timed(run: Callable[[], Outcome]) -> Outcome:
    """A run's outcome, with the seconds of all of it."""
    begun = time.monotonic()
    outcome = run()
    return replace(outcome, seconds=time.monotonic() - begun)
