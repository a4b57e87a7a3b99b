"""Values of unusual types: exact answers of a fitting type, or an error that says what to do."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from tests.edges.executors import answers, table

LARGE, NEXT, NEXT_BUT_ONE = (
    Decimal(f"1234567890123456789012345678901234567{digit}") for digit in (5, 6, 7)
)


@pytest.mark.parametrize("digits", [38, 50, 76])
def test_sums_of_large_decimals_are_exact(digits: int) -> None:
    """A stream rounded them to 28 digits, and decimal256 came out as decimal128."""
    kind = pa.decimal128(38, 2) if digits == 38 else pa.decimal256(digits, 2)
    with localcontext(prec=100):
        most = Decimal(10) ** (digits - 3) - Decimal("0.01")  # all of its digits are nines but one
        values = [most, Decimal("0.01"), -most]
        found = answers(table(values, kind), sf.sum("x"))
        assert found.to_pylist() == [most, most + Decimal("0.01"), Decimal("0.01") - most]
    assert found.type == (pa.decimal128(38, 2) if digits == 38 else
                          pa.decimal256(min(76, digits + 10), 2))  # fmt: skip


def test_mean_of_large_decimals() -> None:
    found = answers(table([LARGE, NEXT_BUT_ONE], pa.decimal256(60, 0)), sf.mean("x"))
    assert found.type == pa.decimal256(64, 4)
    assert found.to_pylist() == [LARGE, NEXT]


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_a_decimal_that_does_not_fit_is_an_error(name: str) -> None:
    rows = table([Decimal(10**38 - 1)] * 2, pa.decimal128(38, 0))
    with pytest.raises(OverflowError, match=r"does not fit in decimal128\(38, .*: cast the column"):
        answers(rows, getattr(sf, name)("x"))


def test_sums_of_unsigned_integers() -> None:
    found = answers(table([2**63, 2**62, 5], pa.uint64()), sf.sum("x"))
    assert found.type == pa.uint64()
    assert found.to_pylist() == [2**63, 2**63 + 2**62, 2**62 + 5]
    with pytest.raises(OverflowError, match="does not fit in uint64: cast the column"):
        answers(table([2**64 - 1, 1], pa.uint64()), sf.sum("x"))


NESTED: dict[str, tuple[list[Any], pa.DataType]] = {
    "lists": ([[1], [1], [2], [1, 2], None, [], []], pa.list_(pa.int64())),
    "lists of floats": ([[0.0], [-0.0], [math.nan], [math.nan], None], pa.list_(pa.float64())),
    "structs": ([{"a": 1, "b": [2]}, {"a": 1, "b": [2]}, {"a": None, "b": [2]}, None],
                pa.struct({"a": pa.int32(), "b": pa.list_(pa.int8())})),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_distinct_nested_values(name: str) -> None:
    values, kind = NESTED[name]
    rows = table(values, kind)
    counts = answers(rows, sf.count_distinct("x")).to_pylist()
    sets = answers(rows, sf.collect_set("x")).to_pylist()
    assert counts == [len(each) for each in sets]
    expected = {"lists": [1, 1, 2, 2, 1, 1, 1], "lists of floats": [1, 1, 2, 1, 1],
                "structs": [1, 1, 2, 1]}  # fmt: skip
    assert counts == expected[name]


TIMES: dict[str, tuple[pa.DataType, list[int], list[int]]] = {
    "timestamp": (pa.timestamp("us"), [10, 13, 14], [10, 11, 13]),
    "with a zone": (pa.timestamp("ms", "Europe/Berlin"), [-10, -7, 0], [-10, -9, -4]),
    "nanoseconds": (
        pa.timestamp("ns"),
        [1_700_000_000_000_000_001, 1_700_000_000_000_000_003, 1_800_000_000_000_000_000],
        [1_700_000_000_000_000_001, 1_700_000_000_000_000_002, 1_750_000_000_000_000_001],
    ),
    "centuries apart": (pa.timestamp("ns"), [-(9 * 10**18), 9 * 10**18], [-(9 * 10**18), 0]),
    "date": (pa.date32(), [1, 2, 4], [1, 1, 3]),
    "duration": (pa.duration("s"), [1, 2, 4], [1, 1, 3]),
}


@pytest.mark.parametrize("name", TIMES)
def test_median_of_times(name: str) -> None:
    """It was a double, of nanoseconds one that had lost its last digits."""
    kind, given, expected = TIMES[name]
    width = pa.int32() if kind == pa.date32() else pa.int64()
    rows = table(pa.array(given, width).cast(kind))
    found = answers(rows, sf.median("x"))
    assert found.type == kind
    assert found.cast(width).to_pylist() == expected


def test_median_by_category_and_other_percentiles_of_times() -> None:
    days = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 4)]
    rows = table(days, c=["a"] * 3)
    assert answers(rows, sf.median("x").by("c")).to_pylist()[1] == [
        ("a", dt.datetime(2024, 1, 1, 12))
    ]
    assert answers(rows, sf.percentile("x", 0.25)).to_pylist()[1] == dt.datetime(2024, 1, 1, 6)
    assert answers(rows, sf.percentile("x", 0.6, "nearest")).to_pylist()[1] == days[1]


def test_percentiles_of_decimals() -> None:
    """As in Spark, a double; a value of the column where it is one."""
    rows = table([Decimal("1.50"), None, Decimal("2.50"), Decimal("-4")], pa.decimal128(38, 2))
    found = answers(rows, sf.median("x"), reach=2)
    assert found.type == pa.float64()
    assert found.to_pylist() == [1.5, 1.5, 2.0, -0.75]
    lower = answers(rows, sf.percentile("x", 0.5, "lower"), reach=2)
    assert lower.type == pa.decimal128(38, 2)
    assert lower.to_pylist() == [Decimal("1.50"), Decimal("1.50"), Decimal("1.50"), Decimal("-4")]
    exact = answers(table([LARGE, NEXT], pa.decimal128(38, 0)), sf.percentile_approx("x", 1.0))
    assert exact.to_pylist() == [LARGE, NEXT]


NULLS = {"count": [0, 0, 0], "count_distinct": [0, 0, 0], "collect_list": [[], [], []],
         "collect_set": [[], [], []], "first": [None] * 3, "last": [None] * 3}  # fmt: skip


@pytest.mark.parametrize("name", NULLS)
def test_a_column_of_nulls_alone(name: str) -> None:
    assert answers(table(pa.nulls(3)), getattr(sf, name)("x")).to_pylist() == NULLS[name]


@pytest.mark.parametrize("name", ["sum", "max", "mean", "median", "mode", "stddev", "bool_or"])
def test_a_column_of_nulls_has_no_numbers(name: str) -> None:
    message = "y: .* takes a column .*, but x is null: cast it, sf.col"
    with pytest.raises(TypeError, match=message):
        answers(table(pa.nulls(3)), getattr(sf, name)("x"))


def test_a_column_of_nulls_as_the_time_or_in_a_later_batch() -> None:
    with pytest.raises(TypeError, match=r"time column 't' is null.*cast it first"):
        sash.windowed(pa.table({"t": pa.nulls(2)}), time="t").agg(n=sf.count().over(sash.rows(1)))
    live = sash.stream(time="t").agg(s=sf.sum("x").over(sash.range_between(-9, 0)))
    live.feed(pa.table({"t": [1], "x": [1.5]}))
    assert live.feed(pa.table({"t": [2], "x": pa.nulls(1)})).column("s").to_pylist() == [1.5]
