"""The demo's flights, each way as a first run: a new Python, a new Java, an empty kernel cache.

    python -m benchmarks.demo               a year of flights, about 4 minutes
    python -m benchmarks.demo --rows 2000   few of them: what starting costs

From files to files, the best of several runs taken in turns. In process is the command `sash run`
from its start to its end. The others are the first job of a new Java, whose start is left out;
the pass-through shuffles, sorts and writes the same rows and takes them through Python, and
computes nothing: no way of going through Python on Spark can be faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.measure import report
from sash.cli import demo, demo_runs, on_spark
from sash.cli.pipeline import Pipeline
from sash.cli.pipeline_file import load
from sash.cli.replace import remove

FRAMES = "Spark's frames"


def in_process(pipeline: Pipeline) -> float:
    return demo_runs.in_process(pipeline, demo.LOCAL).seconds


def batch(pipeline: Pipeline) -> float:
    with demo_runs.new_java(pipeline) as spark:
        return demo_runs.batch(pipeline, spark).seconds


def native(pipeline: Pipeline) -> float:
    with demo_runs.new_java(pipeline) as spark:
        return demo_runs.native(pipeline, spark).seconds


def passed(pipeline: Pipeline) -> float:
    """The shuffle, the sort, the trip through Python and the writing that Sash makes, no more."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    with demo_runs.new_java(pipeline) as spark:
        begun = time.monotonic()
        rows = spark.read.parquet(str(pipeline.source.path)).repartition(*pipeline.keys)
        rows = rows.sortWithinPartitions(*pipeline.keys, pipeline.time)
        on_spark.written("pass-through", rows.mapInArrow(same, rows.schema), pipeline.sink)
        return time.monotonic() - begun


WAYS: dict[str, Callable[[Pipeline], float]] = {
    "sash in process": in_process,
    "sash": batch,
    "pass-through": passed,
    FRAMES: native,
}


def compared(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The least seconds of each way, and how many times each is as fast as Spark's frames."""
    best = dict.fromkeys(WAYS, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        demo.prepare(Path(folder), options.rows)
        for _ in range(options.repeat):
            for way in WAYS:
                best[way] = min(best[way], in_new_python(way, folder))
    ratios = {f"{FRAMES} / {way}": best[FRAMES] / best[way] for way in WAYS if way != FRAMES}
    yield {"asked": "12 answers per flight", **best, **ratios}


def in_new_python(way: str, folder: str) -> float:
    """The seconds of a way, measured by a process that has run nothing before."""
    command = [sys.executable, "-m", "benchmarks.demo", "--way", way, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{way}: {done.stderr.strip().splitlines()[-1]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def measured(way: str, folder: Path) -> float:
    """The seconds of a way, in this process."""
    pipeline = load(folder / "flights.toml")
    for old in (demo.FEATURES, demo.LOCAL):
        remove(folder / old)
    return WAYS[way](pipeline)


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, help="only the first N flights")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", default="benchmarks/results")
    parser.add_argument("--way", choices=WAYS, help="only this one, in this process")
    parser.add_argument("--folder", type=Path, help="with --way: of the pipeline file")
    options = parser.parse_args(arguments)
    if options.way is not None:
        print(json.dumps(measured(options.way, options.folder)))
        return
    report("demo", compared(options), options.out)


if __name__ == "__main__":
    main()
