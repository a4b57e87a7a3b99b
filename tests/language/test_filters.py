"""Filters: SQL's FILTER, for every kind of aggregation, against DuckDB."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import parts, row_windows
from sash.testing.counting import counting
from tests.engine.streams import aggregate
from tests.language import duck

CONDITIONS = {"b": "b", "i > 0": "i > 0", "x IS NULL OR s = 'a'": "x IS NULL OR s = 'a'"}
FRAMES = {
    "ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING": (sash.rows_between(-3, 1), "t, id"),
    "RANGE BETWEEN 4 PRECEDING AND CURRENT ROW": (sash.range_between(-4, 0), "t"),
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": (sash.lifetime(), "t"),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("block", [7, 1 << 17])
def test_filtered_aggregations_are_duckdbs(
    frame: str, condition: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", block)
    rows = duck.sample(300, 5)
    ours, order = FRAMES[frame]
    clause = f"FILTER (WHERE {condition}) {duck.over(frame, order)}"
    asked = {
        "n": (sf.count_if(condition), "count(*)"),
        "known": (sf.count("x").where(condition), "count(x)"),
        "total": (sf.sum("i").where(condition), "sum(i)"),
        "hi": (sf.max("x").where(condition), "max(x)"),
        "text": (sf.max("s").where(condition), "max(s)"),
        "mean": (sf.mean("x").where(condition), "avg(x)"),
        "kinds": (sf.count_distinct("s").where(condition), "count(DISTINCT s)"),
        "mid": (sf.median("x").where(condition), "median(x)"),
    }
    found = sash.windowed(rows, "k", time="t").agg(
        **{o: a.over(ours) for o, (a, _) in asked.items()}
    )
    duck.assert_same(
        found, duck.answers(rows, {o: f"{sql} {clause}" for o, (_, sql) in asked.items()})
    )


def test_the_first_and_last_row_that_pass_may_be_null() -> None:
    rows = pa.table({"t": [1, 2, 3, 4], "x": [1, None, 3, None], "b": [False, True, True, True]})
    found = sash.windowed(rows, time="t").agg(
        first=sf.first("x").where("b").over(sash.rows(3)),
        last=sf.last("x").where("b AND t < 4").over(sash.rows(3)),
        best=sf.argmax("t", "x").where("b").over(sash.rows(3)),
    )
    assert found.column("first").to_pylist() == [None, None, None, None]
    assert found.column("last").to_pylist() == [None, None, 3, 3]
    assert found.column("best").to_pylist() == [None, None, 3, None]


def test_a_users_monoid_never_sees_a_row_that_does_not_pass() -> None:
    seen = []

    def lift(x: object) -> list[object]:
        seen.append(x)
        return [x]

    own = sash.Monoid("own", [], lift, lambda a, b: a + b, dtype=object)
    rows = pa.table({"t": [1, 2, 3], "x": ["a", "b", "c"], "b": [True, False, True]})
    asked = sf.apply(own, "x", returns=pa.list_(pa.string())).where("b").over(sash.rows(2))
    found = sash.windowed(rows, time="t").agg(own=asked)
    assert found.column("own").to_pylist() == [["a"], ["a"], ["c"]]
    assert set(seen) == {"a", "c"}


def test_a_filter_costs_no_combines() -> None:
    rows = duck.sample(2000, 7)
    counts = []
    for condition in ("TRUE", "b"):
        counted, counter = counting(sash.monoids.Max())
        asked = sf.apply(counted, "i", returns=pa.int64(), check=False).where(condition)
        sash.windowed(rows, "k", time="t").agg(hi=asked.over(sash.rows(50)))
        counts.append(counter.combines)
    assert counts[1] <= counts[0]


def test_bounds_are_found_once_for_all_conditions_and_parts_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "WORTH_A_THREAD", 1)
    rows = duck.sample(500, 9)
    asked = {
        "a": sf.sum("i").where("b").over(sash.range_between(-5, 0)),
        "b2": sf.sum("i").where("x > 0").over(sash.range_between(-5, 0)),
        "c": sf.sum("i").over(sash.range_between(-5, 0)),
    }
    work = sash.windowed(rows, "k", time="t")
    assert len(work.explain(**asked).plan.frames) == 1
    whole = aggregate(work.query(**asked), rows, threads=1)
    assert aggregate(work.query(**asked), rows, threads=5).equals(whole)


def test_conditions_that_are_none_are_refused() -> None:
    work = sash.windowed(duck.sample(3, 1), "k", time="t")
    with pytest.raises(TypeError, match="i is int64, not true or false"):
        work.agg(n=sf.count_if("i").over(sash.rows(2)))
    with pytest.raises(KeyError, match="no column 'nope'"):
        work.agg(n=sf.count_if("nope > 1").over(sash.rows(2)))
    with pytest.raises(TypeError, match="a policy looks at all rows"):
        work.agg(n=sf.sum("i").where("b").over(sash.policy(lambda total, old: total > 3)))
