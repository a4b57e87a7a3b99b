"""The oracle, the counting monoid and the strategies, against the windows they are for."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings

from sash import Monoid, swag
from sash import monoids as m
from sash.testing import Oracle, TimedOracle, alike, counting, replay, strategies
from tests.laws.cases import CASES

some = settings(max_examples=40)


@pytest.mark.parametrize("monoid", [m.Concat(), m.ArgMax(), m.Sum(), m.CollectDistinct()], ids=str)
def test_random_operations_on_a_window_and_on_the_oracle(monoid: Any) -> None:
    @some
    @given(strategies.operations(strategies.items(monoid)))
    def check(operations: list[Any]) -> None:
        window = swag.DABALite(monoid, compiled=False)
        assert alike(replay(window, operations), replay(Oracle(monoid), operations))

    check()


@some
@given(strategies.timed_operations())
def test_timed_operations_keep_time_order(operations: list[Any]) -> None:
    oracle = TimedOracle(m.Collect())
    replay(oracle, operations)
    times = [time for time, _ in oracle]
    assert times == sorted(set(times))
    assert len(oracle) == len(times)
    if times:
        assert (oracle.oldest(), oracle.youngest()) == (times[0], times[-1])
    assert oracle.query() == [x for _, partial in oracle for x in partial]


def test_timed_oracle() -> None:
    oracle = TimedOracle(m.Concat())
    oracle.bulk_insert([3, 1, 2, 1], "dacb")
    assert oracle.query() == "abcd"
    assert oracle.range_query(2, 3) == "cd"
    oracle.evict()
    assert (oracle.query(), len(oracle)) == ("cd", 2)
    oracle.bulk_evict(2)
    assert oracle.query() == "d"
    oracle.bulk_evict(9)
    assert oracle.query() is None
    for gone in (oracle.evict, oracle.oldest, oracle.youngest):
        with pytest.raises(IndexError):
            gone()


def test_oracle_evicts_only_what_is_there() -> None:
    oracle = Oracle(m.Max())
    with pytest.raises(IndexError):
        oracle.evict()
    with pytest.raises(IndexError):
        oracle.evict_many(1)
    assert oracle.slide([3, 1, 2, 0], 2) == [3, 3, 2, 2]
    assert len(oracle) == 2


def test_counting_counts_and_stays_the_same_monoid() -> None:
    counted, counter = counting(m.Count())
    digest = counted.digest
    window = swag.DABALite(counted)
    window.insert_many([1, 2, 3])
    assert counter.combines <= 3 * 3
    assert counter.combines > 0
    assert counter.lifts == 3
    assert window.query() == 3
    assert counter.lowers == 1
    assert counted.digest == digest
    assert "combines" in str(counter)
    counter.reset()
    assert (counter.combines, counter.inverses, counter.lifts, counter.lowers) == (0, 0, 0, 0)
    subtracting = swag.SubtractOnEvict(counted)
    subtracting.insert_many([1, 2])
    subtracting.evict()
    assert counter.inverses == 1


def test_counting_leaves_compiled_code_alone() -> None:
    counted, _ = counting(m.Max(dtype="int64"))
    assert list(swag.Recalc(counted).slide([3, 1, 2], 2)) == [3, 3, 2]
    assert counting(m.Max())[0].inverse is None


@pytest.mark.parametrize("name", [factory.__name__ for factory in m.CATALOGUE])
def test_items_fit_their_monoids(name: str) -> None:
    monoid = CASES[name].make()

    @settings(max_examples=5)
    @given(strategies.items(monoid), strategies.items(monoid, nulls=False, nan=True))
    def check(a: Any, b: Any) -> None:
        monoid.lower(monoid.combine(monoid.lift(a), monoid.lift(b)))

    check()


def test_typed_monoids_get_no_nulls() -> None:
    @some
    @given(strategies.items(m.Max(dtype="int64")), strategies.items(Monoid("sum", 0, int, max)))
    def check(x: Any, y: Any) -> None:
        assert x is not None
        assert y is not None

    check()


def test_replay_gives_answers_and_lengths() -> None:
    done = replay(Oracle(m.Sum()), [("insert", 1), ("query",), ("evict",), ("query",)])
    assert done == [(None, 1), (1, 1), (None, 0), (None, 0)]
    assert pickle.loads(pickle.dumps(done)) == done
