"""Columns: Arrow arrays as what aggregations take, and their answers as Arrow arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.fixed import is_fixed, set_bits

EXACT = Context(prec=96)
"""Decimals of up to 76 digits, and what is between them, without rounding."""

P = ParamSpec("P")
R = TypeVar("R")


def with_exact_decimals(f: Callable[P, R]) -> Callable[P, R]:
    """A function in which decimals are added without rounding; Python's own has 28 digits."""

    @functools.wraps(f)
    def exact(*args: P.args, **named: P.kwargs) -> R:
        with localcontext(EXACT):
            return f(*args, **named)

    return exact


TOO_LARGE = "{} does not fit in {}: cast the column to double, or to a wider decimal, first"


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def numbers(column: pa.Array) -> np.ndarray:
    """The values of a column without nulls, as NumPy has them; times as integers."""
    kind = column.type
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = column.view(width)
        if width == pa.int32():
            column = column.cast(pa.int64())
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False))


def without_nulls(column: pa.Array) -> pa.Array:
    """A column of numbers with any values in the place of its nulls."""
    if not column.null_count:
        return column
    buffers = [None, *column.buffers()[1:]]
    return pa.Array.from_buffers(column.type, len(column), buffers, offset=column.offset)


def objects(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects."""
    return column.to_pylist()


def answers_as(values: Any, nulls: np.ndarray | None, kind: pa.DataType | None) -> pa.Array:
    """Answers as an Arrow array of type `kind`, null where `nulls` says so."""
    if isinstance(values, list):
        known = values if nulls is None else [None if n else v for v, n in zip(values, nulls)]
        if kind is not None and "decimal" in str(kind):
            known = [rounded(v, kind) for v in known]
        try:
            return pa.array([fields(v) for v in known], kind)
        except OverflowError as problem:
            raise OverflowError(TOO_LARGE.format("an answer", kind)) from problem
    array = array_of(values, nulls)
    if kind is None or array.type == kind:
        return array
    if pa.types.is_temporal(kind):
        if kind.bit_width == 32:
            array = array.cast(pa.int32())
        return array.view(kind)
    return array.cast(kind)


def with_empty(
    values: Any, nulls: Any, empty: np.ndarray | None, kind: pa.DataType | None, nothing: Any
) -> pa.Array:
    """Answers as an Arrow array, with `nothing` where a window is empty and nothing was written."""
    if empty is None:
        return answers_as(values, nulls, kind)
    if isinstance(values, list):
        filling = [nothing if e else v for v, e in zip(values, empty.tolist(), strict=True)]
        return answers_as(filling, nulls, kind)
    packed = np.packbits(empty, bitorder="little")
    fill = nothing if nulls is None and is_number(nothing, values.dtype) else None
    put_where(values, empty, packed, np.zeros(1, values.dtype)[0] if fill is None else fill)
    array = answers_as(values, nulls, kind)
    if fill is not None:
        return array
    if nothing is not None or not is_fixed(array.type) or array.offset:
        return filled(array, empty, nothing)
    known = ~packed  # values stay in place
    if array.null_count:
        known &= np.frombuffer(array.buffers()[0], np.uint8, len(known))
    buffers = [pa.py_buffer(known), array.buffers()[1]]
    return pa.Array.from_buffers(array.type, len(array), buffers)


FEW = 32
"""Values are written one by one where they are at most one in so many."""


def put_where(values: np.ndarray, flags: np.ndarray, packed: np.ndarray, value: Any) -> None:
    """Write a value where flags say so, which are given as bits, too."""
    if values.dtype.names is not None or np.count_nonzero(flags) * FEW <= len(flags):
        values[set_bits(packed)] = value
    else:
        np.copyto(values, value, where=flags if values.ndim == 1 else flags[:, None])


def is_number(value: Any, dtype: np.dtype) -> bool:
    """Whether a value is a number that a dtype has."""
    kinds = {"f": int | float, "i": int, "b": bool}
    return isinstance(value, kinds.get(dtype.kind, ())) and dtype.type(value) == value


def array_of(values: np.ndarray, nulls: np.ndarray | None) -> pa.Array:
    """Numbers in Arrow: tuples as structs, vectors as lists; `nulls`: one column per number."""
    names = values.dtype.names
    if names is None:
        mask = None if nulls is None else np.ascontiguousarray(nulls.reshape(len(values), -1)[:, 0])
        if values.ndim == 1 and mask is not None and values.dtype.kind in "iuf":
            kind, known = pa.from_numpy_dtype(values.dtype), np.packbits(~mask, bitorder="little")
            buffers = [pa.py_buffer(known), pa.py_buffer(np.ascontiguousarray(values))]
            return pa.Array.from_buffers(kind, len(values), buffers)  # ten times as fast
        if values.ndim == 1:
            return pa.array(values, mask=mask)
        flat = pa.array(values.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    parts, place = [], 0
    for name in names:
        part = values[name]
        width = leaves(part.dtype)
        parts.append(array_of(part, None if nulls is None else nulls[:, place : place + width]))
        place += width
    return pa.StructArray.from_arrays(parts, list(names))


def leaves(dtype: np.dtype) -> int:
    """How many numbers a value of a dtype has; a vector counts as one."""
    return 1 if dtype.names is None else sum(leaves(dtype[name]) for name in dtype.names)


def fields(value: Any) -> Any:
    """A named tuple as a dictionary, from which Arrow makes a struct; others as they are."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: fields(part) for name, part in zip(value._fields, value, strict=True)}
    return value


def filled(array: pa.Array, empty: np.ndarray, nothing: Any) -> pa.Array:
    """Answers with `nothing` where a window is empty."""
    if not empty.any():
        return array
    value = fields(nothing)
    if isinstance(value, tuple) and pa.types.is_struct(array.type):
        value = {f.name: part for f, part in zip(array.type, value, strict=True)}
    return pc.if_else(pa.array(empty), pa.scalar(value, array.type), array)


def rounded(value: Any, kind: pa.DataType) -> Any:
    """Decimals with as many places as their type, as Spark rounds: halves away from zero.

    In lists and maps too, where pyarrow neither rounds nor complains.

    >>> rounded([("a", Decimal("0.125"))], pa.map_(pa.string(), pa.decimal128(9, 2)))
    [('a', Decimal('0.13'))]
    """
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(rounded(k, kind.key_type), rounded(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [rounded(part, kind.value_type) for part in value]
    if not pa.types.is_decimal(kind) or not isinstance(value, Decimal):
        return value
    if value.is_finite() and value and value.adjusted() >= kind.precision - kind.scale:
        raise OverflowError(TOO_LARGE.format(f"{value:.6E}", f"{kind}"))
    if value.as_tuple().exponent >= -kind.scale:
        return value
    return value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, EXACT)


def changes(columns: list[pa.Array]) -> np.ndarray:
    """Whether each row but the first differs from the one before it; nulls are alike."""
    n = len(columns[0]) if columns else 0
    changed = np.zeros(max(0, n - 1), np.bool_)
    for column in columns:
        if pa.types.is_null(column.type):
            continue
        if pa.types.is_integer(column.type) and not column.null_count:
            values = column.to_numpy()
            changed |= values[1:] != values[:-1]
            continue
        before, after = column.slice(0, n - 1), column.slice(1)
        differ = pc.not_equal(before, after)
        if column.null_count:
            null = np.asarray(pc.is_null(column))
            differ = pc.fill_null(differ, False)
            changed |= null[1:] != null[:-1]
        if pa.types.is_floating(column.type):  # NaN is like NaN
            nan = np.asarray(pc.fill_null(pc.is_nan(column), False))
            changed |= np.asarray(differ) & ~(nan[1:] & nan[:-1])
        else:
            changed |= np.asarray(differ)
    return changed
