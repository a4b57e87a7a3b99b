"""`sash demo`: a year of flights, in process, on Spark and as a stream, and by Spark's own frames.

It writes a pipeline file and a monoid of its own, runs them with `sash run`'s code, compares
the answers row by row, and shows them on a page. `demo_runs` says what is timed.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from sash.cli import demo_runs, flights, on_spark
from sash.cli.call import Outcome
from sash.cli.demo_runs import NATIVE
from sash.cli.errors import EndError
from sash.cli.pipeline import Pipeline
from sash.cli.pipeline_file import load
from sash.cli.progress import stage
from sash.cli.replace import remove

PIPELINE = """\
# Rolling features of flights, by airport and airline. Run it yourself:
#     sash explain flights.toml
#     sash run flights.toml              a batch, on Spark as [spark] asks for it
#     sash run --engine local flights.toml    the same in this process
#     sash run --stream flights.toml     a stream, from the same file
time = "scheduled"
keys = ["origin", "carrier"]
watermark = "24 hours"                   # how late a departure may be

[source]
format = "parquet"
path = "flights"

[windows]
day = "1 day"
week = "7 days"
month = "30 days"

[aggregations]
n_day = { function = "count", over = "day" }
n_week = { function = "count", over = "week" }
n_month = { function = "count", over = "month" }
mean_day = { function = "mean", of = "delay", over = "day" }
mean_week = { function = "mean", of = "delay", over = "week" }
mean_month = { function = "mean", of = "delay", over = "month" }
worst_week = { function = "max", of = "delay", over = "week" }
where_week = { function = "argmax", of = ["delay", "dest"], over = "week" }
planes_week = { function = "count_distinct", of = "tailnum", over = "week" }
last_50 = { function = "mean", of = "delay", over = { rows = 50 } }
streak_day = { function = "flights_monoids:streak", of = "delay", over = "day" }

[aggregations.p90_day]                   # on a stream a sketch, exact up to k rows
function = "sash.monoids:Quantiles"
options = { k = 400, at = 0.9 }
of = "delay"
over = "day"
returns = "double"

[sink]
format = "parquet"
path = "features"

[stream]
files_per_batch = 1

[spark]
master = "local[2]"
"spark.sql.session.timeZone" = "UTC"
"spark.sql.shuffle.partitions" = 2
"spark.sql.window.segmentTree.enabled" = true   # for the comparison with Spark's own frames
"""

MONOID = '''\
"""The longest run of late departures: a user's own monoid, in which order matters."""

from sash import Monoid


def lift(delay):
    """How many, the run at the begin, the run at the end, the longest."""
    late = 1 if delay > 15 else 0
    return 1, late, late, late


def combine(old, new):
    n, begin, end, most = old
    m, start, stop, best = new
    across = max(most, best, end + start)
    return n + m, begin + start if begin == n else begin, stop + end if stop == m else stop, across


def lower(run):
    return run[3]


streak = Monoid("streak", (0, 0, 0, 0), lift, combine, lower)
'''

FILES = 6  # a stream's batches
FEATURES, LOCAL, STREAM, FRAMES = "features", "in_process", "stream", "frames"
"""What the runs write."""
KEY = ["origin", "carrier", "scheduled"]


@dataclass(frozen=True)
class Wrong:
    """How many answers differ, by column: of the batch from the others, of the stream from it."""

    local: dict[str, int]
    native: dict[str, int]
    stream: dict[str, int]


@dataclass(frozen=True)
class Findings:
    """The results of the demo, for the page and for the last lines."""

    flights: pa.Table
    answers: pa.Table
    local: Outcome
    batch: Outcome
    native: Outcome
    stream: Outcome
    wrong: Wrong

    def times(self, run: Outcome) -> float:
        """How many times as long Spark's own frames take, though they answer less."""
        return self.native.seconds / run.seconds


def main(out: Path, rows: int | None = None) -> int:
    """Run the demo; returns 0 if all answers agree."""
    begun = time.monotonic()
    if out.exists() and not _is_demo(out):
        raise EndError(f"{out} is there already and is not a demo's: choose another with --out")
    pipeline = prepare(out, rows)
    found = examine(pipeline)
    with stage("drawing the report"):
        from sash.cli.demo_report import page

        report = page(found, pipeline).write(out / "report.html")
    return tell(found, out, report, time.monotonic() - begun)


def _is_demo(out: Path) -> bool:
    """Whether a folder is one that the demo made, or an empty one."""
    file = out / "flights.toml"
    if file.is_file():
        return file.read_text().partition("\n")[0] == PIPELINE.partition("\n")[0]
    return out.is_dir() and not any(out.iterdir())


def prepare(out: Path, rows: int | None) -> Pipeline:
    """Write the flights, the pipeline file and the monoid; what a demo left there goes."""
    with stage("reading flights") as reading:
        table = flights.flights()
        table = table if rows is None else table.slice(0, rows)
        for old in (
            "flights", FEATURES, LOCAL, STREAM, f"{STREAM}.checkpoint", FRAMES, "report.html"
        ):  # fmt: skip
            remove(out / old)
        flights.write(table, out / "flights", FILES if rows is None else 2)
        (out / "flights_monoids.py").write_text(MONOID)
        (out / "flights.toml").write_text(PIPELINE)
        reading.note = f"{len(table):,}"
    return load(out / "flights.toml")


def examine(pipeline: Pipeline) -> Findings:
    """The same definition in process, on Spark and as a stream, and Spark's frames, compared."""
    streaming, framed = (demo_runs.writing_to(pipeline, name) for name in (STREAM, FRAMES))
    local = demo_runs.in_process(pipeline, LOCAL)
    with demo_runs.new_java(pipeline) as spark:
        batch = demo_runs.batch(pipeline, spark)
        stream = on_spark.stream(streaming, spark)
    with demo_runs.new_java(pipeline) as spark:
        native = demo_runs.native(framed, spark)
    with stage("comparing all answers"):
        source, answers, here, emitted, frames = (
            parquet.read_table(pipeline.file.parent / name)
            for name in ("flights", FEATURES, LOCAL, STREAM, FRAMES)
        )
        names = list(pipeline.aggregations)
        wrong = Wrong(
            differing(answers, here, names),
            differing(answers, frames, list(NATIVE)),
            differing(emitted, answers, names),
        )
    return Findings(source, answers, local, batch, native, stream, wrong)


def differing(some: pa.Table, all_: pa.Table, names: list[str]) -> dict[str, int]:
    """For each column, how many rows of `some` it is not the same in as in `all_`.

    A row that is not in `all_` at all counts for every column.
    """
    left, right = (_framed(t, names) for t in (some, all_))
    pairs = left.merge(
        right, on=KEY, how="left", suffixes=("", " "), validate="1:1", indicator=True
    )
    lost = (pairs["_merge"] != "both").to_numpy()
    return {name: int((lost | unlike(pairs[name], pairs[f"{name} "])).sum()) for name in names}


def _framed(table: pa.Table, names: list[str]) -> Any:
    """Keys and answers in pandas, times as whole microseconds, whatever they were read as."""
    micros = table["scheduled"].cast(pa.timestamp("us", table["scheduled"].type.tz))
    found = table.select([*KEY, *names])
    place = found.schema.get_field_index("scheduled")
    return found.set_column(place, "scheduled", micros.cast(pa.int64())).to_pandas()


def unlike(a: Any, b: Any) -> Any:
    """Where two columns differ; numbers that differ by rounding do not."""
    missing = a.isna().to_numpy() & b.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(a) and pd.api.types.is_numeric_dtype(b):
        x, y = a.to_numpy(float), b.to_numpy(float)
        return ~(np.isclose(x, y, rtol=1e-9, atol=1e-9) | missing)
    return ~((a == b).to_numpy() | missing)


def tell(found: Findings, out: Path, report: Path, seconds: float) -> int:
    """The last lines, and the status."""
    rows, names = len(found.answers), len(found.wrong.stream)
    print(f"{rows * names:,} windows: {names} answers for each of {rows:,} flights")
    for line in took(found):
        print(line)
    bad = {name: sum(each.values()) for name, each in vars(found.wrong).items()}
    here, theirs = f"{rows * names:,}", f"{rows * len(NATIVE):,}"
    print(f"compared with Spark's own frames: {bad['native']} of {theirs} answers differ")
    print(f"compared Spark with in process: {bad['local']} of {here} answers differ")
    given = found.stream.rows
    print(
        f"compared stream with batch: {bad['stream']} of {given * names:,} answers "
        f"differ; {given:,} rows answered, {rows - given:,} wait for the watermark"
    )
    print(f"answers: {out / FEATURES} (Parquet), pipeline file: {out / 'flights.toml'}")
    print(f"report: {report}")
    print(f"all of it took {seconds:.0f} s")
    whole = len(found.flights) == len(found.answers) == found.local.rows and given > 0
    return int(sum(bad.values()) > 0 or not whole)


def took(found: Findings) -> list[str]:
    """The seconds of each run, how they compare, and what they are of."""
    names, java = len(found.wrong.stream), "first job of a new Java, start left out, 2 cores"
    python = f"a new Python, start included, {os.cpu_count()} cores"
    here, on_spark = (f"{found.times(run):.1f}×" for run in (found.local, found.batch))
    than = "as fast as Spark's own frames"
    runs = {
        "Sash in process": (found.local, f"{here} {than}: {names} answers; {python}"),
        "Sash on Spark": (found.batch, f"{on_spark} {than}: {names} answers; {java}"),
        "Spark's own frames": (found.native, f"{len(NATIVE)} of the {names} answers; {java}"),
    }
    return [f"  {name:<18} {run.seconds:5.1f} s, {said}" for name, (run, said) in runs.items()] + [
        "  one run each, from files to files, with no kernel compiled before"
    ]
