"""The pages of `sash bench`: charts of what was measured, on what, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.records import Record, Records, Row
from benchmarks.suites import RUNS
from sash.report import Figure, Page, Section, Series, Table, Tile, bars, lines
from sash.report.scale import seconds, short

MADE = ".. Made by `sash bench --pages --docs docs` from benchmarks/results: edit benchmarks/.\n"


def page(found: Records) -> Page:
    """All records on one page."""
    newest = max(found.values(), key=lambda record: record.machine.get("date", ""))
    tiles = [Tile(name, str(newest.machine.get(name))) for name in ("processor", "cores", "date")]
    sections = [
        Section(RUNS[name].title, [*figures(record.rows), table(record.rows)], RUNS[name].note)
        for name, record in ordered(found)
    ]
    lead = "Figures of one machine, the best of several interleaved runs: compare within a chart."
    return Page("Sash: benchmarks", lead, tiles, sections)


def ordered(found: Records) -> list[tuple[str, Record]]:
    """Records in the order of the suites, those with rows of a table."""
    return [(name, found[name]) for name in RUNS if name in found and "/" not in name]


def table(rows: list[Row]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return Table(names, cells, folded="All figures")


def _cell(value: Any) -> Any:
    return "" if value is None else value


def figures(rows: list[Row]) -> Iterator[Figure]:
    """The charts that fit the columns a result has."""
    if not rows:
        return
    if {"algorithm", "monoid", "size", "rate"} <= {*rows[0]} and "m" not in rows[0]:
        yield from _by_size(rows, "rate", "million rows per second")
    elif {"algorithm", "monoid", "size", "p50"} <= {*rows[0]}:
        for column in ("p50", "p99.999"):
            yield from _by_size(rows, column, f"{column}, ns")
    elif "asked" in rows[0]:
        yield from _contenders(rows)
    elif {"aggregation", "window", "sash"} <= {*rows[0]}:
        yield from _libraries(rows)
    elif {"what", "rate"} <= {*rows[0]}:
        rated = {row["what"]: row["rate"] for row in rows if row.get("ratio") and row.get("rate")}
        if rated:
            yield Figure("Million rows per second", bars(rated))


def _by_size(rows: list[Row], column: str, label: str) -> Iterator[Figure]:
    for monoid in dict.fromkeys(row["monoid"] for row in rows):
        mine = [row for row in rows if row["monoid"] == monoid and row.get(column)]
        if len({row["size"] for row in mine}) < 2:
            yield Figure(f"{monoid}", bars({row["algorithm"]: row[column] for row in mine}), label)
            continue
        best = _leading(mine, column)
        series = []
        for name in best:
            points = sorted((r["size"], r[column]) for r in mine if r["algorithm"] == name)
            series.append(Series(name, [x for x, _ in points], [y for _, y in points]))
        chart = lines(series, x="log", y="log", x_label="rows in the window", y_label=label)
        yield Figure(monoid, chart)


def _leading(rows: list[Row], column: str, most: int = 6) -> list[str]:
    """The algorithms that are drawn: as many as have a colour of their own, the best first."""
    largest = max(row["size"] for row in rows)
    down = column == "rate"
    last = sorted((r for r in rows if r["size"] == largest), key=lambda r: r[column], reverse=down)
    return [row["algorithm"] for row in last][:most]


def _contenders(rows: list[Row]) -> Iterator[Figure]:
    for row in rows:
        took = {
            name: value
            for name, value in row.items()
            if isinstance(value, float) and " / " not in name and not name.endswith(" rows")
        }
        if took:
            wide = max(took.values()) > 30 * min(took.values())
            others = dict.fromkeys((n for n in took if n != "sash"), 5)
            chart = bars(took, text=seconds, x="log" if wide else "linear", colours=others)
            yield Figure(str(row["asked"]), chart, "On a logarithmic scale." if wide else "")


def _libraries(rows: list[Row]) -> Iterator[Figure]:
    for window in dict.fromkeys(row["window"] for row in rows):
        rates, colours = {}, {}
        for row in rows:
            if row["window"] == window:
                for number, library in enumerate(("sash", "polars", "duckdb", "pandas")):
                    if row.get(library):
                        label = f"{row['aggregation']}, {library}"
                        rates[label] = row[library]
                        colours[label] = 0 if number == 0 else 5
        yield Figure(f"Windows of {window:,} rows", bars(rates, colours=colours))


def rst(found: Records) -> str:
    """The documentation's page of performance: each record with its command, machine and date."""
    parts = [
        MADE,
        "Performance\n===========\n",
        "Charts and tables of the benchmarks that ``sash bench`` runs. Figures vary by a fifth if "
        "the machine does other work: compare within a chart, and run it on your machine. "
        ":doc:`figures` has the figures in words.\n",
    ]
    for name, record in ordered(found):
        title = RUNS[name].title
        parts.append(f"{title}\n{'-' * len(title)}\n")
        if RUNS[name].note:
            parts.append(f"{RUNS[name].note}\n")
        parts.append(f"``{record.command}``, {record.where}.\n")
        for figure in figures(record.rows):
            caption = f"<figcaption>{figure.title}</figcaption>"
            html = f'<figure class="sash">{caption}{figure.chart}</figure>'
            parts.append(f".. raw:: html\n\n   {html}\n")
        parts.append(_list_table(record.rows))
    return "\n".join(parts)


def _list_table(rows: list[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines_ = [".. list-table::", "   :header-rows: 1", ""]
    for row in [dict(zip(names, names)), *rows]:
        for number, name in enumerate(names):
            value = row.get(name)
            said = short(value) if isinstance(value, float) else "" if value is None else str(value)
            lines_.append(f"   {'*' if number == 0 else ' '} - {said}".rstrip())
    return "\n".join(lines_) + "\n"
