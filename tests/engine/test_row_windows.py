"""Arrow in, Arrow out, against brute force: every frame and kind of aggregation, any batches."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from sash.engine.row_windows import run
from sash.plan.definition import Query
from sash.plan.planner import plan_of
from tests.engine.oracle import alike, expected

START = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)


def sample(n: int, seed: int, keys: int = 7) -> pa.Table:
    """Rows with ties and gaps in time, nulls everywhere but in the time, sorted."""
    rng = np.random.default_rng(seed)
    key = np.sort(rng.integers(0, keys, n))
    second = rng.integers(0, n, n) * rng.integers(1, 4, n) // 2
    order = np.lexsort((second, key))

    def some(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, kind, mask=rng.random(n) < 0.15)

    floats = rng.choice([-0.0, 0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 3.0, 8.0], n)
    return pa.table(
        {
            "k": pa.array(key),
            "s": pa.array(second[order]),
            "ts": pa.array([START + dt.timedelta(seconds=int(x)) for x in second[order]]),
            "f": some(floats),
            "x": some(rng.integers(-50, 50, n).astype(float)),
            "i": some(rng.integers(-9, 9, n).astype(np.int32)),
            "w": some(rng.choice(["a", "b", "cc", "", "ä"], n).tolist()),
            "b": some(rng.random(n) < 0.3),
        }
    )


def check(table: pa.Table, aggregations: dict[str, Any], time: str = "s", size: int = 64) -> None:
    query = Query(("k",), time, aggregations)
    batches = list(run(plan_of(query, table.schema), table.to_batches(max_chunksize=size)))
    found = pa.Table.from_batches(batches)
    kept = [name for name in table.schema.names if name != "f"]  # NaN is not equal to itself
    assert found.select(kept).equals(table.select(kept))
    for out, answers in expected(query, table).items():
        got = found.column(out).to_pylist()
        wrong = [(i, g, w) for i, (g, w) in enumerate(zip(got, answers)) if not alike(g, w)]
        assert not wrong, (out, wrong[:3])


FRAMES = {
    "range": sash.range_between(-20, 0),
    "following": sash.range_between(-5, 9),
    "only_before": sash.range_between(-20, -3),
    "only_after": sash.range_between(2, 30),
    "unbounded": sash.range_between(None, 4),
    "all": sash.range_between(None, None),
    "right": sash.range_between(-20, 0, closed="right"),
    "neither": sash.range_between(-20, 3, closed="neither"),
    "rows": sash.rows(9),
    "rows_around": sash.rows_between(-2, 3),
    "rows_after": sash.rows_between(1, 4),
    "rows_before": sash.rows_between(-6, -2),
    "rows_to_end": sash.rows_between(0, None),
    "session": sash.session(3),
    "lifetime": sash.lifetime(),
    "tumbling": sash.tumbling(10),
    "sliding": sash.sliding(12, 5),
    "until": sash.until("b"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame(name: str) -> None:
    frame = FRAMES[name]
    for seed, size in ((1, 1), (2, 37), (3, 1000)):
        aggregations = {
            "n": sf.count().over(frame),
            "nx": sf.count("x").over(frame),
            "sum_x": sf.sum("x").over(frame),
            "first": sf.first("w").over(frame),
            "words": sf.concat("w").over(frame),  # not commutative
        }
        check(sample(150, seed), aggregations, size=size)


@pytest.mark.parametrize("name", FRAMES)
def test_a_batch_of_many_keys_and_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks end within keys, while keys that begin later are at hand already."""
    monkeypatch.setattr(row_windows, "BLOCK", 50)
    check(sample(400, 11), {"n": sf.count().over(FRAMES[name])}, size=1000)
    apart = sash.delta("s", 4)
    check(sample(400, 12), {"n": sf.count().over(apart)}, size=1000)


def test_a_delta_and_a_predicate() -> None:
    table = sample(200, 4)
    table = table.set_column(4, "x", pa.array(np.random.default_rng(5).integers(0, 60, 200) * 1.0))
    aggregations = {
        "near": sf.count().over(sash.delta("x", 20)),
        "until": sf.concat("w").over(sash.until(lambda x: x > 50, "x")),
    }
    check(table, aggregations)


ALL = {
    "sum_i": sf.sum("i"), "sum_f": sf.sum("f"), "mean": sf.mean("x"), "min": sf.min("f"),
    "max": sf.max("f"), "max_w": sf.max("w"), "max_b": sf.max("b"), "sd": sf.stddev("x"),
    "var_pop": sf.var_pop("x"), "last": sf.last("w"), "who": sf.argmax("x", "w"),
    "least": sf.argmin("i", "f"), "list": sf.collect_list("w"), "set": sf.count_distinct("w"),
    "product": sf.product("i"), "geomean": sf.geomean("x"), "range": sf.range("x"),
    "any": sf.bool_or("b"), "all": sf.bool_and("b"), "max_ts": sf.max("ts"),
}  # fmt: skip


LONG = {"product", "geomean", "least", "var_pop"}
"""Of which a kernel for long windows is not among those that come compiled."""


@pytest.mark.parametrize("few", [LONG, pytest.param(set(), marks=pytest.mark.slow)])
def test_every_aggregation(few: set[str]) -> None:
    frame = sash.range_between(-15, 0)
    aggregations = {n: a.over(sash.rows(3) if n in few else frame) for n, a in ALL.items()}
    check(sample(250, 6), aggregations, size=50)


def test_policies_against_the_definition() -> None:
    """The AMTA paper's running example, sum <= 10, and a maximum over a window that it keeps."""
    table = sample(120, 11, keys=3).set_column(
        5, "i", pa.array(np.random.default_rng(1).integers(1, 6, 120))
    )

    def too_much(total: int, old: int) -> bool:
        return total - old >= 10

    asked = {
        "sum": sf.sum("i").over(sash.policy(too_much)),
        "longest": sf.concat("w").over(sash.policy(lambda total, old: len(total) - len(old) > 4)),
        "hi": sf.max("i").over(sash.policy(too_much, of=sash.monoids.Sum())),
    }
    query = Query(("k",), "s", asked)
    found = pa.Table.from_batches(
        list(run(plan_of(query, table.schema), table.to_batches(max_chunksize=17)))
    ).to_pylist()
    for key in range(3):
        kept: list[int] = []
        for row in (r for r in found if r["k"] == key):
            kept.append(row["i"])
            while kept and sum(kept) - kept[0] >= 10:
                kept.pop(0)
            assert row["sum"] == sum(kept)
            assert row["hi"] == max(kept)


def test_a_time_in_any_unit_takes_durations() -> None:
    table = sample(120, 7)
    for unit in ("s", "ms", "us", "ns"):
        column = table.column("ts").cast(pa.timestamp(unit, "Europe/Zurich"))
        cast = table.set_column(2, "ts", column)
        check(cast, {"hi": sf.max("x").over("20 seconds"), "n": sf.count().over("1 minute")}, "ts")


def test_many_small_keys_and_one_large() -> None:
    check(sample(400, 8, keys=300), {"m": sf.mean("x").over(sash.rows(3))}, size=33)
    check(sample(400, 9, keys=1), {"m": sf.mean("x").over(sash.rows(30))}, size=33)


def test_memory_is_bounded_by_the_windows() -> None:
    """After many batches only the window's own rows are kept."""
    from sash.engine.row_windows import RowWindows

    query = Query((), "s", {"hi": sf.max("x").over(sash.range_between(-100, 0))})
    schema = pa.schema([("s", pa.int64()), ("x", pa.float64())])
    stream = RowWindows(plan_of(query, schema))
    for start in range(0, 200_000, 1000):
        second = np.arange(start, start + 1000)
        batch = pa.record_batch([second, second * 1.0], schema=schema)
        assert sum(b.num_rows for b in stream.feed(batch)) <= 1001
        assert len(stream._rows.time) <= 1200
        assert len(stream._rows.workers[0]._window) <= 102


def test_bad_input_is_said_before_anything_runs() -> None:
    table = sample(10, 1)

    def ask(**changes: Any) -> Any:
        parts = {"by": ("k",), "time": "s", "aggregations": {"n": sf.sum("x").over(sash.rows(2))}}
        return Query(**{**parts, **changes}).check(table.schema)

    with pytest.raises(KeyError, match=r"no column 'tss'.*did you mean 'ts'"):
        ask(time="tss")
    with pytest.raises(TypeError, match=r"time column 'w' is string.*cast it"):
        ask(time="w")
    with pytest.raises(TypeError, match="duration, but the time column 's' is int64"):
        ask(aggregations={"n": sf.count().over("1 hour")})
    with pytest.raises(TypeError, match="plain number, but the time column 'ts'"):
        ask(time="ts", aggregations={"n": sf.count().over(sash.range_between(-5, 0))})
    with pytest.raises(TypeError, match="sum takes a column of numbers, but w is string"):
        ask(aggregations={"n": sf.sum("w").over(sash.rows(2))})
    with pytest.raises(ValueError, match="i: there is a column of that name"):
        ask(aggregations={"i": sf.sum("x").over(sash.rows(2))})
    with pytest.raises(ValueError, match=r"n: sum\(x\) has no window"):
        ask(aggregations={"n": sf.sum("x")})


def test_rows_out_of_order_are_refused_and_null_times_come_first() -> None:
    query = Query((), "t", {"n": sf.count().over(sash.rows(2))})
    schema = pa.schema([("t", pa.int64())])

    def feed(*batches: list[Any]) -> None:
        made = [pa.record_batch([pa.array(b, pa.int64())], schema=schema) for b in batches]
        list(run(plan_of(query, schema), made))

    with pytest.raises(ValueError, match="not sorted by t: row 2"):
        feed([1, 5], [4, 6])
    with pytest.raises(ValueError, match="not sorted by t: row 1"):
        feed([1, None])
    feed([None], [None, 1], [])


def test_an_integer_sum_that_overflows_is_an_error() -> None:
    query = Query((), "t", {"n": sf.sum("x").over(sash.rows(2))})
    table = pa.table({"t": [1, 2], "x": [2**62, 2**62]})
    with pytest.raises(OverflowError):
        list(run(plan_of(query, table.schema), table.to_batches()))
