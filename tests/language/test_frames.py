"""Frames: random frames x aggregations x types x nulls x ties, with DuckDB as the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import parts, row_windows
from sash.engine.row_windows import run
from sash.plan.planner import plan_of
from sash.testing.counting import counting
from sash.windows.frames import Groups, Range, Rows
from tests.engine.streams import aggregate
from tests.language import duck

KINDS: dict[str, Any] = {"ROWS": Rows, "RANGE": Range, "GROUPS": Groups}

AGGREGATIONS: dict[str, tuple[Any, str]] = {
    "n": (sf.count(), "count(*)"),
    "known": (sf.count("x"), "count(x)"),
    "total": (sf.sum("i"), "sum(i)"),
    "sum_x": (sf.sum("x"), "sum(x)"),
    "mean": (sf.mean("x"), "avg(x)"),
    "spread": (sf.stddev("x"), "stddev_samp(x)"),
    "hi": (sf.max("x"), "max(x)"),
    "lo": (sf.min("i"), "min(i)"),
    "text": (sf.min("s"), "min(s)"),
    "who": (sf.argmax("i", "id"), "arg_max(id, i)"),
    "first": (sf.first("s"), "first_value(s)"),
    "last": (sf.last("x"), "last_value(x)"),
    "list": (sf.collect_list("i"), "list(i) FILTER (WHERE i IS NOT NULL)"),
    "kinds": (sf.count_distinct("s"), "count(DISTINCT s)"),
    "middle": (sf.median("i"), "median(i)"),
}


IN_ORDER = ("first", "last", "list", "who")
"""Their answers depend on the order of ties."""


def bound(value: int | None, side: int) -> str:
    """A bound of SQL: so many before (side -1) or after (side 1) the row."""
    if value is None:
        return "UNBOUNDED PRECEDING" if side < 0 else "UNBOUNDED FOLLOWING"
    if value == 0:
        return "CURRENT ROW"
    after = (value > 0) == (side > 0)
    return f"{abs(value)} {'FOLLOWING' if after else 'PRECEDING'}"


def random_frame(seed: int) -> tuple[Any, str, str]:
    """A frame, as SQL, and the order of rows that it takes."""
    random = np.random.default_rng(seed)
    kind = str(random.choice(list(KINDS)))
    sizes = [None if random.random() < 0.15 else int(random.integers(-3, 8)) for _ in range(2)]
    if None not in sizes and -sizes[0] > sizes[1]:  # type: ignore[operator]
        sizes = [-s for s in sizes[::-1]]  # type: ignore[operator]
    if sizes[0] is None and sizes[1] is not None and random.random() < 0.5:
        sizes[1] = 0
    exclude = random.choice([None, None, "current row", "group", "ties"])
    frame = KINDS[kind](*sizes, exclude=exclude)
    sql = f"{kind} BETWEEN {bound(sizes[0], -1)} AND {bound(sizes[1], 1)}"
    sql += "" if exclude is None else f" EXCLUDE {str(exclude).upper()}"
    return frame, sql, "t, id" if kind == "ROWS" else "t"


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 18))]
)
def test_random_frames_are_duckdbs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", [11, 1 << 17][seed % 2])
    check(seed, left=("who",))  # asked for below, of one pair of types


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_frames_of_all_aggregations_are_duckdbs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", [11, 1 << 17][seed % 2])
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 600))
def test_many_random_frames_are_duckdbs(seed: int) -> None:
    check(seed)


def check(seed: int, left: tuple[str, ...] = ()) -> None:
    rows = duck.sample(120, seed, ties=1 + seed % 4)
    frame, sql, order = random_frame(seed)
    asked = {out: a for out, a in AGGREGATIONS.items() if out not in left}
    if order == "t":  # the order of ties is DuckDB's own
        asked = {out: a for out, a in asked.items() if out not in IN_ORDER}
    elif frame.exclude in ("group", "ties"):  # in SQL an order without ties has no peers
        rows = rows.set_column(2, "t", rows.column("id"))
    if seed % 3 == 0:
        asked = {out: (a.where("b"), sql) for out, (a, sql) in asked.items()}
    found = sash.windowed(rows, "k", time="t").agg(
        **{o: a.over(frame) for o, (a, _) in asked.items()}
    )
    clause = duck.over(sql, order)
    texts = {}
    for out, (_, text) in asked.items():
        condition = "FILTER (WHERE b)" if seed % 3 == 0 else ""
        if "FILTER" in text:
            condition = " AND b)" if condition else ")"
            text = text.removesuffix(")")
        texts[out] = f"{text} {condition} {clause}"
    if "list" in texts:  # of no rows: Spark's is empty, DuckDB's null
        texts["list"] = f"coalesce({texts['list']}, [])"
    if seed % 3 == 0:
        for out in ("first", "last"):  # DuckDB has no FILTER for them
            texts.pop(out, None)
    duck.assert_same(found, duck.answers(rows, texts), (seed, sql))


@pytest.mark.parametrize("exclude", ["current row", "group", "ties"])
@pytest.mark.parametrize("kind", ["ROWS", "RANGE", "GROUPS"])
def test_what_is_excluded_by_brute_force(kind: str, exclude: Any) -> None:
    """Rows by number with ties, and answers that depend on the order of rows."""
    rows = duck.sample(150, 4, ties=3)
    frame = KINDS[kind](4, 2, exclude=exclude)
    found = sash.windowed(rows, "k", time="t").agg(
        list=sf.collect_list("id").over(frame),
        first=sf.first("s").over(frame),
        last=sf.last("s").over(frame),
        who=sf.argmax("x", "id").over(frame),
        text=sf.concat("s").over(frame),
    )
    whole = KINDS[kind](4, 2)
    inside = sash.windowed(rows, "k", time="t").agg(all=sf.collect_list("id").over(whole))
    table = rows.to_pylist()
    for row, ids, ours in zip(table, inside.column("all").to_pylist(), found.to_pylist()):
        left = [
            table[i]
            for i in ids
            if (exclude != "current row" or i != row["id"])
            and (exclude == "current row" or table[i]["t"] != row["t"]
                 or (exclude == "ties" and i == row["id"]))
        ]  # fmt: skip
        assert ours["list"] == [r["id"] for r in left]
        assert ours["first"] == (left[0]["s"] if left else None)
        assert ours["last"] == (left[-1]["s"] if left else None)
        known = [r for r in left if r["x"] is not None]
        best = max(known, key=lambda r: r["x"], default={"id": None})
        assert ours["who"] == best["id"]
        texts = [r["s"] for r in left if r["s"] is not None]
        assert ours["text"] == ("".join(texts) if texts else ours["text"])


TIMES = [0, 1, 1, 2, 5, 6, 6, 9]
SMALL = pa.table({"t": TIMES, "x": [1, 2, None, 4, 5, 6, 7, 8]})


def small(**asked: Any) -> dict[str, list[Any]]:
    found = sash.windowed(SMALL, time="t").agg(**asked)
    return {out: found.column(out).to_pylist() for out in asked}


def test_delay_ends_a_window_before_the_row() -> None:
    last = sash.range_between(-3, 0)
    found = small(
        time=sf.collect_list("x").over(last, delay=2),
        rows=sf.collect_list("x").over(sash.rows(2), delay=1),
        groups=sf.count().over(sash.groups_between(-1, 0), delay=1),
    )
    assert found["time"] == [[], [], [], [1], [1, 2, 4], [2, 4], [2, 4], [5, 6, 7]]
    assert found["rows"] == [[], [1], [1, 2], [2], [4], [4, 5], [5, 6], [6, 7]]
    assert found["groups"] == [0, 1, 1, 3, 3, 2, 2, 3]


def test_a_delay_is_a_duration_where_time_is_one() -> None:
    days = pa.array([d * 86_400_000_000 for d in range(10)], pa.timestamp("us"))
    table = pa.table({"t": days, "x": range(10)})
    week = sf.collect_list("x").over("3 days", delay="1 day")
    found = sash.windowed(table, time="t").agg(w=week).column("w").to_pylist()
    assert found[6] == [2, 3, 4, 5]
    with pytest.raises(TypeError, match="one has a unit"):
        sf.sum("x").over("3 days", delay=1)


def test_fewer_rows_than_min_periods_give_null() -> None:
    found = small(
        mean=sf.sum("x").over(sash.rows(3), min_periods=2),
        n=sf.count_if("x > 1").over(sash.rows(3), min_periods=2),
    )
    assert found["mean"] == [None, 3, 3, 6, 9, 15, 18, 21]
    assert found["n"] == [None, None, None, 2, 2, 3, 3, 3]


def test_a_window_is_centred_as_pandas_centres_it() -> None:
    x = pd.Series([1.0, 2, 4, 8, 16, 32, 64])
    table = pa.table({"t": range(7), "x": x})
    for n in (1, 2, 3, 4, 5):
        ours = sash.windowed(table, time="t").agg(s=sf.sum("x").over(sash.rows(n), center=True))
        theirs = x.rolling(n, center=True, min_periods=1).sum()
        assert ours.column("s").to_pylist() == theirs.tolist()
    found = small(n=sf.count().over(sash.range_between(-4, 0), center=True))
    assert found["n"] == [4, 4, 4, 4, 3, 3, 3, 1]


def test_a_step_answers_every_so_many_rows_of_a_key() -> None:
    table = pa.table({"k": [1, 1, 1, 2, 2, 2, 2], "t": range(7), "x": [1] * 7})
    asked = sf.sum("x").over(sash.lifetime(), step=2)
    found = sash.windowed(table, "k", time="t").agg(s=asked).column("s").to_pylist()
    assert found == [1, None, 3, 1, None, 3, None]


def test_at_most_so_many_rows_of_a_range_and_none_of_the_peers_after_the_row() -> None:
    found = small(
        most=sf.collect_list("t").over(sash.range_between(-5, 0), most=2),
        own=sf.count().over(sash.range_between(-1, 0), peers=False),
        both=sf.collect_list("t").over(sash.lifetime(), most=2, peers=False),
    )
    assert found["most"] == [[0], [1, 1], [1, 1], [1, 2], [2, 5], [6, 6], [6, 6], [6, 9]]
    assert found["own"] == [1, 2, 3, 3, 1, 2, 3, 1]
    assert found["both"] == [[0], [0, 1], [1, 1], [1, 2], [2, 5], [5, 6], [6, 6], [6, 9]]


def test_frames_that_are_always_empty() -> None:
    found = small(
        n=sf.count().over(sash.rows_between(-1, -3, empty=True)),
        s=sf.sum("x").over(sash.range_between(3, 1, empty=True)),
        g=sf.max("x").over(sash.groups_between(2, 1, empty=True)),
    )
    assert found == {"n": [0] * 8, "s": [None] * 8, "g": [None] * 8}
    with pytest.raises(ValueError, match="comes after end"):
        sash.groups_between(2, 1)


def test_shapes_that_have_no_meaning_are_refused() -> None:
    for shape, error, said in (
        ({"exclude": "me"}, ValueError, "exclude must be one of"),
        ({"most": 0}, ValueError, "most must be at least 1"),
        ({"min_periods": 0}, ValueError, "min_periods must be"),
        ({"delay": "-1 h"}, ValueError, "at least 0"),
        ({"nope": 1}, TypeError, "nope"),
    ):
        with pytest.raises(error, match=said):
            sf.sum("x").over("1 hour", **shape)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="delay has no meaning"):
        sf.sum("x").over(sash.session("1 h"), delay="1 h")
    with pytest.raises(TypeError, match="center=True takes"):
        sf.sum("x").over(sash.lifetime(), center=True)


def test_parts_of_a_table_agree_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "WORTH_A_THREAD", 1)
    rows = duck.sample(400, 8)
    asked = {
        "a": sf.sum("i").over(sash.range_between(-5, 2), exclude="group"),
        "b2": sf.max("x").over(sash.groups_between(-2, 1), exclude="ties"),
        "c": sf.sum("i").over(sash.rows_between(-4, 3), most=3, min_periods=2),
    }
    query = sash.windowed(rows, "k", time="t").query(**asked)
    whole = aggregate(query, rows, threads=1)
    assert aggregate(query, rows, threads=5).equals(whole)


def test_exclusion_is_two_windows_and_one_combine() -> None:
    rows = duck.sample(4000, 3, ties=1)
    counts = {}
    for exclude in (None, "current row", "group"):
        counted, counter = counting(sash.monoids.Max())
        asked = sf.apply(counted, "i", returns=pa.int64(), check=False)
        sash.windowed(rows, "k", time="t").agg(
            hi=asked.over(sash.range_between(-300, 300), exclude=exclude)
        )
        counts[exclude] = counter.combines
    assert counts[None] <= 3 * rows.num_rows
    assert counts["current row"] <= 7 * rows.num_rows
    assert counts["group"] <= 7 * rows.num_rows
    asked = sf.max("x").over(sash.rows_between(-8, 1), exclude="current row")
    plan = sash.windowed(rows, "k", time="t").explain(hi=asked)
    assert "in 2 pieces, combined for each row" in plan
    assert plan.plan.combines == 7
    asked = sf.max("x").over(sash.range_between(-8, 0), exclude="ties")
    assert sash.windowed(rows, "k", time="t").explain(hi=asked).plan.combines == 4


@pytest.mark.parametrize("frame", [sash.rows(50), sash.range_between(-300, 0), sash.session(9)])
@pytest.mark.parametrize("exclude", ["current row", "group", "ties"])
def test_exclusion_at_the_end_of_a_frame_costs_few_combines(frame: Any, exclude: Any) -> None:
    """One window; the row itself or its later peers, fewer than one on average, come on top."""
    rows = duck.sample(4000, 3, ties=1)
    counts = {}
    for out in (None, exclude):
        counted, counter = counting(sash.monoids.Max())
        asked = sf.apply(counted, "i", returns=pa.int64(), check=False)
        sash.windowed(rows, "k", time="t").agg(hi=asked.over(frame, exclude=out))
        counts[out] = counter.combines
    assert counts[exclude] <= counts[None] + rows.num_rows


@pytest.mark.parametrize("block", [97, 1000, row_windows.BLOCK])
def test_the_later_peers_of_rows_whose_answers_are_given_in_groups(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partials of four numbers, in groups of 128 rows; peers go on in later groups and blocks."""
    monkeypatch.setattr(row_windows, "BLOCK", block)

    def both(a: Any, b: Any) -> Any:  # not commutative
        first = a[1] if a[0] > 0 else b[1]
        last = b[2] if b[0] > 0 else a[2]
        return max(a[0], b[0]), first, last, max(a[3], b[3])

    nothing = (0.0, 0.0, 0.0, -1.0)
    ends = sash.Monoid("ends", nothing, lambda x: (1.0, x, x, x), both, lambda v: v[1:])
    random = np.random.default_rng(5)
    times = np.repeat(np.arange(60), random.choice([1, 2, 3, 130, 300], 60))
    x = random.permutation(len(times)).astype(float)
    asked = sf.apply(ends, "x", check=False).over(sash.range_between(-4, 0), exclude="current row")
    found = sash.windowed(pa.table({"t": times, "x": x}), time="t").agg(y=asked)["y"].to_pylist()
    for i in [*random.integers(0, len(times), 300).tolist(), 0, len(times) - 1]:
        window = x[np.flatnonzero((times >= times[i] - 4) & (times <= times[i]))]
        window = window[window != x[i]]
        wanted = (window[0], window[-1], window.max()) if len(window) else None
        assert (None if found[i] is None else tuple(found[i].values())) == wanted


def combines(rows: pa.Table, frame: Any, exclude: Any) -> int:
    """How many combines a maximum over a frame takes."""
    counted, counter = counting(sash.monoids.Max())
    asked = sf.apply(counted, "i", returns=pa.int64(), check=False)
    sash.windowed(rows, "k", time="t").agg(hi=asked.over(frame, exclude=exclude))
    return counter.combines


@pytest.mark.parametrize("exclude", ["current row", "group"])
@pytest.mark.parametrize("frame", [sash.rows(50), sash.range_between(-300, 0), sash.session(9)])
def test_without_peers_exclusion_costs_no_combine(frame: Any, exclude: Any) -> None:
    rows = duck.sample(4000, 3, ties=1)
    rows = rows.set_column(2, "t", rows.column("id"))
    plain = combines(rows, frame, None)
    assert combines(rows, frame, exclude) <= 1.01 * plain  # windows of one row less flip elsewhere


def test_peers_after_a_row_cost_two_combines_however_many_there_are() -> None:
    rows = duck.sample(4000, 3, ties=300)
    frame = sash.range_between(-3, 0)
    plain = combines(rows, frame, None)
    assert combines(rows, frame, "current row") <= plain + 2 * rows.num_rows


@pytest.mark.parametrize("exclude", ["current row", "group"])
def test_few_peers_make_exclusion_at_most_1_3_times_as_dear(exclude: Any) -> None:
    """Gaps in time as in benchmarks/language.py: of three rows, one has peers after it."""
    rows = duck.sample(4000, 3, keys=1)
    times = np.cumsum(np.random.default_rng(2).poisson(1.0, 4000))
    rows = rows.set_column(2, "t", pa.array(times))
    frame = sash.range_between(-300, 0)
    assert combines(rows, frame, exclude) <= 1.3 * combines(rows, frame, None)


@pytest.mark.parametrize("exclude", ["current row", "ties"])
def test_rows_on_both_sides_from_few_to_many_and_back(exclude: Any) -> None:
    """Blocks whose younger pieces are combined row by row, then as a window, then by row."""
    sizes = [1] * 300 + [400] + [1] * 300 + [300, 2]
    times = np.repeat(np.arange(len(sizes)), sizes)
    table = pa.table({"t": times, "x": [f"{i % 97:02}" for i in range(len(times))]})
    joined = sash.Monoid("joined", "", str, lambda a, b: (a + b)[-40:])
    frame = sash.range_between(-2, 1) if exclude == "ties" else sash.range_between(-2, 0)
    asked = sf.apply(joined, "x", returns=pa.string(), check=False).over(frame, exclude=exclude)
    plan = plan_of(sash.windowed(table, time="t").query(y=asked), table.schema)
    found = pa.Table.from_batches(run(plan, table.to_batches(max_chunksize=50)))["y"].to_pylist()
    text, after = table["x"].to_pylist(), frame.following
    for i, t in enumerate(times):
        lo, hi = np.searchsorted(times, t - 2, "left"), np.searchsorted(times, t + after, "right")
        own = times[lo:hi] != t if exclude == "ties" else np.ones(hi - lo, bool)
        own[i - lo] = exclude == "ties"
        rows = [text[j] for j in range(lo, hi) if own[j - lo]]
        assert found[i] == "".join(rows)[-40:]
