"""The page of `sash run --stream --page`: a stream's figures, as they are now."""

from __future__ import annotations

from sash.cli.watch import Batch, Figures
from sash.report import Figure, Page, Section, Series, Table, Tile, lines
from sash.report.scale import moment, seconds, short

REFRESH = 2
"""Seconds after which a browser reads the page again."""


def page(figures: Figures, ended: bool) -> Page:
    """All of it; once the stream has ended, the page stays as it is."""
    state = "It has ended." if ended else f"It runs; this page is read again every {REFRESH} s."
    lead = f"{figures.pipeline.source} → {figures.pipeline.sink}. {state}"
    parts = [Section("Micro-batches", batches(figures), columns=2)]
    if figures.latest.rows:
        table = Table(figures.latest.names, figures.latest.rows)
        parts.append(Section("Latest values", [table], "The youngest answers of some keys."))
    refresh = 0 if ended else REFRESH
    return Page(figures.pipeline.name, lead, tiles(figures), parts, refresh=refresh)


def tiles(figures: Figures) -> list[Tile]:
    last, state, totals = figures.last, figures.state, figures.totals
    behind = "" if figures.behind is None else f"{seconds(figures.behind)} behind the newest row"
    day = clock = ""
    if figures.watermark:
        at = moment(figures.watermark)
        day, clock = f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"
    return [
        Tile("rows per second", short(figures.rows_per_second), f"{totals.rows_in:,} rows in all"),
        Tile("batches per second", short(figures.batches_per_second), f"{totals.batches:,} in all"),
        Tile("time per batch", seconds(last.seconds), f"{last.rows_in:,} rows in the last one"),
        Tile("watermark", clock or "none yet", ", ".join(filter(None, (day, behind)))),
        Tile("late rows", f"{totals.rows_late:,}", f"{totals.rows_out:,} rows answered"),
        Tile("state", f"{short(state.state_bytes)}B", f"{short(state.state_rows)} rows"),
    ]


def batches(figures: Figures) -> list[Figure]:
    """The last micro-batches, and their time against the rows that windows reach."""
    ran = [batch for batch in figures.batches if batch.rows_in]
    size = sorted(ran, key=lambda batch: batch.state_rows)
    against = Series(
        "seconds", [float(b.state_rows) for b in size], [b.seconds for b in size], style="points"
    )
    return [
        Figure("Rows per second", _of(ran, "rows per second", [b.rows_per_second for b in ran])),
        Figure("Seconds per batch", _of(ran, "seconds", [b.seconds for b in ran])),
        Figure("Seconds per batch against the windows' size",
               lines([against], zero=True, x_label="rows in the windows", y_label="seconds",
                     height=150),
               "The cost of a batch depends on the batch, not on the rows that windows hold."),
        Figure("State", _of(ran, "rows", [float(b.state_rows) for b in ran], steps=True)),
        Figure("Rows that came too late",
               _of(ran, "rows", [float(b.rows_late) for b in ran], steps=True)),
    ]  # fmt: skip


def _of(ran: list[Batch], what: str, values: list[float], steps: bool = False) -> str:
    numbers = [float(batch.number) for batch in ran]
    series = Series(what, numbers, values, style="steps" if steps else "line")
    return lines([series], zero=True, x_label="batch", y_label=what, height=150)
