"""Calls of a user's function with the values of each window, compiled where numba can."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

Loop = Callable[..., None]


def compiled_calls(function: Callable[..., Any], dtypes: tuple[np.dtype, ...]) -> Loop | None:
    """A compiled loop that puts function(values of window i, …) in out[i]; None if it cannot be.

    The loop takes a tuple of arrays, the windows' bounds and an array of doubles; a window
    without rows is left as it is.
    """
    from numba import njit, types
    from numba.np.numpy_support import from_dtype

    names = [f"column_{i}" for i in range(len(dtypes))]
    slices = ", ".join(f"{name}[lo[i]:hi[i]]" for name in names)
    source = (
        f"def loop({', '.join(names)}, lo, hi, out):\n"
        "    for i in range(len(lo)):\n"
        "        if lo[i] < hi[i]:\n"
        f"            out[i] = function({slices})\n"
    )
    is_plain = isinstance(function, FunctionType)  # others are known to numba, or not at all
    scope: dict[str, Any] = {"function": njit(function) if is_plain else function}
    exec(source, scope)
    whole = types.Array(types.int64, 1, "C")
    arrays = [types.Array(from_dtype(dtype), 1, "C") for dtype in dtypes]
    loop = njit(nogil=True)(scope["loop"])
    try:
        loop.compile((*arrays, whole, whole, types.Array(types.float64, 1, "C")))
    except Exception:  # numba fails in many ways; each means the same here
        return None
    return loop
