"""The language in pipeline files: the same answers, and errors with file and line."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sash
from sash import functions as sf
from sash.cli import main
from sash.cli.errors import EndError
from sash.cli.pipeline import check_columns, load
from tests.language import duck

FILE = """\
time = "t"
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
own = { function = "window_rank", of = "x", method = "min", over = { rows = 9 } }
rate = { result = "value / n" }
change = { result = "coalesce(x, 0) - before + rate" }
since = { function = "sum", of = "i", over = { until = "x > 0" } }
near = { function = "count", over = { delta = "coalesce(x, 0) * 2", by = 3 } }

[sink]
format = "parquet"
path = "out"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    pq.write_table(duck.sample(200, 2), tmp_path / "rows.parquet")
    (tmp_path / "p.toml").write_text(FILE)
    return tmp_path


def test_a_pipeline_gives_what_python_gives(home: Path) -> None:
    assert main(["run", str(home / "p.toml")]) == 0
    found = pq.read_table(home / "out").sort_by("id")
    last = sash.rows(9)
    value = sf.sum(sf.col("x") * sf.col("i")).where("b AND s <> 'a'").over(last)
    n = sf.count_if(sf.col("x") > 0).over(last)
    before = sf.lag("x", 2, default=0.5)
    wanted = sash.windowed(duck.sample(200, 2), "k", time="t").agg(
        value=value,
        few=sf.mean("x").over(sash.groups_between(-2, 1), exclude="ties"),
        late=sf.max("i").over(sash.rows(5), delay=2, min_periods=2),
        n=n,
        before=before,
        place=sf.rank(),
        own=sf.window_rank("x", "min").over(last),
        rate=value / n,
        change=sf.coalesce("x", 0) - before + value / n,
        since=sf.sum("i").over(sash.until(sf.col("x") > 0)),
        near=sf.count().over(sash.delta(sf.coalesce("x", 0) * 2, 3)),
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
     ("b AND", "y AND", 9)],
)  # fmt: skip
def test_a_column_that_is_not_there_has_its_line(old: str, new: str, line: int, home: Path) -> None:
    file = home / "wrong.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(EndError, match=rf"wrong\.toml:{line}: .*no column 'y'"):
        check_columns(load(file), duck.sample(1, 1).column_names)
