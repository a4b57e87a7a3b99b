"""The page of `sash run --report`: the answers over time, how fast, and the plan."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

import sash
from sash.cli.call import Outcome
from sash.cli.pipeline import Pipeline
from sash.plan.aggregation import Aggregation
from sash.plan.explain import Explanation
from sash.plan.lower import lowered
from sash.report import Figure, Page, Section, Series, Table, Tile, bands, lines
from sash.report.charts import Range, Style
from sash.report.page import Text
from sash.report.scale import fitted, seconds
from sash.report.text_bands import commonest, runs_of
from sash.report.windows import plan_table, reaches
from sash.windows import frames
from sash.windows.duration import Duration

KEYS, MOST = 4, 6  # as many keys, and as many answers of each, are drawn


def write(pipeline: Pipeline, outcome: Outcome, place: Path) -> Path:
    """Draw what a run wrote as Parquet; returns where the page is."""
    assert pipeline.sink.path is not None
    answers = parquet.read_table(pipeline.sink.path)
    rate = outcome.rows / outcome.seconds if outcome.seconds else 0.0
    tiles = [
        Tile("rows", f"{outcome.rows:,}"),
        Tile("time", seconds(outcome.seconds), f"{rate:,.0f} rows per second"),
        Tile("answers", str(len(pipeline.aggregations)), "per row"),
    ]
    sections = rolling(pipeline, answers)
    if outcome.batches:
        sections.append(Section("Throughput and latency", micro_batches(outcome)))
    if outcome.plan:
        sections.append(plan_section(pipeline, outcome.plan))
    lead = f"{pipeline.source} → {pipeline.sink}"
    foot = (
        f"Made by Sash {sash.__version__} on {datetime.now(UTC):%Y-%m-%d}, "
        f"Python {platform.python_version()}, {platform.machine()}."
    )
    return Page(pipeline.name, lead, tiles, sections, foot).write(place)


def rolling(pipeline: Pipeline, answers: pa.Table) -> list[Section]:
    """A section per answer: a chart for each of the keys with the most rows, on one scale."""
    time, names = pipeline.time if pipeline.every is None else "window_end", pipeline.keys
    if pipeline.spine is not None:
        time, names = pipeline.spine.time, pipeline.spine.keys
    keys = [(label, rows.sort_by(time)) for label, rows in largest(answers, names)]
    clocks = [_clock(rows[time]) for _, rows in keys]
    ends = min(min(xs) for xs, _ in clocks), max(max(xs) for xs, _ in clocks)
    drawn = [out for out in pipeline.aggregations if _is_drawn(answers[out].type)]
    found = []
    for out in drawn[:MOST]:
        asked = pipeline.aggregations[out]
        over = f" over {asked.frame}" if isinstance(asked, Aggregation) else ""
        charts = multiples(out, clocks, [rows[out] for _, rows in keys], ends)
        figures = [Figure(label, chart) for (label, _), chart in zip(keys, charts, strict=True)]
        lead = f"{asked}{over}, for the keys with the most rows, on one scale."
        found.append(Section(out, figures, lead, columns=3 if len(keys) == 3 else 2))
    return found


def _is_drawn(kind: pa.DataType) -> bool:
    return _is_number(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def multiples(out: str, clocks: list[Any], columns: list[Any], ends: Range) -> list[str]:
    """A chart per key, all on one scale: lines, steps for whole numbers, bands for text."""
    kind = clocks[0][1]
    if not _is_number(columns[0].type):
        texts = [column.to_pylist() for column in columns]
        runs = [run for (xs, _), ys in zip(clocks, texts) for run in runs_of(xs, ys, ends[1])]
        named = commonest(runs)
        return [
            bands(xs, ys, x=kind, x_range=ends, colours=named) for (xs, _), ys in zip(clocks, texts)
        ]
    whole = pa.types.is_integer(columns[0].type)
    values = [c.cast(pa.float64()).to_numpy(zero_copy_only=False) for c in columns]
    y_range = fitted([v for ys in values for v in ys[~np.isnan(ys)]], zero=whole)
    style: Style = "steps" if whole else "line"
    return [
        lines([Series(out, *thinned(xs, ys), style=style)], x=kind, y_label=out, x_range=ends,
              y_range=y_range, height=170)
        for (xs, _), ys in zip(clocks, values)
    ]  # fmt: skip


def largest(answers: pa.Table, keys: tuple[str, ...]) -> list[tuple[str, pa.Table]]:
    """The rows of the keys with the most of them, with the key as text."""
    if not keys:
        return [("all rows", answers)]
    counts = answers.group_by(list(keys)).aggregate([([], "count_all")])
    found = []
    for row in counts.sort_by([("count_all", "descending")]).slice(0, KEYS).to_pylist():
        here: Any = None
        for key in keys:
            is_it = (
                pc.is_null(answers[key]) if row[key] is None else pc.equal(answers[key], row[key])
            )
            here = is_it if here is None else pc.and_(here, is_it)
        found.append((", ".join(f"{key} {row[key]}" for key in keys), answers.filter(here)))
    return found


def _clock(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """A time column as numbers, and the kind of its axis."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        return column.cast(pa.timestamp("us", zone)).cast(pa.int64()).to_numpy() / 1e6, "time"
    return column.cast(pa.float64()).to_numpy(), "linear"


def thinned(xs: Any, ys: Any, points: int = 330) -> tuple[list[float], list[float | None]]:
    """At most about this many points that look the same: of each stretch the least and the largest.

    >>> thinned(np.arange(8.0), np.array([0, 9, 1, 2, 3, 4, 8, 0.0]), points=4)
    ([0.0, 1.0, 6.0, 7.0], [0.0, 9.0, 8.0, 0.0])
    """
    if len(xs) <= points:
        kept = np.arange(len(xs))
    else:
        cuts = np.linspace(0, len(xs), points // 2 + 1).astype(int)
        filled = np.where(np.isnan(ys), -np.inf, ys)
        ends = [
            (a + int(np.argmin(filled[a:b])), a + int(np.argmax(filled[a:b])))
            for a, b in pairwise(cuts)
        ]
        kept = np.unique(ends)
    values = [None if np.isnan(y) else float(y) for y in ys[kept]]
    return [float(x) for x in xs[kept]], values


def micro_batches(outcome: Outcome) -> list[Figure]:
    """A stream's batches: how fast, and how long each took."""
    ran = [b for b in outcome.batches if b.get("numInputRows")]
    if not ran:
        return []
    numbers = [float(b["batchId"]) for b in ran]
    took = [b["durationMs"].get("triggerExecution", 0) / 1000 for b in ran]
    rate = [b["numInputRows"] / t if t else 0.0 for b, t in zip(ran, took)]
    return [
        Figure("Rows per second, each batch of the stream",
               lines([Series("rows per second", numbers, rate)], zero=True, x_label="batch",
                     y_label="rows per second", height=150)),
        Figure("Seconds, each batch of the stream",
               lines([Series("seconds", numbers, took)], zero=True, x_label="batch",
                     y_label="seconds", height=150),
               "From the start of a batch until its answers are committed."),
    ]  # fmt: skip


def plan_section(pipeline: Pipeline, plan: Explanation) -> Section:
    """The plan: how far windows reach, what is kept over each, by which algorithm and why."""
    reach: dict[str, float] = {}
    kept: dict[str, list[str]] = {}
    for out, a in lowered(pipeline.aggregations).aggregations.items():
        frame = a.frame
        if isinstance(frame, frames.Range) and isinstance(frame.preceding, Duration):
            reach[str(frame)] = frame.preceding.ns / 1e9
            kept.setdefault(str(frame), []).append(out)
    parts: list[Figure | Table | Text] = []
    if reach:
        ordered = dict(sorted(reach.items(), key=lambda item: item[1]))
        chart = reaches(ordered, {name: ", ".join(outs) for name, outs in kept.items()})
        parts.append(Figure("How far windows reach back", chart, "On a logarithmic clock."))
    parts.append(plan_table(plan.json()))
    parts.append(Text("The plan as text", str(plan)))
    lead = "The bounds of a window are found once for all answers over it; each state is kept "
    return Section("The plan", parts, lead + "by the algorithm that is cheapest for it.")
