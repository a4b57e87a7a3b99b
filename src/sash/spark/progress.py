"""Progress: what Spark counts while it runs: the rows of a batch, and of a stream a line for each
micro-batch, from Spark's own listener.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener

from sash.engine.stream.stats import Stats

PREFIX = "sash: "
"""How the names of Sash's figures in Spark's progress begin; aggregations follow."""

RECENT = 1000
"""Micro-batches of which the figures are kept."""

Figures = dict[str, Any]


def counted(rows: DataFrame) -> tuple[DataFrame, Observation]:
    """Rows that are counted as they are written, and what then has their number as `rows`."""
    seen = Observation()
    return rows.observe(seen, F.count(F.lit(1)).alias("rows")), seen


def figures_of(progress: Any) -> list[Figures]:
    """The figures in Spark's progress, `query.lastProgress` say: a dictionary for each call.

    Rows in, out and late, keys looked at, rows and bytes of state and bytes written are of
    the call; when it started, its seconds, the watermark and the newest time are of the
    micro-batch. A query without Sash has none.
    """
    seconds = progress.durationMs.get("triggerExecution", 0) / 1000
    watermark = progress.eventTime.get("watermark")
    if watermark is not None and watermark.startswith("1970-01-01T00:00:00"):
        watermark = None  # there is none yet
    found = []
    for name, row in progress.observedMetrics.items():
        if not name.startswith(PREFIX):
            continue
        seen = row.asDict()
        stats = {each: seen.get(each) or 0 for each in Stats._fields}
        rate = round(stats["rows_in"] / seconds, 1) if seconds else None
        of_batch = {
            "started": progress.timestamp, "seconds": seconds, "rows_per_second": rate,
            "watermark": watermark, "newest": progress.eventTime.get("max"),
        }  # fmt: skip
        query = {"query": progress.name or str(progress.id), "batch": progress.batchId}
        found.append({**query, "aggregations": name.removeprefix(PREFIX), **stats, **of_batch})
    return found


def line(figures: Figures, which: bool = False) -> str:
    """A micro-batch's figures as a person reads them; `which`: also of which aggregations.

    >>> figures = {"query": "fraud", "batch": 7, "seconds": 0.8, "rows_per_second": 12500.0}
    >>> figures |= {"rows_in": 10000, "rows_out": 9800, "rows_late": 3, "keys": 120}
    >>> figures |= {"state_rows": 34000, "state_bytes": 1_234_567, "watermark": None}
    >>> print(line(figures))
    fraud, batch 7: 10,000 rows in, 9,800 out, 3 late; 120 keys; state 34,000 rows, 1.2 MB;
    0.80 s, 12,500 rows/s; no watermark yet
    """
    f, mark = figures, figures["watermark"]
    rate = "" if f["rows_per_second"] is None else f", {f['rows_per_second']:,.0f} rows/s"
    parts = [
        f"{f['rows_in']:,} rows in, {f['rows_out']:,} out, {f['rows_late']:,} late",
        f"{f['keys']:,} keys",
        f"state {f['state_rows']:,} rows, {size(f['state_bytes'])}",
        f"{f['seconds']:.2f} s{rate}",
        f"watermark {mark}" if mark else "no watermark yet",
    ]
    call = f" ({f['aggregations']})" if which else ""
    return f"{f['query']}, batch {f['batch']}{call}: {'; '.join(parts)}"


def size(count: float) -> str:
    """Bytes in a unit that fits.

    >>> size(1_234_567), size(12)
    ('1.2 MB', '12 B')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    place = 0
    while count >= 1000 and place < len(units) - 1:
        count, place = count / 1000, place + 1
    return f"{count:.1f} {units[place]}" if place else f"{count:.0f} B"


class Progress(StreamingQueryListener):
    """A listener that says what each micro-batch did.

        spark.streams.addListener(sash.spark.Progress())            # prints a line per batch
        spark.streams.addListener(sash.spark.Progress(log.info))    # or hands it on

    `recent` has the figures of the last micro-batches as dictionaries, the newest last.
    """

    def __init__(self, write: Callable[[str], object] | None = print) -> None:
        self.recent: deque[Figures] = deque(maxlen=RECENT)
        self._write = write

    @property
    def last(self) -> Figures | None:
        """The figures of the last micro-batch."""
        return self.recent[-1] if self.recent else None

    def onQueryStarted(self, event: Any) -> None:
        """Nothing is known yet."""

    def onQueryProgress(self, event: Any) -> None:
        """A micro-batch is done."""
        found = figures_of(event.progress)
        self.recent.extend(found)
        if self._write is not None:
            for figures in found:
                self._write(line(figures, which=len(found) > 1))

    def onQueryIdle(self, event: Any) -> None:
        """Nothing came."""

    def onQueryTerminated(self, event: Any) -> None:
        """Spark says why."""
