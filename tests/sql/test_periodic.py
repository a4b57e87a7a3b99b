"""HOP, TUMBLE, CUMULATE, SESSION, window() and CQL against plain Python; changes on streams."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.sql.errors import SqlError

START = dt.datetime(2024, 1, 1)
MINUTE = dt.timedelta(minutes=1)


def sample(n: int = 60, seed: int = 3, span: int = 120) -> pa.Table:
    """Rows of three keys, some without a time, in no order."""
    rng = np.random.default_rng(seed)
    moments = [START + MINUTE * int(m) for m in rng.integers(0, span, n)]
    return pa.table(
        {
            "k": rng.choice(["a", "b", "c"], n),
            "ts": pa.array(moments, pa.timestamp("us"), mask=rng.random(n) < 0.1),
            "x": pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.2),
        }
    )


ROWS = sample()
Window = tuple[dt.datetime, dt.datetime]


def windows(t: dt.datetime, size: int, slide: int) -> Iterator[Window]:
    """The windows [start, end) of a size, in minutes, that have a moment."""
    minute = int((t - START) / MINUTE)
    start = minute - minute % slide
    while start > minute - size:
        yield START + MINUTE * start, START + MINUTE * (start + size)
        start -= slide


def growing(t: dt.datetime, size: int, step: int) -> Iterator[Window]:
    [(begin, end)] = windows(t, size, size)
    last = begin + MINUTE * step
    while last <= end:
        if t < last:
            yield begin, last
        last += MINUTE * step


def expected(found: Any) -> set[tuple[Any, ...]]:
    """Key, window, rows and sum, from all rows of each window."""
    groups: dict[Any, list[Any]] = {}
    for row in ROWS.to_pylist():
        for window in () if row["ts"] is None else found(row["ts"]):
            groups.setdefault((row["k"], *window), []).append(row["x"])
    known = {key: [x for x in xs if x is not None] for key, xs in groups.items()}
    return {(*key, len(groups[key]), sum(xs) if xs else None) for key, xs in known.items()}


def rows(query: str, table: pa.Table = ROWS) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in sash.sql(query, t=table).to_pylist()]


COLUMNS = "SELECT k, window_start, window_end, count(*) AS n, sum(x) AS s"


@pytest.mark.parametrize(
    ("function", "found"),
    [
        ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)", lambda t: windows(t, 10, 10)),
        ("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '20' MINUTES)",
         lambda t: windows(t, 20, 5)),
        ("HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '15' MINUTES, "
         "SLIDE => INTERVAL '5' MINUTES)", lambda t: windows(t, 15, 5)),
        ("CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '30' MINUTES)",
         lambda t: growing(t, 30, 5)),
    ],
)  # fmt: skip
def test_table_functions(function: str, found: Any) -> None:
    query = f"{COLUMNS} FROM TABLE({function}) GROUP BY k, window_start, window_end"
    answers = rows(query)
    assert len(answers) == len(set(answers))
    assert set(answers) == expected(found)


def sessions(gap: int) -> set[tuple[Any, ...]]:
    given = [r for r in ROWS.to_pylist() if r["ts"] is not None]
    found = set()
    for key in "abc":
        mine = sorted((r for r in given if r["k"] == key), key=lambda r: r["ts"])
        groups: list[list[Any]] = []
        for row in mine:
            if not groups or row["ts"] - groups[-1][-1]["ts"] > MINUTE * gap:
                groups.append([])
            groups[-1].append(row)
        for group in groups:
            xs = [r["x"] for r in group if r["x"] is not None]
            end = group[-1]["ts"] + MINUTE * gap
            found.add((key, group[0]["ts"], end, len(group), sum(xs) if xs else None))
    return found


@pytest.mark.parametrize(
    "function",
    ["SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' MINUTES)",
     "SESSION(TABLE t, DESCRIPTOR(ts), DESCRIPTOR(k), INTERVAL '4' MINUTES)"],
)  # fmt: skip
def test_sessions(function: str) -> None:
    query = f"{COLUMNS} FROM TABLE({function}) GROUP BY k, window_start, window_end"
    assert set(rows(query)) == sessions(4)


def test_sparks_window() -> None:
    query = """SELECT k, window.start, window.end, count(*) AS n, sum(x) AS s FROM t
               GROUP BY window(ts, '20 minutes', '5 minutes'), k"""
    assert set(rows(query)) == expected(lambda t: windows(t, 20, 5))
    query = """SELECT window(ts, '10 minutes') AS w, count(*) FILTER (WHERE x > 3) AS n,
                      sum(count(*)) OVER (ORDER BY window.start) AS running
               FROM t WHERE k = 'a' GROUP BY window(ts, '10 minutes') HAVING count(*) > 1
               ORDER BY window.start LIMIT 2"""
    found = sash.sql(query, t=ROWS).to_pylist()
    whole = [r for r in expected(lambda t: windows(t, 10, 10)) if r[0] == "a" and r[3] > 1]
    wanted = sorted((r[1], r[2], r[3]) for r in whole)
    assert [(r["w"]["start"], r["w"]["end"]) for r in found] == [w[:2] for w in wanted[:2]]
    assert [r["running"] for r in found] == list(np.cumsum([w[2] for w in wanted[:2]]))
    session = "session_window(ts, '4 minutes')"
    query = f"SELECT {session} AS w, k FROM t GROUP BY k, {session}"
    found = sash.sql(query, t=ROWS).to_pylist()
    assert {(r["k"], r["w"]["start"], r["w"]["end"]) for r in found} == {s[:3] for s in sessions(4)}


CALLS = pa.table(
    {
        "ts": pa.array([START + MINUTE * m for m in (0, 30, 90, 90, 1500)], pa.timestamp("us")),
        "len": [5.0, 9.0, 9.0, 2.0, 1.0],
        "caller": ["ann", "bob", "cyd", "dan", "eve"],
    }
)
PAPER = """Select IStream(Max(len) As mxl, MaxCount(len) As num, ArgMax(len, caller) As who)
           From Calls [Range 24 Hours Slide 1 Minute]"""


def test_the_query_of_the_reactive_aggregator_paper() -> None:
    found = sash.sql(PAPER, Calls=CALLS).to_pylist()
    at = {int((r.pop("window_end") - START) / MINUTE): tuple(r.values()) for r in found}
    day = 24 * 60
    assert at == {
        1: (5.0, 1, "ann"), 31: (9.0, 1, "bob"), 91: (9.0, 2, "bob"),
        day + 31: (9.0, 1, "cyd"), day + 91: (1.0, 1, "eve"),
    }  # fmt: skip
    every = sash.sql(PAPER.replace("IStream", "RStream"), Calls=CALLS)
    assert every.num_rows == 1500 + day
    with pytest.raises(SqlError, match="DStream"):
        sash.sql(PAPER.replace("IStream", "DStream"), Calls=CALLS)


def test_windows_of_cql_by_rows_and_by_key() -> None:
    query = "SELECT RStream(sum(x) AS s) FROM t [Partition By k Rows 4 Slide 2]"
    table = ROWS.filter(ROWS["ts"].is_valid())
    theirs = sash.windowed(table, "k", time="ts").every(sash.rows(2)).agg(
        s=sf.sum("x").over(sash.rows(4)))  # fmt: skip
    wanted = theirs.select(["k", "window_end", "s"]).to_pylist()
    assert [tuple(r.values()) for r in wanted] == rows(query, table)


def changed(table: pa.Table, slide: Any) -> pa.Table:
    """The windows whose answers are not those of the window a slide before, by plain Python."""
    kept, last = [], {}
    for row in table.to_pylist():
        key = row["k"]
        answers = (row["n"], row["hi"])
        before = last.get(key)
        kept.append(before != (row["window_start"] - slide, answers))
        last[key] = (row["window_start"], answers)
    return table.filter(pa.array(kept))


def test_changes_with_every() -> None:
    table = pa.table({"k": [1, 1, 2, 1, 1], "t": [0, 1, 3, 9, 30], "x": [4, 4, 1, 4, 7]})
    asked = {"n": sf.count().over(sash.range_between(-6, 0)),
             "hi": sf.max("x").over(sash.range_between(-6, 0))}  # fmt: skip
    whole = sash.windowed(table, "k", time="t").every(2).agg(**asked)
    found = sash.windowed(table, "k", time="t", emit="changes").every(2).agg(**asked)
    assert found.to_pylist() == changed(whole, 2).to_pylist()
    assert found.num_rows < whole.num_rows
    with pytest.raises(ValueError, match=r"add .every"):
        sash.windowed(table, "k", time="t", emit="changes").agg(**asked)


@pytest.mark.parametrize("seed", range(3))
def test_changes_on_a_stream_equal_the_batch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 200
    table = pa.table({"k": rng.integers(0, 4, n), "t": np.sort(rng.integers(0, 300, n)),
                      "x": rng.integers(0, 3, n)})  # fmt: skip
    asked = {"n": sf.count().over(sash.range_between(-12, 0)),
             "hi": sf.max("x").over(sash.range_between(-12, 0))}  # fmt: skip
    live = sash.stream("k", time="t", delay=3, emit="changes").every(3).agg(**asked)
    parts = [live.feed(table.slice(i, 17)) for i in range(0, n, 17)]
    parts.append(live.advance(1000))
    found = pa.concat_tables(parts).sort_by([("k", "ascending"), ("window_end", "ascending")])
    whole = sash.windowed(table, "k", time="t", emit="changes").every(3).agg(**asked)
    whole = whole.sort_by([("k", "ascending"), ("window_end", "ascending")])
    assert found.to_pylist() == whole.to_pylist()
    full = sash.windowed(table, "k", time="t").every(3).agg(**asked)
    assert whole.num_rows < full.num_rows


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '2' HOUR))",
         "without GROUP BY window_start, window_end"),
        ("SELECT sum(x) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts))) GROUP BY window_start",
         "TUMBLE takes data, timecol, size, offset"),
        ("SELECT IStream(sum(x)) FROM t [Range 5 Minutes]", "a length and a slide"),
        ("SELECT rank() FROM t GROUP BY window(ts, '1 hour')", "looks at rows"),
        ("SELECT sum(x) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '7' MINUTES, "
         "INTERVAL '1' HOUR)) GROUP BY window_start", "whole number of steps"),
    ],
)  # fmt: skip
def test_mistakes_are_named(query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        sash.sql(query, t=ROWS)
