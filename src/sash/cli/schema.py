"""A schema as in SQL, `user long, ts timestamp`, in Arrow's types."""

from __future__ import annotations

import re

import pyarrow as pa

TYPES = {
    "boolean": pa.bool_(),
    **dict.fromkeys(("tinyint", "byte"), pa.int8()),
    **dict.fromkeys(("smallint", "short"), pa.int16()),
    **dict.fromkeys(("int", "integer"), pa.int32()),
    **dict.fromkeys(("bigint", "long"), pa.int64()),
    **dict.fromkeys(("float", "real"), pa.float32()),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
COLUMN = re.compile(
    r"\s*(?:`([^`]+)`|(\w+))(?:\s*:\s*|\s+)(\w+)\s*(?:\(\s*(\d+)\s*,\s*(\d+)\s*\))?\s*"
)


def simple_schema(text: str) -> pa.Schema | None:
    """The schema that a text of plain types says; None if there is more to it than that.

    >>> simple_schema("user long, `a b` decimal(10, 2)")
    user: int64
    a b: decimal128(10, 2)
    >>> simple_schema("tags array<string>") is None
    True
    """
    found: list[tuple[str, pa.DataType]] = []
    at = 0
    while at <= len(text):
        column = COLUMN.match(text, at)
        if column is None or text[column.end() : column.end() + 1] not in ("", ","):
            return None
        quoted, plain, kind, digits, scale = column.groups()
        if kind.lower() == "decimal" and digits is not None and 0 < int(digits) <= 38:
            found.append((quoted or plain, pa.decimal128(int(digits), int(scale))))
        elif kind.lower() in TYPES and digits is None:
            found.append((quoted or plain, TYPES[kind.lower()]))
        else:
            return None
        at = column.end() + 1
    return pa.schema(found)
