"""Pipeline files with a [spine]: in process and on Spark, and what is wrong in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sash.cli.main import main

FILE = """
time = "ts"
keys = ["user"]

[source]
format = "parquet"
path = "events.parquet"

[spine]
format = "csv"
path = "labels.csv"
keys = ["who"]
time = "asked"

[aggregations]
n = { function = "count", over = { range_between = [-10, 0] } }
top = { function = "max", of = "amount", over = { rows = 2 } }
share = { result = "n / weight" }

[sink]
format = "parquet"
path = "out"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    events = {"user": [1, 1, 2, 1], "ts": [1, 5, 5, 20], "amount": [4.0, 3.0, 9.0, 7.0]}
    parquet.write_table(pa.table(events), tmp_path / "events.parquet")
    labels = {"Who": [1, 2, 1, 3], "asked": [5, 6, 21, 9], "weight": [2, 2, 4, 1]}
    csv.write_csv(pa.table(labels), tmp_path / "labels.csv")
    return tmp_path


def written(place: Path, text: str = FILE) -> str:
    (place / "pipeline.toml").write_text(text)
    return str(place / "pipeline.toml")


ANSWERS = [
    {"Who": 1, "asked": 5, "weight": 2, "n": 1, "top": 4.0, "share": 0.5},
    {"Who": 2, "asked": 6, "weight": 2, "n": 1, "top": 9.0, "share": 0.5},
    {"Who": 1, "asked": 21, "weight": 4, "n": 1, "top": 7.0, "share": 0.25},
    {"Who": 3, "asked": 9, "weight": 1, "n": 0, "top": None, "share": 0.0},
]


def test_the_spine_comes_out(place: Path) -> None:
    assert main(["run", written(place)]) == 0
    assert parquet.read_table(place / "out").to_pylist() == ANSWERS


@pytest.mark.slow
def test_on_spark_too(place: Path) -> None:
    assert main(["run", written(place), "--engine", "spark"]) == 0
    found = parquet.read_table(place / "out").sort_by([("asked", "ascending")]).to_pylist()
    assert found == sorted(ANSWERS, key=lambda row: row["asked"])


def test_explain_names_both(place: Path, capsys: Any) -> None:
    assert main(["explain", written(place)]) == 0
    out = capsys.readouterr().out
    assert "over the events before its asked, by who" in out
    assert "at        csv" in out


WRONG = {
    "time of the spine": (
        'time = "asked"', 'time = "askd"', "13: spine.time: the spine has no column 'askd'"),
    "key of the spine": (
        'keys = ["who"]', 'keys = ["whom"]', "12: spine.keys: the spine has no column 'whom'"),
    "number of keys": (
        'keys = ["who"]', "keys = []", "12: spine.keys: takes as many as the events have, 1"),
    "no file": ('path = "labels.csv"', 'path = "no.csv"', "11: spine.path: there is no file"),
    "closed": (
        'time = "asked"', 'time = "asked"\nclosed = "up"', "14: spine.closed: no closed 'up'"),
    "unknown": ('time = "asked"', 'tme = "asked"', "13: spine.tme: no such key"),
    "every": ('time = "ts"', 'time = "ts"\nevery = "1 hour"', "10: spine: with every"),
    "name": ("share =", "weight =", "18: aggregations.weight: the spine has a column"),
    "result": (
        "n / weight", "n / amount", "18: aggregations.share.result: the spine has no column"),
    "types": ('keys = ["who"]', 'schema = "Who string, asked long, weight int"\nkeys = ["who"]',
              "13: spine.keys: the key 'user' of the events is int64"),
    "sink in the spine": ('path = "out"', 'path = "labels.csv"', "22: sink.path:"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_have_their_line(place: Path, capsys: Any, name: str) -> None:
    old, new, words = WRONG[name]
    assert main(["run", written(place, FILE.replace(old, new, 1))]) == 2
    assert f"pipeline.toml:{words}" in capsys.readouterr().err


def test_a_stream_has_no_spine(place: Path, capsys: Any) -> None:
    file = written(place, FILE.replace('time = "ts"', 'time = "ts"\nwatermark = "1 hour"', 1))
    assert main(["run", "--stream", file]) == 2
    assert "spine: is for batches" in capsys.readouterr().err
