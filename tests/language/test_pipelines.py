"""The language in pipeline files: the same answers, and errors with file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash import functions as sf
from sash.cli import main
from sash.cli.columns import check_columns
from sash.cli.errors import EndError
from sash.cli.pipeline_file import load
from tests.language import duck

FILE = """\
time = ["t", "id"]
keys = ["k"]

[source]
format = "parquet"
path = "rows.parquet"

[aggregations]
value = { function = "sum", of = "x * i", where = "b AND s <> 'a'", over = { rows = 9 } }
few = { function = "mean", of = "x", over = { groups_between = [-2, 1] }, exclude = "ties" }
late = { function = "max", of = "i", over = { rows = 5 }, delay = 2, min_periods = 2 }
n = { function = "count_if", of = "x > 0", over = { rows = 9 } }
before = { function = "lag", of = "x", offset = 2, default = 0.5 }
place = { function = "rank" }
place_in = { function = "window_rank", of = "x", method = "min", over = { rows = 9 } }
rate = { result = "value / n" }
change = { result = "coalesce(x, 0) - before + rate" }
since = { function = "sum", of = "i", over = { until = "x > 0" } }
near = { function = "count", over = { delta = "coalesce(x, 0) * 2", by = 3 } }
kinds = { function = "sum", of = "i", by = "s", over = { rows = 9 } }
span = { function = "function", call = "own_functions:span", of = "x", over = { rows = 4 } }
none = { function = "count", over = { rows_between = [-1, -3], empty = true } }
own = { function = "count", over = { rows_between_columns = ["least", "most"] } }
slid = { function = "sum", of = "i", over = { sliding = 6, slide = 2 } }

[sink]
format = "parquet"
path = "out"
"""


def rows() -> pa.Table:
    """Rows whose last two columns are bounds of windows; `ts`: times across a change of clocks."""
    table = duck.sample(200, 2)
    hours = [1711500000 * 10**6 + t * 7 * 3600 * 10**6 for t in table["t"].to_pylist()]
    table = table.append_column("ts", pa.array(hours, pa.timestamp("us", "UTC")))
    table = table.append_column("least", pa.array([-(i % 4) for i in range(200)]))
    return table.append_column("most", pa.array([i % 3 for i in range(200)]))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    pq.write_table(rows(), tmp_path / "rows.parquet")
    (tmp_path / "p.toml").write_text(FILE)
    (tmp_path / "own_functions.py").write_text("def span(x):\n    return x.max() - x.min()\n")
    return tmp_path


def test_a_pipeline_gives_what_python_gives(home: Path) -> None:
    assert main(["run", str(home / "p.toml")]) == 0
    found = pq.read_table(home / "out").sort_by("id")
    last = sash.rows(9)
    value = sf.sum(sf.col("x") * sf.col("i")).where("b AND s <> 'a'").over(last)
    n = sf.count_if(sf.col("x") > 0).over(last)
    before = sf.lag("x", 2, default=0.5)
    wanted = sash.windowed(rows(), "k", time=["t", "id"]).agg(
        value=value,
        few=sf.mean("x").over(sash.groups_between(-2, 1), exclude="ties"),
        late=sf.max("i").over(sash.rows(5), delay=2, min_periods=2),
        n=n,
        before=before,
        place=sf.rank(),
        place_in=sf.window_rank("x", "min").over(last),
        rate=value / n,
        change=sf.coalesce("x", 0) - before + value / n,
        since=sf.sum("i").over(sash.until(sf.col("x") > 0)),
        near=sf.count().over(sash.delta(sf.coalesce("x", 0) * 2, 3)),
        kinds=sf.sum("i").by("s").over(last),
        span=sf.function(lambda x: x.max() - x.min(), "x").over(sash.rows(4)),
        none=sf.count().over(sash.rows_between(-1, -3, empty=True)),
        own=sf.count().over(sash.rows_between(sf.col("least"), sf.col("most"))),
        slid=sf.sum("i").over(sash.sliding(6, 2)),
    )
    assert found.column_names == wanted.column_names
    for name in wanted.column_names:
        assert found.column(name).to_pylist() == wanted.column(name).to_pylist(), name


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('of = "x * i"', 'of = "x * "', 9, "is not an expression of SQL"),
        ("b AND s", "b AN s", 9, "is not an expression of SQL"),
        ("delay = 2", "delay = -2", 11, "delay must be at least 0"),
        ('exclude = "ties"', 'exclude = "tise"', 10, "exclude must be one of"),
        ('"value / n"', '"value / nope(n)"', 16, "no function 'nope'"),
        ("min_periods = 2", "min_period = 2", 11, "no such key"),
        ("offset = 2", "offset = 2.5", 13, "takes"),
        ("own_functions:span", "own_functions:spam", 21, "has no 'spam'"),
        ("own_functions:span", "span", 21, "takes a module and a name in it"),
        ("[-1, -3], empty = true", "[-1, -3]", 22, "comes after end"),
        ("sliding = 6, slide = 2", "sliding = 6, slide = 0", 24, "slide"),
        ('"s", over', '"s(", over', 20, "is not an expression of SQL"),
    ],
)
def test_what_is_wrong_has_its_line(
    old: str, new: str, line: int, said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in FILE
    file = home / "wrong.toml"
    file.write_text(FILE.replace(old, new))
    assert main(["run", str(file)]) != 0
    error = capsys.readouterr().err
    assert f"wrong.toml:{line}: " in error, error
    assert said in error


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("x * i", "y * i", 9), ("x > 0", "y > 0", 12), ('"value / n"', '"y / n"', 16),
     ("b AND", "y AND", 9), ('["t", "id"]', '["t", "y"]', 1), ('"least"', '"y"', 23),
     ('by = "s"', 'by = "y"', 20)],
)  # fmt: skip
def test_a_column_that_is_not_there_has_its_line(old: str, new: str, line: int, home: Path) -> None:
    file = home / "wrong.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(EndError, match=rf"wrong\.toml:{line}: .*no column 'y'"):
        check_columns(load(file), rows().column_names)


EVERY = """\
time = ["ts", "id"]
keys = ["k"]
every = { calendar = "1 day", tz = "Europe/Berlin", fill = true }

[source]
format = "parquet"
path = "rows.parquet"

[aggregations]
days = { function = "collect_list", of = "id", over = { calendar = "1 day", tz = "Europe/Berlin" } }

[sink]
format = "parquet"
path = "out"
"""
DAY = sash.calendar("1 day", tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("every", "over", "options", "frame"),
    [
        ('calendar = "1 day", tz = "Europe/Berlin", fill = true',
         'calendar = "1 day", tz = "Europe/Berlin"', {"slide": DAY, "fill": True}, DAY),
        ('slide = "5 hours", offset = "1 hour", closed = "right"', 'last = "10 hours"',
         {"slide": "5 hours", "offset": "1 hour", "closed": "right"}, "10 hours"),
        ("rows = 3", "rows = 7", {"slide": sash.rows(3)}, sash.rows(7)),
    ],
)  # fmt: skip
def test_windows_of_every_are_those_of_python(
    every: str, over: str, options: Any, frame: Any, home: Path
) -> None:
    text = EVERY.replace('calendar = "1 day", tz = "Europe/Berlin", fill = true', every)
    text = text.replace(
        'over = { calendar = "1 day", tz = "Europe/Berlin" }', f"over = {{ {over} }}"
    )
    (home / "every.toml").write_text(text)
    assert main(["run", str(home / "every.toml")]) == 0
    order = [("k", "ascending"), ("window_start", "ascending")]
    found = pq.read_table(home / "out").sort_by(order)
    call = sash.windowed(rows(), "k", time=["ts", "id"]).every(**options)
    wanted = call.agg(days=sf.collect_list("id").over(frame)).sort_by(order)
    assert found.to_pylist() == wanted.to_pylist()
    assert main(["explain", str(home / "every.toml")]) == 0


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('calendar = "1 dya"', "every.calendar: size='1 dya' is not a number of days"),
        ('calendar = "1 day", tz = "Berlin"', "every.tz: tz='Berlin' is no time zone"),
        ('calendar = "1 day", slide = "1 h"', "takes one of slide, calendar, rows"),
        ('slide = "1 hour", fil = true', "no such key; known are closed, fill, offset, slide"),
        ('slide = "0 hours"', "every.slide"),
        ("rows = 0", "every.rows"),
    ],
)
def test_what_is_wrong_with_every_has_its_line(new: str, said: str, home: Path) -> None:
    file = home / "wrong.toml"
    old = 'calendar = "1 day", tz = "Europe/Berlin", fill = true'
    file.write_text(EVERY.replace(old, new))
    with pytest.raises(EndError, match=rf"wrong\.toml:3: .*{re.escape(said)}"):
        load(file)


def test_rows_in_descending_order_of_time(home: Path) -> None:
    text = FILE.replace('keys = ["k"]', 'keys = ["k"]\ndescending = true')
    lines = [line for line in text.splitlines() if not line.startswith("slid")]
    (home / "p.toml").write_text("\n".join(lines))
    assert main(["run", str(home / "p.toml")]) == 0
    found = pq.read_table(home / "out").sort_by("id")
    late = sf.max("i").over(sash.rows(5), delay=2, min_periods=2)
    call = sash.windowed(rows(), "k", time=["t", "id"], descending=True)
    assert found["late"].to_pylist() == call.agg(late=late)["late"].to_pylist()
