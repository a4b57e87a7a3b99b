"""The pages of `sash bench`: charts of what was measured, on what, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sash.report import Figure, Page, Section, Series, Table, Tile, bars, lines
from sash.report.scale import seconds, short

Row = dict[str, Any]
TITLES = {
    "swag_static": "Windows of constant size",
    "swag_latency": "The slowest steps",
    "fiba_targets": "FiBA: rows in order and late, in bulks",
    "sharing": "Many aggregations in one call",
    "ranges": "Several ranges: a window each, or FlatFIT",
    "tables_compare_random": "Tables in process, rows at random times",
    "tables_compare_random_1000_keys_time_order": "1,000 keys, rows in order of time",
    "tables_compare_random_1000_keys_random_order": "1,000 keys, rows in random order",
    "tables_compare_random_1000000_keys_time_order": "A million keys, rows in order of time",
    "tables_compare_random_1000000_keys_random_order": "A million keys, rows in random order",
    "tables_features_random_1000_keys_time_order": "24 features, 1,000 keys, in order of time",
    "tables_features_random_1000_keys_random_order": "24 features, 1,000 keys, in random order",
    "tables_features_random_1000000_keys_time_order": "24 features, a million keys",
    "rollfun": "Rolling functions, the questions of the public db-benchmark",
    "tables_compare_regular": "Tables in process, rows at regular times",
    "tables_flat_regular": "Time per row, by the size of the window",
    "spark_batch_one": "Spark: one window",
    "spark_batch_many": "Spark: four windows, five aggregations",
    "spark_batch_uncovered": "Spark: what its segment tree leaves out",
    "spark_batch_shuffle": "Spark: against the shuffle alone",
    "streaming_flat": "Streams in process: a batch, by the rows in the window",
    "streaming_late": "Streams in process: late rows, on arrival",
    "streaming_every": "Streams: windows of an hour by 10 s, against Spark's window()",
    "streaming_day": "Streams: a day by a second, against an hour by 10 s",
    "streaming_rows": "Streams: against rows passed through",
    "streaming_state": "Streams: cost of a commit, by the size of the state",
    "tables_own_regular": "Tables in process: a user's own monoid",
    "asof": "Windows as of the moments of another table",
    "asof_spark": "Windows as of the moments of another table, on Spark",
    "serving": "Values to serve: reads, and batches of all keys",
    "papers": "The papers' experiments: which of their claims hold",
}
NOTES = {
    "swag_static": "Million rows per second; each row is evicted, inserted and queried once.",
    "swag_latency": "Nanoseconds per step, by the share of steps that took no longer.",
    "tables_compare_regular": "Million rows per second, all with the same number of threads.",
    "tables_compare_random": "Million rows per second, all with the same number of threads.",
    "spark_batch_one": "Seconds, the best of several interleaved runs; less is better.",
    "spark_batch_many": "Seconds, the best of several interleaved runs; less is better.",
}


def page(found: dict[str, Any]) -> Page:
    """All results on one page."""
    machine = _machine(found)
    tiles = [Tile(name, value) for name, value in machine.items()]
    sections = [
        Section(title_of(name), [*figures(name, result["rows"]), table(result["rows"])],
                NOTES.get(name, ""))
        for name, result in ordered(found)
    ]  # fmt: skip
    lead = "Figures of one machine, the best of several interleaved runs: compare within a chart."
    return Page("Sash: benchmarks", lead, tiles, sections)


def ordered(found: dict[str, Any]) -> list[tuple[str, Any]]:
    """Results in the order of TITLES, others after them."""
    places = {name: place for place, name in enumerate(TITLES)}
    return sorted(found.items(), key=lambda item: places.get(item[0], len(places)))


def title_of(name: str) -> str:
    return TITLES.get(name, name.replace("_", " ").replace("-", " "))


def _machine(found: dict[str, Any]) -> dict[str, str]:
    newest = max((r["machine"] for r in found.values()), key=lambda m: m.get("date", ""))
    return {
        "processor": str(newest.get("processor")),
        "cores": str(newest.get("cores")),
        "Python": str(newest.get("python")),
        "date": str(newest.get("date")),
    }


def table(rows: list[Row]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return Table(names, cells, folded="All figures")


def _cell(value: Any) -> Any:
    return "" if value is None else value


def figures(name: str, rows: list[Row]) -> Iterator[Figure]:
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


def rst(found: dict[str, Any]) -> str:
    """The documentation's page of performance, with the machine and the date."""
    m = _machine(found)
    parts = [
        ".. Made by `sash bench --docs docs/performance.rst`: edit sash.cli.bench_report.\n",
        "Performance\n===========\n",
        f"Measured on {m['date']} on {m['cores']} cores of an {m['processor']}, Python "
        f"{m['Python']}, by the benchmarks that ``sash bench`` runs. Figures vary by a fifth "
        "if the machine does other work: compare within a chart, and run it on your machine.\n",
    ]
    for name, result in ordered(found):
        title, own = title_of(name), _machine({name: result})
        parts.append(f"{title}\n{'-' * len(title)}\n")
        if name in NOTES:
            parts.append(f"{NOTES[name]}\n")
        if own != m:
            parts.append(
                f"Measured on {own['date']} on {own['cores']} cores of {own['processor']}.\n"
            )
        for figure in figures(name, result["rows"]):
            caption = f"<figcaption>{figure.title}</figcaption>"
            html = f'<figure class="sash">{caption}{figure.chart}</figure>'
            parts.append(f".. raw:: html\n\n   {html}\n")
        parts.append(_list_table(result["rows"]))
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
