"""WINDOW JOIN: aggregates of events at the times of another table, against plain Python."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import Monoid
from sash.sql.errors import SqlError

START = dt.datetime(2024, 1, 1)
HOUR = dt.timedelta(hours=1)


def sample(n: int, seed: int, names: tuple[str, str, str]) -> pa.Table:
    rng = np.random.default_rng(seed)
    moments = [START + HOUR * int(h) for h in rng.integers(0, 60, n)]
    return pa.table(
        {
            names[0]: rng.integers(0, 3, n),
            names[1]: pa.array(moments, pa.timestamp("us")),
            names[2]: rng.integers(0, 9, n),
        }
    )


EVENTS = sample(80, 1, ("user", "ts", "x"))
SPINE = sample(20, 2, ("user_id", "asked_at", "y"))
QUERY = """SELECT s.user_id, s.y + 1 AS y, count(*) AS n, sum(e.x) AS total,
                  count(*) FILTER (WHERE e.x > 4) AS large
           FROM spine s WINDOW JOIN events e ON s.user_id = e.user {} RANGE BETWEEN {} AND {}"""


def expected(before: float, after: float, strict: bool) -> list[tuple[Any, ...]]:
    found = []
    for s in SPINE.to_pylist():
        xs = []
        for e in EVENTS.to_pylist():
            away = (e["ts"] - s["asked_at"]) / HOUR
            inside = -before <= away <= after and not (strict and away >= after)
            if e["user"] == s["user_id"] and inside:
                xs.append(e["x"])
        total = sum(xs) if xs else None
        large = sum(x > 4 for x in xs)
        found.append((s["user_id"], s["y"] + 1, len(xs), total, large))
    return found


def rows(query: str, **more: Any) -> list[tuple[Any, ...]]:
    found = sash.sql(query, spine=SPINE, events=EVENTS, **more)
    return [tuple(row.values()) for row in found.to_pylist()]


def test_events_before_a_moment() -> None:
    strict = QUERY.format("AND e.ts < s.asked_at", "'12 hours' PRECEDING", "CURRENT ROW")
    assert rows(strict) == expected(12, 0, strict=True)
    at = QUERY.format("AND s.asked_at >= e.ts", "INTERVAL '12' HOURS PRECEDING", "CURRENT ROW")
    assert rows(at) == expected(12, 0, strict=False)
    unnamed = QUERY.format("", "'1 day' PRECEDING", "CURRENT ROW")
    assert rows(unnamed) == expected(24, 0, strict=False)


def test_what_is_around_it() -> None:
    query = """WITH mine AS (SELECT user_id, asked_at FROM spine WHERE y > 3)
               SELECT user_id, max(n) AS most FROM (
                   SELECT m.user_id, count(*) AS n FROM mine m WINDOW JOIN
                   (SELECT user, ts FROM events WHERE x > 2) e ON m.user_id = e.user
                   RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW
               ) GROUP BY user_id ORDER BY user_id"""
    wanted: dict[int, int] = {}
    for s in SPINE.to_pylist():
        if s["y"] > 3:
            n = sum(
                e["user"] == s["user_id"] and e["x"] > 2
                and dt.timedelta() <= s["asked_at"] - e["ts"] <= 24 * HOUR
                for e in EVENTS.to_pylist()
            )  # fmt: skip
            wanted[s["user_id"]] = max(n, wanted.get(s["user_id"], 0))
    assert rows(query) == sorted(wanted.items())
    text = sash.sql.explain(query, spine=SPINE, events=EVENTS)
    assert "Sash" in text


def test_a_monoid_of_the_users_in_order_of_time() -> None:
    digits = Monoid("digits", "", str, lambda a, b: a + b)  # not commutative
    query = """SELECT digits(e.x) AS d FROM spine s WINDOW JOIN events e
               ON s.user_id = e.user AND e.ts < s.asked_at
               RANGE BETWEEN '12 hours' PRECEDING AND CURRENT ROW"""
    found = [row[0] for row in rows(query, functions={"digits": digits})]
    for s, d in zip(SPINE.to_pylist(), found, strict=True):
        mine = [e for e in EVENTS.to_pylist() if e["user"] == s["user_id"]
                and dt.timedelta() < s["asked_at"] - e["ts"] <= 12 * HOUR]  # fmt: skip
        texts = [str(e["x"]) for e in sorted(mine, key=lambda e: e["ts"])]
        assert (d or "") == "".join(texts)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT s.y FROM spine s WINDOW JOIN events e ON s.user_id = e.user "
         "RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW", "without an aggregate"),
        ("SELECT e.x, count(*) FROM spine s WINDOW JOIN events e ON s.user_id = e.user "
         "RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW", "aggregate them"),
        ("SELECT sum(s.y) FROM spine s WINDOW JOIN events e ON s.user_id = e.user "
         "RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW", "is over e alone"),
        ("SELECT count(*) FROM spine s WINDOW JOIN events e ON s.user_id = e.user OR s.y = e.x "
         "RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW", "joined by AND"),
        ("SELECT count(*) FROM spine s WINDOW JOIN events e ON s.user_id = e.user AND "
         "e.ts > s.asked_at RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW",
         "events are before the moment"),
        ("SELECT count(*) FROM spine s WINDOW JOIN events e ON s.user_id = e.user WHERE e.x > 1",
         "Expected RANGE BETWEEN"),
    ],
)  # fmt: skip
def test_mistakes_are_named(query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        rows(query)
