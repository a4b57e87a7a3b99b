"""`sash run` in a batch: answers are the library's, and every bad end is clear and clean."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import sash
from sash import functions as sf
from sash.cli import on_spark, pipeline_file
from sash.cli.errors import EndError
from tests.cli.conftest import SASH

Change = Callable[..., Path]


def ran(file: Path, spark: Any) -> on_spark.Outcome:
    return on_spark.batch(pipeline_file.load(file), spark)


def ends(file: Path, spark: Any) -> str:
    """What a run that fails says; nothing is left where the answers would be."""
    before = {p.name for p in file.parent.iterdir()}
    with pytest.raises(EndError) as end:
        ran(file, spark)
    after = {p.name for p in file.parent.iterdir()} - {"__pycache__"}
    assert after <= before, "something half-written was left"
    assert end.value.status != 0
    assert "\n" not in str(end.value)
    return str(end.value)


def test_answers_are_those_of_the_library(home: Path, spark: Any) -> None:
    outcome = ran(home / "good.toml", spark)
    found = parquet.read_table(home / "out").sort_by("ts")
    rows = parquet.read_table(home / "rows.parquet")
    wanted = sash.windowed(rows, by="user", time="ts").agg(
        n=sf.count().over("1 hour"),
        hi=sf.max("amount").over("24 hours"),
        who=sf.argmax("amount", "shop").over("7 days"),
        fifty=sf.mean("amount").over(sash.rows(50)),
    )
    for name in ("user", "n", "hi", "who", "fifty"):
        assert found[name].to_pylist() == wanted[name].to_pylist(), name
    low = sash.windowed(rows, by="user", time="ts").agg(lo=sf.min("amount").over("24 hours"))
    spread = [h - l for h, l in zip(wanted["hi"].to_pylist(), low["lo"].to_pylist())]
    assert found["mine"].to_pylist() == spread
    assert outcome.rows == 300
    assert "5 aggregations over 4 frames" in outcome.plan
    assert not list(home.glob(".*")), "a temporary was left"


@pytest.mark.slow
def test_csv_in_and_out(changed: Change, spark: Any) -> None:
    file = changed(
        ('"parquet"\npath = "rows.parquet"', '"csv"\npath = "rows.csv"'),
        ('"parquet"\npath = "out"', '"csv"\npath = "out"'),
        ("[windows]", '[columns]\nbig = "amount > 50"\n\n[windows]'),
        ("watermark", 'where = "user < 2"\nwatermark'),
    )
    assert ran(file, spark).rows == 200
    text = (next((file.parent / "out").glob("*.csv"))).read_text().splitlines()
    assert text[0] == "user,ts,amount,shop,big,n,hi,who,fifty,mine"


SCHEMA = 'schema = "user long, ts timestamp, amount double, shop string"'


def test_json(changed: Change, home: Path, spark: Any) -> None:
    lines = [
        json.dumps({"user": i % 2, "ts": f"2024-01-01T00:{i:02}:00Z", "amount": i / 2, "shop": "s"})
        for i in range(60)
    ]
    (home / "rows.json").write_text("\n".join(lines))
    source = f'"json"\npath = "rows.json"\n{SCHEMA}'
    assert ran(changed(('"parquet"\npath = "rows.parquet"', source)), spark).rows == 60
    found = parquet.read_table(home / "out").sort_by("ts")
    assert found["hi"].to_pylist() == [i / 2 for i in range(60)]


def test_one_row_a_window(changed: Change, spark: Any) -> None:
    file = changed(
        ("watermark", 'every = "1 hour"\nwatermark'),
        ('hi = { function = "max", of = "amount", over = "day" }\n', ""),
        ('who = { function = "argmax", of = ["amount", "shop"], over = "7 days" }\n', ""),
        ('fifty = { function = "mean", of = "amount", over = { rows = 50 } }\n', ""),
        ('mine = { function = "own_monoids:spread", of = "amount", over = "day" }\n', ""),
    )
    ran(file, spark)
    found = parquet.read_table(file.parent / "out")
    assert found.column_names == ["user", "window_start", "window_end", "n"]
    assert sum(found["n"].to_pylist()) == 300


def test_rate(changed: Change, spark: Any) -> None:
    file = changed(
        ('time = "ts"\nkeys = ["user"]', 'time = "timestamp"\nkeys = ["user"]'),
        ('"parquet"\npath = "rows.parquet"', '"rate"\nrows = 50\nrows_per_second = 10'),
        ("[windows]", "[columns]\nuser = 'value % 2'\namount = 'value * 1.0D'\n"
                      """shop = "'s'"\n[windows]"""),
    )  # fmt: skip
    assert ran(file, spark).rows == 50
    found = parquet.read_table(file.parent / "out").sort_by("value")
    assert found["n"].to_pylist()[-1] == 25


def test_console(changed: Change, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(changed(('"parquet"\npath = "out"', '"console"')), spark).rows == 300
    assert "|user|ts" in capsys.readouterr().out


def test_a_missing_source(changed: Change, spark: Any) -> None:
    said = ends(changed(("rows.parquet", "none.parquet")), spark)
    assert "changed.toml:7: source.path: there is no file or directory" in said


def test_an_empty_directory(changed: Change, home: Path, spark: Any) -> None:
    (home / "empty").mkdir()
    assert "holds no files: the source is empty" in ends(changed(("rows.parquet", "empty")), spark)


def test_a_source_without_rows(changed: Change, home: Path, spark: Any) -> None:
    parquet.write_table(parquet.read_table(home / "rows.parquet").slice(0, 0), home / "no.parquet")
    assert "the source is empty: no rows" in ends(changed(("rows.parquet", "no.parquet")), spark)


def test_a_corrupt_row(changed: Change, home: Path, spark: Any) -> None:
    lines = (home / "rows.csv").read_text().splitlines()
    lines[200] = '1,"2024-01-01 00:00:00Z",not a number,"s"'
    (home / "bad.csv").write_text("\n".join(lines) + "\n")
    file = changed(
        ('"parquet"\npath = "rows.parquet"',
         '"csv"\npath = "bad.csv"\nschema = "user long, ts timestamp, amount double, shop string"'),
    )  # fmt: skip
    said = ends(file, spark)
    assert "corrupt row" in said
    assert "not a number" in said


def test_a_corrupt_file(changed: Change, home: Path, spark: Any) -> None:
    (home / "bad.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    assert "bad.parquet" in ends(changed(("rows.parquet", "bad.parquet")), spark)


def test_a_column_that_is_not_there(changed: Change, spark: Any) -> None:
    said = ends(changed(('of = "amount", over = "day"', 'of = "amuont", over = "day"')), spark)
    assert "changed.toml:14: aggregations.hi.of: the source has no column 'amuont'" in said
    assert "known are user, ts, amount, shop; did you mean amount?" in said


def test_a_column_of_the_wrong_kind(changed: Change, spark: Any) -> None:
    said = ends(
        changed(('function = "mean", of = "amount"', 'function = "mean", of = "shop"')), spark
    )
    assert "changed.toml:16: aggregations.fifty: mean takes a column of numbers" in said


def test_sql_that_is_wrong(changed: Change, spark: Any) -> None:
    said = ends(changed(("[windows]", '[columns]\nx = "amuont + 1"\n[windows]')), spark)
    assert "changed.toml:10: columns.x:" in said
    assert "amuont" in said


def test_a_sink_that_is_there(home: Path, changed: Change, spark: Any) -> None:
    (home / "out").mkdir()
    assert f"{home}/out is there already" in ends(changed(), spark)
    file = changed(('path = "out"', 'path = "out"\nif_exists = "replace"'))
    assert ran(file, spark).rows == 300, "an empty folder"
    parts = {p.name for p in (home / "out").glob("part-*")}
    assert ran(file, spark).rows == 300, "an output of Spark's"
    assert not parts & {p.name for p in (home / "out").iterdir()}
    (home / "out" / "mine.txt").write_text("dear")
    assert "was not written by Sash or Spark (it holds mine.txt)" in ends(file, spark)
    assert (home / "out" / "mine.txt").read_text() == "dear"


def test_a_monoid_that_fails_in_a_worker(changed: Change, spark: Any) -> None:
    file = changed()
    text = (file.parent / "own_monoids.py").read_text()
    failing = "return f'{x}', int('no amount is good')"
    (file.parent / "own_monoids.py").write_text(text.replace("return x, x", failing))
    assert "invalid literal for int() with base 10: 'no amount is good'" in ends(file, spark)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["explain"], ["run"]])
def test_the_commands_as_a_person_runs_them(command: list[str], home: Path) -> None:
    arguments = [*SASH, *command, "good.toml"]
    report = ["--report", "page.html"] if command == ["run"] else []
    done = subprocess.run([*arguments, *report], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if command == ["explain"]:
        assert "mine: spread(amount), TwoStacksLite" in done.stdout
        assert not (home / "out").exists()
    else:
        assert done.stdout.startswith(f"300 rows to {home}/out in ")
        assert "<h2>fifty</h2>" in (home / "page.html").read_text()
