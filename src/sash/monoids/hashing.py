"""Hashing: 64 bits of any value, the same in every process, plain or compiled.

Python's own hash() of text changes from process to process. This one mixes by a
Feistel network over two halves of 32 bits: every constant and every masked
intermediate fits in a signed 64-bit integer, so the one source gives the same bits
in Python's integers and in numba's, where products wrap.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import math
from typing import Any

import numpy as np

LOW = 0xFFFFFFFF
EDGE = 2.0**63
NAN_WORD = 0x7FF8000000000000


def halves(x: Any) -> Any:
    """Two hashes of 32 bits of a number; equal numbers have equal ones.

    >>> halves(1) == halves(1.0) and halves(0.0) == halves(-0.0)
    True
    """
    word = word_of(x)
    low, high = word & LOW, (word >> 32) & LOW
    high ^= mixed(low ^ 0x9E3779B9)
    low ^= mixed(high ^ 0x7F4A7C15)
    high ^= mixed(low ^ 0x3C6EF372)
    low ^= mixed(high ^ 0x1B873593)
    return high, low


def mixed(h: Any) -> Any:
    """Murmur3's finalizer of 32 bits."""
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & LOW
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & LOW
    return h ^ (h >> 16)


def word_of(x: Any) -> Any:
    """A number as a 64-bit integer: itself if it is whole and fits, else its bits as a double."""
    if isinstance(x, (float, np.float32)):  # as a tuple: so that numba knows it
        if -EDGE <= x < EDGE and x == math.floor(x):
            return int(x)
        return NAN_WORD if x != x else int(np.float64(x).view(np.int64))
    return int(np.int64(x))


def as_number(x: Any) -> int | float:
    """A value as a number that `halves` takes: text, bytes, decimals and dates by a digest.

    >>> as_number(1.5), as_number(True)
    (1.5, 1)
    >>> as_number("a") == as_number("a") != as_number(b"a")
    True
    """
    if isinstance(x, np.generic) and not isinstance(x, np.datetime64 | np.timedelta64):
        x = x.item()
    if isinstance(x, float):
        return x
    if isinstance(x, int):
        return _as_int(x)
    if isinstance(x, str):
        return _digest("text", x.encode())
    if isinstance(x, bytes | bytearray | memoryview):
        return _digest("bytes", bytes(x))
    if isinstance(x, decimal.Decimal):
        return _as_decimal(x)
    if isinstance(x, datetime.date | datetime.time | datetime.timedelta | np.generic):
        return _digest(type(x).__name__, str(x).encode())
    raise TypeError(
        f"a sketch cannot hash {x!r} of type {type(x).__name__}; "
        "give it numbers, strings, bytes, decimals or dates"
    )


def _as_int(x: int) -> int:
    if -(2**63) <= x < 2**64:
        return int(x) if x < 2**63 else x - 2**64  # the bits of an unsigned integer
    return _digest("int", str(x).encode())


def _as_decimal(x: decimal.Decimal) -> int | float:
    if x.is_finite() and x == x.to_integral_value():
        return _as_int(int(x))
    as_float = float(x)
    return as_float if as_float == x or x != x else _digest("decimal", str(x.normalize()).encode())


def _digest(kind: str, data: bytes) -> int:
    digest = hashlib.blake2b(data, digest_size=8, person=kind.encode()[:16]).digest()
    return int.from_bytes(digest, "little", signed=True)
