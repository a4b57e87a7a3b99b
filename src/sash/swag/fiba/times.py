"""Times: as 64-bit integers in the same order wherever that is possible.

    int       integers of 64 bits, as they are
    float     doubles: their bits, those of negative ones turned round
    <M8[us]   datetime64 or timedelta64 of one unit: their count
    object    anything else that can be compared: datetimes, strings, mixtures

Trees of objects run in plain Python; the others can run compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

INT, FLOAT, OBJECT = "int", "float", "object"
INT64, FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
LEAST, MOST = -(2**63), 2**63 - 1
EXACT = 2**53  # doubles hold integers up to that
TURN = 2**63 - 1


def null(t: Any, where: str) -> ValueError:
    """The error for a time that is not one."""
    return ValueError(f"{where} is null, {t!r}: every entry needs a time; drop such rows first")


def kind_of(t: Any) -> str:
    """The kind of one time; ValueError if it is null."""
    if isinstance(t, int | np.integer):
        return INT if LEAST <= t <= MOST else OBJECT
    if t is None or t != t:  # NaN, NaT
        raise null(t, "the time")
    if isinstance(t, float | np.floating):
        return FLOAT
    if isinstance(t, np.datetime64 | np.timedelta64):
        return t.dtype.str
    return OBJECT


def known_kind(kind: Any) -> str:
    """`kind`, if it is one; ValueError otherwise."""
    if kind in (INT, FLOAT, OBJECT) or np.dtype(kind).kind in "mM":
        return str(kind)
    raise ValueError(f"times of kind {kind!r}")


def key_of(kind: str, t: Any) -> Any:
    """A time of this kind as a number in the same order."""
    if kind == INT:
        return int(t)
    if kind == FLOAT:
        return int(turned(np.array([t], FLOAT64))[0])
    return t if kind == OBJECT else int(t.view(INT64))


def time_of(kind: str, key: Any) -> Any:
    """The time that a number stands for."""
    return key if kind in (INT, OBJECT) else decoded(kind, np.array([key], INT64))[0]


def turned(floats: np.ndarray) -> np.ndarray:
    """Doubles as integers in the same order."""
    bits = (floats + 0.0).view(INT64)  # -0.0 is 0.0
    return bits ^ ((bits >> 63) & TURN)


def many(ts: Any) -> tuple[str, Any]:
    """The kind of several times, and they as an array, or as a list of objects."""
    array = ts if isinstance(ts, np.ndarray) else _as_array(ts)
    if isinstance(array, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(array)
        if masked.any():
            raise null(None, f"time {int(np.argmax(masked))}")
        array = array.data
    if array.ndim != 1:
        raise ValueError(f"times must have one dimension, not {array.ndim}")
    code = array.dtype.kind
    if code in "biu":
        fits = array.dtype != np.uint64 or not len(array) or array.max() <= MOST
        return (INT, array.astype(INT64, copy=False)) if fits else (OBJECT, array.tolist())
    if code in "fmM":
        nulls = np.isnan(array) if code == "f" else np.isnat(array)
        if nulls.any():
            where = int(np.argmax(nulls))
            raise null(array[where], f"time {where}")
        if code == "f" and array.dtype.itemsize <= 8:
            return FLOAT, array.astype(FLOAT64, copy=False)
        kind = array.dtype.newbyteorder("=").str
        return (OBJECT, list(array)) if code == "f" else (kind, array.astype(kind, copy=False))
    objects = list(array)
    for where, t in enumerate(objects):
        if t is None or t != t:
            raise null(t, f"time {where}")
    return OBJECT, objects


def _as_array(ts: Any) -> np.ndarray:
    """An array of numbers if that loses nothing, else of objects."""
    if hasattr(ts, "__array__"):
        return np.asarray(ts)
    items = list(ts)
    types = set(map(type, items))
    if types <= {int, bool, float}:
        whole = [t for t in items if not isinstance(t, float)]
        limit = MOST if len(whole) == len(items) else EXACT
        if all(-limit <= t <= limit for t in whole):
            return np.array(items, FLOAT64 if float in types else INT64)
    elif len(types) == 1 and issubclass(next(iter(types)), np.generic):
        return np.array(items)
    array = np.empty(len(items), object)
    array[:] = items
    return array


def keys_of(kind: str, ts: Any) -> Any:
    """Times of this kind as numbers in the same order."""
    if kind == OBJECT:
        return ts
    return turned(ts) if kind == FLOAT else np.ascontiguousarray(ts).view(INT64)


def as_kind(kind: str, found: str, ts: Any) -> Any:
    """Times of kind `found` as those of `kind`, or None if that is not exact."""
    if kind == found:
        return ts
    if kind == OBJECT:
        return np.asarray(ts).tolist() if found in (INT, FLOAT) else list(ts)
    if (kind, found) == (FLOAT, INT):
        array = np.asarray(ts)
        exact = np.all((array >= -EXACT) & (array <= EXACT))
        return array.astype(FLOAT64) if exact else None
    return None


def key_upto(kind: str, t: Any) -> Any:
    """The largest key that is not after t, whatever kind of number t is; None if there is none."""
    if kind == INT and type(t) is int and LEAST <= t <= MOST:
        return t
    return _near(kind, t, -1)


def key_from(kind: str, t: Any) -> Any:
    """The smallest key that is not before t; None if there is none."""
    return _near(kind, t, 1)


def _near(kind: str, t: Any, side: int) -> Any:
    """The key next to t, on its older (-1) or younger (1) side, or t's own."""
    found = kind_of(t)
    if kind in (found, OBJECT):
        return key_of(kind, t)
    if kind in (INT, FLOAT) and not isinstance(t, str | bytes | np.datetime64 | np.timedelta64):
        return _near_number(kind, t, side)
    if found in (INT, FLOAT, OBJECT):
        raise TypeError(f"the times of this tree are {kind}: {t!r} cannot be compared with them")
    near = t.astype(kind)
    if (near > t) if side < 0 else (near < t):
        near = near + side
    return key_of(kind, near)


def _near_number(kind: str, t: Any, side: int) -> Any:
    infinite = isinstance(t, float | np.floating) and math.isinf(t)
    if kind == INT:
        whole = (2 * MOST if t > 0 else 2 * LEAST) if infinite else t
        whole = math.floor(whole) if side < 0 else math.ceil(whole)
        if (whole < LEAST) if side < 0 else (whole > MOST):
            return None
        return min(max(whole, LEAST), MOST)
    try:
        near = float(t)
    except OverflowError:
        near = math.copysign(math.inf, t)
    if (near > t) if side < 0 else (near < t):
        near = math.nextafter(near, side * math.inf)
    return key_of(FLOAT, near)


def decoded(kind: str, keys: np.ndarray) -> list[Any]:
    """The times that many keys stand for, as objects."""
    if kind == INT:
        return keys.tolist()
    if kind == FLOAT:
        return (keys ^ ((keys >> 63) & TURN)).view(FLOAT64).tolist()
    return list(keys.view(kind))
