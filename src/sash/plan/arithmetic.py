"""Arithmetic of doubles, and of integers that are seen to fit, written where its result goes.

Arrow gives every result memory of its own, from where it would be copied, and takes several times
as long for a division. For results as cheap as these, that costs several times the work.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.arrow_functions import Value

Place = Callable[[], np.ndarray]
"""Gives the array of doubles that a result is written to; asked only where one is. Integers of 64
bits go there, too."""

OPERATIONS: dict[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
EXACT = (pa.float64(), pa.float32(), pa.int32(), pa.int16(), pa.int8())
"""Types of literals that are doubles too."""


def written(function: str, given: list[Value], place: Place | None) -> pa.Array | None:
    """The result of a function, in its place where it has one; None: Arrow has to compute it."""
    operation = OPERATIONS.get(function)
    columns = [value for value in given if not isinstance(value, pa.Scalar)]
    if operation is None or len(given) != 2 or not columns:
        return None
    numbers = _integers(function, given) or _doubles(function, given)
    if numbers is None:
        return None
    known = [pc.is_valid(column) for column in columns if column.null_count]
    if function == "/" and np.any(zero := numbers[1] == 0):
        known.append(pa.array(~zero))  # by zero it is null
    kind = next(x.dtype for x in numbers if isinstance(x, np.ndarray))
    found = np.frombuffer(
        pa.allocate_buffer(8 * len(columns[0])) if place is None else place(), kind
    )
    with np.errstate(all="ignore"):
        operation(*numbers, out=found)
    valid = functools.reduce(pc.and_, known).buffers()[1] if known else None
    buffers = [valid, pa.py_buffer(found)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(found), buffers)


def _doubles(function: str, given: list[Value]) -> list[Any] | None:
    """Columns of doubles and literals, as NumPy has them; None: some are neither, or Arrow has to
    divide by zero. Of nulls, anything. Integers are doubles where they are divided."""
    found: list[Any] = []
    for value in given:
        if isinstance(value, pa.Scalar):
            if not value.is_valid or value.type not in EXACT:
                return None
            found.append(float(value.as_py()))
            continue
        whole = function == "/" and value.type == pa.int64()
        doubles = value.cast(pa.float64()) if whole else value
        if doubles.type != pa.float64():
            return None
        found.append(_numbers(doubles, np.float64))
    by_zero = function == "/" and isinstance(found[1], float) and found[1] == 0
    return None if by_zero else found


def _integers(function: str, given: list[Value]) -> list[Any] | None:
    """Columns of 64-bit integers and literals, as NumPy has them, if no result can overflow; None:
    some are neither, or one may."""
    found: list[Any] = []
    ends: list[tuple[int, int]] = []
    for value in given:
        if function == "/" or not pa.types.is_integer(value.type):
            return None
        if isinstance(value, pa.Scalar):
            if not value.is_valid:
                return None
            found.append(value.as_py())
            ends.append((found[-1], found[-1]))
        elif value.type == pa.int64() and len(value):
            found.append(_numbers(value, np.int64))
            ends.append((int(found[-1].min()), int(found[-1].max())))
        else:
            return None
    extremes = [_OF_INTEGERS[function](a, b) for a in ends[0] for b in ends[1]]
    return found if all(-(1 << 63) <= x < 1 << 63 for x in extremes) else None


_OF_INTEGERS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _numbers(column: pa.Array, dtype: Any) -> np.ndarray:
    """The values of a column of 64-bit numbers; of nulls, anything."""
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * 8)
