"""Columns of values as bytes: for each row what `encode` gives, without a call per row.

Numbers of 64 bits have as many bytes each, so those of a column are made at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.stores.encoding import encode
from sash.stores.plain import tuple_head

INTEGERS = (pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint32(), pa.uint16(), pa.uint8())
WIDE = {kind: (b"i", pa.int64()) for kind in INTEGERS}
WIDE |= {kind: (b"f", pa.float64()) for kind in (pa.float64(), pa.float32())}
"""Types whose values are a tag and the 8 bytes of a wider type."""


def encoded(column: pa.Array) -> list[bytes]:
    """For each value what `encode` gives for it, as Python has it."""
    if column.type not in WIDE:
        return [encode(value) for value in column.to_pylist()]
    tag, kind = WIDE[column.type]
    cells = np.empty(len(column), [("tag", "S1"), ("value", "<i8")])
    cells["tag"] = tag
    cells["value"] = column.cast(kind).fill_null(0).to_numpy().view(np.int64)
    data, size = cells.tobytes(), cells.itemsize
    found = [data[i : i + size] for i in range(0, len(data), size)]
    if column.null_count:
        for row in np.flatnonzero(np.asarray(column.is_null())):
            found[row] = encode(None)
    return found


def tuples(columns: Sequence[list[bytes]], rows: int) -> list[bytes]:
    """For each row what `encode` gives for the tuple of its encoded values."""
    head = tuple_head(len(columns))
    if not columns:
        return [head] * rows
    return [head + b"".join(row) for row in zip(*columns, strict=True)]
