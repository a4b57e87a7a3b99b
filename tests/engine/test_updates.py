"""`emit="update"`: after each batch the keys whose values have changed, and no others."""

from __future__ import annotations

import statistics
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.manifest import Manifest
from tests.engine.streams import FRAMES, Run, cuts, defined, rows
from tests.engine.test_stream import sample, vary

AHEAD = {"following", "neither", "rows around"}
NAMES = [name for name in FRAMES if name not in AHEAD]
TEN = sash.range_between(-10, 0)
END = 1 << 20


def asked(frame: Any, policy: bool = False) -> dict[str, Any]:
    found = {"sum": sf.sum("x").over(frame), "hi": sf.max("x").over(frame)}
    if policy:
        return found
    return found | {
        "n": sf.count().over(frame),
        "c": sf.count("x").over(frame),
        "list": sf.collect_list("i").over(frame),
        "last": sf.last("x").over(frame),
        "who": sf.argmax("x", "s").over(frame),
        "share": sf.count("x").over(frame) / sf.count().over(frame),
        "words": sf.count_distinct("s").over(frame),
        "median": sf.median("x").over(frame),
    }


def window(frame: str, rows: list[dict[str, Any]], moment: int) -> list[dict[str, Any]]:
    """The rows of a key, in order of time, that are in its window at a moment."""
    ends = {"time": (-10, 0), "long": (-60, 0), "before": (-20, -3), "right": (-9, 0),
            "from the first": (-2 * END, 0), "from the first, before": (-2 * END, -4)}  # fmt: skip
    if frame in ends:
        lo, hi = (moment + end for end in ends[frame])
        return [row for row in rows if lo <= row["t"] <= hi]
    if frame == "sliding":
        return [row for row in rows if row["t"] >= ((moment - 12) // 5 + 1) * 5]
    if frame == "lifetime":
        return rows
    if frame == "rows":
        return rows[-4:]
    inside: list[dict[str, Any]] = []
    for row in rows:
        if frame == "session" and inside and row["t"] - inside[-1]["t"] > 3:
            inside = []
        inside.append(row)
        if frame == "until" and row["x"] is not None and row["x"] > 0.8:
            inside = []
    if frame == "session" and inside and moment - inside[-1]["t"] > 3:
        return []
    return inside


def value_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = [row["x"] for row in rows if row["x"] is not None]
    pairs = [(row["x"], row["s"]) for row in rows if row["x"] is not None]
    return {
        "sum": sum(known) if known else None,
        "hi": max(known, default=None),
        "n": len(rows),
        "c": len(known),
        "list": [row["i"] for row in rows],
        "last": rows[-1]["x"] if rows else None,
        "who": max(pairs, key=lambda pair: pair[0])[1] if pairs else None,
        "share": len(known) / len(rows) if rows else None,
        "words": len({row["s"] for row in rows if row["s"] is not None}),
        "median": statistics.median(known) if known else None,
    }


def as_of(table: pa.Table, moment: int, frame: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """The values of all keys at a moment in plain Python; by content, those of the last row."""
    known = [row for row in table.to_pylist() if row["t"] <= moment]
    if frame in ("delta", "policy"):
        made = sash.windowed(pa.Table.from_pylist(known, table.schema), "k", time="t")
        ordered = sorted(made.agg(**wanted).to_pylist(), key=lambda row: row["t"])
        return {row["k"]: {out: row[out] for out in wanted} for row in ordered}
    known.sort(key=lambda row: row["t"])
    keys = {row["k"] for row in known}
    each = {key: [row for row in known if row["k"] == key] for key in keys}
    return {key: value_of(window(frame, rows, moment)) for key, rows in each.items()}


def alike(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) < 1e-9)


def differs(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {name: (a[name], b[name]) for name in b if not alike(a[name], b[name])}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(alike(a[name], b[name]) for name in b)


def check(name: str, seed: int, patch: pytest.MonkeyPatch, lead: int = 0) -> None:
    rng = np.random.default_rng(seed)
    vary(rng, patch)
    table = sample(name, rng, 160).sort_by([("t", "ascending"), ("i", "ascending")])
    wanted = asked(FRAMES[name], policy=name == "policy")
    definition = defined("update", lead=lead, **wanted)
    served = Served(Run(definition, collide=[None, 3][seed % 2]), name, wanted, lead)
    start, last = 0, 0
    for size in cuts(rng, table.num_rows, 12):
        mark = None
        if start:
            mark = last = max(last, table["t"][start - 1].as_py() + int(rng.integers(0, 9)))
        served.step(table, start, size, mark)
        start += size
    for mark in (last + 3, last + 70, END):
        served.step(table, start, 0, mark)


class Served:
    """What a reader knows, from what has come out: for each key its values from moments on."""

    def __init__(self, run: Run, name: str, wanted: dict[str, Any], lead: int) -> None:
        self.run, self.name, self.wanted, self.lead = run, name, wanted, lead
        self.known: dict[str, dict[int, Any]] = {}

    def step(self, table: pa.Table, start: int, size: int, mark: int | None) -> None:
        """One batch: what it gives has changed, and what is known then is what a table gives."""
        given: dict[str, dict[int, Any]] = {}
        for row in self.run.step(table.slice(start, size), mark).to_pylist():
            value = {out: row[out] for out in self.wanted}
            assert row["t"] not in given.setdefault(row["k"], {})
            given[row["k"]][row["t"]] = value
        for key, steps in given.items():
            assert min(steps) == mark
            assert max(steps) <= mark + self.lead
            if not self.lead and key in self.known:
                # exactly: the last digit of a sum changes where its rows are combined otherwise
                assert [*self.known[key].values()] != [*steps.values()]
        self.known |= given
        if mark is None:
            return
        late = self.run.late
        fed = [row for row in table.slice(0, start + size).to_pylist() if row["i"] not in late]
        fed = [row for row in fed if row["t"] <= mark]
        rows = pa.Table.from_pylist(fed, table.schema)
        for moment in range(mark, mark + self.lead + 1):
            for key, value in as_of(rows, moment, self.name, self.wanted).items():
                steps = self.known.get(key, {})
                found = [steps[at] for at in sorted(steps) if at <= moment]
                assert found or not value["n"], (key, value)
                assert not found or same(found[-1], value), differs(found[-1], value)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, 0, monkeypatch)
    check(name, 1, monkeypatch)


@pytest.mark.parametrize("name", ["time", "before", "right", "session", "sliding", "until"])
def test_values_ahead_of_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every moment up to the watermark and the lead, if no rows come."""
    check(name, 2, monkeypatch, lead=7)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_values_for_many_seeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3, 40):
        check(name, seed, monkeypatch, lead=[0, 5][seed % 2])


def live(**options: Any) -> Any:
    return sash.stream("k", time="t", emit="update", **options)


def values(table: pa.Table) -> dict[Any, Any]:
    return {row.pop("k"): row for row in table.to_pylist()}


def test_time_passes_without_rows() -> None:
    counting = live(delay=2).agg(n=sf.count().over(TEN))
    assert counting.feed(pa.table({"k": ["a", "b"], "t": [1, 4]})).num_rows == 1
    assert values(counting.advance(4)) == {"b": {"t": 4, "n": 1}}
    assert values(counting.advance(11)) == {}
    assert values(counting.advance(12)) == {"a": {"t": 12, "n": 0}}
    assert values(counting.advance(90)) == {"b": {"t": 90, "n": 0}}
    assert counting.current(k="b") == {"n": 0}
    assert counting.current(k="nobody") == {"n": 0}


def test_a_value_that_stays_the_same_does_not_come_out() -> None:
    highest = live().agg(hi=sf.max("x").over(TEN))
    feed = [{"k": "a", "t": 1, "x": 5}, {"k": "a", "t": 2, "x": 3}, {"k": "a", "t": 3, "x": 9}]
    found = [values(highest.feed(pa.Table.from_pylist([row]))) for row in feed]
    assert found == [{"a": {"t": 1, "hi": 5}}, {}, {"a": {"t": 3, "hi": 9}}]


def test_keys_of_a_history_come_out_first() -> None:
    past = pa.table({"k": ["a", "b", "c"], "t": [1, 90, 95], "x": [1.0, 2.0, 3.0]})
    both = {"s": sf.sum("x").over(TEN), "ever": sf.count().over(sash.lifetime())}
    found = live(history=past).agg(**both).feed(pa.table({"k": ["b"], "t": [101], "x": [4.0]}))
    assert values(found) == {
        "a": {"t": 101, "s": None, "ever": 1},
        "b": {"t": 101, "s": 4.0, "ever": 2},
        "c": {"t": 101, "s": 3.0, "ever": 1},
    }


def test_keys_that_are_idle_are_forgotten() -> None:
    frames = {"ever": sf.count().over(sash.lifetime()), "last": sf.sum("x").over(sash.rows(3))}
    counting = live(idle=20).agg(**frames)
    counting.feed(pa.table({"k": ["a", "a", "b"], "t": [1, 2, 8], "x": [1.0, 2.0, 3.0]}))
    assert values(counting.advance(22)) == {}
    assert values(counting.advance(23)) == {"a": {"t": 23, "ever": 0, "last": None}}
    assert counting.current(k="a") == {"ever": 0, "last": None}
    assert counting.current(k="b") == {"ever": 1, "last": 3.0}


def test_the_state_does_not_grow() -> None:
    run = Run(defined("update", n=sf.count().over(TEN), visit=sf.count().over(sash.session(3))))
    table = rows(np.random.default_rng(5), 4000, 5, 0)
    sizes = []
    for start in range(0, 4000, 100):
        run.step(table.slice(start, 100), table["t"][start + 99].as_py())
        sizes.append(Manifest.load(run.manifest).rows)
    assert max(sizes) < 400


@pytest.mark.parametrize(
    ("options", "wanted", "says"),
    [
        ({}, sf.count().over(sash.range_between(-5, 4)), "n: .* looks ahead"),
        ({}, sf.sum("x").over(TEN, exclude="current row"), "n: there is no row at a moment"),
        ({}, sf.col("x") - sf.mean("x").over(TEN), "n: it reads the row's column 'x'"),
        ({"late": "side"}, sf.count().over(TEN), "late='side' gives rows"),
        ({"emit": "final", "lead": 3}, sf.count().over(TEN), "lead gives values ahead"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], wanted: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        sash.stream("k", time="t", **{"emit": "update"} | options).agg(n=wanted).feed(
            pa.table({"k": [1], "t": [1], "x": [1.0]})
        )
    with pytest.raises(ValueError, match="every gives a window once"):
        live().every(5).agg(n=sf.count().over(TEN)).feed(pa.table({"k": [1], "t": [1]}))
    with pytest.raises(ValueError, match="lead: 't' is a float"):
        live(lead=2.5).agg(n=sf.count().over(TEN)).feed(pa.table({"k": [1], "t": [1.0]}))


def test_calendar_frames_are_refused() -> None:
    days = live().agg(n=sf.count().over(sash.calendar("1 day")))
    with pytest.raises(ValueError, match=r"n: .* has no value at a moment without a row"):
        days.feed(pa.table({"k": [1], "t": [datetime(2026, 1, 1)]}))


def test_times_that_are_floats() -> None:
    counting = live().agg(n=sf.count().over(TEN))
    counting.feed(pa.table({"k": ["a", "b"], "t": [1.5, 4.0]}))
    assert values(counting.advance(11.5)) == {}
    assert values(counting.advance(11.6)) == {"a": {"t": 11.6, "n": 0}}
