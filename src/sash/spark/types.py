"""Types: a DataFrame's schema as Arrow has it, and answers' types as Spark has them."""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
from pyspark.errors import PySparkTypeError, UnsupportedOperationException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_type
from pyspark.sql.types import DataType, StructField

from sash.plan.about import About, concerning

SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
"""Spark has no numbers without a sign: the next wider type holds them all."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The schema of the batches that Spark hands to Python for `df`."""
    conf = df.sparkSession.conf
    zone = str(conf.get("spark.sql.session.timeZone"))
    large = str(conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")) == "true"
    return pa.schema([_field(field, zone, large) for field in df.schema.fields])


HAS_TIMEZONE = "timezone" in signature(to_arrow_type).parameters  # since Spark 4.2


def _arrow_type(kind: DataType, zone: str, large: bool) -> pa.DataType:
    if HAS_TIMEZONE:
        return to_arrow_type(kind, timezone=zone, prefers_large_types=large)
    return _in_zone(to_arrow_type(kind, prefers_large_types=large), zone)


def in_utc(schema: pa.Schema) -> pa.Schema:
    """A schema as `applyInArrow` wants it: of Spark's types, times in UTC."""
    fields = from_arrow_schema(schema).fields
    return pa.schema([pa.field(f.name, _arrow_type(f.dataType, "UTC", False)) for f in fields])


def _in_zone(kind: pa.DataType, zone: str) -> pa.DataType:
    """The type with all times in the session's zone, as Spark hands them to Python."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, zone)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_zone(kind.value_type, zone)))
    if pa.types.is_map(kind):
        return pa.map_(_in_zone(kind.key_type, zone), _in_zone(kind.item_type, zone))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_zone(field.type, zone)) for field in kind])
    return kind


def _field(field: StructField, zone: str, large: bool) -> pa.Field:
    try:
        kind = _arrow_type(field.dataType, zone, large)
    except (PySparkTypeError, UnsupportedOperationException) as problem:
        raise TypeError(
            f"column {field.name!r} is {field.dataType.simpleString()}, which Spark does not hand "
            "to Python: cast it, or drop it before the call"
        ) from problem
    return pa.field(field.name, kind, field.nullable)


def transferable(kind: pa.DataType) -> pa.DataType:
    """An answer's Arrow type as Spark can take it back.

    >>> transferable(pa.uint32()), transferable(pa.list_(pa.uint8(), 4))
    (DataType(int64), ListType(list<item: int16>))
    """
    if pa.types.is_uint64(kind):
        raise TypeError("answers are unsigned integers of 64 bits, which Spark does not have")
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return pa.list_(transferable(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, transferable(f.type)) for f in kind])
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        return pa.timestamp("us", kind.tz)
    return SIGNED.get(kind, kind)


def spark_type(kind: pa.DataType, out: str) -> DataType:
    """The Spark type of a column of answers; `out`, its name, is for errors."""
    try:
        return from_arrow_type(transferable(kind), prefer_timestamp_ntz=True)
    except (PySparkTypeError, TypeError) as problem:
        wrong = TypeError(
            f"{out}: answers of type {kind} have no Spark type; give returns= with one that has"
        )
        raise concerning(wrong, About("output", out)) from problem
