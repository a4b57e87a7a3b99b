"""Masks: the partial of a row that does not pass is the identity, and answers are a filter's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.engine import row_windows
from sash.engine.bounds import Bounds
from sash.engine.masks import MaskedInputs, without
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.monoids.variants import where_true
from sash.plan import planner as planning
from sash.plan.filtering import filtered
from sash.plan.plan import Options, State
from sash.plan.planner import plan_of
from sash.testing import check_laws

FRAMES = {
    "range": sash.range_between(-10, 0),
    "before": sash.range_between(-20, -5),
    "centred": sash.range_between(-6, 6),
    "rows": sash.rows(30),
    "few rows": sash.rows(3),
    "so far": sash.lifetime(),
}
ASKED = {
    "hi": sf.max("x").where("ok"),
    "low": sf.min("i").where("ok"),
    "most": sf.max("extreme").where("ok"),
    "least": sf.min("extreme").where("ok"),
    "total": sf.sum("i").where("ok"),
    "mean": sf.mean("x").where("ok"),
    "weighted": sf.weighted_mean("x", "i").where("ok"),
    "spread": sf.stddev("x").where("ok"),
    "n": sf.count().where("ok"),
    "known": sf.count("x").where("ok"),
}
FEW = ("hi", "total", "mean", "spread", "n", "known")


def some(frame: str, exclude: str | None = None) -> dict[str, sf.Aggregation]:
    """All aggregations over few rows, where kernels are small. Over longer windows those are left
    out whose kernels take long to compile and are like others'."""
    if frame == "few rows" and exclude is None:
        return ASKED
    left = {"weighted"} if exclude is None else set(ASKED) - set(FEW)
    return {name: a for name, a in ASKED.items() if name not in left}


def sample(n: int, share: float, nulls: float, keys: int, seed: int) -> pa.Table:
    """Rows of which a share passes; integers as doubles, so that sums are exact."""
    rng = np.random.default_rng(seed)

    def maybe(values: np.ndarray, share: float) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < share)

    return pa.table(
        {
            "k": rng.integers(0, keys, n),
            "t": np.cumsum(rng.poisson(1.0, n)),
            "x": maybe(rng.integers(-50, 50, n).astype(float), nulls),
            "i": maybe(rng.integers(1, 9, n), nulls),
            "extreme": maybe(rng.choice([-np.inf, np.inf, np.nan], n), nulls),
            "ok": maybe(rng.random(n) < share, nulls / 2),
        }
    )


def leave_out(
    state: State, condition: str | None, frame: Any, options: Options, schema: pa.Schema
) -> State:
    """The planner's choice, were it always to leave rows out."""
    return filtered(state, condition, frame, options._replace(rows="stream"), schema)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("exclude", [None, "current row", "group", "ties"])
@pytest.mark.parametrize(
    ("share", "nulls", "keys"), [(0.5, 0.0, 1), (0.01, 0.3, 1), (0.99, 0.1, 5), (0.1, 0.2, 20)]
)
@pytest.mark.parametrize("asked", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_answers_are_those_of_the_rows_that_pass(
    asked: str, frame: str, exclude: str | None, share: float, nulls: float, keys: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    chosen = ASKED if asked == "all" else some(frame, exclude)
    check(chosen, FRAMES[frame], exclude, sample(400, share, nulls, keys, 1), monkeypatch)


def check(
    chosen: dict[str, sf.Aggregation], frame: Any, exclude: str | None, table: pa.Table,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(row_windows, "BLOCK", 97)
    work = sash.windowed(table, "k", time="t")
    asked = {name: a.over(frame, exclude=exclude) for name, a in chosen.items()}
    found = work.agg(**asked)
    monkeypatch.setattr(planning, "filtered", leave_out)
    left_out = work.agg(**asked)
    for name in asked:
        ours, theirs = found.column(name).to_pylist(), left_out.column(name).to_pylist()
        assert ours == pytest.approx(theirs, abs=0 if name != "spread" else 1e-9, nan_ok=True)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("size", [1, 37])
@pytest.mark.parametrize("chosen", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_rows_that_come_in_batches_have_the_same_answers(
    chosen: str, frame: str, size: int
) -> None:
    table = sample(300, 0.2, 0.1, 4, 6).sort_by([("k", "ascending"), ("t", "ascending")])
    work = sash.windowed(table, "k", time="t")
    of = ASKED if chosen == "all" else some(frame)
    asked = {name: a.over(FRAMES[frame]) for name, a in of.items()}
    plan = plan_of(work.query(**asked), table.schema)
    batches = table.combine_chunks().to_batches(max_chunksize=size)
    found = pa.Table.from_batches(list(row_windows.run(plan, batches)))
    wanted = work.agg(**asked)
    for name in asked:
        ours, theirs = found.column(name).to_pylist(), wanted.column(name).to_pylist()
        assert ours == pytest.approx(theirs, abs=0 if name != "spread" else 1e-9, nan_ok=True)


def test_small_partials_and_counts_are_masked_and_others_leave_rows_out() -> None:
    work = sash.windowed(sample(3, 0.5, 0.0, 1, 1), "k", time="t")
    asked = {name: a.over(sash.rows(5)) for name, a in ASKED.items()} | {
        "mid": sf.median("x").where("ok").over(sash.rows(5)),
        "plain": sf.max("i").over(sash.rows(5)),
    }
    for name, a in asked.items():
        [state] = work.plan(y=a).states
        assert (state.filtering is None) == (name == "plain")
        if name != "plain":
            left_out = name in ("spread", "mid")
            assert state.filtering == ("left out" if left_out else "identity")


def test_windows_are_not_numbered_among_the_rows_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = []
    of = Ranks.of

    def counted(self: Ranks, bounds: Any) -> Any:
        ranked.append(len(bounds))
        return of(self, bounds)

    monkeypatch.setattr(Ranks, "of", counted)
    work = sash.windowed(sample(300, 0.5, 0.0, 3, 2), "k", time="t")
    work.agg(**{n: ASKED[n].over(FRAMES["range"]) for n in ("hi", "low", "total", "n")})
    assert ranked == []
    work.agg(spread=ASKED["spread"].over(FRAMES["range"]))
    assert 300 in ranked


def test_a_users_answer_over_no_rows_is_never_asked_for() -> None:
    """Its `lower` may raise there, as a division by zero does when it is compiled."""
    own = sash.Monoid(
        "own", (0, 0.0), lambda x: (1, float(x)), lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda v: v[1] / v[0], dtype=(np.int64, np.float64),
    )  # fmt: skip
    table = sample(300, 0.05, 0.0, 1, 3)
    asked = sf.apply(own, "x", returns=pa.float64()).where("ok").over(sash.rows(4))
    plain = sf.mean("x").where("ok").over(sash.rows(4))
    found = sash.windowed(table, "k", time="t").agg(own=asked, mean=plain)
    assert found.column("own").to_pylist() == found.column("mean").to_pylist()
    assert found.column("own").null_count > 0


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("width", [0, 1, 7, 1000])
def test_windows_without_a_row_that_is_taken_are_found(share: float, width: int) -> None:
    rng = np.random.default_rng(4)
    n, base = 2000, 300
    ok = rng.random(n) < share
    inputs = MaskedInputs([pa.float64(), pa.bool_()])
    inputs.take([pa.array(rng.random(n)), pa.array(ok)])
    inputs.forget(base, n)
    lo = np.sort(rng.integers(base, n, 500))
    hi = np.maximum.accumulate(np.minimum(n, lo + rng.integers(0, width + 1, 500)))
    grown, anywhere = Bounds.of(lo, hi), Bounds.of(lo[::-1].copy(), hi[::-1].copy())
    grown.grow = True
    right = np.array([not ok[a:b].any() for a, b in zip(lo, hi, strict=True)])
    for bounds, wanted in ((grown, right), (anywhere, right[::-1])):
        found = inputs.empty(bounds)
        assert (np.zeros(500, np.bool_) if found is None else found).tolist() == wanted.tolist()
    step = Bounds(range(base, base + 500), range(base + 9, base + 509), 9, 9, even=True)
    found = inputs.empty(step)
    wanted = [not ok[a : a + 9].any() for a in range(base, base + 500)]
    assert ([False] * 500 if found is None else found.tolist()) == wanted
    later = Bounds.of(step.lo + 20, step.hi + 20)
    found = inputs.empty(Pieces((step, later)))
    wanted = [w and not ok[a : a + 9].any() for a, w in zip(later.lo, wanted, strict=True)]
    assert ([False] * 500 if found is None else found.tolist()) == wanted


def larger(a: Any, b: Any) -> Any:
    return max(a, b)


def either(a: bool, b: bool) -> bool:
    return a or b


def both_larger(a: Any, b: Any) -> Any:
    return max(a[0], b[0]), max(a[1], b[1])


def nested_larger(a: Any, b: Any) -> Any:
    return max(a[0], b[0]), (max(a[1][0], b[1][0]),)


NUMBERS = {
    "double": (-np.inf, lambda x: x, larger),
    "integer": (-1, lambda x: int(x), larger),
    "boolean": (False, lambda x: x > 40, either),
    "pair": ((-5, -np.inf), lambda x: (int(x), x), both_larger),
    "other pair": ((-np.inf, -5), lambda x: (x, max(int(x), 3)), both_larger),
    "nested": ((-np.inf, (-5,)), lambda x: (x, (int(x),)), nested_larger, lambda v: v[1][0]),
}
"""Monoids of one and two numbers, without a name: identity, lift, combine and lower."""


@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("end", [0, -5])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.filterwarnings("error::RuntimeWarning")  # where numba cannot compile
def test_all_numbers_are_chosen_by_their_bits(numbers: str, end: int, share: float) -> None:
    """Compiled code lifts all rows, and takes the bits of a partial or of the identity."""
    own = sash.Monoid("own", *NUMBERS[numbers])
    table = sample(300, share, 0.1, 1, 8)
    asked = sf.apply(own, "x", check=False).over(sash.range_between(-20, end))
    work, masked = sash.windowed(table, time="t"), asked.where("ok")
    [state] = work.plan(y=masked).states
    assert state.filtering == "identity"
    found = work.agg(y=masked)["y"].to_pylist()
    passing = sash.windowed(table.filter(table.column("ok")), time="t")
    at = passing.at(table.select(["t"]), time="t", closed="both")
    assert found == at.agg(y=asked)["y"].to_pylist()
    assert any(value is not None for value in found)


def test_a_plain_lift_is_called_with_rows_that_pass_alone() -> None:
    """In plain Python, functions raise where compiled ones give NaN."""

    def root(x: float) -> float:
        return math.sqrt(x)

    rooted = where_true(sash.Monoid("root", 0.0, root, max))
    assert rooted.lift((-4.0, False)) == 0.0
    assert rooted.lift((4.0, True)) == 2.0


def both_added(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


def filtering(work: Any, asked: Any) -> str:
    [state] = work.plan(y=asked).states
    return str(state.filtering)


def test_a_lift_that_may_raise_is_not_called_with_rows_that_do_not_pass() -> None:
    """Compiled code calls it with an item at which it does not raise instead."""
    table = pa.table({"t": range(6), "x": [1.0, 0.0, 2.0, 0.0, 4.0, 8.0]})
    work = sash.windowed(table, time="t")
    lift = lambda x: (1.0, 1.0 / x)  # noqa: E731
    harmonic = sash.Monoid("harmonic", (0.0, 0.0), lift, both_added, lambda v: v[0])
    most = sash.Monoid("most", -1.0, lambda x: 8.0 / x, max)
    for own, wanted in (
        (harmonic, [1.0, 1.0, 2.0, 1.0, 2.0, 2.0]),
        (most, [8.0, 8.0, 8.0, 4.0, 4.0, 2.0]),
    ):
        asked = sf.apply(own, "x", check=False).where("x > 0").over(sash.rows(3))
        assert filtering(work, asked) == "identity"
        assert work.agg(y=asked)["y"].to_pylist() == wanted
        with pytest.raises(ZeroDivisionError):
            work.agg(y=sf.apply(own, "x", check=False).where("x >= 0").over(sash.rows(3)))


def test_a_lift_with_an_index_is_not_called_with_rows_that_do_not_pass() -> None:
    """An index that is not a constant may be out of range; that of a column cannot be."""
    prices = (1.0, 2.0, 4.0)

    def priced(x: float) -> float:
        return prices[int(x)]

    table = pa.table({"t": range(5), "x": [0.0, 1.0, 50.0, 2.0, -9.0]})
    work = sash.windowed(table, time="t")
    own = sash.Monoid("priced", -1.0, priced, max)
    asked = sf.apply(own, "x", check=False).where("x between 0 and 2").over(sash.rows(2))
    assert filtering(work, asked) == "identity"
    assert work.agg(y=asked)["y"].to_pylist() == [1.0, 2.0, 2.0, 4.0, 4.0]
    both = sash.Monoid("larger", -1.0, lambda x: max(x[0], x[1]), max)
    asked = sf.apply(both, "x", "t", check=False).where("x > 0").over(sash.rows(2))
    assert filtering(work, asked) == "identity"
    assert work.agg(y=asked)["y"].to_pylist() == [-1.0, 1.0, 50.0, 50.0, 3.0]


def test_an_unknown_value_is_not_lifted() -> None:
    """What lies in the place of a null may be anything, such as a NaN that is no integer."""
    values = pa.array([1.0, np.nan, 3.0, 4.0], mask=np.array([False, True, False, False]))
    table = pa.table({"t": range(4), "x": values, "ok": [True, True, True, False]})
    own = sash.Monoid("whole", 0, lambda x: int(x) * 2, lambda a, b: a + b)
    asked = sf.apply(own, "x", check=False).where("ok").over(sash.rows(2))
    work = sash.windowed(table, time="t")
    assert filtering(work, asked) == "identity"
    assert work.agg(y=asked)["y"].to_pylist() == [2, 2, 6, 6]


@pytest.mark.parametrize(
    "lift",
    [
        lambda t: (t - (1 << 62)) * 4 // 8,  # of 0 and 1, too small for 64 bits on the way
        lambda t: 12 // (t // 2),
    ],
)
def test_rows_are_left_out_where_no_item_is_known_that_can_be_lifted(lift: Any) -> None:
    times = [(1 << 62) + 8, 5, (1 << 62) + 16]
    table = pa.table({"n": range(3), "t": times, "ok": [True, False, True]})
    work = sash.windowed(table, time="n")
    own = sash.Monoid("own", -1, lift, max)
    asked = sf.apply(own, "t", check=False).where("ok").over(sash.rows(3))
    assert filtering(work, asked) == "left out"
    assert "rows that do not pass are left out" in work.explain(y=asked)
    assert work.agg(y=asked)["y"].to_pylist() == [lift(times[0])] * 2 + [
        max(lift(times[0]), lift(times[2]))
    ]


def test_rows_are_left_out_where_two_identities_cannot_be_combined() -> None:
    def means(a: Any, b: Any) -> tuple[float, float]:
        return a[0] + b[0], (a[0] * a[1] + b[0] * b[1]) / (a[0] + b[0])

    own = sash.Monoid("means", (0.0, 0.0), lambda x: (1.0, x), means, lambda v: v[1])
    asked = sf.apply(own, "x", check=False).where("x > 0").over(sash.rows(2))
    work = sash.windowed(pa.table({"t": range(4), "x": [-1.0, 1.0, 3.0, -1.0]}), time="t")
    assert filtering(work, asked) == "left out"
    assert work.agg(y=asked)["y"].to_pylist() == [0.0, 1.0, 2.0, 3.0]


own_mean = sash.Monoid(
    "own", (0.0, 0.0), lambda x: (x, 1.0), both_added, lambda v: v[0] / v[1]
)  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("keys", [1, 30])
def test_windows_in_which_no_row_passes_are_not_lowered(
    share: float, frame: str, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", 97)
    table = sample(400, share, 0.1, keys, 9)
    work = sash.windowed(table, "k", time="t")
    own, mean = sf.apply(own_mean, "x", check=False), sf.mean("x")
    asked = {"own": own.where("ok"), "mean": mean.where("ok"), "plain": mean}
    asked = {name: a.over(FRAMES[frame]) for name, a in asked.items()}
    assert filtering(work, asked["own"]) == "identity"
    found = work.agg(**asked)
    assert found["own"].to_pylist() == found["mean"].to_pylist()
    assert found["plain"].to_pylist() == work.agg(y=asked["plain"])["y"].to_pylist()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.1, 0.6, 0.99, 1.0])
@pytest.mark.parametrize("begins", ["empty", "not empty"])
@pytest.mark.parametrize("ends", ["arrays", "ranges"])
def test_empty_windows_are_replaced_for_a_while(share: float, begins: str, ends: str) -> None:
    """By the one before, so that both ends still grow; whatever is asked for there is not read."""
    rng, n = np.random.default_rng(int(share * 1000)), 5000
    empty = rng.random(n) < share
    empty[:3] = begins == "empty"
    lo = np.sort(rng.integers(0, n, n))
    bounds = Bounds.of(lo, np.maximum.accumulate(lo + rng.integers(1, 9, n)))
    if ends == "ranges":
        bounds = Bounds(range(7, 7 + n), range(16, 16 + n), 9, 9, even=True)
    lo, hi = bounds.lo.copy(), bounds.hi.copy()
    with without(empty, bounds) as others:
        if empty.all():
            assert (others.lo == others.hi).all()
        else:
            kept = np.flatnonzero(~empty)
            source = kept[np.maximum(0, np.searchsorted(kept, np.arange(n), "right") - 1)]
            assert (others.lo == lo[source]).all()
            assert (others.hi == hi[source]).all()
            assert others.shortest == 1
    assert (bounds.lo == lo).all()
    assert (bounds.hi == hi).all()


def test_rows_in_batches_are_left_out_where_lower_may_raise() -> None:
    """Windows in which no row passes would not be asked for, and no row be forgotten meanwhile."""
    work = sash.windowed(sample(300, 0.1, 0.0, 3, 2), "k", time="t")
    query = work.query(y=sf.apply(own_mean, "x", check=False).where("ok").over(sash.rows(4)))
    for rows, wanted in (("whole", "identity"), ("batches", "left out"), ("stream", "left out")):
        [state] = plan_of(query, sample(1, 1, 0, 1, 1).schema, Options(rows=rows)).states
        assert state.filtering == wanted


def test_items_that_do_not_count_are_nothing() -> None:
    total = where_true(m.Sum(dtype="int64"))
    assert check_laws(total, [(1, True), (2, False), (4, True)]) is None
    pairs = where_true(m.WeightedMean(dtype=("float64", "float64")), 2)
    assert check_laws(pairs, [(1.0, 2.0, True), (2.0, 3.0, False)]) is None
    assert total.lift((2, False)) == total.identity
    assert pairs.lift((2.0, 3.0, True)) == (3.0, 6.0)
    assert pairs.lift((2.0, 3.0, False)) == pairs.identity
    mean = where_true(m.Mean(dtype="float64"))
    assert [mean.lift((2.0, True)), mean.lift((2.0, False))] == [(1.0, 2.0), mean.identity]
