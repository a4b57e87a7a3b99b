"""The plan of typical definitions: what is in it once, what is shared, how it is explained."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.engine.row_windows import run
from sash.plan.explain import Explanation
from sash.plan.plan import Options, Plan
from sash.plan.planner import plan_of
from sash.plan.slicing import slices_of
from tests.engine.test_row_windows import sample

TABLE = sample(300, 41)
HOUR, DAY = "1 hour", "1 day"


def planned(asked: dict[str, Any], every: Any = False, time: str = "ts", **options: Any) -> Plan:
    call = sash.windowed(TABLE, "k", time=time)
    call = call if every is False else call.every(every)
    return plan_of(call.query(**asked), TABLE.schema, Options(**options))


def test_frames_states_and_columns_are_in_it_once() -> None:
    asked = {
        "total": sf.sum("x").over(HOUR),
        "again": sf.sum("x").over(HOUR),
        "mean": sf.mean("x").over(HOUR),
        "long": sf.mean("x").over(DAY),
        "n": sf.count().over(HOUR),
        "who": sf.argmax("x", "w").over(HOUR),
    }
    plan = planned(asked)
    assert [str(frame.frame) for frame in plan.frames] == ["the last 1 hour", "the last 1 day"]
    shape = [(state.frame, state.kind, state.columns, state.kept) for state in plan.states]
    assert shape == [
        (0, "combine", ("x",), ("Mean",)),  # sum is part of it
        (1, "combine", ("x",), ("Mean",)),
        (0, "count", (), ()),
        (0, "argument", ("x", "w"), ("ArgMax",)),
    ]
    place = {output.name: (output.state, output.member) for output in plan.outputs}
    assert place["total"] == place["again"]
    assert {place["total"], place["mean"]} == {(0, 0), (0, 1)}
    assert plan.columns == ["k", "ts", "x", "w"]
    assert all(state.typed for state in plan.states if state.choice is not None)


def test_states_that_take_less_time_together_are_kept_in_one_loop() -> None:
    names = ("sum", "mean", "min", "max", "stddev", "product")
    asked = {name: getattr(sf, name)("x").over(HOUR) for name in names}
    plan = planned(asked)
    kept = [state.kept for state in plan.states]
    assert kept == [("Mean", "StdDev"), ("Max", "Min"), ("Product",)]
    told = sash.windowed(TABLE, "k", time="ts").explain(**asked)
    assert "one state, Mean and StdDev" in told
    alone = [planned({name: getattr(sf, name)("x").over(HOUR)}).combines for name in names]
    assert plan.combines == sum(alone) - alone[names.index("sum")]


def test_states_that_can_be_subtracted_are_kept_apart_from_others() -> None:
    names = ("sum", "mean", "stddev")
    plan = planned({name: getattr(sf, name)("i").over(HOUR) for name in names})
    found = [(state.kept, state.choice.algorithm) for state in plan.states if state.choice]
    assert found == [(("Mean",), "SubtractOnEvict"), (("StdDev",), "TwoStacksLite")]


SIX = ("count", "sum", "mean", "min", "max", "stddev")


@pytest.mark.parametrize("time", ["s", "ts"])
@pytest.mark.parametrize(
    "names",
    [SIX, pytest.param((*SIX, "variance", "range", "stddev_pop"), marks=pytest.mark.slow)],
)
def test_shared_answers_are_those_of_a_call_each_to_the_bit(
    time: str, names: tuple[str, ...]
) -> None:
    frames = {"a": 7, "b": 40, "rows": None}
    asked: dict[str, Any] = {}
    for label, size in frames.items():
        frame: Any = sash.rows(6)
        if size is not None:
            frame = sash.range_between(-size, 0) if time == "s" else f"{size} s"
        asked |= {f"{name}_{label}": getattr(sf, name)("y").over(frame) for name in names}
    floats = pa.array(np.random.default_rng(2).normal(size=300), mask=np.arange(300) % 7 == 3)
    table = TABLE.append_column("y", floats)
    together = sash.windowed(table, "k", time=time).agg(**asked)
    for name, a in asked.items():
        alone = sash.windowed(table, "k", time=time).agg(**{name: a})
        assert together.column(name).equals(alone.column(name)), name


def counting(count: list[int]) -> m.Monoid:
    def combine(a: int, b: int) -> int:
        count[0] += 1
        return a + b

    return m.Monoid("counting", 0, lambda w: 0 if w is None else len(w), combine, dtype=object)


def test_no_more_combines_than_with_a_call_each() -> None:
    count = [0]
    monoid = counting(count)
    twice = {
        "total": sf.apply(monoid, "w").over(sash.rows(9)),
        "same": sf.apply(monoid, "w").over(sash.rows(9)),
        "half": sf.apply(monoid.with_(lower=lambda v: v / 2), "w").over(sash.rows(30)),
    }

    def combines(asked: dict[str, Any]) -> int:
        query = sash.windowed(TABLE, "k", time="s").query(**asked)
        plan = plan_of(query, TABLE.schema)
        count[0] = 0
        list(run(plan, TABLE.to_batches()))
        return count[0]

    apart = sum(combines({name: a}) for name, a in twice.items())
    assert 0 < combines(twice) < apart


def test_a_plan_with_every_has_its_kinds_as_frames_and_shares_slices() -> None:
    asked = {
        "a": sf.sum("x").over("10 minutes"),
        "b": sf.mean("x").over(sash.sliding("1 hour", "15 minutes")),
        "c": sf.median("x").over("10 minutes"),
    }
    plan = planned(asked, "5 minutes")
    assert plan.query.every is not None
    assert plan.query.every.kinds == tuple(frame.frame for frame in plan.frames)
    assert plan.query.window == ("window", "window_start", "window_end")
    [slices] = plan.slices
    minute = 60_000_000
    assert (slices.period, slices.lengths) == (15 * minute, (5 * minute,) * 3)
    assert slices.technique == "panes"
    assert slices.frames == (0, 1)
    assert slices.longest == (2, 12)
    assert [(state.frame, state.slices) for state in plan.states] == [(0, 0), (1, 0), (0, None)]
    reasons = [state.choice.algorithm for state in plan.states if state.choice is not None]
    assert reasons == ["Recalc", "TwoStacksLite"]


@pytest.mark.parametrize(
    ("kinds", "edges"),
    [
        ([sash.sliding(7, 5)], (5, (0, 2))),
        ([sash.sliding(10, 5)], (5, (0,))),
        ([sash.sliding(10, 5, offset=3)], (5, (3,))),
        ([sash.sliding(10, 5, closed="right")], (5, (1,))),
        ([sash.sliding(10, 5, closed="both")], (5, (0, 1))),
        ([sash.sliding(10, 5, closed="neither")], (5, (0, 1))),
        ([sash.sliding(6, 4), sash.sliding(6, 6)], (12, (0, 2, 4, 6, 8, 10))),
    ],
)
def test_where_slices_are_cut(kinds: list[Any], edges: tuple[int, tuple[int, ...]]) -> None:
    [slices] = slices_of(kinds, None, whole=True)
    assert (slices.period, slices.edges) == edges
    for kind, longest in zip(kinds, slices.longest, strict=True):
        starts = range(kind.offset, kind.offset + slices.period, kind.slide)
        above = kind.closed in ("right", "both")
        below = kind.closed in ("right", "neither")
        counts = [
            sum(t % slices.period in slices.edges
                for t in range(s + below, s + kind.size + above))
            for s in starts
        ]  # fmt: skip
        assert longest == max(counts)


def test_windows_that_cannot_be_sliced_follow_rows() -> None:
    assert slices_of([sash.sliding(7, 5)], None, whole=False) == ()
    primes = [sash.sliding(n, n) for n in (10_007, 10_009)]
    assert slices_of(primes, None, whole=True)[0].period == 10_007 * 10_009
    assert slices_of([*primes, sash.sliding(99_991, 99_991)], None, whole=True) == ()


def test_explain_prints_the_plan_as_text_as_data_and_as_html() -> None:
    call = sash.windowed(TABLE, "k", time="ts").every("5 minutes")
    told = call.explain(
        a=sf.sum("x").over("10 minutes"), b=sf.max("x").over(sash.sliding("1 hour", "15 minutes"))
    )
    lines = told.splitlines()
    assert lines[0] == "2 aggregations over 2 frames, by k, in order of ts"
    assert lines[1] == (
        "slices    panes of 5 minutes: rows are combined once per key and slice, "
        "for windows 1 and 2"
    )
    assert any("b: max(x), TwoStacksLite" in line and "over slices" in line for line in lines)
    data = json.loads(json.dumps(told.json()))
    assert data["slices"][0]["technique"] == "panes"
    assert [frame["frame"] for frame in data["frames"]] == [
        "10 minutes every 5 minutes", "1 hour every 15 minutes",
    ]  # fmt: skip
    assert [state["slices"] for state in data["states"]] == [0, 0]
    assert data["outputs"][0] == {"name": "a", "state": 0, "member": 0, "type": "double"}
    html = told._repr_html_()
    assert html.startswith("<div")
    assert "panes of 5 minutes" in html
    pairs = call.explain(a=sf.sum("x").over("7 minutes"))
    assert "pairs, of 2 minutes and 3 minutes in turn" in pairs
    rows = sash.windowed(TABLE, "k", time="ts").every(sash.rows(5))
    assert "panes of 5 rows" in rows.explain(a=sf.sum("x").over(sash.rows(10)))


def explained(executor: str, every: bool, asked: dict[str, Any]) -> Explanation:
    if executor == "table":
        call: Any = sash.windowed(TABLE, "k", time="ts")
        return (call.every("5 minutes") if every else call).explain(**asked)
    stream: Any = sash.stream("k", time="ts")
    live = (stream.every("5 minutes") if every else stream).agg(**asked)
    live.feed(TABLE)
    return live.explain()


@pytest.mark.parametrize("every", [False, True])
def test_text_html_and_json_say_the_same_on_each_executor(every: bool) -> None:
    asked = {
        "total": sf.sum("x").over("10 minutes"),
        "hi": sf.max("x").over("1 hour"),
        "each": sf.min("x").over("1 hour") / sf.count().over("1 hour"),
    }
    found = {executor: explained(executor, every, asked) for executor in ("table", "stream")}
    for told in found.values():
        data, html = json.loads(json.dumps(told.json())), unescape(told._repr_html_())
        for text in (told, html):
            for frame in data["frames"]:
                assert frame["frame"] in text
                assert frame["bounds"] in text
                assert frame["keeps"] is None or f"keeps {frame['keeps']}" in text
            for state in data["states"]:
                assert state["algorithm"] is None or f"{state['reason']}" in text
            for name, what in [*data["steps"].items(), *data["results"].items()]:
                assert name in text
                assert what in text
    assert all(frame["keeps"] is None for frame in found["table"].json()["frames"])
    assert all(frame["keeps"] for frame in found["stream"].json()["frames"])
    table, stream = (told.json() for told in found.values())
    same = ("keys", "time", "columns", "every", "slices", "outputs", "results")
    assert {name: table[name] for name in same} == {name: stream[name] for name in same}


def test_latency_and_algorithm_decide() -> None:
    worst = planned({"hi": sf.max("x").over(HOUR)}, latency="worst")
    assert worst.states[0].choice is not None
    assert worst.states[0].choice.algorithm == "DABALite"
    with pytest.raises(ValueError, match="hi: algorithm='SubtractOnEvict' cannot do this: Max has"):
        planned({"hi": sf.max("x").over(HOUR)}, algorithm="SubtractOnEvict")
    with pytest.raises(ValueError, match="latency must be 'average' or 'worst', not 'soon'"):
        planned({"hi": sf.max("x").over(HOUR)}, latency="soon")


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"a": sf.sum("x")}, ValueError, "a: sum.x. has no window"),
        ({"a": sf.sum("w").over(HOUR)}, TypeError, "a: sum takes a column of numbers, but w is"),
        ({"a": sf.sum("y").over(HOUR)}, KeyError, "no column 'y'"),
        ({"x": sf.sum("x").over(HOUR)}, ValueError, "x: there is a column of that name already"),
        ({"a": sf.sum("x").over(sash.range_between(-3, 0))}, TypeError, "a: .* plain number"),
    ],
)
def test_what_is_wrong_is_named(asked: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        planned(asked)


def test_a_plan_says_about_how_many_combines_it_takes() -> None:
    assert planned({"n": sf.count().over(HOUR)}).combines == 0
    assert planned({"hi": sf.max("x").over(HOUR)}).combines == 3
    assert planned({"hi": sf.max("x").over(HOUR)}, HOUR).combines == 1
