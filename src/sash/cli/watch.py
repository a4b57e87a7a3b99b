"""Watch: a stream's figures while it runs, in the terminal, on a page and for Prometheus.

All figures are from Spark's own progress of each micro-batch; the latest values are from the parts
that the stream has committed.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections import deque
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO

from sash.cli.latest import Latest, latest
from sash.cli.pipeline import Pipeline
from sash.report.scale import seconds, short

RECENT = 300
"""Micro-batches that are drawn."""

FEW = 20
"""Micro-batches that a rate is taken over."""

BARS = "▁▂▃▄▅▆▇█"


class Batch(NamedTuple):
    """The figures of a micro-batch, of all its aggregations together."""

    number: int
    started: float  # seconds since 1970
    seconds: float
    rows_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    keys: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    combined: int = 0
    watermark: float | None = None
    newest: float | None = None

    @property
    def rows_per_second(self) -> float:
        """How many rows it took in per second."""
        return self.rows_in / self.seconds if self.seconds else 0.0


class Totals(NamedTuple):
    """The totals of all micro-batches."""

    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    seconds: float = 0.0

    def plus(self, batch: Batch) -> Totals:
        """With one batch more."""
        return Totals(
            self.batches + 1, self.rows_in + batch.rows_in, self.rows_out + batch.rows_out,
            self.rows_late + batch.rows_late, self.seconds + batch.seconds,
        )  # fmt: skip


class Figures:
    """The last micro-batches, the totals of all, and the latest values of some keys."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.batches: deque[Batch] = deque(maxlen=RECENT)
        self.totals = Totals()
        self.watermark: float | None = None
        self.newest: float | None = None
        self.latest = Latest((), [])

    def add(self, batch: Batch) -> None:
        """A micro-batch is done."""
        self.batches.append(batch)
        self.totals = self.totals.plus(batch)
        self.watermark = _larger(self.watermark, batch.watermark)
        self.newest = _larger(self.newest, batch.newest)

    @property
    def last(self) -> Batch:
        """The last micro-batch that had rows, or the last one."""
        return next((b for b in reversed(self.batches) if b.rows_in), self.batches[-1])

    @property
    def state(self) -> Batch:
        """The last micro-batch that said how large the state is: also one that had no rows."""
        return next((b for b in reversed(self.batches) if b.state_bytes), self.batches[-1])

    @property
    def batches_per_second(self) -> float:
        """How many micro-batches there are per second, over the last ones."""
        some = list(self.batches)[-FEW:]
        span = some[-1].started + some[-1].seconds - some[0].started
        return len(some) / span if span > 0 else 0.0

    @property
    def rows_per_second(self) -> float:
        """Rows taken in per second of work, over the last micro-batches."""
        some = list(self.batches)[-FEW:]
        took = sum(batch.seconds for batch in some)
        return sum(batch.rows_in for batch in some) / took if took else 0.0

    @property
    def behind(self) -> float | None:
        """How many seconds the watermark is behind the newest row."""
        if self.watermark is None or self.newest is None:
            return None
        return self.newest - self.watermark


class Watch:
    """The display of a stream: none by default."""

    def __init__(
        self,
        pipeline: Pipeline,
        terminal: bool = False,
        page: Path | None = None,
        metrics: Path | None = None,
        out: TextIO | None = None,
    ) -> None:
        self.figures = Figures(pipeline)
        self._terminal, self._page, self._metrics = terminal, page, metrics
        self._out = out or sys.stderr
        self._drawn = 0  # lines of the terminal that are drawn over
        self._seen = -1  # the last micro-batch
        self._shown = 0

    @property
    def instead_of_a_bar(self) -> TextIO | None:
        """Where the bar of the stage goes: nowhere, if figures are shown in its place."""
        return io.StringIO() if self._terminal else None

    def see(self, progress: Any) -> None:
        """Take Spark's progress, of a micro-batch that may have been seen."""
        if progress.batchId > self._seen:
            self._seen = progress.batchId
            self.figures.add(batch_of(progress))

    def show(self, ended: bool = False) -> None:
        """Show what is new."""
        figures = self.figures
        new = figures.totals.batches - self._shown
        self._shown = figures.totals.batches
        if not figures.batches or not (new or ended):
            return
        if self._terminal or self._page:
            figures.latest = latest(figures.pipeline)
        if self._terminal:
            self._draw(new)
        if self._page is not None:
            from sash.cli.watch_page import page

            page(figures, ended).write(self._page)
        if self._metrics is not None:
            from sash.cli.metrics import write

            write(figures, self._metrics)

    def finish(self) -> None:
        """The stream has ended: show it once more, for good."""
        self.show(ended=True)

    def _draw(self, new: int) -> None:
        if self._out.isatty():
            up = f"\033[{self._drawn}A\033[J" if self._drawn else ""
            width = shutil.get_terminal_size().columns - 1  # a line that wraps would be two
            lines = [text[:width] for text in told(self.figures)]
            self._drawn = len(lines)
            self._out.write(up + "\n".join(lines) + "\n")
        else:  # in a log, a line per micro-batch
            for batch in list(self.figures.batches)[len(self.figures.batches) - new :]:
                self._out.write(f"  {line(batch)}\n")
        self._out.flush()


def batch_of(progress: Any) -> Batch:
    """The figures in Spark's progress; of several calls of Sash in a query, their sums."""
    from sash.spark import figures_of

    found = figures_of(progress)
    counts = {
        name: sum(int(each[name]) for each in found)
        for name in ("rows_out", "rows_late", "keys", "state_rows", "state_bytes", "combined")
    }
    first = found[0] if found else {"watermark": None, "newest": None}
    took = progress.durationMs.get("triggerExecution", 0) / 1000
    started = _moment(progress.timestamp) or 0.0
    made = Batch(progress.batchId, started, took, progress.numInputRows, **counts)
    return made._replace(watermark=_moment(first["watermark"]), newest=_moment(first["newest"]))


def _moment(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def _larger(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else max(a, b)


def moment(at: float | None) -> str:
    """A time as people read it, in UTC.

    >>> moment(86400.0), moment(None)
    ('1970-01-02 00:00:00', 'none yet')
    """
    from sash.report.scale import moment as as_time

    return "none yet" if at is None else f"{as_time(at):%Y-%m-%d %H:%M:%S}"


def line(batch: Batch) -> str:
    """A micro-batch in one line."""
    late = f", {batch.rows_late:,} late" if batch.rows_late else ""
    return (
        f"batch {batch.number}: {batch.rows_in:,} rows in, {batch.rows_out:,} out{late}; "
        f"{seconds(batch.seconds)}, {short(batch.rows_per_second)} rows/s; state "
        f"{short(batch.state_rows)} rows, {short(batch.state_bytes)}B; "
        f"watermark {moment(batch.watermark)}"
    )


def told(figures: Figures) -> list[str]:
    """The figures in a few lines of text, for a terminal."""
    ran = [batch for batch in figures.batches if batch.rows_in] or list(figures.batches)
    last, state, totals = figures.last, figures.state, figures.totals
    behind = "" if figures.behind is None else f", {seconds(figures.behind)} behind the newest row"
    took = [batch.seconds for batch in ran]
    lines = [
        f"{figures.pipeline.name}: {totals.batches:,} batches, {totals.rows_in:,} rows in, "
        f"{totals.rows_out:,} out, {totals.rows_late:,} late",
        f"rows/s     {bars_of([b.rows_per_second for b in ran])} {short(figures.rows_per_second)}, "
        f"{figures.batches_per_second:.2g} batches/s",
        f"time       {bars_of(took)} {seconds(last.seconds)} per batch, "
        f"{seconds(median(took))} in the middle",
        f"state      {bars_of([b.state_rows for b in ran])} {short(state.state_rows)} rows, "
        f"{short(state.state_bytes)}B, {short(last.keys)} keys in the last batch",
        f"watermark  {moment(figures.watermark)}{behind}",
    ]
    for row in figures.latest.rows[:5]:
        pairs = (f"{name} {value}" for name, value in zip(figures.latest.names, row))
        lines.append(f"latest     {', '.join(pairs)}")
    return [f"  {text}" for text in lines]


def bars_of(values: list[Any], width: int = 24) -> str:
    """The last values as bars from zero up.

    >>> bars_of([0, 4, 8], 4)
    ' ▁▄█'
    """
    some = values[-width:]
    most = max(some, default=0) or 1
    drawn = "".join(BARS[max(0, round(value / most * 8) - 1)] for value in some)
    return drawn.rjust(width)
