"""The language on a stream in process: what a table gives, or an error that says why not."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import functions as sf
from sash.windows.frames import Groups, Rows
from tests.language import duck
from tests.language.test_frames import AGGREGATIONS, random_frame

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


def ends(frame: Any) -> bool:
    """Whether it is known on a stream when a frame's windows are complete."""
    return frame.following is not None and not (isinstance(frame, Groups) and frame.following > 0)


def bounded(seed: int) -> tuple[Any, dict[str, Any], list[str]]:
    """A random frame that ends on a stream, aggregations over it, and the order that they take."""
    frame = random_frame(seed)[0]
    while not ends(frame):
        seed += 10_000
        frame = random_frame(seed)[0]
    asked = {out: a for out, (a, _) in AGGREGATIONS.items()}
    if seed % 3 == 0:
        asked = {out: a.where("b") for out, a in asked.items()}
    time = ["t"] if seed % 4 else ["t", "s", "id"]
    return frame, {f"{out}_": a.over(frame) for out, a in asked.items()}, time


def check_random(seed: int) -> None:
    """A random frame over batches of any size, rows late and out of order."""
    frame, asked, time = bounded(seed)
    rng = np.random.default_rng(seed)
    table = duck.sample(160, seed, ties=1 + seed % 4)
    late = np.array(table["t"]) + rng.integers(0, 4, 160)
    table = table.take(np.argsort(late, kind="stable"))
    wanted = {
        row["id"]: row for row in sash.windowed(table, "k", time=time).agg(**asked).to_pylist()
    }
    live, found = sash.stream(by="k", time=time, delay=4).agg(**asked), []
    cuts = np.sort(rng.integers(0, 161, 6)).tolist()
    for a, b in zip([0, *cuts], [*cuts, 160]):
        found += live.feed(table.slice(a, b - a)).to_pylist()
    found += live.advance(10**6).to_pylist()
    ahead = max(0, frame.following) if isinstance(frame, Rows) else 0
    assert 160 - 3 * ahead <= len(found) <= 160
    for row in found:
        own = wanted[row["id"]]
        wrong = [out for out in asked if not duck.same(row[out], own[out])]
        assert not wrong, (seed, str(frame), wrong, row, own)


@pytest.mark.parametrize(
    "seed",
    [*range(5), pytest.param(5, marks=pytest.mark.slow), 6, 7, 187],  # 187: begin after the row
)
def test_random_frames_are_those_of_a_table(seed: int) -> None:
    check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_frames_are_those_of_a_table(seed: int) -> None:
    check_random(seed)


def windows_of(live: Any, table: pa.Table, size: int, end: Any) -> list[dict[str, Any]]:
    """The windows that a stream gives, in order of key and start; batches of a size."""
    found = [live.feed(table.slice(i, size)) for i in range(0, table.num_rows, size)]
    return in_order(pa.concat_tables([*found, live.advance(end)]))


def in_order(windows: pa.Table) -> list[dict[str, Any]]:
    columns = [n for n in ("k", "window", "window_start") if n in windows.column_names]
    return windows.sort_by([(name, "ascending") for name in columns]).to_pylist()


JOINED = sash.Monoid("joined", "", str, lambda a, b: a + b)
"""Not commutative, of plain Python, and its lift takes no null."""


@pytest.mark.parametrize("kind", ["int64", "float64"])
@pytest.mark.parametrize(("size", "slide"), [(2, 2), (7, 2), (6, 3)])
def test_windows_without_rows_are_those_of_a_table(size: int, slide: int, kind: Any) -> None:
    """Keys with pauses, within a batch and over several, and longer than any window."""
    table = duck.sample(150, 2, keys=40)
    place = table.column_names.index("t")
    table = table.set_column(
        place, "t", pa.array(np.array(table["t"]) * 3, pa.type_for_alias(kind))
    )
    over = sash.range_between(-size, 0)
    asked = {
        "n": sf.count().over(over),
        "s": sf.sum("i").where("b").over(over),
        "m": sf.median("x").over(over),  # of rows that are read again
        "list": sf.collect_list("i").over(over),
        "ids": sf.apply(JOINED, "id", returns=pa.string(), check=False).over(over),
        "r": sf.coalesce(sf.sum("i").over(over), 0) + sf.count().over(over),
    }
    wanted = sash.windowed(table, "k", time="t").every(slide, fill=True).agg(**asked)
    live = sash.stream(by="k", time="t", delay=3).every(slide, fill=True).agg(**asked)
    found = windows_of(live, table, 23, table["t"][-1].as_py() + 1000)
    assert found == in_order(wanted)
    assert "the number of its last window" in str(live.explain())
    plain = sash.windowed(table, "k", time="t").every(slide).agg(**asked)
    assert len(found) > 2 * plain.num_rows


@pytest.mark.parametrize("closed", ["right", "both", "neither"])
@pytest.mark.parametrize(
    ("size", "slide", "fill"), [(2, 2, True), (7, 2, False), (6, 3, True), (1, 1, True)]
)
def test_windows_with_other_closed_ends_are_those_of_a_table(
    size: int, slide: int, closed: Any, fill: bool
) -> None:
    table = duck.sample(150, 4, keys=12)
    over = sash.range_between(-size, 0)
    asked = {
        "n": sf.count().over(over),
        "s": sf.sum("i").where("b").over(over),
        "m": sf.median("x").over(over),  # of rows that are read again
        "ids": sf.apply(JOINED, "id", returns=pa.string(), check=False).over(over),
    }
    given = {"closed": closed, "fill": fill}
    wanted = sash.windowed(table, "k", time="t").every(slide, **given).agg(**asked)
    live = sash.stream(by="k", time="t", delay=3).every(slide, **given).agg(**asked)
    found = windows_of(live, table, 23, table["t"][-1].as_py() + 1000)
    assert found == in_order(wanted)
    assert bool(found) == (size > 1 or closed != "neither")


def test_windows_of_several_kinds_with_other_closed_ends() -> None:
    """Whose slices are as long as a step, as the ends of both kinds are never the same."""
    table = duck.sample(150, 5, keys=12)
    asked = {
        "n": sf.count().over(sash.sliding(6, 2)),
        "s": sf.max("i").over(sash.sliding(9, 3, closed="right")),
        "last": sf.apply(JOINED, "id", returns=pa.string(), check=False).over(
            sash.sliding(4, 4, closed="both")
        ),
    }
    wanted = sash.windowed(table, "k", time="t").every().agg(**asked)
    live = sash.stream(by="k", time="t", delay=3).every().agg(**asked)
    found = windows_of(live, table, 23, table["t"][-1].as_py() + 1000)
    assert found == in_order(wanted)
    assert live.explain().plan.slices[0].period == 1


@pytest.mark.parametrize("size", [1, 23])
@pytest.mark.parametrize("closed", ["right", "both", "neither"])
def test_changed_windows_with_other_closed_ends(closed: Any, size: int) -> None:
    table = duck.sample(150, 8, keys=4)
    kinds = [sash.sliding(6, 2, closed=closed), sash.sliding(9, 3)]
    for several in (False, True):
        asked = {"n": sf.count().over(kinds[0]), "m": sf.median("x").over(kinds[0])}
        if several:
            asked = {"n": sf.count().over(kinds[0]), "s": sf.max("i").over(kinds[1])}
        wanted = sash.windowed(table, "k", time="t", emit="changes").every().agg(**asked)
        live = sash.stream(by="k", time="t", delay=3, emit="changes").every().agg(**asked)
        found = windows_of(live, table, size, table["t"][-1].as_py() + 1000)
        assert found == in_order(wanted)


def test_closed_ends_need_times_that_have_steps() -> None:
    two = sash.range_between(-2, 0)
    live = sash.stream(time="t").every(2, closed="right").agg(n=sf.count().over(two))
    with pytest.raises(ValueError, match="whose time is a float"):
        live.feed(pa.table({"t": [1.0, 2.0]}))


def test_windows_without_rows_of_several_kinds_and_after_a_restart() -> None:
    table = duck.sample(120, 3, keys=5).drop_columns(["x"])
    hours = pa.array(np.array(table["t"]) * 7_200_000_000, pa.timestamp("us", "UTC"))
    table = table.append_column("ts", hours)
    asked = {
        "n": sf.count().over(sash.sliding("1 hour", "30 minutes")),
        "s": sf.max("i").over(sash.sliding("4 hours", "2 hours")),
    }
    wanted = sash.windowed(table, "k", time="ts").every(fill=True).agg(**asked)
    store, found = sash.stores.open("memory:"), []
    for i in range(0, table.num_rows, 17):
        call = sash.stream(by="k", time="ts", delay="1 hour", store=store).every(fill=True)
        with call.agg(**asked) as live:
            found.append(live.feed(table.slice(i, 17)))
    with call.agg(**asked) as live:
        found.append(live.advance(dt.datetime(2100, 1, 1, tzinfo=dt.UTC)))
    assert in_order(pa.concat_tables(found)) == in_order(wanted)
    call = sash.stream(by="k", time="ts", delay="1 hour", store=store).every()
    with pytest.raises(ValueError, match="those without rows too then"):
        call.agg(**asked)


def test_days_without_rows_across_daylight_saving_time_and_a_history() -> None:
    table = duck.sample(100, 5, keys=8)
    hours = [1711500000 * 10**6 + t * 11 * 3600 * 10**6 for t in table.column("t").to_pylist()]
    table = table.append_column("ts", pa.array(hours, pa.timestamp("us", "UTC")))
    day = sash.calendar("1 day", tz="Europe/Berlin")
    asked = {"s": sf.sum("i").over(day), "n": sf.count().over(day)}
    wanted = in_order(sash.windowed(table, "k", time="ts").every(day, fill=True).agg(**asked))
    call = sash.stream(by="k", time="ts", delay="3 hours").every(day, fill=True)
    end = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
    assert windows_of(call.agg(**asked), table, 9, end) == wanted
    cut = table["ts"][59].as_py()
    call = sash.stream(by="k", time="ts", delay="3 hours", history=table.slice(0, 60), cut=cut)
    late = table.slice(60).filter(pa.array([t.as_py() > cut for t in table["ts"][60:]]))
    found = windows_of(call.every(day, fill=True).agg(**asked), late, 9, end)
    both = pa.concat_tables([table.slice(0, 60), late])
    wanted = in_order(sash.windowed(both, "k", time="ts").every(day, fill=True).agg(**asked))
    whole = {(row["k"], row["window_start"]): row for row in wanted}
    assert all(whole[row["k"], row["window_start"]] == row for row in found)
    given = {(row["k"], row["window_start"]) for row in found}
    assert all(place in given for place, row in whole.items() if row["window_end"] > cut)


def test_a_key_that_is_forgotten_begins_again() -> None:
    table = pa.table({"k": [1, 1, 2, 1], "t": [0, 21, 60, 100]})
    asked = sf.count().over(sash.range_between(-10, 0))
    found = {}
    for idle in (None, 30):
        live = sash.stream(by="k", time="t", idle=idle).every(10, fill=True).agg(n=asked)
        rows = [live.feed(table.slice(i, 1)) for i in range(4)]
        found[idle] = [row for part in [*rows, live.advance(1000)] for row in part.to_pylist()]
    ours = [row["window_start"] for row in found[None] if row["k"] == 1]
    assert ours == [*range(0, 110, 10)]
    ours = [row["window_start"] for row in found[30] if row["k"] == 1]
    assert ours == [0, 10, 20, 100]


TIED: dict[str, Any] = {
    "number": sf.row_number(),
    "dense": sf.dense_rank(),
    "lag": sf.lag("id"),
    "first": sf.first("id").over(LAST),
    "list": sf.collect_list("id").over(LAST),
    "joined": sf.apply(JOINED, "id", returns=pa.string(), check=False).over(sash.rows(5)),
    "others": sf.collect_list("id").over(LAST, exclude="ties"),
    "groups": sf.collect_list("id").over(sash.groups_between(-2, 0)),
    "ahead": sf.collect_list("id").over(sash.rows_between(-1, 2)),
    "later": sf.collect_list("id").over(sash.range_between(-1, 2)),
    "session": sf.collect_list("id").over(sash.session(1)),
    "distinct": sf.count_distinct("s").over(LAST),
}


@pytest.mark.parametrize("name", TIED)
def test_rows_of_one_time_are_in_the_order_of_further_columns(name: str) -> None:
    """Rows of a time come in any order, in one batch or several; `s` has nulls and equals."""
    table = duck.sample(240, 6, ties=6)
    shuffled = np.random.default_rng(3).permutation(240)
    order = shuffled[np.argsort(np.array(table["t"])[shuffled] // 4, kind="stable")]
    table = table.take(order)
    call = sash.windowed(table, "k", time=["t", "s", "i", "id"])
    wanted = call.agg(r=TIED[name]).sort_by("id")
    live = sash.stream(by="k", time=["t", "s", "i", "id"], delay=6).agg(r=TIED[name])
    found = streamed(live, table, 10**6)
    kept = set(found["id"].to_pylist())  # the last rows of frames that look ahead wait
    assert len(kept) == (240 if name != "ahead" else 240 - 2 * 3)
    rows = [row for row in wanted.to_pylist() if row["id"] in kept]
    assert found.column("r").to_pylist() == [row["r"] for row in rows]


def test_windows_of_every_have_ties_in_order() -> None:
    table = duck.sample(200, 6, ties=8)
    table = table.take(np.argsort(np.array(table["t"]) // 3 * 1000 - np.arange(200), kind="stable"))
    over = sash.range_between(-6, 0)
    asked = {"ids": sf.collect_list("id").over(over), "first": sf.first("id").over(over)}
    wanted = sash.windowed(table, "k", time=["t", "id"]).every(3).agg(**asked)
    live = sash.stream(by="k", time=["t", "id"], delay=5).every(3).agg(**asked)
    assert windows_of(live, table, 37, 10**6) == in_order(wanted)


def test_what_a_stream_cannot_run_is_said() -> None:
    table, number = duck.sample(5, 1), sf.row_number()
    live = sash.stream(by="k", time=["t", "id"], delay=3, emit="arrival").agg(n=number)
    with pytest.raises(ValueError, match="before 'id' can order them"):
        live.feed(table)
    with pytest.raises(ValueError, match="never ends on a stream"):
        sash.stream(by="k", time="t", delay=3).agg(n=sf.cume_dist()).feed(table)
    ahead = sf.count().over(sash.groups_between(0, 1))
    with pytest.raises(ValueError, match="so many more times of a key have come is not known"):
        sash.stream(by="k", time="t", delay=3).agg(n=ahead).feed(table)
    call = sash.stream(by="k", time="t", emit="changes").every(2, fill=True)
    with pytest.raises(ValueError, match="emit='changes' does not run on a stream"):
        call.agg(n=sf.count().over(sash.range_between(-2, 0))).feed(table)


@pytest.mark.parametrize(("sizes", "slide"), [((1,), 1), ((5,), 3), ((5,), 5), ((4, 9), 2)])
@pytest.mark.parametrize("size", [1, 23])
def test_windows_by_rows_are_those_of_a_table(
    sizes: tuple[int, ...], slide: int, size: int
) -> None:
    """Batches in which keys have some rows, one or none, and windows of several sizes."""
    table = duck.sample(150, 6, keys=7)
    asked = {}
    for n in sizes:
        asked |= {
            f"n{n}": sf.count().over(sash.rows(n)),
            f"s{n}": sf.sum("i").where("b").over(sash.rows(n)),
            f"m{n}": sf.median("x").over(sash.rows(n)),
            f"ids{n}": sf.apply(JOINED, "id", returns=pa.string(), check=False).over(sash.rows(n)),
            f"r{n}": sf.coalesce(sf.sum("i").over(sash.rows(n)), 0) + 1,
        }
    wanted = sash.windowed(table, "k", time=["t", "id"]).every(sash.rows(slide)).agg(**asked)
    live = sash.stream(by="k", time=["t", "id"], delay=3).every(sash.rows(slide)).agg(**asked)
    found = windows_of(live, table, size, table["t"][-1].as_py() + 1000)
    assert by_last_row(found) == by_last_row(in_order(wanted))
    assert found


def by_last_row(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Windows by rows in an order in which no two are the same, as several may begin at a time."""
    return sorted(windows, key=lambda w: json.dumps(w, default=str, sort_keys=True))


def test_windows_by_rows_after_a_restart_and_of_idle_keys() -> None:
    """A key that was idle begins to count again, and nothing is kept of those that are gone."""
    times = [0, 1, 2, 100, 101, 102, 103, 104]
    table = pa.table({"k": [1] * 8, "t": times, "x": list(range(8))})
    asked, store = {"s": sf.sum("x").over(sash.rows(3))}, sash.stores.open("memory:")
    found = []
    for i in range(8):
        call = sash.stream(by="k", time="t", idle=50, store=store).every(sash.rows(2))
        with call.agg(**asked) as live:
            found += live.feed(table.slice(i, 1)).to_pylist()
    with call.agg(**asked) as live:
        found += live.advance(1000).to_pylist()
    assert [(w["window_start"], w["window_end"], w["s"]) for w in found] == [
        (0, 1, 1), (100, 101, 7), (101, 103, 15)
    ]  # fmt: skip


def test_windows_by_rows_begin_with_a_history_and_read_their_tails_only() -> None:
    table = duck.sample(3000, 7, keys=3)
    asked = {"s": sf.sum("i").over(sash.rows(50))}
    wanted = sash.windowed(table, "k", time="t").every(sash.rows(10)).agg(**asked)
    cut = table["t"][999].as_py()
    past = table.filter(pc.less_equal(table["t"], cut))
    call = sash.stream(by="k", time="t", delay=3, history=past)
    live = call.every(sash.rows(10)).agg(**asked)
    found, read = [], []
    rest = table.filter(pc.greater(table["t"], cut))
    for i in range(0, rest.num_rows, 20):
        found.append(live.feed(rest.slice(i, 20)))
        read.append(live.stats.rows_read)
    found.append(live.advance(table["t"][-1].as_py() + 1000))
    wanted = wanted.filter(pc.greater(wanted["window_end"], cut))
    assert by_last_row(in_order(pa.concat_tables(found))) == by_last_row(in_order(wanted))
    assert 0 < max(read) <= 2 * 3 * (50 + 10) + 2 * 20


@pytest.mark.parametrize(
    ("options", "asked", "says"),
    [
        ({}, {"a": sash.rows(3), "b": sash.sliding(4, 2)}, "make a call for each"),
        ({"emit": "changes"}, {"a": sash.rows(3)}, "emit='changes' does not run"),
    ],
)
def test_windows_by_rows_that_a_stream_refuses(options: Any, asked: Any, says: str) -> None:
    call = sash.stream(time="t", **options).every(sash.rows(2))
    live = call.agg(**{name: sf.count().over(frame) for name, frame in asked.items()})
    with pytest.raises(ValueError, match=says):
        live.feed(pa.table({"t": [1, 2]}))
