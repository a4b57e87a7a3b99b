"""Arithmetic of doubles without nulls, written where its result goes.

Arrow gives every result memory of its own, from where it would be copied. For results as cheap as
these, that costs several times the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

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


def written(function: str, given: list[Value], place: Place) -> pa.Array | None:
    """The result of a function in its place; None: Arrow has to compute it."""
    operation = OPERATIONS.get(function)
    if operation is None or len(given) != 2:
        return None
    doubles = [_doubles(value) for value in given]
    if any(x is None for x in doubles) or not any(isinstance(x, np.ndarray) for x in doubles):
        return None
    if function == "/" and (isinstance(doubles[1], np.ndarray) or doubles[1] == 0):
        return None  # by zero it is null
    found = place()
    with np.errstate(all="ignore"):
        operation(*doubles, out=found)
    return pa.Array.from_buffers(pa.float64(), len(found), [None, pa.py_buffer(found)])


def _doubles(value: Value) -> Any:
    """A column of doubles or one literal, as NumPy has it; None: it is neither, or has nulls."""
    if isinstance(value, pa.Scalar):
        return float(value.as_py()) if value.is_valid and value.type in EXACT else None
    return value.to_numpy() if value.type == pa.float64() and not value.null_count else None
