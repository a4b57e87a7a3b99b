"""Strategies: items and operations for hypothesis, which finds the smallest that fail.

@given(strategies.items(monoid), …)
@given(strategies.operations(strategies.items(monoid)))
def test(operations):
    assert replay(window, operations) == replay(Oracle(monoid), operations)
"""

from __future__ import annotations

from typing import Any

from sash.monoids.monoid import Monoid, as_monoid

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise ImportError(
        "sash.testing.strategies needs hypothesis: pip install hypothesis"
    ) from problem

PAIRS = (
    "ArgMax", "ArgMin", "LongestRun", "LinearRegression", "Regression", "Covariance",
    "Correlation", "WeightedMean", "ByCategory", "Ordered",
    "DecayedSum", "DecayedMean", "DecayedCount",
)  # fmt: skip
TEXTS = ("Concat",)
FLOATS = ("FrequentItems",)  # whose items are all of one type


def whole_numbers(*, nan: bool = False) -> Any:
    """Small integers as floats: their sums are exact, so that laws hold exactly."""
    floats = st.integers(-50, 50).map(float)
    return st.one_of(floats, st.just(float("nan"))) if nan else floats


def items(monoid: Any, *, nulls: bool | None = None, nan: bool = False) -> Any:
    """Inputs that a monoid of the catalogue takes; integers for others.

    `nulls`: with None among them; by default if the monoid is of the catalogue and not
    typed. `nan`: with NaN among the numbers.
    """
    monoid = as_monoid(monoid)
    if nulls is None:
        nulls = monoid.recipe is not None and "dtype" not in monoid.recipe.arguments
    found = _known(monoid, nan)
    return st.one_of(st.none(), found) if nulls else found


def _known(monoid: Monoid, nan: bool) -> Any:
    name = monoid.name if monoid.recipe is None else monoid.recipe.factory.__name__
    if name in PAIRS:
        return st.tuples(whole_numbers(nan=nan), st.integers(-50, 50))
    if name in TEXTS:
        return st.text("abc", max_size=3)
    return whole_numbers(nan=nan) if nan or name in FLOATS else st.integers(-50, 50)


@st.composite
def operations(draw: Any, of: Any = None, *, most: int = 40) -> list[tuple[Any, ...]]:
    """Operations on an in-order window, for `replay`; nothing is evicted that is not there."""
    of = st.integers(-50, 50) if of is None else of
    size = 0
    done: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(0, most))):
        methods = ["insert", "insert_many", "query"] + ["evict", "evict_many"] * (size > 0)
        method = draw(st.sampled_from(methods))
        if method == "insert":
            done.append((method, draw(of)))
            size += 1
        elif method == "insert_many":
            xs = draw(st.lists(of, max_size=10))
            done.append((method, xs))
            size += len(xs)
        elif method == "evict_many":
            k = draw(st.integers(0, size))
            done.append((method, k))
            size -= k
        else:
            done.append((method,))
            size -= method == "evict"
    return done


@st.composite
def timed_operations(draw: Any, of: Any = None, *, most: int = 40) -> list[tuple[Any, ...]]:
    """Operations on an out-of-order window, for `replay`; times repeat and go back."""
    of = st.integers(-50, 50) if of is None else of
    time = st.integers(0, 30)
    times: set[int] = set()
    done: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(0, most))):
        methods = ["insert", "bulk_insert", "bulk_evict", "query", "range_query"]
        method = draw(st.sampled_from(methods + ["evict"] * bool(times)))
        given = _timed(draw, method, time, of)
        done.append((method, *given))
        times = _times_after(times, method, given)
    return done


def _timed(draw: Any, method: str, time: Any, of: Any) -> tuple[Any, ...]:
    if method == "insert":
        return draw(time), draw(of)
    if method == "bulk_insert":
        times = sorted(draw(st.lists(time, max_size=10)))
        return times, [draw(of) for _ in times]
    if method == "bulk_evict":
        return (draw(time),)
    return tuple(sorted((draw(time), draw(time)))) if method == "range_query" else ()


def _times_after(times: set[int], method: str, given: tuple[Any, ...]) -> set[int]:
    if method == "insert":
        return times | {given[0]}
    if method == "bulk_insert":
        return times | set(given[0])
    if method == "bulk_evict":
        return {t for t in times if t > given[0]}
    return times - {min(times)} if method == "evict" else times
