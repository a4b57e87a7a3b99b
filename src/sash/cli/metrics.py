"""Metrics: a stream's figures in the text format of Prometheus, in a file.

Prometheus' node exporter reads such files from a folder (`--collector.textfile.directory`), so
the command needs no port. A file is replaced as a whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sash.report.files import write_whole

if TYPE_CHECKING:
    from sash.cli.watch import Figures


class Metric(NamedTuple):
    """A figure with its kind, counter or gauge, and what it is."""

    name: str
    kind: str
    meaning: str
    value: float | None


def metrics(figures: Figures) -> list[Metric]:
    """All figures; those that are not known yet have no value."""
    totals, last, state = figures.totals, figures.last, figures.state
    return [
        Metric("batches_total", "counter", "Micro-batches since the start.", totals.batches),
        Metric("rows_in_total", "counter", "Rows that came in.", totals.rows_in),
        Metric("rows_out_total", "counter", "Rows that were answered.", totals.rows_out),
        Metric("rows_late_total", "counter", "Rows that came too late.", totals.rows_late),
        Metric("batch_seconds_total", "counter", "Seconds in micro-batches.", totals.seconds),
        Metric("batch_seconds", "gauge", "Seconds of the last one with rows.", last.seconds),
        Metric("batch_rows", "gauge", "Rows in the last one with rows.", last.rows_in),
        Metric("batch_combines", "gauge", "Combines of the last one with rows.", last.combined),
        Metric("batch_keys", "gauge", "Keys of the last one with rows.", last.keys),
        Metric("state_rows", "gauge", "Rows in the state.", state.state_rows),
        Metric("state_bytes", "gauge", "Bytes of the state.", state.state_bytes),
        Metric("watermark_seconds", "gauge", "The watermark, since 1970.", figures.watermark),
        Metric("newest_seconds", "gauge", "The newest row's time, since 1970.", figures.newest),
    ]


def text(figures: Figures) -> str:
    """The figures as Prometheus reads them."""
    name = figures.pipeline.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines = []
    for metric in metrics(figures):
        if metric.value is not None:
            full = f"sash_{metric.name}"
            lines.append(f"# HELP {full} {metric.meaning}")
            lines.append(f"# TYPE {full} {metric.kind}")
            lines.append(f'{full}{{pipeline="{name}"}} {metric.value:.15g}')
    return "\n".join(lines) + "\n"


def write(figures: Figures, place: Path) -> Path:
    """Write them, whole or not at all."""
    return write_whole(place, text(figures))
