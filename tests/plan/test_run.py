"""Plans at work, plain and compiled, against brute force; and never more combines shared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import monoids as m
from sash.monoids import Monoid
from sash.plan import Plan, Query, by_count, plan, run
from sash.plan.query import Periodic
from sash.plan.run import Runner
from sash.plan.shared import SharedPlan
from sash.swag.registry import ALGORITHMS

PRIME = 1009
AFFINE = Monoid(  # x -> a x + b modulo a prime, composed: not commutative, and it compiles
    "affine",
    (1, 0),
    lambda x: (x % PRIME + 1, x % 7),
    lambda f, g: (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME),
)
TEXT = Monoid("text", "", str, lambda a, b: a + b)


@st.composite
def periodics(draw: st.DrawFn, by: str) -> Periodic:
    slide = draw(st.integers(1, 8))
    size = slide * draw(st.integers(1, 4)) + draw(st.integers(0, 9))
    if by == "count":
        return Periodic(size, slide)
    closed = draw(st.sampled_from(["left", "right", "both"]))
    return Periodic(size, slide, "time", draw(st.integers(-9, 9)), closed)  # type: ignore[arg-type]


@st.composite
def streams(draw: st.DrawFn) -> list[int]:
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 5, 60]), max_size=40))
    return np.cumsum([draw(st.integers(-50, 50)), *steps]).tolist()


def answer(monoid: Monoid, xs: list) -> object:
    total = monoid.identity
    for x in xs:
        total = monoid.combine(total, monoid.lift(x))
    return monoid.lower(total)


def by_brute_force(query: Query, xs: list, ticks: list[int]) -> list[tuple[int, int, object]]:
    """(start, end, answer) of each window that has rows, in order."""
    w, found = query.window, []
    last = len(xs) if w.by == "count" else max(ticks, default=0) + w.reach
    for fired in range(min(ticks, default=0), last + 1):
        if fired % w.slide == w.fires:
            inside = [x for x, t in zip(xs, ticks) if fired - w.reach <= t < fired]
            if inside:
                found.append((*w.bounds(fired), answer(query.monoid, inside)))
    return found


def fed(p: Plan, xs: list, ticks: list[int], parts: list[int], compiled: bool) -> dict:
    """What fires when the stream comes in parts."""
    by_time = p.queries[0].window.by == "time"
    items = np.array(xs, np.int64) if compiled else xs
    running, found = p.start(compiled), {query.name: [] for query in p.queries}
    ends = [*sorted({part for part in parts if part < len(xs)}), len(xs)]
    outs, start = [], 0
    for end in ends:
        outs.append(running.feed(items[start:end], ticks[start:end] if by_time else None))
        start = end
    for out in [*outs, running.finish()]:
        for name, (lo, hi, answers) in out.items():
            whole = answers.tolist() if isinstance(answers, np.ndarray) else answers
            found[name] += zip(lo.tolist(), hi.tolist(), whole)
    return found


def check(p: Plan, xs: list, ticks: list[int], parts: list[int], compiled: bool) -> None:
    found = fed(p, xs, ticks, parts, compiled)
    for query in p.queries:
        assert found[query.name] == by_brute_force(query, xs, ticks)


PARTS = st.lists(st.integers(0, 40), max_size=3)


@settings(max_examples=150)
@given(st.lists(periodics("count"), min_size=1, max_size=4, unique=True),
       st.lists(st.integers(0, 9), max_size=60), PARTS,
       st.sampled_from(["panes", "pairs", "cutty", None]))  # fmt: skip
def test_by_count(windows: list[Periodic], xs: list[int], parts: list[int], technique) -> None:  # type: ignore[no-untyped-def]
    queries = [Query(TEXT, w) for w in windows]
    check(plan(queries, technique=technique), xs, list(range(len(xs))), parts, False)


@settings(max_examples=150)
@given(st.lists(periodics("time"), min_size=1, max_size=4, unique=True), streams(), PARTS,
       st.sampled_from(["panes", "pairs", "cutty", None]))  # fmt: skip
def test_by_time(windows: list[Periodic], ticks: list[int], parts: list[int], technique) -> None:  # type: ignore[no-untyped-def]
    xs = [i % 10 for i in range(len(ticks))]
    queries = [Query(TEXT, w) for w in windows]
    check(plan(queries, technique=technique), xs, ticks, parts, False)


@settings(max_examples=60)
@given(st.lists(periodics("time"), min_size=1, max_size=4, unique=True), streams(), PARTS)
def test_compiled(windows: list[Periodic], ticks: list[int], parts: list[int]) -> None:
    xs = [(7 * i) % 10 for i in range(len(ticks))]
    check(plan([Query(AFFINE, w) for w in windows]), xs, ticks, parts, True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("by", ["count", "time"])
def test_every_algorithm_over_slices(algorithm: str, by: str) -> None:
    exact = m.Sum().of(np.dtype(np.int64))
    monoid = exact if algorithm == "SubtractOnEvict" else AFFINE
    xs = [(7 * i) % 10 for i in range(200)]
    p = plan([Query(monoid, Periodic(31, 7, by))], algorithm=algorithm)  # type: ignore[arg-type]
    check(p, xs, list(range(200)), [33, 34, 90], False)


@pytest.mark.parametrize("by", ["count", "time"])
def test_many_ranges_on_a_tree(by: str) -> None:
    xs = [(7 * i) % 10 for i in range(200)]
    windows = [Periodic(31, 7, by), Periodic(12, 3, by)]  # type: ignore[arg-type]
    p = plan([Query(TEXT, w) for w in windows], algorithm="FiBA")
    assert len(p.groups) == 1
    check(p, xs, list(range(200)), [33, 34, 90], False)


SHAPES = {
    "one": [(30, 10)],
    "many": [(30, 10), (100, 10)],
    "every row": [(3, 1), (40, 1)],
    "every row, all ranges": [(1, 1), (2, 1), (3, 1)],
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("parts", [[], [100, 101]])
def test_every_way_to_run_compiled_is_plain(shapes: list[tuple[int, int]], parts) -> None:  # type: ignore[no-untyped-def]
    xs = [(7 * i) % 10 for i in range(250)]
    p = plan([Query(AFFINE, Periodic(*shape)) for shape in shapes])
    check(p, xs, list(range(250)), parts, False)
    check(p, xs, list(range(250)), parts, True)


def test_there_is_room_for_all_slices_between_two_firings() -> None:
    """Compiled code does not check its bounds: 9 slices of a row each come before an eviction."""
    xs = [(7 * i) % 10 for i in range(400)]
    p = plan([Query(AFFINE, Periodic(31, 9))], technique="panes")
    check(p, xs, list(range(400)), [42, 134, 137, 251], True)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=12, unique=True), PARTS)
def test_slides_of_one_row(sizes: list[int], parts: list[int]) -> None:
    xs = [(7 * i) % 10 for i in range(60)]
    check(
        plan([Query(TEXT, Periodic(size, 1)) for size in sizes]), xs, list(range(60)), parts, False
    )


@settings(max_examples=60)
@given(st.lists(periodics("time"), min_size=2, max_size=4, unique=True), st.data())
def test_the_wheel_finds_what_is_due(windows: list[Periodic], data: st.DataObject) -> None:
    """Dense rows go over the grid; what is found out in NumPy is the same."""
    steps = data.draw(st.lists(st.sampled_from([0, 0, 1, 1, 2]), min_size=100, max_size=150))
    ticks = np.cumsum([data.draw(st.integers(-50, 50)), *steps]).tolist()
    xs = list(range(len(ticks)))
    found = []
    for dense in (8, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "DENSE", dense)
            runner = Runner(SharedPlan(tuple(windows)), TEXT, "FlatFIT", compiled=False)
            fired = [runner.feed(ticks[:60], xs[:60]), runner.feed(ticks[60:], xs[60:])]
            fired.append(runner.finish())
            found.append([(list(f.end), f.answer) for part in fired for f in part])
    assert found[0] == found[1]


@pytest.mark.slow  # to compile
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_a_vector_state_runs_compiled(shapes: list[tuple[int, int]]) -> None:
    xs = np.arange(300)
    queries = [by_count(m.HyperLogLog(p=6), *shape, f"{shape}") for shape in shapes]
    plain = plan(queries).run(xs.tolist(), compiled=False)
    assert {name: list(f.answer) for name, f in plan(queries).run(xs).items()} == {
        name: list(f.answer) for name, f in plain.items()
    }


def test_aggregations_over_the_same_windows_are_one_group() -> None:
    xs = np.random.default_rng(1).normal(size=500)
    asked = {"sum": m.Sum(), "mean": m.Mean(), "sd": m.StdDev(), "hi": m.Max()}
    queries = [by_count(monoid, 60, 7, name) for name, monoid in asked.items()]
    together = plan([*queries, by_count(m.Max(), 200, 7, "hi200")])
    assert [sorted(group.answers) for group in together.groups] == [[0, 1, 2], [3, 4]]
    out = together.run(xs)
    for query in queries:
        alone = plan([query], algorithm=together.groups[0].choice.algorithm).run(
            xs.tolist(), compiled=False
        )
        assert list(out[query.name].answer) == pytest.approx(alone[query.name].answer)


COUNTED = {"combines": 0}


def counting(a: str, b: str) -> str:
    COUNTED["combines"] += 1
    return a + b


@settings(max_examples=100)
@given(st.lists(periodics("count"), min_size=2, max_size=5, unique=True))
def test_shared_is_unshared_with_never_more_combines(windows: list[Periodic]) -> None:
    """Counted from the first row on, over as many rows as fill the longest window 8 times."""
    monoid = Monoid("text", "", str, counting)
    queries = [Query(monoid, w, f"q{i}") for i, w in enumerate(windows)]
    xs = [i % 10 for i in range(8 * max(w.size for w in windows))]
    together = plan(queries)
    answers, combines = [], []
    for p in (together, together.alone()):
        COUNTED["combines"] = 0
        out = p.run(xs, compiled=False)
        answers.append({name: (fired.end.tolist(), fired.answer) for name, fired in out.items()})
        combines.append(COUNTED["combines"])
    assert answers[0] == answers[1]
    assert combines[0] <= combines[1]


def test_the_expected_combines_are_those_that_are_counted() -> None:
    monoid = Monoid("text", "", str, counting)
    p = plan([by_count(monoid, 12, 4, "a"), by_count(monoid, 30, 6, "b")])
    running = p.start(compiled=False)
    running.feed([1] * 120)
    COUNTED["combines"] = 0
    running.feed([1] * 1200)
    assert COUNTED["combines"] / 1200 == pytest.approx(p.combines, rel=0.05)
