"""States that serve several aggregations: fewer states, the same answers to the bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash import monoids as m
from sash import swag
from sash.monoids import Monoid
from sash.plan.sharing import VIEWS, share, view

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-5, 5), st.floats(-9, 9)), max_size=12)


def folded(monoid: Monoid, xs: list) -> object:
    total = monoid.identity
    for x in xs:
        total = monoid.combine(total, monoid.lift(x))
    return total


def test_sum_count_and_mean_share_and_variance_and_stddev() -> None:
    shared = share([m.Sum(), m.Count(), m.Mean(), m.Var(), m.StdDev(), m.StdDev(ddof=0)])
    assert [monoid.name for monoid in shared.kept] == ["Mean", "Var"]
    assert shared.server == (0, 0, 0, 1, 1, 1)


def test_what_can_not_share_does_not() -> None:
    assert len(share([m.Max(), m.Min(), m.Sum()]).kept) == 3
    assert len(share([m.column(0, m.Sum()), m.column(1, m.Mean())]).kept) == 2
    assert len(share([m.column(1, m.Sum()), m.column(1, m.Mean())]).kept) == 1


def test_an_exact_sum_is_not_had_from_the_sum_of_floats_of_a_mean() -> None:
    big = np.dtype(np.int64)
    kept = share([m.Sum().of(big), m.Mean().of(big), m.Count()]).kept
    assert [monoid.name for monoid in kept] == ["Sum", "Mean"]
    small = np.dtype(np.int32)
    assert len(share([m.Sum().of(small), m.Mean().of(small), m.Count()]).kept) == 1


def test_argmax_serves_the_maximum_of_its_first_column() -> None:
    shared = share([m.column(0, m.Max()), m.ArgMax()])
    assert [monoid.name for monoid in shared.kept] == ["ArgMax"]
    assert len(share([m.column(1, m.Max()), m.ArgMax()]).kept) == 2
    total = folded(shared.monoid, [(3, "ann"), (5, "bob")])
    assert shared.monoid.lower(total) == (5, "bob")


def test_users_monoids_share_when_they_compute_the_same_state() -> None:
    def both(x: int) -> tuple[int, int]:
        return (x, x)

    def merged(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (min(a[0], b[0]), max(a[1], b[1]))

    width = Monoid("width", (99, -99), both, merged, lambda v: v[1] - v[0])
    middle = Monoid("middle", (99, -99), both, merged, lambda v: (v[1] + v[0]) / 2)
    other = Monoid("other", (98, -99), both, merged)
    shared = share([width, middle, other])
    assert shared.server == (0, 0, 1)
    assert shared.monoid.lower(folded(shared.monoid, [3, 9])) == (6, 6.0, (3, 9))


@given(NUMBERS)
def test_every_view_gives_the_same_answer_over_objects(xs: list) -> None:
    for server, served in VIEWS:
        pairs = server in (m.ArgMax, m.ArgMin)
        whole, part = server(), m.column(0, served()) if pairs else served()
        items = [(x, i) for i, x in enumerate(xs)] if pairs else xs
        if server is m.RelativeVariation or served is m.Count:
            items = [x for x in items if x is not None]
        seen = view(whole, part)
        assert seen is not None
        assert part.lower(seen(folded(whole, items))) == part.lower(folded(part, items))


@pytest.mark.parametrize("dtype", ["float64", pytest.param("int64", marks=pytest.mark.slow)])
def test_compiled_answers_are_the_members_own(dtype: str) -> None:
    xs = np.random.default_rng(5).integers(-9, 9, 60).astype(dtype)
    asked = [m.Sum(), m.Count(), m.Mean(), m.Var(), m.StdDev(0), m.Max(), m.MaxCount(), m.Range()]
    shared = share(asked)
    together = swag.TwoStacksLite(shared.monoid, compiled=True).slide(xs, 7)
    for i, monoid in enumerate(asked):
        alone = swag.TwoStacksLite(monoid, compiled=False).slide(xs.tolist(), 7)
        assert [answer[i] for answer in together] == list(alone)


def test_a_shared_monoid_pickles() -> None:
    monoid = share([m.Sum(), m.Mean()]).monoid
    assert pickle.loads(pickle.dumps(monoid)) == monoid


def test_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        share([])
