"""`sash run --stream`: the same file as a stream gives the batch's rows, each once."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from sash.cli import main, on_spark, pipeline_file, sinks
from sash.cli.errors import EndError
from tests.cli.conftest import SASH, rows

Change = Callable[..., Path]


def in_files(folder: Path, count: int, first: int = 0) -> None:
    """The rows in files; those of a file are out of order by less than the watermark."""
    table = rows()
    size = len(table) // count
    folder.mkdir(exist_ok=True)
    for number in range(first, count):
        part = table.slice(number * size, size)
        order = [i ^ 1 for i in range(size)] if size % 2 == 0 else list(range(size))
        file = folder / f"{number}.parquet"
        parquet.write_table(part.take(order), file)
        os.utime(file, (1e9 + number, 1e9 + number))


@pytest.mark.slow
def test_a_stream_gives_the_batch_s_rows(changed: Change, home: Path, spark: Any) -> None:
    in_files(home / "rows", 3)
    more = "\n[stream]\nfiles_per_batch = 1\n\n[spark]"
    file = changed(("rows.parquet", "rows"), ("\n[spark]", more))
    streamed = on_spark.stream(pipeline_file.load(file), spark)
    assert len([b for b in streamed.batches if b["numInputRows"]]) == 3
    file.write_text(file.read_text().replace('path = "out"', 'path = "all"'))
    batch = on_spark.batch(pipeline_file.load(file), spark)
    assert batch.rows == 300
    assert 280 <= streamed.rows < 300, "those within an hour of the end wait for the watermark"
    found = parquet.read_table(home / "out").sort_by("ts")
    wanted = parquet.read_table(home / "all").sort_by("ts").slice(0, streamed.rows)
    assert found.column_names == wanted.column_names
    for name in found.column_names:
        assert found[name].to_pylist() == wanted[name].to_pylist(), name


def test_what_was_not_committed_is_swept(tmp_path: Path, changed: Change) -> None:
    """A part that the log does not have, as a run that is killed leaves it, goes."""
    out = changed().parent / "out"
    (out / "_spark_metadata").mkdir(parents=True)
    entry = '{"path":"file:///x/out/part-0-a%20b.parquet","action":"add"}'
    (out / "_spark_metadata" / "0").write_text(f"v1\n{entry}\n")
    for name in ("part-0-a b.parquet", "part-1-lost.parquet", "mine.txt"):
        (out / name).write_text("x")
    sinks.sweep(pipeline_file.load(changed()).sink)
    assert {p.name for p in out.iterdir()} == {"_spark_metadata", "part-0-a b.parquet", "mine.txt"}


@pytest.mark.slow
def test_a_stream_replaces_when_its_first_batch_is_there(
    changed: Change, home: Path, spark: Any
) -> None:
    """Until then the old output and its checkpoint stay, whatever happens to the new run."""
    in_files(home / "rows", 3)
    file = changed(
        ("rows.parquet", "rows"), ('path = "out"', 'path = "out"\nif_exists = "replace"')
    )
    old = on_spark.stream(pipeline_file.load(file), spark).rows
    before = {p.name for p in (home / "out").iterdir()}
    monoid = home / "own_monoids.py"
    good = monoid.read_text()
    monoid.write_text(good.replace("return x, x", "return f'{x}', int('no amount is good')"))
    with pytest.raises(EndError, match="no amount is good"):
        on_spark.stream(pipeline_file.load(file), spark)
    assert {p.name for p in (home / "out").iterdir()} == before
    assert (home / "out.checkpoint" / "commits" / "0").exists()
    monoid.write_text(good)
    assert on_spark.stream(pipeline_file.load(file), spark).rows == old
    assert len(parquet.read_table(home / "out")) == old
    assert not before & {p.name for p in (home / "out").glob("part-*")}
    assert not list(home.glob(".*"))


@pytest.mark.slow
def test_interrupted_goes_on(changed: Change, home: Path) -> None:
    """Ctrl-C in a stream that would go on for ever; the same command goes on from there."""
    in_files(home / "rows", 3)
    more = '\n[stream]\nfiles_per_batch = 1\ntrigger = "1 second"\n\n[spark]'
    file = changed(("rows.parquet", "rows"), ("\n[spark]", more))
    stopped(home, file, (home / "out.checkpoint" / "commits" / "0").exists)
    file.write_text(file.read_text().replace('trigger = "1 second"\n', ""))
    done = subprocess.run(
        [*SASH, "run", "--stream", file.name], cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = parquet.read_table(home / "out")
    assert 280 <= len(found) < 300
    assert len(set(found["ts"].to_pylist())) == len(found), "each row once"


@pytest.mark.slow
def test_rows_that_come_too_late_are_said(changed: Change, home: Path, spark: Any) -> None:
    in_files(home / "rows", 3)
    last = home / "rows" / "late.parquet"
    parquet.write_table(rows().slice(0, 2), last)  # two days behind
    os.utime(last, (2e9, 2e9))
    more = "\n[stream]\nfiles_per_batch = 1\n\n[spark]"
    outcome = on_spark.stream(
        pipeline_file.load(changed(("rows.parquet", "rows"), ("\n[spark]", more))), spark
    )
    assert outcome.late == 2


@pytest.mark.slow
def test_a_rate_for_some_seconds(changed: Change, home: Path) -> None:
    file = changed(
        ('time = "ts"\nkeys = ["user"]\nwatermark = "1 hour"',
         'time = "timestamp"\nkeys = ["user"]\nwatermark = "1 second"'),
        ('"parquet"\npath = "rows.parquet"', '"rate"\nrows_per_second = 20'),
        ("[windows]", "[columns]\nuser = 'value % 2'\namount = 'value * 1.0D'\n"
                      """shop = "'s'"\n[windows]"""),
        ("\n[spark]", '\n[stream]\ntrigger = "1 second"\n\n[spark]'),
    )  # fmt: skip
    stopped(home, file, lambda: any(len(parquet.read_table(p)) for p in parts(home)))
    command = [*SASH, "run", "--stream", "--for", "1 s", file.name]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = parquet.read_table(home / "out").sort_by("value")
    assert found["value"].to_pylist() == list(range(len(found))), "each row once, none left out"


def parts(home: Path) -> list[Path]:
    """What a stream has committed."""
    log = "".join(p.read_text() for p in home.glob("out/_spark_metadata/[0-9]*"))
    return [p for p in home.glob("out/part-*") if p.name in log]


def stopped(home: Path, file: Path, enough: Callable[[], bool]) -> None:
    """Run a stream until there is enough, then press Ctrl-C."""
    process = subprocess.Popen(
        [*SASH, "run", "--stream", file.name], cwd=home, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 300
    while time.monotonic() < until and not enough():
        time.sleep(0.2)
        assert process.poll() is None, process.stderr and process.stderr.read()
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "goes on from there" in said.rstrip().splitlines()[-1]
    assert "Traceback" not in said


def test_no_watermark(changed: Change, capsys: pytest.CaptureFixture[str]) -> None:
    file = changed(('watermark = "1 hour"\n', ""))
    assert main(["run", "--stream", str(file)]) == 2
    assert "as a stream it needs watermark" in capsys.readouterr().err


def test_a_sink_of_another_s(changed: Change, home: Path, spark: Any) -> None:
    """A sink without its checkpoint is not this stream's: it is left alone."""
    (home / "out").mkdir()
    with pytest.raises(EndError, match="is there already"):
        on_spark.stream(pipeline_file.load(changed()), spark)
    assert not list((home / "out").iterdir())


def test_a_corrupt_row_in_a_stream(changed: Change, home: Path, spark: Any) -> None:
    (home / "csv").mkdir()
    (home / "csv" / "bad.csv").write_text("user,ts,amount,shop\n1,2024-01-01T00:00:00Z,oops,s\n")
    file = changed(
        ('"parquet"\npath = "rows.parquet"',
         '"csv"\npath = "csv"\nschema = "user long, ts timestamp, amount double, shop string"'),
    )  # fmt: skip
    with pytest.raises(EndError, match="corrupt row") as end:
        on_spark.stream(pipeline_file.load(file), spark)
    assert "oops" in str(end.value)
    assert not list((home / "out").glob("*.parquet"))
