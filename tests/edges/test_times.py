"""Times that are null, dates, and frames that have no rows or end at the row itself."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.order import rows_by
from sash.engine.row_windows import run
from sash.plan.planner import plan_of

DAYS = pa.array([dt.date(2024, 1, day) for day in (1, 2, 4)])
Rows = list[tuple[str, int | None, int]]


def reached(rows: Rows, lo: int | None, hi: int | None, descending: bool) -> dict[int, list[int]]:
    """The rows of each row's window, by SQL's rule: null plus a bound is null, nulls are peers."""
    sign = -1 if descending else 1

    def inside(own: int | None, other: int | None) -> bool:
        if own is None or other is None:
            before = descending != (own is None)  # whether `own` has its place before `other`
            return own == other or (hi is None if before else lo is None)
        steps = sign * (other - own)
        return (lo is None or steps >= lo) and (hi is None or steps <= hi)

    return {i: sorted(j for k, t, j in rows if k == key and inside(own, t)) for key, own, i in rows}


@pytest.mark.parametrize("kind", [pa.int64(), pa.float32(), pa.timestamp("us")], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_rows_without_a_time_reach_each_other(kind: pa.DataType, descending: bool) -> None:
    """Whatever the bounds are: -3 to -1 gave them empty windows. In one piece and in batches."""
    dice = random.Random(f"{kind} {descending}")
    for n in (5, 40, 200) * 8:
        rows = [(dice.choice("ab"), dice.choice([None, *range(12)] if i % 3 else [None]), i)
                for i in range(n)]  # fmt: skip
        times = pa.array([t for _, t, _ in rows], pa.int64()).cast(kind)
        table = pa.table({"k": [k for k, _, _ in rows], "t": times, "i": range(n)})
        lo, hi = sorted(dice.randint(-4, 4) for _ in range(2))
        bounds = dice.choice([(lo, hi), (lo, hi), (None, hi), (lo, None)])
        unit = " us" if pa.types.is_timestamp(kind) else ""
        named = (None if b is None else f"{b}{unit}" if unit else b for b in bounds)
        work = sash.windowed(table, "k", time="t", descending=descending)
        asked = {"list": sf.collect_list("i").over(sash.range_between(*named))}
        expected = reached(rows, *bounds, descending)
        assert by_row(work.agg(**asked)) == expected
        way = ("descending", "at_end") if descending else ("ascending", "at_start")
        order = rows_by(table, [("k", "ascending", "at_start"), ("t", *way)])
        pieces = table.take(order).combine_chunks().to_batches(max_chunksize=3)
        found = run(plan_of(work.query(**asked), table.schema), pieces)
        assert by_row(pa.Table.from_batches(found)) == expected


def by_row(table: pa.Table) -> dict[int, list[int]]:
    return {row["i"]: sorted(row["list"]) for row in table.to_pylist()}


@pytest.mark.parametrize("closed", ["left", "neither", "right"])
def test_rows_without_a_time_and_open_ends(closed: Any) -> None:
    """An upper end that is not included leaves them alone: nothing may leak."""
    table = pa.table({"t": pa.array([None, None, 1]), "i": [0, 1, 2]})
    asked = sf.collect_list("i").over(sash.range_between(-5, 0, closed))
    found = sash.windowed(table, time="t").agg(y=asked).column("y").to_pylist()
    assert found == ([[0, 1], [0, 1], [2]] if closed == "right" else [[], [], []])


def test_rows_without_a_time_elsewhere() -> None:
    table = pa.table({"t": pa.array([1, None]), "x": [1, 2]})
    with pytest.raises(ValueError, match=r"time column 't' has 1 null\(s\): drop those rows"):
        sash.stream(time="t").agg(n=sf.count().over(sash.rows(2))).feed(table)
    with pytest.raises(ValueError, match=r"time column 't' has 1 null\(s\): drop those rows"):
        sash.windowed(table, time="t").every(2).agg(n=sf.count().over(sash.range_between(-2, 0)))


@pytest.mark.parametrize(
    "frame", ["36 hours", sash.session("90 min"), sash.tumbling("36 hours"), dt.timedelta(0, 1)]
)
def test_a_duration_that_is_no_whole_number_of_days_over_dates(frame: Any) -> None:
    """As Spark, which refuses it; a timestamp takes it."""
    table = pa.table({"t": DAYS})
    asked = {"n": sf.count().over(frame)}
    message = "no whole number of the time column's steps of 1 day: .* cast the column"
    with pytest.raises(ValueError, match=message):
        sash.windowed(table, time="t").agg(**asked)
    with pytest.raises(ValueError, match=message):
        sash.stream(time="t").agg(**asked).feed(table)
    finer = pa.table({"t": DAYS.cast(pa.timestamp("s"))})
    assert sash.windowed(finer, time="t").agg(**asked).num_rows == 3


def test_whole_days_over_dates() -> None:
    table = pa.table({"t": DAYS})
    for two_days in ("48 hours", "2 days", dt.timedelta(2)):
        found = sash.windowed(table, time="t").agg(n=sf.count().over(two_days))
        assert found.column("n").to_pylist() == [1, 2, 2]


EMPTY = {
    "open at both ends": sash.range_between(0, 0, "neither"),
    "open below": sash.range_between(0, 0, "right"),
    "nothing between": sash.range_between(-1, 0, "neither"),
    "by rows": sash.rows_between(3, 2, empty=True),
    "by groups": sash.groups_between(0, -1, empty=True),
}


@pytest.mark.parametrize("name", EMPTY)
def test_frames_that_are_always_empty(name: str) -> None:
    table = pa.table({"t": [1, 2, 3], "x": [5, 3, 4]})
    nothing = {"n": 0, "sum": None, "hi": None, "list": [], "median": None, "distinct": 0,
               "first": None, "who": None}  # fmt: skip
    asked = {"n": sf.count(), "sum": sf.sum("x"), "hi": sf.max("x"), "list": sf.collect_list("x"),
             "median": sf.median("x"), "distinct": sf.count_distinct("x"), "first": sf.first("x"),
             "who": sf.argmax("x", "t")}  # fmt: skip
    over = {out: a.over(EMPTY[name]) for out, a in asked.items()}
    found = sash.windowed(table, time="t").agg(**over)
    assert found.select(list(asked)).to_pylist() == [nothing] * 3
    if name.startswith("by"):
        return
    live = sash.stream(time="t").agg(**over)
    given = pa.concat_tables([live.feed(table), live.advance(9)])
    assert given.select(list(asked)).to_pylist() == [nothing] * 3


@pytest.mark.parametrize("define", [sash.rows_between, sash.range_between, sash.groups_between])
def test_a_start_after_the_end_is_refused(define: Any) -> None:
    with pytest.raises(ValueError, match="start=1 comes after end=-1"):
        define(1, -1)


def test_delta_of_nan_and_null() -> None:
    """NaN is near to nothing; null is an error in every executor."""
    asked = {"n": sf.count().over(sash.delta("c", 2))}
    table = pa.table({"t": [1, 2, 3, 4], "c": [1.0, float("nan"), 5.0, 6.0]})
    assert sash.windowed(table, time="t").agg(**asked).column("n").to_pylist() == [1, 1, 1, 2]
    assert sash.stream(time="t").agg(**asked).feed(table).column("n").to_pylist() == [1, 1, 1, 2]
    nulls = pa.table({"t": [1, 2], "c": [1.0, None]})
    for over in (sash.windowed(nulls, time="t").agg, sash.stream(time="t").agg(**asked).feed):
        with pytest.raises(ValueError, match=r"'c' has 1 null\(s\), .* drop those rows"):
            over(**asked) if over.__name__ == "agg" else over(nulls)


@pytest.mark.parametrize("descending", [False, True])
def test_a_frame_that_ends_at_the_row(descending: bool) -> None:
    """peers=False: not at its peers, in either order of time."""
    table = pa.table({"t": [1, 1, 2, 2], "x": [1, 2, 3, 4]})
    frame = sash.range_between(-1, 0)
    found = sash.windowed(table, time="t", descending=descending).agg(
        to_row=sf.collect_list("x").over(frame, peers=False),
        to_peers=sf.collect_list("x").over(frame),
    )
    if descending:
        assert found.column("to_row").to_pylist() == [[3, 4, 1], [3, 4, 1, 2], [3], [3, 4]]
        assert found.column("to_peers").to_pylist() == [[3, 4, 1, 2]] * 2 + [[3, 4]] * 2
    else:
        assert found.column("to_row").to_pylist() == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]
        assert found.column("to_peers").to_pylist() == [[1, 2]] * 2 + [[1, 2, 3, 4]] * 2
