"""`sash sql` over files, and pipelines with `sql` in the place of aggregations."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sash.cli import main

ROWS = pa.table({"user": [1, 1, 2, 1], "ts": [1, 2, 2, 4], "amount": [5, 3, 4, 1]})
QUERY = "SELECT user, sum(amount) OVER (PARTITION BY user ORDER BY ts) AS s FROM {} ORDER BY ts, s"
ANSWERS = [5, 4, 8, 9]

PIPELINE = '''
sql = """
SELECT *, sum(amount) OVER (PARTITION BY user ORDER BY ts) AS s FROM source
"""
[source]
format = "parquet"
path = "payments.parquet"
[sink]
format = "parquet"
path = "out"
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parquet.write_table(ROWS, tmp_path / "payments.parquet")
    csv.write_csv(ROWS, tmp_path / "more.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_query_over_a_file_is_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", QUERY.format("payments"), "payments.parquet"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "|user|s|"
    assert [line.split("|")[2] for line in shown[3:7]] == ["5", "4", "8", "9"]


@pytest.mark.parametrize("out", ["out.parquet", "out.csv"])
def test_a_query_is_written(home: Path, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", QUERY.format("t"), "x=more.csv", "--out", out]) == 0
    assert capsys.readouterr().out == f"4 rows to {out}\n"
    read = parquet.read_table if out.endswith("parquet") else csv.read_csv
    assert read(out)["s"].to_pylist() == ANSWERS
    assert main(["sql", QUERY.format("t"), "x=more.csv", "--out", out]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["sql", QUERY.format("t"), "more.csv", "--out", out, "--replace"]) == 0


def test_explain_says_which_part_runs_where(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--explain", QUERY.format("t"), "payments.parquet"]) == 0
    said = capsys.readouterr().out
    assert "1. Sash" in said
    assert "2. pyarrow" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELECT sum(y) OVER () FROM t", "payments.parquet"], "'y' could not be resolved"),
        (["SELECT 1 FROM t", "missing.parquet"], "there is no file missing.parquet"),
        (["SELECT 1 FROM t", "notes.txt"], "files end with .parquet, .csv"),
        (["SELECT 1 FROM t", "payments.parquet", "--out", "out.xls"], "give a name with"),
    ],
)
def test_mistakes_are_one_line(
    home: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", *arguments]) in (1, 2)
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_pipeline_of_a_query(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "payments.toml"
    file.write_text(PIPELINE)
    assert main(["explain", "--engine", "local", str(file)]) == 0
    assert "1. Sash" in capsys.readouterr().out
    assert main(["run", "--engine", "local", str(file)]) == 0
    assert parquet.read_table(home / "out")["s"].to_pylist() == [5, 8, 4, 9]


def test_a_pipeline_with_a_monoid_by_name(home: Path) -> None:
    (home / "mine.py").write_text(
        "from sash import Monoid\ntotal = Monoid('total', 0, int, lambda a, b: a + b)\n"
    )
    file = home / "payments.toml"
    text = PIPELINE.replace("sum(", "total(")
    file.write_text(text + '[functions]\ntotal = "mine:total"\n')
    assert main(["run", "--engine", "local", str(file)]) == 0
    assert parquet.read_table(home / "out")["s"].to_pylist() == [5, 8, 4, 9]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("OVER (", "OVER OVER ("), "payments.toml:2: sql: the query cannot be read"),
        (("sum(amount)", "sum(amout)"), "payments.toml:2: sql: Column 'amout'"),
        (("[source]", 'keys = ["user"]\n[source]'), "keys: the file has a query"),
    ],
)
def test_mistakes_in_a_pipeline_of_a_query(
    home: Path, change: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "payments.toml"
    file.write_text(PIPELINE.replace(*change))
    assert main(["run", "--engine", "local", str(file)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_query_on_spark_as_a_batch_and_as_a_stream(home: Path) -> None:
    start = dt.datetime(2024, 1, 1)
    times = pa.array(
        [start + dt.timedelta(minutes=m) for m in range(40)], pa.timestamp("us", "UTC")
    )
    table = pa.table({"user": [m % 2 for m in range(40)], "ts": times, "amount": range(40)})
    (home / "payments").mkdir()
    parquet.write_table(table, home / "payments" / "part.parquet")
    file = home / "payments.toml"
    head = 'time = "ts"\nwatermark = "1 minute"\n'
    text = PIPELINE.replace("ORDER BY ts)", "ORDER BY ts RANGE INTERVAL '5' MINUTES PRECEDING)")
    text = text.replace("payments.parquet", "payments")
    file.write_text(head + text)
    assert main(["run", "--engine", "spark", str(file)]) == 0
    batch = {(r["user"], r["amount"]): r["s"] for r in parquet.read_table(home / "out").to_pylist()}
    assert batch[(1, 9)] == 9 + 7 + 5
    file.write_text(head + text.replace('"out"', '"streamed"'))
    assert main(["run", "--stream", str(file)]) == 0
    found = pa.concat_tables(map(parquet.read_table, (home / "streamed").glob("part-*.parquet")))
    stream = {(r["user"], r["amount"]): r["s"] for r in found.to_pylist()}
    assert len(stream) >= 30
    assert stream == {key: batch[key] for key in stream}
