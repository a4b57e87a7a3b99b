"""Compare: whether two states, or two answers, are the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TOLERANCE = 1e-9
NUMBER = int | float


def alike(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Whether two values are equal: NaN equals NaN, and floats may differ by `tolerance`.

    The tolerance is relative, or absolute below 1. Tuples, lists, dictionaries (in their
    order) and arrays are compared item by item; a NumPy array and a list are alike if
    their items are.

    >>> alike((1, float("nan")), (1, float("nan"))), alike(1.0, 1.1), alike(1.0, 1.1, 0.2)
    (True, False, True)
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b):
        return True
    a, b = _plain(a), _plain(b)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return alike(list(a.items()), list(b.items()), tolerance)
    if isinstance(a, NUMBER) and isinstance(b, NUMBER):
        return _close(a, b, tolerance)
    return type(a) is type(b) and bool(a == b)


def _close(a: float, b: float, tolerance: float) -> bool:
    if a == b or (a != a and b != b):
        return True
    exact = tolerance == 0 or (isinstance(a, int) and isinstance(b, int))
    return not exact and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def _plain(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.tolist()
    return x.item() if isinstance(x, np.generic) else x
