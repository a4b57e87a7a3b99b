"""pandas' types: answers are of the family of types that the columns they are made of have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
    pa.float32(): "Float32", pa.float64(): "Float64", pa.bool_(): "boolean",
    pa.string(): "string", pa.large_string(): "string",
}  # fmt: skip
"""Arrow's types as pandas' types that have nulls."""


def as_pandas(table: pa.Table, data: Any, sources: Callable[[str], Sequence[str]]) -> Any:
    """A table as a DataFrame; `sources` names the columns of `data` that a column is made of."""
    given = dict(zip(data.columns, data.dtypes, strict=True))
    return pd.DataFrame(
        {
            name: _series(table.column(name), [given[c] for c in sources(name) if c in given])
            for name in table.column_names
        }
    )


def _series(column: pa.ChunkedArray, dtypes: Sequence[Any]) -> Any:
    if any(isinstance(dtype, pd.ArrowDtype) for dtype in dtypes):
        return column.to_pandas(types_mapper=pd.ArrowDtype)
    if pa.types.is_dictionary(column.type):
        return _categories(column.to_pandas(), dtypes)
    with_nulls = [dtype for dtype in dtypes if getattr(dtype, "na_value", None) is pd.NA]
    if not with_nulls:
        return column.to_pandas()
    text = next((dtype for dtype in with_nulls if isinstance(dtype, pd.StringDtype)), None)

    def mapped(kind: pa.DataType) -> Any:
        if text is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return text
        return pd.api.types.pandas_dtype(NULLABLE[kind]) if kind in NULLABLE else None

    return column.to_pandas(types_mapper=mapped)


def _categories(found: Any, dtypes: Sequence[Any]) -> Any:
    """Categories as they came; on a stream there may be more of them than in the last batch."""
    for dtype in dtypes:
        known = isinstance(dtype, pd.CategoricalDtype)
        if known and found.cat.categories.isin(dtype.categories).all():
            return found.astype(dtype)
    return found
