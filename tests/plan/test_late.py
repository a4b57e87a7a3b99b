"""Late rows fall into their slice: the windows that are still open have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import monoids as m
from sash.monoids import Monoid
from sash.plan import Query, by_count, by_time, plan
from sash.plan.query import Periodic

TEXT = Monoid("text", "", str, lambda a, b: a + b)


@st.composite
def periodics(draw: st.DrawFn) -> Periodic:
    slide = draw(st.integers(1, 6))
    size = slide * draw(st.integers(1, 4)) + draw(st.integers(0, 5))
    closed = draw(st.sampled_from(["left", "right", "both"]))
    return Periodic(size, slide, "time", draw(st.integers(-9, 9)), closed)  # type: ignore[arg-type]


BATCHES = st.lists(
    st.tuples(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 60)), min_size=1, max_size=6
)


def by_brute_force(query: Query, batches: list, everything: list) -> list[tuple[int, int, object]]:
    """What has come by the time that the watermark passes a window's end, sorted by time."""
    w, found, done, come = query.window, [], -1000, []
    for times, rows, watermark in [*batches, ([], [], 10_000)]:
        come += zip(times, rows)
        new = max(done, watermark)
        for fired in range(max(done, -100) + 1, min(new, 200) + 1):
            if fired % w.slide == w.fires:
                inside = [(t, x) for t, x in come if fired - w.reach <= t < fired]
                if inside:
                    total = query.monoid.identity
                    for _, x in sorted(inside, key=lambda row: row[0]):  # stable: by arrival
                        total = query.monoid.combine(total, query.monoid.lift(x))
                    found.append((*w.bounds(fired), query.monoid.lower(total)))
        done = new
    return found


@settings(max_examples=120)
@given(st.lists(periodics(), min_size=1, max_size=3, unique=True), BATCHES,
       st.sampled_from([TEXT, m.Sum()]))  # fmt: skip
def test_against_brute_force(windows: list[Periodic], batches: list, monoid: Monoid) -> None:
    queries = [Query(monoid, w, f"q{i}") for i, w in enumerate(windows)]
    running = plan(queries, late=True).start(compiled=False)
    found: dict = {query.name: [] for query in queries}
    numbered, row = [], 0
    for times, watermark in batches:
        xs = list(range(row, row + len(times)))
        row += len(times)
        numbered.append((times, xs, watermark))
    for times, xs, watermark in numbered:
        for name, (lo, hi, answers) in running.feed(xs, times, watermark).items():
            found[name] += zip(lo.tolist(), hi.tolist(), answers)
    for name, (lo, hi, answers) in running.finish().items():
        found[name] += zip(lo.tolist(), hi.tolist(), answers)
    for query in queries:
        assert found[query.name] == by_brute_force(query, numbered, [])


def test_a_late_row_is_in_the_windows_that_are_open_and_in_late() -> None:
    running = plan([by_time(m.Sum(), 10, 5, name="s")], late=True).start()
    running.feed([1, 2], [3, 12], watermark=12)  # [-5, 5) and [0, 10) have fired
    out = running.feed([10, 100, 1000], [7, 11, 1], watermark=15)
    assert list(out["s"].answer) == [10 + 100 + 2]  # [5, 15) has the rows at 7, 11 and 12
    assert [(row.time, row.item) for row in running.late] == [(7, 10), (1, 1000)]
    assert running._runners[0].dropped == 1  # the row at 1 is in no open window


@pytest.mark.slow  # compiling the tree takes long
def test_compiled_is_plain() -> None:
    rng = np.random.default_rng(3)
    times, xs = rng.integers(0, 300, 400), rng.integers(0, 50, 400)
    p = plan([by_time(m.Max(), 60, 7, name="a"), by_time(m.Max(), 20, 5, name="b")], late=True)
    outs = []
    for compiled, items in ((True, xs), (False, xs.tolist())):
        running = p.start(compiled)
        running.feed(items, times, watermark=150)
        outs.append({name: list(fired.answer) for name, fired in running.finish().items()})
    assert outs[0] == outs[1]


def test_it_is_explained() -> None:
    assert "FiBA: late rows are inserted where they belong" in (
        plan([by_time(m.Max(), 60, 7)], late=True).explain()
    )


@pytest.mark.parametrize(
    ("define", "says"),
    [
        (lambda: plan([by_count(m.Max(), 5)], late=True), "late: rows by count"),
        (lambda: plan([by_time(m.Max(), 5)], late=True, technique="cutty").start(), "'pairs'"),
        (lambda: plan([by_time(m.Max(), 5)]).start().feed([1], [1], 5), "watermark"),
        (lambda: plan([by_time(m.Max(), 5)], late=True, algorithm="DABA"), "in order"),
        (lambda: plan([by_time(m.Max(), 5)], late=True).start().feed([1], [0.5]), "integers"),
    ],
)
def test_refused(define, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((TypeError, ValueError), match=says):
        define()
