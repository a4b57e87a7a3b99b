"""Types of Arrow as sqlglot names them."""

from __future__ import annotations

import pyarrow as pa


def sql_type(kind: pa.DataType) -> str:
    """The name that a type has in Spark's SQL; of nested ones only that they are nested.

    >>> sql_type(pa.timestamp("us"))
    'timestamp_ntz'
    """
    if pa.types.is_dictionary(kind):
        return sql_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_integer(kind):
        return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[kind.bit_width]
    for test, name in (
        (pa.types.is_float64, "double"), (pa.types.is_floating, "float"),
        (pa.types.is_boolean, "boolean"), (pa.types.is_date, "date"),
        (pa.types.is_binary, "binary"), (pa.types.is_large_binary, "binary"),
        (pa.types.is_list, "array<string>"), (pa.types.is_map, "map<string, string>"),
    ):  # fmt: skip
        if test(kind):
            return name
    return "string"
