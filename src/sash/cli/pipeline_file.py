"""A pipeline file: where rows come from, what is asked of them, where the answers go.

    time = "ts"                       # the column that orders the rows
    keys = ["user"]
    watermark = "10 minutes"          # how late a row may come, in a stream
    engine = "local"                  # in this process; "spark"; chosen if it is left out

    [source]
    format = "parquet"                # csv, json, kafka, rate
    path = "payments"                 # a file or a directory, beside this file

    [aggregations]
    n_1h = { function = "count", over = "1 hour" }
    who  = { function = "argmax", of = ["amount", "merchant"], over = "7 days" }
    good = { function = "sum", of = "price * size", where = "status = 'ok'", over = "7 days",
             exclude = "current row", min_periods = 3 }
    rate = { result = "good / n_1h" } # of the row's columns and the answers above
    mine = { function = "my_module:my_monoid", of = "amount", over = { rows = 50 } }

    [sink]
    format = "parquet"                # csv, console
    path = "out"

Instead of `keys`, `[windows]` and `[aggregations]`, `sql` has a query over `source`:

    sql = "SELECT *, sum(amount) OVER (PARTITION BY user ORDER BY ts) AS total FROM source"

All that can be wrong with a file without its data is said when it is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

from sash.cli.aggregations import aggregations, check_length, frames, monoid
from sash.cli.checked import Table, read
from sash.cli.errors import short
from sash.cli.pipeline import FILES, History, Pipeline, Setting, Sink, Source, Spine, Stream
from sash.windows import Closed, Frame, calendar, rows
from sash.windows.duration import Duration

SOURCES = (*FILES, "kafka", "rate")
ENGINES = ("auto", "local", "spark")
SINKS = ("parquet", "csv", "console")
SLIDES = ("slide", "calendar", "rows")


def load(file: str | Path) -> Pipeline:
    """Read and check a pipeline file; what is wrong ends with `file:line: what`."""
    path = Path(file)
    root = read(path)
    home = path.resolve().parent
    query = root.text("sql", None)
    if query is not None:
        _check_alone(root)
    functions = _functions(root, home, query)
    times = _times(root, query)
    pipeline = Pipeline(
        file=path,
        sql=query,
        functions=functions,
        time=times[0] if times else "",
        ties=tuple(times[1:]),
        descending=root.get("descending", bool, False),
        keys=tuple(root.texts("keys", ())),
        watermark=_duration(root, "watermark"),
        every=_every(root),
        source=_source(root, home),
        aggregations={} if query is not None else aggregations(root, frames(root), home),
        sink=_sink(root, home),
        stream=_stream(root, home),
        spark=_spark(root),
        engine=root.choice("engine", ENGINES, "auto"),
        root=root,
    )
    pipeline = replace(pipeline, spine=_spine(pipeline, home), history=_history(pipeline, home))
    root.end()
    return pipeline


def _check_alone(root: Table) -> None:
    """End where a file with a query says by other means what is asked."""
    for key in ("keys", "every", "windows", "aggregations", "spine", "history"):
        if key in root.data:
            root.wrong(key, "the file has a query, `sql`, which says that itself: leave one out")


def _functions(root: Table, home: Path, query: str | None) -> dict[str, Any]:
    """The monoids that a query names, and a look at the query itself."""
    if query is None:
        return {}
    table = root.table("functions", {})
    found = {name: monoid(table, name, table.text(name), home, {}) for name in table.data}
    try:
        from sash.sql.dialects import parse

        parse(query, "spark", found)
    except ModuleNotFoundError:
        root.wrong("sql", "queries are read with sqlglot: pip install 'sash[sql]'")
    except ValueError as problem:
        root.wrong("sql", str(problem))
    return found


def _times(root: Table, query: str | None) -> list[str]:
    """The time column, and those that order rows of equal time."""
    times = root.texts("time") if query is None else root.texts("time", ())
    if query is None and not all(name.strip() for name in times or [""]):
        root.wrong("time", "is empty")
    return times


def _every(root: Table) -> dict[str, Any] | None:
    """How far windows are apart: a duration, or a table such as { calendar = "1 month" }."""
    given = root.get("every", (str, dict), None)
    if given is None:
        return None
    if isinstance(given, str):
        return {"slide": _duration(root, "every")}
    table = root.table("every")
    kinds = [name for name in SLIDES if name in table.data]
    if len(kinds) != 1:
        table.wrong(None, f"takes one of {', '.join(SLIDES)}, not {dict(table.data)}")
    options: dict[str, Any] = {"fill": table.get("fill", bool, False)}
    if "slide" in kinds:
        options |= {"slide": _duration(table, "slide"), "offset": _duration(table, "offset") or 0}
        options["closed"] = table.choice("closed", get_args(Closed), "left")
    else:
        options["slide"] = _frame(table)
    table.end()
    return options


def _frame(table: Table) -> Frame:
    """A slide of calendar periods or of rows."""
    try:
        if "rows" in table.data:
            return rows(table.get("rows", int))
        return calendar(table.text("calendar"), tz=table.text("tz", None))
    except (TypeError, ValueError) as problem:
        key = "tz" if str(problem).startswith("tz") else "calendar"
        table.wrong(key if key in table.data else "rows", str(problem))


def _duration(table: Table, key: str) -> str | None:
    text = table.text(key, None)
    if text is not None:
        try:
            length = Duration.of(text, key)
            check_length(length)
        except (TypeError, ValueError) as problem:
            table.wrong(key, str(problem))
        if length.ns <= 0:
            table.wrong(key, f"must be longer than 0, not {text!r}")
    return None if text is None else str(text)


def _source(root: Table, home: Path) -> Source:
    table = root.table("source")
    format = table.choice("format", SOURCES)
    options = _settings(table, "options")
    path = home / table.text("path") if format in FILES else None
    if format == "kafka":
        options |= {key: table.text(key) for key in ("servers", "topic")}
        options["start"] = table.choice("start", ("earliest", "latest"), "earliest")
    if format == "rate":
        options["rows_per_second"] = _count(table, "rows_per_second") or 1000
        options["rows"] = _count(table, "rows", 10**12) or 100_000
    columns = root.table("columns", {})
    source = Source(
        table=table,
        format=format,
        path=path,
        schema=table.text("schema", None) if format != "rate" else None,
        options=options,
        columns={name: columns.text(name) for name in columns.data},
        where=root.text("where", None),
    )
    table.end()
    return source


def _spine(pipeline: Pipeline, home: Path) -> Spine | None:
    root = pipeline.root
    if "spine" not in root.data:
        return None
    table = root.table("spine")
    if pipeline.every is not None:
        table.wrong(None, "with every, a row is a window: leave `every` or the spine out")
    source = _beside(table, home)
    keys = tuple(table.texts("keys", pipeline.keys))
    if len(keys) != len(pipeline.keys):
        table.wrong(
            "keys", f"takes as many as the events have, {len(pipeline.keys)}, in their order"
        )
    closed: Any = table.choice("closed", get_args(Closed), "left")
    spine = Spine(source, table.text("time", pipeline.time), keys, closed)
    table.end()
    return spine


def _beside(table: Table, home: Path) -> Source:
    """Files that are read besides the source."""
    return Source(
        table=table,
        format=table.choice("format", FILES),
        path=home / table.text("path"),
        schema=table.text("schema", None),
        options=_settings(table, "options"),
        columns={},
        where=None,
    )


def _history(pipeline: Pipeline, home: Path) -> History | None:
    if "history" not in pipeline.root.data:
        return None
    table = pipeline.root.table("history")
    source = _beside(table, home)
    if source.schema is None and source.format != "parquet":
        source = replace(source, schema=pipeline.source.schema)
    history = History(source, table.get("cut", (datetime, date, str), None))
    table.end()
    return history


def _sink(root: Table, home: Path) -> Sink:
    table = root.table("sink")
    format = table.choice("format", SINKS)
    sink = Sink(
        table=table,
        format=format,
        path=home / table.text("path") if format != "console" else None,
        replace=table.choice("if_exists", ("fail", "replace"), "fail") == "replace",
        options=_settings(table, "options"),
    )
    table.end()
    return sink


def _stream(root: Table, home: Path) -> Stream:
    table = root.table("stream", {})
    checkpoint = table.text("checkpoint", None)
    stream = Stream(
        emit=table.choice("emit", ("final", "arrival"), "final"),
        late=table.choice("late", ("count", "side"), "count"),
        trigger=_duration(table, "trigger"),
        checkpoint=None if checkpoint is None else home / checkpoint,
        files=_count(table, "files_per_batch"),
    )
    table.end()
    return stream


def _count(table: Table, key: str, most: int = (1 << 31) - 1) -> int | None:
    value = table.get(key, int, None)
    if value is not None and not 1 <= value <= most:
        table.wrong(key, f"must be from 1 to {most}, not {value}")
    return None if value is None else int(value)


def _spark(root: Table) -> dict[str, Setting]:
    settings = _settings(root, "spark")
    table = root.table("spark", {})
    for name in settings:
        if name != "master" and not name.startswith("spark."):
            table.wrong(name, "no such key; known are master and Spark's settings, quoted, as in "
                              '"spark.sql.shuffle.partitions" = 4')  # fmt: skip
    if not str(settings.get("master", "local")).startswith("local"):
        table.wrong("master", "takes local, local[2] or local[*]; on a cluster use the library")
    return settings


def _settings(table: Table, key: str) -> dict[str, Setting]:
    """A table of plain values, with dots in unquoted names undone."""
    given = table.table(key, {})
    found: dict[str, Setting] = {}
    for name, value in _flat(given.data):
        if not isinstance(value, str | int | float | bool):
            given.wrong(name.partition(".")[0], f"takes a plain value, not {short(value)}")
        found[name] = value
    return found


def _flat(data: object, prefix: str = "") -> list[tuple[str, object]]:
    if not isinstance(data, dict):
        return [(prefix, data)]
    dot = f"{prefix}." if prefix else ""
    return [pair for key, value in data.items() for pair in _flat(value, f"{dot}{key}")]
