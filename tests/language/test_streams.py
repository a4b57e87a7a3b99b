"""The language on a stream in process: what a table gives, or an error that says why not."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from tests.language import duck

LAST = sash.range_between(-5, 0)
ASKED: dict[str, Any] = {
    "expression": sf.sum(sf.col("x") * sf.col("i")).over(LAST),
    "filter": sf.sum("i").where("b").over(LAST),
    "result": sf.col("x") - sf.mean("x").over(LAST),
    "current_row": sf.sum("i").over(LAST, exclude="current row"),
    "group": sf.max("x").over(LAST, exclude="group"),
    "ties": sf.count().over(LAST, exclude="ties"),
    "rows": sf.sum("i").over(sash.rows(4), exclude="current row"),
    "most": sf.sum("i").over(LAST, most=2),
    "peers": sf.count().over(LAST, peers=False),
    "groups": sf.sum("i").over(sash.groups_between(-1, 0)),
    "until": sf.sum("i").over(sash.until(sf.col("x") > 1)),
    "delta": sf.count().over(sash.delta(sf.coalesce("x", 0) * 2, 3)),
    "delay": sf.sum("i").over(LAST, delay=2),
    "min_periods": sf.sum("i").over(LAST, min_periods=3),
    "step": sf.sum("i").over(LAST, step=2),
    "number": sf.row_number(),
    "rank": sf.rank(),
    "dense": sf.dense_rank(),
    "lag": sf.lag("x"),
    "lag_known": sf.lag("x", ignore_nulls=True),
    "nth": sf.nth_value("x", 2).over(LAST),
    "first_known": sf.first_value("x", ignore_nulls=True).over(LAST),
    "window_rank": sf.window_rank("x").over(LAST),
    "function": sf.function(np.sum, "x").over(LAST),
}


def streamed(live: Any, table: pa.Table, end: Any) -> pa.Table:
    found = [live.feed(table.slice(i, 37)) for i in range(0, table.num_rows, 37)]
    found.append(live.advance(end))
    return pa.concat_tables([one for one in found if one.num_rows]).sort_by("id")


@pytest.mark.parametrize("name", ASKED)
def test_a_stream_gives_what_a_table_gives(name: str) -> None:
    table = duck.sample(200, 1, ties=3)
    wanted = sash.windowed(table, "k", time="t").agg(r=ASKED[name]).column("r").to_pylist()
    live = sash.stream(by="k", time="t", delay=3).agg(r=ASKED[name])
    found = streamed(live, table, 10**6).column("r").to_pylist()
    assert len(found) == len(wanted)
    assert all(map(duck.same, found, wanted))


def test_a_calendar_goes_on_over_batches() -> None:
    table = duck.sample(200, 1)
    hours = [t * 9 * 3600 * 10**6 for t in table.column("t").to_pylist()]
    table = table.append_column("ts", pa.array(hours, pa.timestamp("us", "UTC")))
    asked = sf.sum("i").over(sash.calendar("1 day", tz="Europe/Berlin"))
    wanted = sash.windowed(table, "k", time="ts").agg(r=asked)
    live = sash.stream(by="k", time="ts", delay="1 day").agg(r=asked)
    found = streamed(live, table, dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
    assert found.column("r").to_pylist() == wanted.column("r").to_pylist()


@pytest.mark.parametrize(
    ("slide", "size", "zone"),
    [
        ("1 day", "1 day", "Europe/Berlin"),
        ("1 week", "2 weeks", "UTC"),
        ("1 month", "1 month", None),
    ],
)
def test_windows_of_a_calendar_are_those_of_a_table(slide: str, size: str, zone: Any) -> None:
    """Over the change of daylight-saving time, batches within and across periods."""
    table = duck.sample(400, 5)
    hours = [1710000000 * 10**6 + t * 5 * 3600 * 10**6 for t in table.column("t").to_pylist()]
    table = table.append_column("ts", pa.array(hours, pa.timestamp("us", zone and "UTC")))
    every, over = sash.calendar(slide, tz=zone), sash.calendar(size, tz=zone)
    asked = {
        "s": sf.sum("i").over(over),
        "n": sf.count().over(over),
        "m": sf.median("x").over(over),
    }
    wanted = sash.windowed(table, "k", time="ts").every(every).agg(**asked)
    live = sash.stream(by="k", time="ts", delay="3 hours").every(every).agg(**asked)
    found = [live.feed(table.slice(i, 23)) for i in range(0, table.num_rows, 23)]
    found.append(live.advance(dt.datetime(2100, 1, 1, tzinfo=dt.UTC if zone else None)))
    order = [(name, "ascending") for name in ("k", "window_start")]
    both = [t.sort_by(order).to_pylist() for t in (pa.concat_tables(found), wanted)]
    assert both[0] == both[1]
    assert len(both[0]) > 5


def test_what_a_stream_cannot_run_is_said() -> None:
    table, number = duck.sample(5, 1), sf.row_number()
    live = sash.stream(by="k", time=["t", "id"], delay=3).agg(n=number)
    with pytest.raises(ValueError, match="several columns of order do not run on a stream"):
        live.feed(table)
    with pytest.raises(ValueError, match="never ends on a stream"):
        sash.stream(by="k", time="t", delay=3).agg(n=sf.cume_dist()).feed(table)
