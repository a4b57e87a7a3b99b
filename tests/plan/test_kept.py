"""What a stream keeps between batches is in the plan, and executors run the plan they are given."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.work import Work
from sash.plan import Options, Plan, plan_of

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.float64(), "s": pa.string()})
SOURCES = Path(sash.__file__).parent
ASKED = {
    "hi": sf.max("x").over(sash.range_between(-9, 0)),
    "mean": sf.mean("x").over(sash.range_between(-9, 0)),
    "mid": sf.median("x").over(sash.range_between(-9, 0)),
    "own": sf.sum("x").over(sash.range_between(-9, 0), exclude="current row"),
    "few": sf.sum("x").where("x > 1").over(sash.rows(50)),
    "next": sf.sum("x").over(sash.rows_between(0, 3)),
    "so_far": sf.sum("x").over(sash.session(4)),
    "words": sf.count_distinct("s").over(sash.session(4)),
}
STRUCTURES = {
    "hi": "forest", "mean": "forest", "mid": "rows", "own": "rows", "few": "tail",
    "next": "waiting", "so_far": "so far", "words": "tail",
}  # fmt: skip


def planned(every: Any = None, asked: Any = ASKED, **options: Any) -> Plan:
    work = sash.windowed(SCHEMA.empty_table(), "k", time="t")
    query = (work if every is None else work.every(*every)).query(**asked)
    return plan_of(query, SCHEMA, Options(rows="stream", **options))


def test_each_state_has_its_structure() -> None:
    plan = planned()
    found = {o.name: plan.states[o.state].structure for o in plan.outputs}
    assert found == STRUCTURES
    assert plan.kept is not None
    assert (plan.kept.behind, plan.kept.ahead, plan.kept.rows_ahead) == (9, 0, 3)


def test_rows_do_not_wait_for_others_on_arrival() -> None:
    plan = planned(emit="arrival")
    assert {o.name: plan.states[o.state].structure for o in plan.outputs}["next"] == "tail"


def test_windows_of_a_stream_run_the_states_that_are_planned() -> None:
    plan = planned()
    work = Work(StreamDefinition(plan, {}))
    partial = [
        s.state for windows in (*work.by_time, *work.so_far.values()) for s in windows.states
    ]
    assert all(any(state is known for known in plan.states) for state in partial)
    assert work.rows is not None
    assert work.waiting is not None
    inner = [work.rows, work.waiting.plan, *(tail.plan for tail in work.tails.values())]
    ran = {o.name: part.states[o.state] for part in inner for o in part.outputs}
    own = {o.name: plan.states[o.state] for o in plan.outputs}
    assert ran.keys() == {name for name, state in own.items() if state not in partial}
    for name, state in ran.items():
        assert (state.choice, state.filtering) == (own[name].choice, own[name].filtering), name
        assert state.monoid is own[name].monoid


@pytest.mark.parametrize(("every", "length"), [((5, 7), 1), ((4, 10), 2), ((5, 20), 5)])
def test_the_slices_that_are_printed_are_those_that_are_kept(every: Any, length: int) -> None:
    slide, size = every
    asked = {"hi": sf.max("x").over(sash.sliding(size, slide))}
    work = sash.windowed(SCHEMA.empty_table(), "k", time="t").every(slide)
    plan = plan_of(work.query(**asked), SCHEMA, Options(rows="stream"))
    running = Work(StreamDefinition(plan, {}))
    assert running.sliced is not None
    assert running.sliced.slices.length == plan.slices[0].period == length
    assert plan.slices[0].technique == "panes"
    assert plan.slices[0].longest == (size // length,)


def test_a_part_of_a_plan_has_its_frames_and_slices() -> None:
    asked = {"a": sf.max("x").over(sash.sliding(6, 2)), "b": sf.sum("x").over(sash.sliding(9, 3))}
    work = sash.windowed(SCHEMA.empty_table(), "k", time="t").every()
    plan = plan_of(work.query(**asked), SCHEMA)
    part = plan.over_rows(SCHEMA, (), [plan.states[1]])
    assert [o.name for o in part.outputs] == ["b"]
    assert [(f.number, str(f.frame)) for f in part.frames] == [(0, str(plan.frames[1].frame))]
    assert [(s.number, s.frame, s.slices) for s in part.states] == [(0, 0, 0)]
    assert [(s.frames, s.longest) for s in part.slices] == [((0,), plan.slices[0].longest[1:])]


@pytest.mark.parametrize(
    "asked", [sf.max("x").over(sash.range_between(-9, 0)), sf.sum("x").over(sash.session(4))]
)
def test_an_algorithm_that_a_stream_does_not_run_is_refused(asked: Any) -> None:
    with pytest.raises(ValueError, match="y: algorithm='DABA' cannot be chosen, as a stream keeps"):
        planned(asked={"y": asked}, algorithm="DABA")


def test_an_algorithm_of_rows_is_taken_on_a_stream() -> None:
    [state] = planned(asked={"y": sf.max("x").over(sash.rows(50))}, algorithm="DABA").states
    assert state.choice is not None
    assert state.choice.algorithm == "DABA"


def test_no_executor_plans_by_itself() -> None:
    """`answers.py` asks what type an answer has, by running it over one row."""
    planning = set()
    for path in (SOURCES / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else []
            planning |= {path.name} & ({path.name} if "plan_of" in names else set())
    assert planning == {"answers.py"}
