"""Pictures of tables: the engine's windows, and the answers that `agg` gives."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.pictures.recording import said

MINUTES = [0, 5, 12, 40, 55, 70, 71, 95, 130, 131, 140, 140, 200]
START = dt.datetime(2024, 1, 1, 8)
TABLE = pa.table(
    {
        "k": ["a", "b", *["a"] * 13],
        "t": [START, START, *(START + dt.timedelta(minutes=minute) for minute in MINUTES)],
        "x": [7, 1000, 3, 1, 4, 1, 5, 9, None, 6, 5, 3, 5, 8, 2],
        "s": [*"zyabcdefghijkl", None],
    }
)
OVERS = {
    "max": sf.max("x").over("1 hour"),
    "sum": sf.sum("x").over(sash.rows(3)),
    "mean around": sf.mean("x").over(sash.rows_between(-2, 2)),
    "ahead": sf.min("x").over(sash.rows_between(1, 3)),
    "session": sf.max("x").over(sash.session("20 minutes")),
    "concat": sf.apply(m.Concat(), "s").over("1 hour"),
    "count": sf.count().over("1 hour"),
    "count of a column": sf.count("x").over("1 hour"),
    "argmax": sf.argmax("x", "s").over("1 hour"),
    "distinct": sf.count_distinct("x").over("1 hour"),
    "where": sf.sum("x").where("x > 2").over("1 hour"),
    "exclude": sf.sum("x").over("1 hour", exclude="current row"),
    "delta": sf.last("x").over(sash.until(lambda s: s == "e", "s")),
    "policy": sf.max("x").over(sash.policy(lambda total, old: old < total)),
    "lifetime": sf.max("x").over(sash.lifetime()),
    "groups": sf.max("x").over(sash.groups_between(-2, 0)),
    "calendar": sf.max("x").over(sash.calendar("1 day")),
}


@pytest.mark.parametrize("name", OVERS)
def test_answers_are_those_of_agg(name: str) -> None:
    windowed = sash.windowed(TABLE, "k", time="t")
    rows = [row for row in windowed.agg(o=OVERS[name]).to_pylist() if row["k"] == "a"]
    rows.sort(key=lambda row: row["t"])
    recording = sash.show(windowed, o=OVERS[name]).recordings[0]
    found = {step.at: step.answer for step in recording.steps if step.answer is not None}
    assert [found[at] for at in sorted(found)] == [said(row["o"]) for row in rows]
    assert len(recording.values) == 14


def test_several_states_are_several_recordings() -> None:
    windowed = sash.windowed(TABLE, "k", time="t")
    picture = sash.show(windowed, rows=6, hi=OVERS["max"], n=OVERS["count"])
    assert [r.title for r in picture.recordings] == [
        "hi over the last 1 hour", "n over the last 1 hour",
    ]  # fmt: skip
    assert [len(r.values) for r in picture.recordings] == [6, 6]
    assert "6 rows of k a" in picture.recordings[0].lead


def test_slices_are_shared_and_answers_those_of_agg() -> None:
    windowed = sash.windowed(TABLE, "k", time="t").every("20 minutes")
    asked: dict[str, Any] = {
        "long": sf.sum("x").over("1 hour"),
        "short": sf.sum("x").over("40 minutes"),
    }
    [recording] = sash.show(windowed, **asked).recordings
    assert recording.title == "The slices of long, short"
    rows = [row for row in windowed.agg(**asked).to_pylist() if row["k"] == "a"]
    wanted = sorted(
        (row["window"], said(row["window_start"], 19), said(row["long"] or row["short"]))
        for row in rows
    )
    windows = [step for step in recording.steps if step.answer is not None]
    found = sorted(
        (step.call.partition(": window ")[0], step.call.partition(": window ")[2].split(" to ")[0],
         str(step.answer))
        for step in windows
    )  # fmt: skip
    assert found == wanted
    folds = [step for step in recording.steps if step.answer is None]
    rows_of_slices = [row for step in folds for row in step.window]
    assert rows_of_slices == list(range(14)), "each row is in one slice"
    for step in windows:
        slices = {part.partial.number for part in step.parts if part.group == "slices"}
        assert slices, step.call


def test_what_cannot_be_shown() -> None:
    windowed = sash.windowed(TABLE.slice(0, 0), "k", time="t")
    with pytest.raises(ValueError, match="the table has no rows"):
        sash.show(windowed, hi=OVERS["max"])
    windowed = sash.windowed(TABLE, "k", time="t")
    with pytest.raises(TypeError, match=r"values, size and times are for windows of sash\.swag"):
        sash.show(windowed, [1, 2], hi=OVERS["max"])
    with pytest.raises(ValueError, match="no window of this plan is made of slices"):
        sash.show(windowed.every("20 minutes"), n=sf.count().over("1 hour"))
    with pytest.raises(KeyError, match="no column 'y'"):
        sash.show(windowed, hi=sf.max("y").over("1 hour"))
