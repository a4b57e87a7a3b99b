"""`sash demo`: a year of flights, in a batch and as a stream, checked against Spark's own frames.

It writes a pipeline file and a monoid of its own, runs both with `sash run`'s code, compares
the answers row by row, and shows them on a page. Sash's batch and Spark's own frames are each the
first job of a Java of their own, from the same files to files of one kind.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from sash.cli import flights, on_spark
from sash.cli.call import Outcome
from sash.cli.errors import EndError
from sash.cli.pipeline import Pipeline
from sash.cli.pipeline_file import load
from sash.cli.progress import stage
from sash.cli.replace import remove
from sash.cli.spark_types import DataFrame, SparkSession

PIPELINE = """\
# Rolling features of flights, by airport and airline. Run it yourself:
#     sash explain flights.toml
#     sash run flights.toml              a batch
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
FEATURES, STREAM, FRAMES = "features", "stream", "frames"  # what the runs write
KEY = ["origin", "carrier", "scheduled"]
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


@dataclass
class Findings:
    """The results of the demo, for the page and for the last lines."""

    flights: pa.Table
    answers: pa.Table
    batch: Outcome
    native: Outcome
    native_wrong: dict[str, int]
    stream: Outcome
    stream_wrong: dict[str, int]


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
            "flights", FEATURES, STREAM, f"{STREAM}.checkpoint", FRAMES, "report.html"
        ):  # fmt: skip
            remove(out / old)
        flights.write(table, out / "flights", FILES if rows is None else 2)
        (out / "flights_monoids.py").write_text(MONOID)
        (out / "flights.toml").write_text(PIPELINE)
        reading.note = f"{len(table):,}"
    return load(out / "flights.toml")


def examine(pipeline: Pipeline) -> Findings:
    """The batch, Spark's own frames and the stream, compared."""
    streaming, framed = writing_to(pipeline, STREAM), writing_to(pipeline, FRAMES)
    with on_spark.started(pipeline) as spark:
        batch = on_spark.batch(pipeline, spark)
        stream = on_spark.stream(streaming, spark)
    with on_spark.started(pipeline, new_java=True) as spark:
        theirs = native(framed, spark)
    with stage("comparing all answers"):
        source = parquet.read_table(pipeline.source.path)
        answers, emitted, frames = (
            parquet.read_table(each.sink.path) for each in (pipeline, streaming, framed)
        )
        wrong = differing(answers, frames, list(NATIVE))
        changed = differing(emitted, answers, list(pipeline.aggregations))
    return Findings(source, answers, batch, theirs, wrong, stream, changed)


def writing_to(pipeline: Pipeline, name: str) -> Pipeline:
    """The same pipeline, with a sink of another name."""
    assert pipeline.sink.path is not None
    return replace(pipeline, sink=replace(pipeline.sink, path=pipeline.sink.path.with_name(name)))


def native(pipeline: Pipeline, spark: SparkSession) -> Outcome:
    """Have Spark's own frames write what they can answer."""
    rows: DataFrame = spark.read.parquet(str(pipeline.source.path))
    answered = rows.selectExpr("*", *[f"{sql} AS {name}" for name, sql in NATIVE.items()])
    return on_spark.written("Spark's own frames", answered, pipeline.sink)


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
    from sash.cli.demo_report import faster

    rows, names = len(found.answers), len(found.stream_wrong)
    print(
        f"{rows * names:,} windows in {found.batch.seconds:.1f} s; Spark's own frames take "
        f"{found.native.seconds:.1f} s for {len(NATIVE)} of the {names} answers, "
        f"{faster(found):.1f}× as long per answer; each was the first job of a new Java"
    )
    wrong = sum(found.native_wrong.values()) + sum(found.stream_wrong.values())
    bad = sum(found.native_wrong.values())
    print(f"compared with Spark's own frames: {bad} of {rows * len(NATIVE):,} answers differ")
    given, bad = found.stream.rows, sum(found.stream_wrong.values())
    print(
        f"compared stream with batch: {bad} of {given * len(found.stream_wrong):,} answers "
        f"differ; {given:,} rows answered, {rows - given:,} wait for the watermark"
    )
    print(f"answers: {out / FEATURES} (Parquet), pipeline file: {out / 'flights.toml'}")
    print(f"report: {report}")
    print(f"all of it took {seconds:.0f} s")
    whole = len(found.answers) == len(found.flights) and given > 0
    return int(wrong > 0 or not whole)
