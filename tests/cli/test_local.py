"""Pipeline files in process: Spark's answers from files of every format, without Spark."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sash
from sash import functions as sf
from sash.cli import engine, in_process, main, on_spark, pipeline_file
from sash.cli.errors import EndError
from sash.cli.schema import simple_schema
from sash.kernel import compiled
from tests.cli.conftest import GOOD, SASH, rows

LOCAL = GOOD[: GOOD.index("[spark]")].replace('mine = { function = "own_monoids:spread"', "#")
SOURCE = 'format = "parquet"\npath = "rows.parquet"'
SINK = 'format = "parquet"\npath = "out"'
SCHEMA = 'schema = "user long, ts timestamp, amount double, shop string"'
Change = Callable[..., Path]


@pytest.fixture
def file(home: Path) -> Change:
    """A pipeline file that asks for nothing that Spark has, with some of its text changed."""

    def change(*pairs: tuple[str, str]) -> Path:
        text = LOCAL
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new, 1)
        (home / "local.toml").write_text(text)
        return home / "local.toml"

    return change


def answers(file: Path) -> pa.Table:
    in_process.batch(pipeline_file.load(file))
    return parquet.read_table(file.parent / "out")


def ends(file: Path) -> str:
    """What a run that fails says; nothing is left where the answers would be."""
    before = {p.name for p in file.parent.iterdir()}
    with pytest.raises(EndError) as end:
        in_process.batch(pipeline_file.load(file))
    assert {p.name for p in file.parent.iterdir()} <= before
    assert "\n" not in str(end.value)
    return str(end.value)


def test_answers_are_those_of_the_library(file: Change) -> None:
    found = answers(file())
    wanted = sash.windowed(rows(), by="user", time="ts").agg(
        n=sf.count().over("1 hour"),
        hi=sf.max("amount").over("24 hours"),
        who=sf.argmax("amount", "shop").over("7 days"),
        fifty=sf.mean("amount").over(sash.rows(50)),
    )
    assert found.equals(wanted)


def test_the_command_runs_without_spark(file: Change, home: Path) -> None:
    """Spark is not even imported, and the engine is said."""
    file()
    program = "import sys; from sash.cli import main; main(); print('pyspark' in sys.modules)"
    for command in (["explain"], ["run", "--report", "page.html"]):
        done = subprocess.run(
            [sys.executable, "-c", program, command[0], "local.toml", *command[1:]],
            cwd=home, capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout.endswith("False\n"), done.stderr
        said = done.stdout if command == ["explain"] else done.stderr
        assert "in process: the source has " in said
    assert (home / "out" / "_SUCCESS").exists()
    page = (home / "page.html").read_text()
    assert "<h2>fifty</h2>" in page
    assert "<h3>user 0</h3>" in page
    assert 'class="band c0"' in page, "answers that are text are shown"


def written(home: Path, kind: str) -> str:
    """The rows in files of a format; returns what the source's table says."""
    table = rows(90)
    if kind.startswith("csv"):
        (home / "in").mkdir()
        for part in range(3):
            csv.write_csv(table.slice(part * 30, 30), home / "in" / f"{part}.csv")
        return 'format = "csv"\npath = "in"' + (f"\n{SCHEMA}" if "schema" in kind else "")
    if kind == "json":
        lines = [json.dumps(row | {"ts": row["ts"].isoformat()}) for row in table.to_pylist()]
        (home / "in.json").write_text("\n".join(lines))
        return f'format = "json"\npath = "in.json"\n{SCHEMA}'
    (home / "in").mkdir()
    for part in range(3):
        parquet.write_table(table.slice(part * 30, 30), home / "in" / f"{part}.parquet")
    return 'format = "parquet"\npath = "in/*.parquet"'


@pytest.mark.slow
@pytest.mark.parametrize("every", ["", 'every = "1 hour"\n'])
@pytest.mark.parametrize("kind", ["parquet", "csv", "csv with a schema", "json"])
def test_spark_gives_the_same(kind: str, every: str, home: Path, file: Change, spark: Any) -> None:
    path = file((SOURCE, written(home, kind)), ("watermark", f"{every}watermark"))
    if every:
        text = path.read_text()
        a, b = text.index("hi ="), text.index("[sink]")
        path.write_text(f'{text[:a]}hi = {{ function = "max", of = "amount", over = "1 hour" }}\n'
                        f"{text[b:]}")  # fmt: skip
    ours = answers(path)
    shutil.rmtree(home / "out")
    on_spark.batch(pipeline_file.load(path), spark)
    theirs = parquet.read_table(home / "out")
    assert ours.column_names == theirs.column_names
    order = [(name, "ascending") for name in ("user", "window_start" if every else "ts")]
    for name in ours.column_names:
        here, there = (t.sort_by(order)[name].to_pylist() for t in (ours, theirs))
        assert here == there, name


def test_csv_as_it_comes(home: Path, file: Change) -> None:
    """Another delimiter, gzip, an empty text, no value, NaN, a name in other letters."""
    text = 'USER;ts;amount;shop\n1;2024-01-01 00:00:00;1.5;""\n1;2024-01-01 00:01:00;;\n'
    text += "1;2024-01-01 00:02:00;NaN;NA\n"
    (home / "in.csv.gz").write_bytes(gzip.compress(text.encode()))
    source = 'format = "csv"\npath = "in.csv.gz"\noptions = { sep = ";" }'
    found = answers(file((SOURCE, source)))
    assert found.column_names[:4] == ["USER", "ts", "amount", "shop"]
    assert found["ts"].type == pa.timestamp("us"), "a time without a zone has none"
    assert found["shop"].to_pylist() == ["", None, "NA"]
    assert found["n"].to_pylist() == [1, 2, 3]
    assert str(found["hi"].to_pylist()) == "[1.5, 1.5, nan]"


def test_types_of_all_rows_count(home: Path, file: Change) -> None:
    """One file has whole numbers and another has not; the last row decides."""
    (home / "in").mkdir()
    (home / "in" / "a.csv").write_text("user,ts,amount,shop\n1,2024-01-01 00:00:00,1,s\n")
    (home / "in" / "b.csv").write_text(
        "user,ts,amount,shop\n1,2024-01-02 00:00:00,2,s\n1,2024-01-03 00:00:00,2.5,s\n"
    )
    found = answers(file((SOURCE, 'format = "csv"\npath = "in"')))
    assert found["amount"].to_pylist() == [1.0, 2.0, 2.5]


def test_csv_out(file: Change, home: Path) -> None:
    in_process.batch(pipeline_file.load(file((SINK, 'format = "csv"\npath = "out"'))))
    found = csv.read_csv(home / "out" / "part-00000.csv")
    assert found.column_names == ["user", "ts", "amount", "shop", "n", "hi", "who", "fifty"]
    assert len(found) == 300


def test_lists_in_csv(file: Change) -> None:
    change = ("max", "collect_list"), (SINK, 'format = "csv"\npath = "out"')
    assert "column hi: CSV has no lists" in ends(file(*change))


def test_console(file: Change, capsys: pytest.CaptureFixture[str]) -> None:
    assert in_process.batch(pipeline_file.load(file((SINK, 'format = "console"')))).rows == 300
    said = capsys.readouterr().out
    assert "|user|ts" in said
    assert "only the first 20 rows of 300" in said


def test_folders_within_and_marks_are_not_read(file: Change, home: Path) -> None:
    (home / "in" / "deeper").mkdir(parents=True)
    for name in ("a.parquet", "_b.parquet", ".c.parquet", "deeper/d.parquet"):
        shutil.copy(home / "rows.parquet", home / "in" / name)
    assert len(answers(file(("rows.parquet", "in")))) == 300


def test_decimals_and_dates(home: Path, file: Change) -> None:
    (home / "in.json").write_text(
        '{"user":1,"ts":"2024-01-02 03:04:05","amount":"1.50","shop":"2024-01-02","x":0}\n'
    )
    schema = 'schema = "user int, ts timestamp, amount decimal(10, 2), shop date"'
    found = answers(file((SOURCE, f'format = "json"\npath = "in.json"\n{schema}')))
    kinds = [pa.int32(), pa.timestamp("us"), pa.decimal128(10, 2), pa.date32()]
    assert found.schema.types[:4] == kinds
    assert "x" not in found.column_names


def csv_with(home: Path, line: str, schema: str = SCHEMA) -> str:
    (home / "bad.csv").write_text(f"user,ts,amount,shop\n1,2024-01-01T00:00:00Z,2,s\n{line}\n")
    return f'format = "csv"\npath = "bad.csv"\n{schema}'


BAD = {
    "1,2024-01-01T00:00:00Z,oops,s": "bad.csv: a corrupt row: In CSV column #2: Row #3: CSV "
    "conversion error to double: invalid value 'oops'",
    "1,2024-01-01T00:00:00Z,2": "bad.csv: a corrupt row: CSV parse error: Row #3: Expected 4 "
    "columns, got 3",
    "1,yesterday,2,s": "bad.csv: a corrupt row: column ts: ",
}


@pytest.mark.parametrize("line", BAD)
def test_a_corrupt_row(line: str, home: Path, file: Change) -> None:
    assert BAD[line] in ends(file((SOURCE, csv_with(home, line))))


def test_a_header_that_the_schema_does_not_have(home: Path, file: Change) -> None:
    source = csv_with(home, "1,2024-01-01T00:00:00Z,2,s", SCHEMA.replace("shop", "store"))
    said = ends(file((SOURCE, source)))
    assert "local.toml:8: source.schema: " in said
    assert "the columns user, ts, amount, shop, the schema user, ts, amount, store" in said


def test_a_corrupt_file(home: Path, file: Change) -> None:
    (home / "bad.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    assert "bad.parquet: cannot be read: " in ends(file(("rows.parquet", "bad.parquet")))
    (home / "bad.json").write_text('{"user": 1\n')
    source = 'format = "json"\npath = "bad.json"'
    assert "bad.json: a corrupt row: JSON parse error" in ends(file((SOURCE, source)))


def test_times_of_json_need_a_schema(home: Path, file: Change) -> None:
    """Strings stay strings, as in Spark: a text that looks like a time may be a key."""
    (home / "in.json").write_text('{"user":1,"ts":"2024-01-01T00:00:00Z","amount":1,"shop":"s"}')
    said = ends(file((SOURCE, 'format = "json"\npath = "in.json"')))
    assert "local.toml:1: time: the time column 'ts' is string" in said
    assert said.endswith("; say its type in source.schema")


def test_a_source_without_rows(home: Path, file: Change) -> None:
    parquet.write_table(rows().slice(0, 0), home / "no.parquet")
    (home / "no.csv").write_text("user,ts,amount,shop\n")
    for source in (SOURCE.replace("rows", "no"), 'format = "csv"\npath = "no.csv"'):
        assert "the source is empty: no rows" in ends(file((SOURCE, source)))


def test_errors_of_the_definition(file: Change) -> None:
    said = ends(file(('function = "mean", of = "amount"', 'function = "mean", of = "shop"')))
    assert "local.toml:16: aggregations.fifty: mean takes a column of numbers" in said
    said = ends(file(('of = "amount", over = "day"', 'of = "amuont", over = "day"')))
    assert "local.toml:14: aggregations.hi.of: the source has no column 'amuont'" in said


def test_a_monoid_that_fails(file: Change, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_warned", set())  # a test on Spark has the same monoid
    text = (home / "own_monoids.py").read_text()
    failing = "return f'{x}', int('no amount is good')"
    (home / "own_monoids.py").write_text(text.replace("return x, x", failing))
    change = ('who = { function = "argmax", of = ["amount", "shop"]',
              'who = { function = "own_monoids:spread", of = "amount"')  # fmt: skip
    with pytest.warns(RuntimeWarning, match="spread"):
        said = ends(file(change))
    assert said.endswith("invalid literal for int() with base 10: 'no amount is good'")


NEEDS = {
    "[columns] are in Spark's SQL": ("[windows]", '[columns]\nx = "amount + 1"\n[windows]'),
    "`where` is in Spark's SQL": ("watermark", 'where = "user < 2"\nwatermark'),
    "a rate source is read by Spark": (SOURCE, 'format = "rate"'),
    "source.options are those of Spark": (
        "[windows]",
        "options = { mergeSchema = true }\n[windows]",
    ),
    "sink.options are those of Spark": (SINK, f'{SINK}\noptions = {{ compression = "gzip" }}'),
    "the schema has types that Spark reads": (SOURCE, f'{SOURCE}\nschema = "a array<int>"'),
    "the source has partitions": ("rows.parquet", "parts"),
}


@pytest.mark.parametrize("need", NEEDS)
def test_what_needs_spark_goes_there(need: str, home: Path, file: Change) -> None:
    (home / "parts" / "day=1").mkdir(parents=True)
    path = file(NEEDS[need])
    chosen = engine.choose(pipeline_file.load(path))
    assert not chosen.local
    assert chosen.why.startswith(need)
    path.write_text(f'engine = "local"\n{path.read_text()}')
    with pytest.raises(EndError, match='engine: "local" runs in this process, but'):
        engine.choose(pipeline_file.load(path))


def test_the_engine_that_is_asked_for(file: Change, home: Path) -> None:
    assert engine.choose(pipeline_file.load(file())).local
    assert not engine.choose(pipeline_file.load(file()), as_stream=True).local
    assert not engine.choose(
        pipeline_file.load(file(("watermark", 'engine = "spark"\nwatermark')))
    ).local
    chosen = engine.choose(pipeline_file.load(home / "good.toml"))
    assert str(chosen) == "on Spark: the file has a [spark] table"
    (home / "good.toml").write_text('engine = "local"\n' + GOOD)
    assert engine.choose(pipeline_file.load(home / "good.toml")).local


def test_a_schema_as_in_sql() -> None:
    found = simple_schema("a BIGINT, `b c`: string ,d decimal(3,1), e timestamp_ntz")
    assert found is not None
    assert found.names == ["a", "b c", "d", "e"]
    for text in ("a", "a long NOT NULL", "a map<int, int>", "a long,", "a varchar(3)", ""):
        assert simple_schema(text) is None, text


def test_a_wrong_path_is_said_before_anything_is_imported(file: Change, home: Path) -> None:
    file(("rows.parquet", "rowz.parquet"))
    program = """
import sys
from sash.cli import main
for command in ("run", "explain"):
    for more in ([], ["--engine", "spark"], ["--stream"]):
        assert main([command, "local.toml", *more]) == 2
print([name for name in ("pyspark", "numba", "pandas") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=home, capture_output=True, text=True)
    assert done.stderr.count("source.path: there is no file or directory") == 6
    assert done.stdout == "[]\n"


KILLED = """
import os, signal, sys
from sash.cli import main
renames = 0
def hook(event, arguments):
    global renames
    if event == "os.rename" and "out" in str(arguments[0]):
        renames += 1
        if renames == 2:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
main()
"""


def test_a_run_killed_between_the_renames(file: Change, home: Path) -> None:
    """The command itself, killed; the next one repairs, whether or not it may replace."""
    path = file((SINK, f'{SINK}\nif_exists = "replace"'))
    answers(path)
    old = parquet.read_table(home / "out")
    parquet.write_table(rows(100), home / "rows.parquet")
    killed = subprocess.run([sys.executable, "-c", KILLED, "run", path.name], cwd=home)
    assert killed.returncode == -signal.SIGKILL
    assert not (home / "out").exists()
    assert parquet.read_table(home / ".out.sash" / "old").equals(old), "the old output is kept"
    text = path.read_text()
    path.write_text(text.replace('if_exists = "replace"', ""))
    assert main(["run", str(path)]) == 2, "there is an output again"
    assert parquet.read_table(home / "out").equals(old)
    assert not list(home.glob(".*"))
    path.write_text(text)
    assert len(answers(path)) == 100


def test_interrupted(file: Change, home: Path) -> None:
    """Ctrl-C while answers are computed: one line, status 130, and nothing left."""
    slow = "import time\n\n\ndef both(x):\n    print('slow', flush=True)\n    time.sleep(0.5)\n"
    text = (home / "own_monoids.py").read_text()
    (home / "own_monoids.py").write_text(text.replace("def both(x):\n", slow))
    path = file(('who = { function = "argmax", of = ["amount", "shop"]',
                 'who = { function = "own_monoids:spread", of = "amount"'))  # fmt: skip
    process = subprocess.Popen(
        [*SASH, "run", path.name], cwd=home, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "slow\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "sash: interrupted; nothing half-written is left"
    assert "Traceback" not in said
    assert not (home / "out").exists()
    assert not list(home.glob(".out*"))


def test_late_rows_and_streams_are_spark_s(file: Change, capsys: Any) -> None:
    assert main(["run", "--stream", "--engine", "local", str(file())]) == 2
    assert "a stream runs on Spark" in capsys.readouterr().err


def test_times_before_1970_and_a_long_file(home: Path, file: Change) -> None:
    start = datetime(1960, 1, 1)
    times = [start + timedelta(days=i) for i in range(5000)]
    table = pa.table(
        {"user": [1] * 5000, "ts": times, "amount": [1.0] * 5000, "shop": ["s"] * 5000}
    )
    csv.write_csv(table, home / "in.csv")
    found = answers(file((SOURCE, 'format = "csv"\npath = "in.csv"')))
    assert found["n"].to_pylist() == [1] * 5000
    assert found["ts"].to_pylist() == times
