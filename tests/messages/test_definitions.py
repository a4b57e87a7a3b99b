"""A stream that goes on with another definition: what has changed, in the user's units."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import stores
from sash.engine.stream.pages import StateError

START = dt.datetime(2024, 1, 1)
ROWS = pa.table(
    {"k": [1, 1], "t": pa.array([START, START + dt.timedelta(hours=9)], pa.timestamp("us")),
     "x": [1.0, 2.0]}
)  # fmt: skip
OLD = {"y": sf.sum("x").over("1 hour")}


def error(rows: pa.Table = ROWS, by: str = "k", emit: Any = "final", **asked: Any) -> str:
    store = stores.open("memory:")
    live = sash.stream("k", time="t", store=store).agg(**OLD)
    live.feed(ROWS)
    live.commit()
    with pytest.raises((StateError, KeyError)) as caught:
        sash.stream(by, time="t", emit=emit, store=store).agg(**(asked or OLD)).feed(rows)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_has_changed() -> None:
    end = "Go on with the old one, or start from a new checkpoint"
    start = "the stream was started with another definition: "
    assert error(by="x") == f"{start}keys: k then, x now. {end}"
    assert error(emit="arrival") == f"{start}emit: final then, arrival now. {end}"
    later = sf.sum("x").over(sash.range_between("-1 hour", "90 seconds"))
    assert error(y=later) == (
        f"{start}how far windows reach after a row: 0 s then, 1 minute 30 seconds now. {end}"
    )


def test_windows_that_have_become_longer() -> None:
    assert error(y=sf.sum("x").over("8 hours")) == (
        "the stream's windows have become longer: they reach back to 2024-01-01 01:00:00+00:00, "
        "and the state has all rows only from 2024-01-01 08:00:00+00:00 on. Go on with windows "
        "that are no longer, or start from a new checkpoint"
    )
