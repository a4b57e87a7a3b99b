"""Arithmetic of doubles, written where its result goes.

Arrow gives every result memory of its own, from where it would be copied, and takes several times
as long for a division. For results as cheap as these, that costs several times the work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.arrow_functions import Value

Place = Callable[[], np.ndarray]
"""Gives the array of doubles that a result is written to; asked only where one is."""

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
    if operation is None or len(given) != 2:
        return None
    divides = function == "/"
    doubles = [_doubles(value, divides) for value in given]
    arrays = [x for x in doubles if isinstance(x, np.ndarray)]
    if any(x is None for x in doubles) or not arrays:
        return None
    if divides and isinstance(doubles[1], float) and doubles[1] == 0:
        return None  # by zero it is null
    columns = [value for value in given if not isinstance(value, pa.Scalar)]
    known = [pc.is_valid(column) for column in columns if column.null_count]
    if divides and np.any(zero := doubles[1] == 0):
        known.append(pa.array(~zero))
    found = np.empty(0) if place is None else place()
    if place is None:
        found = np.frombuffer(pa.allocate_buffer(arrays[0].nbytes), np.float64)
    with np.errstate(all="ignore"):
        operation(*doubles, out=found)
    valid = functools.reduce(pc.and_, known).buffers()[1] if known else None
    return pa.Array.from_buffers(pa.float64(), len(found), [valid, pa.py_buffer(found)])


def _doubles(value: Value, casts: bool) -> Any:
    """A column of doubles or one literal, as NumPy has it; None: it is neither.

    `casts`: also of integers, as a division takes them. Of nulls, anything.
    """
    if isinstance(value, pa.Scalar):
        return float(value.as_py()) if value.is_valid and value.type in EXACT else None
    if casts and value.type == pa.int64():
        value = value.cast(pa.float64())
    if value.type != pa.float64():
        return None
    return np.frombuffer(value.buffers()[1], np.float64, len(value), value.offset * 8)
