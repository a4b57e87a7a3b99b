"""Filters in a plan: what `explain()` says of rows that do not pass is what the executor does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import unescape
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from sash.engine.ranks import Ranks
from sash.engine.stream.items import Items
from sash.engine.stream.partials import PartialState
from sash.plan.explain import Explanation, explain
from sash.plan.plan import Plan
from sash.plan.planner import plan_of
from sash.swag.registry import ALGORITHMS
from sash.swag.window import Window
from sash.testing.counting import Counter, counting

N = 400
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "t": np.arange(N),
        "x": RNG.integers(-50, 50, N).astype(float),
        "y": pa.array(RNG.random(N), mask=RNG.random(N) < 0.1),
        "ok": RNG.random(N) < 0.5,
    }
)
PASSING = TABLE.column("ok").to_numpy().sum()
NUMBERS = ("max", "sum", "mean", "stddev")
IDENTITY = "; the partial of a row that does not pass is the identity"
LEFT_OUT = "; rows that do not pass are left out"
NO_ROWS = "; the partial of a row that does not pass is one of no rows"
COUNTED = "counted from the rows that pass, no state"


class Seen:
    """How many items windows took in, rows were counted, and partials were made; of how many
    rows those were."""

    def __init__(self) -> None:
        self.items = self.counted = self.partials = self.rows = 0


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    found = Seen()
    lifted, mark = PartialState.lifted, Ranks.mark

    def follow_of(kind: type[Window]) -> Any:
        follow = kind.follow

        def counted(self: Any, xs: Any, base: int, lo: Any, hi: Any, *more: Any) -> Any:
            found.items += int(max(hi)) - max(base, self.reached)
            return follow(self, xs, base, lo, hi, *more)

        return counted

    def lifted_here(self: PartialState, table: pa.Table) -> Items:
        made = lifted(self, table)
        found.partials, found.rows = found.partials + len(made), found.rows + int(made.rows.sum())
        return made

    def mark_here(self: Ranks, known: np.ndarray) -> None:
        found.counted += int(known.sum())
        mark(self, known)

    for name in ("TwoStacksLite", "SubtractOnEvict"):
        monkeypatch.setattr(ALGORITHMS[name], "follow", follow_of(ALGORITHMS[name]))
    monkeypatch.setattr(PartialState, "lifted", lifted_here)
    monkeypatch.setattr(Ranks, "mark", mark_here)
    return iter([found])


def asked(name: str, frame: Any) -> Any:
    of = sf.count() if name == "count" else getattr(sf, name)("x")
    return of.where("ok").over(frame)


def says(told: Explanation, words: str) -> None:
    """Text, drawing and data have the same words, and the other ways are not mentioned."""
    [state] = told.json()["states"]
    known = {"identity": IDENTITY, "left out": LEFT_OUT, "no rows": NO_ROWS}
    assert words in ((COUNTED,) if words == COUNTED else (known[state["filtering"]],))
    for text in (str(told), unescape(told._repr_html_())):
        assert words in text
        assert "the length of the window, no state" not in text.replace(
            f"the length of the window, no state{LEFT_OUT}", ""
        )
        assert not any(other in text for other in known.values() if other != words)
    assert state["condition"] == "ok"


def in_batches(plan: Plan) -> None:
    batches = TABLE.combine_chunks().to_batches(max_chunksize=37)
    assert sum(batch.num_rows for batch in row_windows.run(plan, batches)) == N


@pytest.mark.parametrize("way", ["table", "batches"])
@pytest.mark.parametrize("name", [*NUMBERS, "count"])
def test_rows_of_tables_and_batches(name: str, way: str, seen: Iterator[Seen]) -> None:
    work, a = sash.windowed(TABLE, time="t"), asked(name, sash.rows(20))
    [found] = seen
    if way == "table":
        told = work.explain(a=a)
        work.agg(a=a)
    else:
        plan = plan_of(work.query(a=a), TABLE.schema)
        told = explain(plan)
        in_batches(plan)
    if name == "count":
        says(told, COUNTED)
        assert (found.items, found.counted) == (0, PASSING)
        return
    all_rows = told.plan.states[0].filtering == "identity"
    says(told, IDENTITY if all_rows else LEFT_OUT)
    assert found.items == (N if all_rows else PASSING)


STREAMED = {
    "tree": sash.range_between(-20, 0),
    "so far": sash.lifetime(),
    "tail": sash.rows(20),
}


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        pytest.param(structure, name, marks=pytest.mark.slow if large else ())
        for structure in STREAMED
        for name in (*NUMBERS, "count")
        for large in [name == "stddev" and structure != "tail"]  # its kernels are long to compile
    ],
)
def test_rows_of_a_stream(name: str, structure: str, seen: Iterator[Seen]) -> None:
    stream = sash.stream(time="t").agg(a=asked(name, STREAMED[structure]))
    [found] = seen
    out = stream.feed(TABLE)
    told = stream.explain()
    assert out.num_rows > N / 2
    if structure == "tail":
        says(told, LEFT_OUT)
        assert found.partials == 0
        assert name == "count" or 0 < found.items <= 2 * PASSING
        return
    says(told, NO_ROWS)
    assert found.items == 0
    assert found.partials >= out.num_rows
    assert found.rows < 0.6 * found.partials


def test_slices_leave_rows_out_and_count_those_that_pass() -> None:
    call = sash.windowed(TABLE, time="t").every(10)
    total, count = (call.explain(a=asked(name, sash.sliding(40, 10))) for name in ("sum", "count"))
    says(total, LEFT_OUT)
    says(count, COUNTED)


def test_a_filtered_count_of_a_column_says_what_it_counts() -> None:
    told = sash.windowed(TABLE, time="t").explain(a=sf.count("y").where("ok").over(sash.rows(9)))
    assert "counted from the rows that pass and are not null, no state" in told


@pytest.mark.parametrize("executor", ["table", "stream"])
def test_a_row_that_does_not_pass_is_not_lifted_by_a_users_monoid(executor: str) -> None:
    """Its `lift` may raise there."""
    lift = {"objects": lambda x: [1 / x], "numbers": lambda x: 1 / x}
    own = {
        "objects": sash.Monoid("own", [], lift["objects"], lambda a, b: a + b, len, dtype=object),
        "numbers": sash.Monoid("own", 0.0, lift["numbers"], lambda a, b: a + b, dtype=np.float64),
    }
    rows = pa.table({"t": [1, 2, 3, 9], "x": [1.0, 0.0, 4.0, 0.0]})
    answers = {"objects": [1, 1, 2], "numbers": [1.0, 1.0, 1.25]}
    for kind, monoid in own.items():
        returns = pa.int64() if kind == "objects" else pa.float64()
        a = sf.apply(monoid, "x", returns=returns, check=False).where("x <> 0")
        if executor == "table":
            found = sash.windowed(rows, time="t").agg(a=a.over(sash.rows(3)))
        else:
            found = sash.stream(time="t").agg(a=a.over(sash.range_between(-5, 0))).feed(rows)
        assert found.column("a").to_pylist()[:3] == answers[kind]


def test_a_stream_keeps_a_filtered_state_under_the_name_of_the_plain_one() -> None:
    """So state that was written before filters were planned is read."""
    stream, frame = sash.stream(time="t"), sash.range_between(-20, 0)
    for name in (*NUMBERS, "count"):
        of = sf.count() if name == "count" else getattr(sf, name)("x")
        live = stream.agg(plain=of.over(frame), a=of.where("ok").over(frame))
        live.feed(TABLE.slice(0, 0))
        plan = live.explain().plan
        plain, own = (PartialState(plan, state).name for state in plan.states)
        kind, columns, digest = plain.split(" ")
        assert own == f"{kind} {columns} where ok {digest}"


def _lowered(lower: Any, v: Any) -> Any:
    """As compiled code, which divides by zero where no row of a window passes."""
    try:
        return lower(v)
    except ZeroDivisionError:
        return None


def combines(a: Any) -> tuple[list[Any], Counter]:
    """The answers of the plan of one aggregation, its monoid in plain Python, and its calls."""
    plan = plan_of(sash.windowed(TABLE, time="t").query(a=a), TABLE.schema)
    [state] = plan.states
    counted, counter = counting(state.monoid)
    counted = counted.with_(lower=partial(_lowered, counted.lower))
    plan = replace(plan, states=(replace(state, monoid=counted),))
    batches = row_windows.run(plan, TABLE.combine_chunks().to_batches())
    return pa.Table.from_batches(batches).column("a").to_pylist(), counter


SHARES = pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
BEFORE = sash.range_between(-20, 0)


def of_a_share(name: str, exclude: str | None, share: float) -> Any:
    of = getattr(sf, name)("x").where(f"t % 100 < {100 * share}")
    return of.over(BEFORE, exclude=exclude)


@SHARES
@pytest.mark.parametrize("exclude", [None, "current row"])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_filter_takes_at_most_1_3_times_the_combines(
    name: str, exclude: str | None, share: float
) -> None:
    _, plain = combines(getattr(sf, name)("x").over(BEFORE, exclude=exclude))
    _, own = combines(of_a_share(name, exclude, share))
    calls = own.combines + own.inverses
    assert 0 < calls <= 1.3 * (plain.combines + plain.inverses)
    assert own.lifts <= 1.3 * plain.lifts


@SHARES
@pytest.mark.parametrize(
    ("name", "exclude"),
    [
        *((name, None) for name in NUMBERS),
        ("max", "current row"),
        *(pytest.param(n, "current row", marks=pytest.mark.slow) for n in NUMBERS if n != "max"),
    ],
)
def test_compiled_answers_of_a_filter_are_those_of_plain_python(
    name: str, exclude: str | None, share: float
) -> None:
    a = of_a_share(name, exclude, share)
    found, _ = combines(a)
    wanted = sash.windowed(TABLE, time="t").agg(a=a).column("a").to_pylist()
    assert found == pytest.approx(wanted, nan_ok=True)
