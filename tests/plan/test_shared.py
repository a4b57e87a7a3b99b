"""Shared plans: the FlatFIT paper's example 1, and the queries that are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash import monoids as m
from sash.plan import by_count, by_time, plan
from sash.plan.query import Periodic
from sash.plan.shared import Firing, SharedPlan


def test_example_1() -> None:
    """Slides 2 and 4, ranges 6 and 8: partials every 2 tuples, 3 and 4 of them an answer."""
    shared = SharedPlan((Periodic(6, 2), Periodic(8, 4)))
    assert shared.composite == math.lcm(2, 4) == 4
    assert shared.slicing.lengths == (2, 2)
    assert shared.common_edges == (0,)
    assert shared.firings == (Firing(2, 0, 3), Firing(4, 0, 3), Firing(4, 1, 4))
    assert shared.longest == 4  # the paper's wSize


def test_example_1_runs() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    out = plan([by_count(m.Max(), 6, 2, "a"), by_count(m.Max(), 8, 4, "b")]).run(values)
    assert list(out["a"].answer) == [3, 4, 9, 9, 9, 8]
    assert list(out["b"].answer) == [4, 9, 9]
    assert list(out["b"].end) == [4, 8, 12]


@given(st.lists(st.tuples(st.integers(1, 10), st.integers(0, 20)), min_size=1, max_size=4))
def test_firings_are_from_whole_slices(shapes: list[tuple[int, int]]) -> None:
    windows = tuple(Periodic(slide + more, slide) for slide, more in shapes)
    shared = SharedPlan(windows, "pairs")
    cuts = [t for t in range(-200, shared.composite + 1) if t % shared.composite
            in shared.slicing.edges]  # fmt: skip
    expected = [
        Firing(f, i, sum(f - w.reach <= c < f for c in cuts))
        for f in range(1, shared.composite + 1)
        for i, w in enumerate(windows)
        if f % w.slide == 0
    ]
    assert [f for f in shared.firings if f.tick <= shared.composite] == expected


def test_a_composite_slide_that_is_too_long_is_not_listed() -> None:
    primes = (101, 103, 107, 109, 113, 127)
    shared = SharedPlan(tuple(Periodic(10 * p, p) for p in primes))
    assert not shared.is_listed
    with pytest.raises(ValueError, match="composite slide"):
        _ = shared.firings
    assert 0 < shared.slices_a_tick < 1
    text = plan([by_count(m.Max(), 10 * p, p) for p in primes]).explain()
    assert "too long to list" in text


@pytest.mark.parametrize(
    ("define", "says"),
    [
        (lambda: by_count(m.Max(), 4, 5), "slide=5 is larger than size=4"),
        (lambda: by_count(m.Max(), 0), "size must be at least 1"),
        (lambda: by_count(m.Max(), 4, 0), "slide must be at least 1"),
        (lambda: by_count(m.Max(), 4.5), "size must be a whole number"),
        (lambda: by_count(m.Max, 4), "did you mean to call it"),
        (lambda: by_time(m.Max(), "1 hour", "2 hours"), "slide='2 hours' is larger"),
        (lambda: by_time(m.Max(), "-1 hour"), "size must be positive"),
        (lambda: by_time(m.Max(), 1.5), "size=1.5 is not a whole number of ticks"),
        (lambda: by_time(m.Max(), 1, closed="neither"), "has no tick in it"),
        (lambda: by_time(m.Max(), 5, closed="up"), "closed must be"),
        (lambda: Periodic(5, 1, "rows"), "by must be"),
        (lambda: Periodic(5, 1, offset=2), "offset and closed are for queries by time"),
        (lambda: SharedPlan(()), "at least one"),
        (lambda: SharedPlan((Periodic(1, 1),), "slabs"), "technique must be one of"),
        (lambda: SharedPlan((Periodic(1, 1), Periodic(1, 1, "time"))), "rows and time"),
        (lambda: plan([]), "at least one"),
        (lambda: plan([by_count(m.Max(), 1, name="a"), by_count(m.Max(), 2, name="a")]), "twice"),
        (lambda: plan([by_count(m.Max(), 1), by_time(m.Max(), 2)]), "by count and by time"),
        (lambda: plan([by_time(m.Max(), 2)]).run([1, 2]), "times"),
        (lambda: plan([by_time(m.Max(), 2)]).run([1, 2], [0.5, 1.0]), "times must be integers"),
        (lambda: plan([by_time(m.Max(), 2)]).run([1, 2], [5, 4]), "times are not sorted"),
    ],
)
def test_refused(define, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((TypeError, ValueError), match=says):
        define()
