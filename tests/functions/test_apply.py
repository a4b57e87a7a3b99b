"""Monoids over several columns: by position as tuples, by name as arguments, compiled or not."""

from __future__ import annotations

import datetime as dt
import pickle
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import Monoid
from sash import functions as sf
from sash import monoids as m
from sash.monoids.arguments import spread
from sash.testing import check_laws

TABLE = pa.table(
    {"t": range(5), "p": [2.0, 4.0, 6.0, None, 8.0], "s": [1, 3, 0, 2, 4], "w": list("abcde")}
)


def traded(price: float, size: float) -> tuple[float, float]:
    return (price * size, float(size))


def both(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1])


def price(v: Any) -> Any:
    return None if v[1] == 0 else v[0] / v[1]


VWAP = Monoid("vwap", (0.0, 0.0), traded, both, price)


def answers(aggregation: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it compiles, or this says why not
        found = sash.windowed(TABLE, time="t").agg(y=aggregation.over(sash.rows(2)))
    return found["y"].to_pylist()


def test_columns_by_name_in_any_order() -> None:
    expected = [2.0, 3.5, 4.0, None, 8.0]
    assert answers(sf.apply(VWAP, price="p", size="s")) == expected
    assert answers(sf.apply(VWAP, size="s", price="p")) == expected
    assert answers(sf.apply(VWAP, "p", "s")) == expected
    assert sf.apply(VWAP, size="s", price="p").columns == ("p", "s")


def test_one_parameter_by_name_and_tuples_as_before() -> None:
    squares = Monoid("squares", 0.0, lambda value: value * value, lambda a, b: a + b)
    assert answers(sf.apply(squares, value="s")) == [1.0, 10.0, 9.0, 4.0, 20.0]
    pairs = Monoid("pairs", 0.0, lambda x: x[0] * x[1], lambda a, b: a + b)
    assert answers(sf.apply(pairs, "s", "s")) == [1.0, 10.0, 9.0, 4.0, 20.0]
    assert sf.apply(m.Covariance(), "p", "s").monoid == m.Covariance()


def test_parameters_with_a_default_may_be_left_out() -> None:
    def scaled(x: float, y: float, by: float = 10.0) -> float:
        return by * x * y

    total = Monoid("total", 0.0, scaled, lambda a, b: a + b)
    assert answers(sf.apply(total, y="s", x="s"))[:2] == [10.0, 100.0]


def test_vectors_are_filled_from_several_columns() -> None:
    def fill(out: Any, place: int, amount: int) -> None:
        out[place % 3] += amount

    sums = Monoid.vector("sums", np.zeros(3, np.int64), fill, lambda a, b: a + b)
    assert answers(sf.apply(sums, place="t", amount="s"))[1] == [1, 3, 0]


def test_objects_of_several_columns() -> None:
    pairs = Monoid("pairs", "", lambda word, n: word * n, lambda a, b: a + b)
    found = sf.apply(pairs, word="w", n="s", returns=pa.string())
    assert answers(found) == ["a", "abbb", "bbb", "dd", "ddeeee"]


def test_it_pickles_and_is_the_same_monoid_again() -> None:
    monoid = spread(VWAP, 2)
    again = pickle.loads(pickle.dumps(monoid))
    assert again == monoid
    assert again.lift((2.0, 3)) == (6.0, 3.0)
    assert check_laws(monoid, [(1.0, 2.0), (3.0, 4.0)]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.apply(VWAP, price="p"), "lift of vwap also takes size"),
        (lambda: sf.apply(VWAP, price="p", volume="s"), "takes price, size, not volume"),
        (lambda: sf.apply(VWAP, "p", size="s"), "name all columns, or give all by position"),
        (lambda: sf.apply(VWAP), "name at least one column"),
        (lambda: sf.apply(m.Covariance(), a="p", b="s"), "or give them by position"),
    ],
)
def test_columns_that_do_not_fit_are_named(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


LATEST = Monoid("latest", 0, int, lambda a, b: b if b else a)
MOMENT = dt.datetime(2024, 1, 1, 12)
IN_NS = 1_704_110_400_000_000_000


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_come_in_nanoseconds_whatever_their_unit(unit: str) -> None:
    """In tables, in streams by time and by rows, in spines; sf.TIME is the same number."""
    rows = pa.table(
        {"t": pa.array([MOMENT], pa.timestamp(unit)), "day": [MOMENT.date()],
         "for": pa.array([2], pa.duration(unit)), "clock": [MOMENT.time()]}
    )  # fmt: skip
    step = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    expected = {
        "t": IN_NS, "day": IN_NS - 12 * 3600 * 10**9, "for": 2 * step, "clock": 12 * 3600 * 10**9,
        sf.TIME: IN_NS,
    }  # fmt: skip
    for name, value in expected.items():
        for frame in ("1 hour", sash.rows(3)):
            asked = {"y": sf.apply(LATEST, name).over(frame)}
            assert sash.windowed(rows, time="t").agg(**asked)["y"].to_pylist() == [value]
            assert sash.stream(time="t").agg(**asked).feed(rows)["y"].to_pylist() == [value]
        at = sash.windowed(rows, time="t").at(rows, time="t", closed="both")
        assert at.agg(**asked)["y"].to_pylist() == [value]
    youngest = sf.function(lambda times: times[-1], "t", returns=pa.int64()).over("1 hour")
    assert sash.windowed(rows, time="t").agg(y=youngest)["y"].to_pylist() == [IN_NS]


def test_times_are_objects_where_a_monoid_does_not_compile() -> None:
    rows = pa.table({"t": pa.array([MOMENT], pa.timestamp("ms"))})
    seen = Monoid("seen", (), lambda x: (x,), lambda a, b: a + b, lambda s: str(s[-1]))
    found = sash.windowed(rows, time="t").agg(y=sf.apply(seen, "t").over("1 hour"))
    assert found["y"].to_pylist() == [str(MOMENT)]


def test_a_time_that_nanoseconds_cannot_say() -> None:
    rows = pa.table({"t": pa.array([dt.datetime(9999, 1, 1)], pa.timestamp("us"))})
    with pytest.raises(OverflowError, match="nanoseconds since 1970, which go from 1677 to 2262"):
        sash.windowed(rows, time="t").agg(y=sf.apply(LATEST, "t").over("1 hour"))
    seconds = sf.apply(Monoid("youngest", 0.0, float, max), sf.col("t").cast("double"))
    found = sash.windowed(rows, time="t").agg(y=seconds.over("1 hour"))
    assert found["y"].to_pylist() == [253370764800.0]
