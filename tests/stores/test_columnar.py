"""Columns as bytes: for each value and each row what `encode` gives."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from sash.stores.columnar import encoded, tuples
from sash.stores.encoding import encode

COLUMNS = {
    "int64": pa.array([0, -1, None, 2**63 - 1, -(2**63)]),
    "int8": pa.array([1, None, -128], pa.int8()),
    "uint32": pa.array([2**32 - 1, 0], pa.uint32()),
    "uint64": pa.array([2**64 - 1, 7], pa.uint64()),
    "float64": pa.array([0.0, -0.0, None, float("nan"), float("-inf"), 1e300]),
    "float32": pa.array([1.5, None, 3.25], pa.float32()),
    "text": pa.array(["", None, "größer"]),
    "bool": pa.array([True, None, False]),
    "decimal": pa.array([Decimal("1.50"), None]),
    "time": pa.array([dt.datetime(2024, 5, 1), None], pa.timestamp("us", "UTC")),
    "list": pa.array([[1, None], None, []]),
    "slice": pa.array([1, 2, None, 4]).slice(1, 2),
    "empty": pa.array([], pa.int64()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_value_is_encoded_as_alone(name: str) -> None:
    column = COLUMNS[name]
    assert encoded(column) == [encode(value) for value in column.to_pylist()]


def test_each_row_is_encoded_as_a_tuple() -> None:
    columns = [pa.array([1, None, 3]), pa.array([0.5, 1.5, None]), pa.array(["a", "", None])]
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    assert tuples([encoded(column) for column in columns], 3) == [encode(row) for row in rows]
    assert tuples([], 2) == [encode(()), encode(())]
