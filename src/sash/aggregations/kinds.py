"""Kinds: which Arrow types aggregations take, and which their answers have, as in Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash import monoids as m
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input
from sash.plan.types import number_type


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """Strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_ordered(kind: pa.DataType) -> bool:
    """Numbers, times, booleans, text and bytes."""
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return is_number(kind) or number_type(kind) is not None or is_text(kind) or binary


def like(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of the first column."""
    return kinds[0]


def like_second(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of the second column."""
    return kinds[1]


def always(kind: pa.DataType) -> Callable[[list[pa.DataType]], pa.DataType]:
    """One type, whatever the columns are."""
    return lambda kinds: kind


def total(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of a sum, as Spark has it; Spark has no uint64 and no decimals over 38 digits."""
    kind = kinds[0]
    if pa.types.is_decimal(kind):
        return wider(kind, 10, 0)
    if pa.types.is_uint64(kind):
        return kind
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()


def average(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of a mean, as Spark has it."""
    kind = kinds[0]
    return wider(kind, 4, 4) if pa.types.is_decimal(kind) else pa.float64()


def wider(kind: pa.DataType, digits: int, places: int) -> pa.DataType:
    """A decimal type with more digits and places, as far as there are: 38, or 76 of decimal256."""
    made, most = (pa.decimal256, 76) if pa.types.is_decimal256(kind) else (pa.decimal128, 38)
    return made(min(most, kind.precision + digits), min(most, kind.scale + places))


def double(kinds: list[pa.DataType]) -> pa.DataType:
    """A double."""
    return pa.float64()


def of_numbers(name: str, column: Input, monoid: m.Monoid, result: Any = double) -> Aggregation:
    """An aggregation of one column of numbers."""
    return Aggregation(
        name, (column,), monoid, result=result, accepts=is_number, takes="a column of numbers"
    )


def is_boolean(kind: pa.DataType) -> bool:
    """Booleans."""
    return bool(pa.types.is_boolean(kind))


def of_booleans(name: str, of: Aggregation) -> Aggregation:
    """An aggregation of ordered values, of booleans alone."""
    return replace(of, name=name, accepts=is_boolean, takes="a column of booleans")


def is_numeric(kind: pa.DataType) -> bool:
    """Whatever is a number in a compiled loop: numbers, times, booleans."""
    return number_type(kind) is not None


def has_shares(kind: pa.DataType) -> bool:
    """Types that have percentiles: numbers, decimals too, times, booleans."""
    return is_numeric(kind) or pa.types.is_decimal(kind)


def between(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of what lies between two values: a time for times, else a double."""
    return kinds[0] if pa.types.is_temporal(kinds[0]) else pa.float64()


def as_list(kinds: list[pa.DataType]) -> pa.DataType:
    """Lists of the first column's values."""
    return pa.list_(kinds[0])


def of_pairs(name: str, columns: tuple[Input, Input], monoid: m.Monoid) -> Aggregation:
    """An aggregation of two columns of numbers; rows count where both are not null."""
    return Aggregation(
        name, columns, monoid, result=double, accepts=is_number, takes="columns of numbers"
    )


def of_ordered(name: str, column: Input, monoid: m.Monoid) -> Aggregation:
    """An aggregation of one column that has an order, whose answers are like its values."""
    takes = "a column that has an order"
    return Aggregation(name, (column,), monoid, result=like, accepts=is_ordered, takes=takes)
