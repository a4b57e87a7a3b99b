"""As-of windows in process: every frame against brute force, every kind of table, every edge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import asof_merged, asof_table, asof_windows, parts
from sash.engine.asof_merged import Merged
from sash.plan import plan_of
from tests.engine.asof_oracle import expected
from tests.engine.oracle import alike

START = dt.datetime(2024, 3, 30)


def combined(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] * b[0] % 1009, (a[1] * b[0] + b[1]) % 1009)


def affine(x: int | None) -> tuple[int, int]:
    return (1, 0) if x is None else (x % 1009 + 2, x % 13)


AFFINE = sash.Monoid("affine", (1, 0), affine, combined)  # older before younger, compiled
JOIN = sash.Monoid("join", "", lambda s: s or "-", lambda a, b: a + b)  # and plain


def sample(n: int, seed: int, keys: int = 3, moments: bool = False) -> pa.Table:
    """Rows in no order, with ties, keys that are null, times that are null, values that are."""
    rng = np.random.default_rng(seed)
    minutes = rng.integers(0, max(1, 3 * n), n) * 20

    def nulls(values: Any, share: float) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < share)

    times = pa.array([START + dt.timedelta(minutes=int(m)) for m in minutes], pa.timestamp("us"))
    times = pa.array(times.to_pylist(), times.type, mask=rng.random(n) < 0.05)
    if moments:
        more = rng.integers(0, keys + 2, n)  # some keys have no events
        return pa.table({"user": nulls(more, 0.1), "asked": times, "i": np.arange(n)})
    return pa.table(
        {
            "k": nulls(rng.integers(0, keys, n), 0.1), "ts": times,
            "n": nulls(rng.integers(-50, 50, n), 0.2), "x": nulls(rng.integers(-9, 9, n) / 4, 0.2),
            "s": nulls(rng.choice(["a", "b", "c"], n), 0.2), "d": rng.integers(0, 9, n),
            "e": rng.random(n) < 0.3,
        }
    )  # fmt: skip


FRAMES: dict[str, Any] = {
    "last": "4 hours",
    "delayed": sash.range_between("-6 hours", "-1 hour"),
    "to come": sash.range_between("-1 hour", "5 hours"),
    "next": sash.range_between(0, "8 hours", closed="right"),
    "neither": sash.range_between("-4 hours", 0, closed="neither"),
    "all": sash.range_between(None, None),
    "rows": sash.rows(3),
    "row": sash.rows(1),
    "rows around": sash.rows_between(-2, 1),
    "rows to come": sash.rows_between(1, 3),
    "rows long before": sash.rows_between(-4, -2),
    "groups": sash.groups_between(-1, 0),
    "groups to come": sash.groups_between(1, 2),
    "all groups before": sash.groups_between(None, -1),
    "session": sash.session("2 hours"),
    "tumbling": sash.tumbling("6 hours"),
    "sliding": sash.sliding("6 hours", "2 hours", "1 hour"),
    "lifetime": sash.lifetime(),
    "day": sash.calendar("1 day"),
    "delta": sash.delta("d", 3),
    "until": sash.until("e"),
}


def asked(frame: Any, **shape: Any) -> dict[str, Any]:
    """What depends on bounds, on values, on their order; compiled and plain."""
    functions = {
        "rows": sf.count(), "known": sf.count("n"), "sum": sf.sum("n"), "max": sf.max("x"),
        "first": sf.first("n"), "last": sf.last("s"), "best": sf.argmax("x", "s"),
        "affine": sf.apply(AFFINE, "n"), "join": sf.apply(JOIN, "s"),
    }  # fmt: skip
    return {name: f.over(frame, **shape) for name, f in functions.items()}


def check(windows: Any, events: pa.Table, spine: pa.Table, asked: dict[str, Any]) -> None:
    """The answers are those of brute force."""
    found = windows.agg(**asked)
    theirs = expected(windows.query(**asked), events.to_pylist(), spine.to_pylist())
    assert found.select(spine.column_names).equals(spine)
    for out, column in theirs.items():
        ours = [as_tuple(v) for v in found.column(out).to_pylist()]
        wrong = [i for i, (a, b) in enumerate(zip(ours, column, strict=True)) if not alike(a, b)]
        assert not wrong, (out, str(asked[out].frame), wrong[0], ours[wrong[0]], column[wrong[0]])


def as_tuple(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


@pytest.fixture
def small_parts(monkeypatch: Any) -> None:
    """Many parts, cut within keys, and many blocks of moments."""
    monkeypatch.setattr(parts, "WORTH_A_THREAD", 8)
    monkeypatch.setattr(asof_windows, "FEWEST", 4)
    monkeypatch.setattr(asof_windows, "BLOCK", 8)


@pytest.mark.parametrize("closed", ["left", "both"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.usefixtures("small_parts")
def test_every_frame_is_that_of_brute_force(frame: str, closed: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(asof_table.os, "cpu_count", lambda: 3)
    for seed, (n, m) in enumerate([(60, 40), (200, 25), (15, 120)]):
        events, spine = sample(n, seed), sample(m, 100 + seed, moments=True)
        windows = sash.windowed(events, "k", time="ts").at(
            spine, "user", time="asked", closed=closed
        )
        check(windows, events, spine, asked(FRAMES[frame]))


def merged(events: pa.Table, spine: pa.Table, size: int) -> Iterator[Merged]:
    """Events that have a time and the spine's rows in order of key and time, in small batches."""
    events = events.filter(events.column("ts").is_valid())
    rows = [(key_of(k), tick_of(t), 0, i) for i, (k, t) in enumerate(pairs(events, "k", "ts"))]
    rows += [
        (key_of(k), tick_of(t), 1, i) for i, (k, t) in enumerate(pairs(spine, "user", "asked"))
    ]
    rows.sort()
    for begin in range(0, len(rows), size):
        some = rows[begin : begin + size]
        flags = np.array([row[2] == 1 for row in some])
        there, here = (
            table.take(np.array([row[3] for row in some if row[2] == side], int)).combine_chunks()
            for side, table in enumerate((events, spine))
        )
        keys = [pa.array([None if row[0] < 0 else row[0] for row in some], pa.int64())]
        batches = [(t.to_batches() or [empty_of(t.schema)])[0] for t in (there, here)]
        yield Merged(*batches, flags, keys)


def empty_of(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def pairs(table: pa.Table, *names: str) -> Iterator[Any]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def key_of(key: int | None) -> int:
    return -1 if key is None else key


def tick_of(time: dt.datetime | None) -> dt.datetime:
    return dt.datetime.min if time is None else time


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("frame", FRAMES)
def test_merged_rows_in_batches_get_the_same_answers(
    frame: str, size: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(asof_merged, "BLOCK", 3)  # windows move on though no one asks
    events, spine = sample(70, 11), sample(30, 12, moments=True)
    windows = sash.windowed(events, "k", time="ts").at(spine, "user", time="asked")
    functions = asked(FRAMES[frame])
    wanted = windows.agg(**functions)
    query = windows.query(**functions)
    plan = plan_of(query, events.schema)
    found = pa.concat_tables(
        [pa.Table.from_batches([b]) for b in asof_merged.run(plan, merged(events, spine, size))],
        promote_options="permissive",
    )
    assert found.num_rows == spine.num_rows
    for name in functions:
        ours = dict(pairs(found, "i", name))
        assert all(alike(ours[i], x) for i, x in pairs(wanted, "i", name)), (name, frame)


@pytest.mark.parametrize("frame", ["last", "rows", "session", "lifetime", "groups", "until"])
def test_no_key(frame: str) -> None:
    events, spine = sample(50, 7), sample(60, 8, moments=True)
    check(sash.windowed(events, time="ts").at(spine, time="asked"), events, spine,
          asked(FRAMES[frame]))  # fmt: skip


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
def test_what_over_says_goes_before_what_at_says(closed: Any) -> None:
    events = pa.table({"t": [0, 5, 10]})
    windows = sash.windowed(events, time="t").at(pa.table({"t": [10]}), closed="neither")
    frame = sash.range_between(-10, 0)
    found = windows.agg(own=sf.count().over(frame, closed=closed), given=sf.count().over(frame))
    own = {"left": 2, "right": 2, "both": 3, "neither": 1}[closed]
    assert found.to_pylist() == [{"t": 10, "own": own, "given": 1}]


def test_nothing_leaks_by_default() -> None:
    events = pa.table({"t": [0, 10, 10, 11], "x": [1, 2, 3, 4]})
    spine = pa.table({"t": [10, 10, 11]})
    frames = {"time": sash.range_between(-10, 0), "rows": sash.rows(2), "life": sash.lifetime(),
              "groups": sash.groups_between(-9, 0), "session": sash.session(99)}  # fmt: skip
    found = (
        sash.windowed(events, time="t")
        .at(spine)
        .agg(**{name: sf.collect_list("x").over(frame) for name, frame in frames.items()})
    )
    for name in frames:
        assert found.column(name).to_pylist()[:2] == [[1], [1]], name
    assert found.column("rows").to_pylist()[2] == [2, 3]


@pytest.mark.parametrize("frame", ["last", "to come", "all", "session", "lifetime", "day"])
def test_at_the_events_own_times_they_are_the_windows_of_rows(frame: str) -> None:
    events = sample(200, 3)
    events = events.filter(events.column("ts").is_valid())
    functions = asked(FRAMES[frame])
    straight = sash.windowed(events, "k", time="ts").agg(**functions)
    found = sash.windowed(events, "k", time="ts").at(events, closed="both").agg(**functions)
    assert found.equals(straight)


RANGE_JOIN = """
    SELECT s.i, count(e.ts) AS n, sum(e.n) AS total, max(e.x) AS hi, list(e.id ORDER BY e.ts, e.id)
        FILTER (WHERE e.ts IS NOT NULL) AS ids
    FROM spine s LEFT JOIN events e ON e.k IS NOT DISTINCT FROM s.user
        AND e.ts {ge} s.asked - INTERVAL 4 HOUR AND e.ts {lt} s.asked
    GROUP BY s.i ORDER BY s.i
"""


@pytest.mark.parametrize(
    ("closed", "ge", "lt"),
    [("left", ">=", "<"), ("right", ">", "<="), ("both", ">=", "<="), ("neither", ">", "<")],
)
def test_as_a_range_join_of_duckdb(closed: Any, ge: str, lt: str) -> None:
    for seed in range(5):
        events, spine = sample(150, seed), sample(120, 50 + seed, moments=True)
        events = events.append_column("id", pa.array(np.arange(150)))
        windows = sash.windowed(events, "k", time=["ts", "id"])
        ours = windows.at(spine, "user", time="asked", closed=closed).agg(
            n=sf.count().over("4 hours"), total=sf.sum("n").over("4 hours"),
            hi=sf.max("x").over("4 hours"), ids=sf.collect_list("id").over("4 hours"),
        )  # fmt: skip
        with duckdb.connect() as connection:
            connection.register("events", events)
            connection.register("spine", spine)
            theirs = connection.sql(RANGE_JOIN.format(ge=ge, lt=lt)).to_arrow_table().to_pylist()
        for mine, row in zip(ours.to_pylist(), theirs, strict=True):
            assert [mine[c] for c in ("i", "n", "total", "hi")] == list(row.values())[:4]
            assert mine["ids"] == (row["ids"] or [])


def test_tables_of_every_kind_in_any_mixture() -> None:
    events, spine = sample(80, 1), sample(50, 2, moments=True)
    functions = {"n": sf.count().over("4 hours"), "hi": sf.max("x").over(sash.rows(3))}

    def found(events: Any, spine: Any) -> Any:
        return (
            sash.windowed(events, "k", time="ts").at(spine, "user", time="asked").agg(**functions)
        )

    wanted = found(events, spine)
    for one in (events, pl.from_arrow(events), events.to_pandas()):
        for other in (spine, pl.from_arrow(spine), spine.to_pandas()):
            given = found(one, other)
            assert type(given) is type(other)
            column = given["hi"].to_list() if hasattr(given["hi"], "to_list") else None
            column = given.column("hi").to_pylist() if column is None else column
            column = [None if x is None or x != x else x for x in column]
            assert column == wanted.column("hi").to_pylist()
            assert list(given["n"].to_numpy()) == wanted.column("n").to_pylist()


def test_a_pandas_spine_keeps_its_index_and_columns_of_any_kind() -> None:
    frame = pd.DataFrame({"t": [4, 2], "what": [object(), {1, 2}]}, index=["b", "a"])
    out = (
        sash.windowed(pa.table({"t": [1, 3]}), time="t")
        .at(frame)
        .agg(n=sf.count().over(sash.rows(9)))
    )
    assert out.index.tolist() == ["b", "a"]
    assert out["what"].tolist() == frame["what"].tolist()
    assert out["n"].tolist() == [2, 1]


KEYS = {
    "integers": ([1, 2, None], pa.int64(), pa.int32()),
    "far apart": ([1, 2**60, None], pa.int64(), pa.int64()),
    "text": (["a", "b", None], pa.string(), pa.large_string()),
    "categories": (["a", "b", None], pa.dictionary(pa.int8(), pa.string()), pa.string()),
    "floats": ([1, 2, None], pa.int64(), pa.float64()),
    "days": ([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None], pa.date32(), pa.date32()),
    "truth": ([True, False, None], pa.bool_(), pa.bool_()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_null_is_one_of_them(kind: str) -> None:
    values, one, other = KEYS[kind]
    rng = np.random.default_rng(5)
    events = pa.table({"k": pa.array(rng.choice(3, 30)), "t": np.sort(rng.integers(0, 20, 30))})
    chosen = [values[i] for i in events.column("k").to_pylist()]
    spine = pa.table({"q": pa.array([*values, values[0]], other), "t": [12, 15, 18, 3]})
    given = events.set_column(
        0, "k", pa.array(chosen, pa.string() if kind == "categories" else one)
    )
    if kind == "categories":
        given = given.set_column(0, "k", given.column("k").dictionary_encode())
    found = (
        sash.windowed(given, "k", time="t").at(spine, "q").agg(n=sf.count().over(sash.lifetime()))
    )
    rows = list(zip(chosen, events.column("t").to_pylist()))
    assert found.column("n").to_pylist() == [
        sum(k == q and t < u for k, t in rows)
        for q, u in zip([*values, values[0]], [12, 15, 18, 3], strict=True)
    ]


def test_several_keys_under_other_names() -> None:
    events = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "t": [1, 2, 3]})
    spine = pa.table({"b": [2, 1, 1], "a": ["x", "x", "z"], "t": [9, 9, 9]})
    windows = sash.windowed(events, ["a", "b"], time="t").at(spine, ["b", "a"])
    assert windows.agg(n=sf.count().over(sash.rows(9))).column("n").to_pylist() == [1, 1, 0]


TIMES = {
    "finer": (pa.timestamp("ms"), pa.timestamp("ns")),
    "coarser": (pa.timestamp("ns"), pa.timestamp("s")),
    "zones": (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin")),
    "days": (pa.date32(), pa.date64()),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_other_units(kind: str) -> None:
    one, other = TIMES[kind]
    day = 86_400_000_000_000
    ticks = pa.array([0, day, 2 * day]).cast(pa.timestamp("ns"))
    zoned = [k for k in (one, other) if pa.types.is_timestamp(k) and k.tz]
    ticks = ticks.cast(pa.timestamp("ns", "UTC")) if zoned else ticks
    events = pa.table({"t": ticks.cast(one), "x": [1, 2, 3]})
    spine = pa.table({"t": ticks.cast(other)})
    found = (
        sash.windowed(events, time="t")
        .at(spine)
        .agg(n=sf.count().over("2 days"), last=sf.last("t").over(sash.rows(1)))
    )
    assert found.column("n").to_pylist() == [0, 1, 2]
    assert found.schema.field("last").type == one  # an event's own, though compared as another


def test_floats_as_times_and_the_ends_of_the_integers() -> None:
    events = pa.table({"t": [0.0, 0.5, 1.0], "x": [1, 2, 3]})
    windows = sash.windowed(events, time="t").at(pa.table({"t": [1.0, float("inf")]}))
    frame = sash.range_between(-0.5, 0.0)
    assert windows.agg(n=sf.count().over(frame)).column("n").to_pylist() == [1, 0]
    far = 2**63 - 1
    events = pa.table({"t": [-far - 1, 0, far]})
    windows = sash.windowed(events, time="t").at(pa.table({"t": [-far - 1, 0, far]}), closed="both")
    found = windows.agg(
        n=sf.count().over(sash.range_between(-2, 2)),
        m=sf.count().over(sash.range_between(1 - far, 0)),
    )
    assert found.column("n").to_pylist() == [1, 1, 1]
    assert found.column("m").to_pylist() == [1, 1, 1]


CATALOGUE = {
    "count": sf.count(), "known": sf.count("x"), "sum": sf.sum("x"), "mean": sf.mean("x"),
    "first": sf.first("x"), "last": sf.last("s"), "nth": sf.nth_value("x", 2),
    "distinct": sf.count_distinct("s"), "median": sf.median("x"), "best": sf.argmax("x", "s"),
    "list": sf.collect_list("x"), "set": sf.collect_set("s"), "stddev": sf.stddev("x"),
    "own": sf.apply(AFFINE, "n"), "plain": sf.apply(JOIN, "s"), "by": sf.sum("n").by("s"),
    "function": sf.function(len, "x", returns=pa.int64()),
}  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_empty_tables(name: str) -> None:
    """No events: as over no rows. No spine: no rows, and columns of the right types."""
    events, spine = sample(30, 4), sample(5, 5, moments=True)
    functions = {name: CATALOGUE[name].over("4 hours"), "few": CATALOGUE[name].over(sash.rows(3))}
    for there, here in [(events, spine), (events.slice(0, 0), spine), (events, spine.slice(0, 0))]:
        found = sash.windowed(there, "k", time="ts").at(here, "user", time="asked").agg(**functions)
        assert found.num_rows == here.num_rows
        assert found.column_names == [*spine.column_names, *functions]
        if not len(there):
            nothing = {"count": 0, "known": 0, "distinct": 0, "list": [], "set": [], "plain": ""}
            own = {"own": {"0": 1, "1": 0}, "by": []}
            values = found.column(name).to_pylist()
            wanted = (nothing | own).get(name)
            assert all(as_tuple(v) == as_tuple(wanted) or v == wanted for v in values), values


def test_events_that_no_window_reaches_are_left_out() -> None:
    rng = np.random.default_rng(9)
    n = 5000
    events = pa.table(
        {"k": rng.integers(0, 50, n), "t": rng.permutation(n), "x": rng.integers(0, 9, n)}
    )
    spine = pa.table({"k": [3, 3, 7], "t": [4000, 4500, 4100]})
    frame = sash.range_between(-300, 0)
    found = (
        sash.windowed(events, "k", time="t")
        .at(spine)
        .agg(
            n=sf.count().over(frame), s=sf.sum("x").over(frame), last=sf.count().over(sash.rows(9))
        )
    )
    rows = events.to_pylist()
    for row in found.to_pylist():
        inside = [e for e in rows if e["k"] == row["k"] and row["t"] - 300 <= e["t"] < row["t"]]
        assert row["n"] == len(inside)
        assert row["s"] == (sum(e["x"] for e in inside) if inside else None)
        assert row["last"] == 9


def test_filters_expressions_results_and_columns_of_the_spine() -> None:
    events = pa.table({"t": [1, 2, 3], "p": [2, 3, 4], "ok": [True, False, True]})
    spine = pa.table({"t": [4, 2], "scale": [10, 100]})
    frame = sash.range_between(-9, 0)
    found = (
        sash.windowed(events, time="t")
        .at(spine)
        .agg(
            good=sf.sum(sf.col("p") * 2).where("ok").over(frame),
            share=sf.col("scale") * sf.count_if("ok").over(frame) / sf.count().over(frame),
            least=sf.max("p").over(frame, min_periods=2),
            few=sf.collect_list("p").over(frame, most=2),
            later=sf.count().over(frame, delay=1),
        )
    )
    assert found.column("good").to_pylist() == [12, 4]
    assert found.column("share").to_pylist() == [pytest.approx(20 / 3), 100]
    assert found.column("least").to_pylist() == [4, None]
    assert found.column("few").to_pylist() == [[3, 4], [2]]
    assert found.column("later").to_pylist() == [2, 0]
    assert found.column_names == ["t", "scale", "good", "share", "least", "few", "later"]


def test_events_of_equal_time_in_the_order_of_further_columns() -> None:
    events = pa.table({"t": [1, 1, 1], "no": [3, 1, 2], "x": ["c", "a", "b"]})
    windows = sash.windowed(events, time=["t", "no"]).at(pa.table({"t": [2]}))
    found = windows.agg(last=sf.listagg("x").over(sash.rows(2)))
    assert found.column("last").to_pylist() == ["bc"]


WEEK = sf.count().over(sash.range_between(-7, 0))
MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "no such time": (lambda w, s: w.at(s, time="when").agg(n=WEEK), KeyError, "when"),
    "no such key": (lambda w, s: w.at(s, "who").agg(n=WEEK), KeyError, "spine: no column 'who'"),
    "too many keys": (lambda w, s: w.at(s, ["k", "t"]).agg(n=WEEK), ValueError, "2 key"),
    "a name that is there": (lambda w, s: w.at(s).agg(k=WEEK), ValueError, "k: there is a column"),
    "no column of the spine": (
        lambda w, s: w.at(s).agg(n=sf.col("x") - WEEK), KeyError, "the spine: no column 'x'"),
    "closed": (lambda w, s: w.at(s, closed="up"), ValueError, "closed must be one of"),
    "exclude": (
        lambda w, s: w.at(s).agg(n=sf.count().over(sash.rows(2), exclude="group")), ValueError,
        "n: a spine row is no event"),
    "policy": (
        lambda w, s: w.at(s).agg(n=sf.sum("x").over(sash.policy(lambda total, old: False))),
        ValueError, "n: policy"),
    "rank": (
        lambda w, s: w.at(s).agg(n=sf.window_rank("x").over(sash.rows(2))), ValueError, "no rank"),
    "step": (
        lambda w, s: w.at(s).agg(n=sf.count().over(sash.rows(2), step=2)), ValueError, "n: step"),
    "every": (lambda w, s: w.every(5).at(s), ValueError, "every"),
    "types of keys": (
        lambda w, s: w.at(s.set_column(0, "k", pa.array(["a", "b"]))).agg(n=WEEK), TypeError,
        "the key 'k' of the events is int64, 'k' of the spine is string: cast one"),
    "types of times": (
        lambda w, s: w.at(s.set_column(1, "t", pa.array([START, START]))).agg(n=WEEK), TypeError,
        "the time 't' of the events is int64"),
    "no table": (lambda w, s: w.at([1, 2]).agg(n=WEEK), TypeError, "at takes a Spark DataFrame"),
    "nan": (
        lambda w, s: w.at(s.set_column(1, "t", pa.array([1.0, float("nan")]))).agg(n=WEEK),
        ValueError, "NaN"),
    "option": (
        lambda w, s: sash.windowed(pa.table({"t": [1]}), time="t", split=True).at(s).agg(
            n=sf.count().over(sash.rows(1))), TypeError, "split is for a batch DataFrame"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    call, kind, words = MISTAKES[name]
    windows = sash.windowed(pa.table({"k": [1], "t": [1], "x": [2]}), "k", time="t")
    with pytest.raises(kind, match=words.replace("(", r"\(")):
        call(windows, pa.table({"k": [1, 2], "t": [3, 4]}))


def test_descending_is_refused() -> None:
    with pytest.raises(ValueError, match="descending"):
        sash.windowed(pa.table({"t": [1]}), time="t", descending=True).at(pa.table({"t": [1]}))


def test_explain_says_what_runs() -> None:
    events, spine = sample(3, 1), sample(3, 2, moments=True)
    windows = sash.windowed(events, "k", time="ts").at(spine, "user", time="asked")
    found = windows.explain(
        n=sf.count().over("4 hours"), s=sf.sum("n").over(sash.session("1 hour"))
    )
    assert "over the events before its asked, by user" in found
    assert "the last 4 hours, closed left; bounds: by galloping search" in found
    assert "gap 1 hour; bounds: one pass over the events, then by galloping search" in found
    assert found.json()["spine"] == {"keys": ["user"], "time": "asked", "closed": "left"}
    assert "asked" in found._repr_html_()
    assert "at asked of a pyarrow table" in repr(windows)
