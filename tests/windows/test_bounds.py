"""Every frame against its brute-force definition, on random rows with ties and gaps."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import windows as w
from sash.monoids import Monoid

spec = importlib.util.spec_from_file_location("oracle", Path(__file__).parent / "oracle.py")
oracle = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
spec.loader.exec_module(oracle)  # type: ignore[union-attr]

CLOSED = st.sampled_from(["both", "left", "right", "neither"])
REACH = st.one_of(st.none(), st.integers(-6, 6))


@st.composite
def times(draw: st.DrawFn) -> list[int]:
    """Sorted times with ties (0) and gaps (up to 9)."""
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 9]), max_size=25))
    return np.cumsum([draw(st.integers(-20, 20)), *steps]).tolist()


@st.composite
def ordered(draw: st.DrawFn) -> tuple[int | None, int | None]:
    a, b = draw(REACH), draw(REACH)
    return (b, a) if a is not None and b is not None and a > b else (a, b)


def slidings() -> st.SearchStrategy[w.Sliding]:
    def make(size: int, slide: int, offset: int, closed: w.Closed) -> w.Sliding:
        return w.sliding(max(size, slide), min(size, slide), offset, closed)

    return st.builds(make, st.integers(1, 9), st.integers(1, 9), st.integers(-5, 5), CLOSED)


FRAMES = st.one_of(
    st.builds(w.rows, st.integers(1, 6)),
    ordered().map(lambda ab: w.rows_between(*ab)),
    st.builds(lambda ab, closed: w.range_between(*ab, closed), ordered(), CLOSED),
    st.builds(w.session, st.integers(1, 4)),
    slidings(),
    st.builds(w.tumbling, st.integers(1, 9)),
    st.just(w.lifetime()),
)


def rows_of(bounds: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    lo, hi = bounds
    assert (lo[1:] >= lo[:-1]).all()
    assert (hi[1:] >= hi[:-1]).all()
    return [list(range(a, b)) for a, b in zip(lo, hi)]


@settings(max_examples=400)
@given(FRAMES, times())
def test_frames_by_count_and_time(frame: w.Frame, ts: list[int]) -> None:
    expected = [oracle.in_window(frame, i, ts) for i in range(len(ts))]
    assert rows_of(w.bounds(frame, ts)) == expected


@given(times(), st.integers(0, 5), CLOSED)
def test_a_duration_is_a_range_in_nanoseconds(ts: list[int], d: int, closed: w.Closed) -> None:
    frame = w.as_frame(f"{d + 1} us", closed)
    expected = [oracle.in_window(frame, i, [t * 1000 for t in ts]) for i in range(len(ts))]
    assert rows_of(w.bounds(frame, np.array(ts) * 1000)) == expected


@given(st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=30), st.integers(0, 4))
def test_delta(column: list[int | None], d: int) -> None:
    frame, ts = w.delta("a", d), range(len(column))
    expected = [oracle.in_window(frame, i, ts, column=column) for i in ts]
    assert rows_of(w.bounds(frame, ts, column)) == expected


def test_delta_by_hand() -> None:
    lo, _ = w.bounds(w.delta("a", 2), range(5), [1, 2, 9, 3, 4])
    # 9 is far from 1 and 2; 3 is far from 9, which goes; the 9 never blocks what follows
    assert lo.tolist() == [0, 0, 2, 3, 3]
    lo, _ = w.bounds(w.delta("a", 2), range(3), [1.0, float("nan"), 1.0])
    assert lo.tolist() == [0, 1, 2]


@given(st.lists(st.booleans(), max_size=30))
def test_until(ends: list[bool]) -> None:
    ts = range(len(ends))
    expected = [oracle.in_window(w.until("end"), i, ts, column=ends) for i in ts]
    assert rows_of(w.bounds(w.until("end"), ts, ends)) == expected
    by_value = w.until(lambda x: x)
    assert [oracle.in_window(by_value, i, ts, values=ends) for i in ts] == expected


def test_the_punctuation_belongs_to_the_window_that_it_ends() -> None:
    lo, hi = w.bounds(w.until("end"), range(4), [False, True, False, False])
    assert list(zip(lo, hi)) == [(0, 1), (0, 2), (2, 3), (2, 4)]


def test_sessions_are_spark_s() -> None:
    """Rows exactly the gap apart are in one session (found by asking Spark 4.3)."""
    lo, _ = w.bounds(w.session("10 s"), np.array([0, 10, 20, 31]) * 10**9)
    assert lo.tolist() == [0, 0, 0, 3]


def test_bounds_at_the_ends_of_the_integers() -> None:
    ends = np.array([-(2**63), 0, 2**63 - 1])
    lo, hi = w.bounds(w.range_between(-(2**62), 2**62), ends)
    assert (lo.tolist(), hi.tolist()) == ([0, 1, 2], [1, 2, 3])
    lo, hi = w.bounds(w.range_between(None, -1), ends)  # nothing is before the first integer
    assert (lo.tolist(), hi.tolist()) == ([0, 0, 0], [0, 1, 2])
    lo, hi = w.bounds(w.range_between(1, None), ends)
    assert (lo.tolist(), hi.tolist()) == ([1, 2, 3], [3, 3, 3])


SUM = Monoid("sum", 0, int, lambda a, b: a + b)
SUM_LAST = Monoid(
    "sum, last",
    (0, -1),
    lambda x: (x, x),
    lambda a, b: (a[0] + b[0], a[1] if b[1] < 0 else b[1]),
)


def over_ten(total: tuple[int, int], old: tuple[int, int]) -> bool:
    """Whether the rows from the last one of `old` on sum to more than 10."""
    return total[0] - old[0] + old[1] > 10


def test_the_running_example_of_the_paper() -> None:
    """AMTA's section 3.2: the newest rows that sum to at most 10."""
    frame = w.policy(over_ten, SUM_LAST)
    values = [2, 2, 3, 3, 4]
    windows = [oracle.in_window(frame, i, range(5), values) for i in range(5)]
    assert [[values[j] for j in rows] for rows in windows][-2:] == [[2, 2, 3, 3], [3, 3, 4]]


def test_a_policy_has_no_bounds() -> None:
    with pytest.raises(TypeError, match="before its rows are combined"):
        w.bounds(w.policy(over_ten), [1, 2])


def test_policies_that_are_not_monotone_are_found() -> None:
    samples = [4, 3, 9, 2, 8, 8]
    assert w.not_monotone(w.policy(over_ten), SUM_LAST, samples) is None
    found = w.not_monotone(w.policy(lambda total, old: old % 2 == 1), SUM, samples)
    assert found == w.NotMonotone((4, 3), (4, 3), (4,))
