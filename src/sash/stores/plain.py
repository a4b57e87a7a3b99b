"""Plain data: a value is a tag of one byte and its content, numbers, text or further values.

Data that is read is never run. Every length is checked against the bytes that there are.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from sash.monoids.quantiles import Sketch
from sash.stores.errors import PickledState

Write: TypeAlias = Callable[[Any, list[Any], bool], None]

_COUNT, _INT, _FLOAT = struct.Struct("<Q"), struct.Struct("<q"), struct.Struct("<d")
_SMALL = 1 << 63  # ints below this size have 8 bytes
_NUMBERS = frozenset("biufcmMSU")  # kinds of NumPy's types that have no objects in them


def write(value: Any, out: list[Any], allow_pickle: bool) -> None:
    """Add the bytes of `value` to `out`."""
    writer = _WRITE.get(type(value))
    if writer is not None:
        writer(value, out, allow_pickle)
    elif isinstance(value, np.ndarray | np.generic) and is_numbers(value):
        _write_numbers(value, out)
    elif allow_pickle:
        _write_bytes(b"P", pickle.dumps(value), out)
    else:
        raise TypeError(
            f"an object of type {type(value).__name__} is not plain data, so it would have to be "
            "pickled: allow_pickle=True does that"
        )


def is_numbers(value: Any) -> bool:
    """Whether `value` is one of NumPy's numbers, or an array of them, that is plain data."""
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return False
    dtype = value.dtype
    return not dtype.hasobject and (dtype.kind in _NUMBERS or dtype.names is not None)


def _write_bytes(tag: bytes, data: bytes, out: list[Any]) -> None:
    out += tag, _COUNT.pack(len(data)), data


def _write_int(value: int, out: list[Any], _: bool) -> None:
    if -_SMALL <= value < _SMALL:
        out += b"i", _INT.pack(value)
    else:
        length = value.bit_length() // 8 + 1
        _write_bytes(b"I", value.to_bytes(length, "little", signed=True), out)


def tuple_head(n: int) -> bytes:
    """The bytes before the n values of a tuple."""
    return b"t" + _COUNT.pack(n)


def _write_numbers(value: Any, out: list[Any]) -> None:
    """The type and the shape of an array or of one number (b"n"), then its bytes."""
    out.append(b"a" if type(value) is np.ndarray else b"n")
    write((np.lib.format.dtype_to_descr(value.dtype), value.shape), out, False)
    out.append(value.tobytes())


def _several(tag: bytes) -> Write:
    def write_all(values: Any, out: list[Any], allow_pickle: bool) -> None:
        out += tag, _COUNT.pack(len(values))
        for value in values:
            write(value, out, allow_pickle)

    return write_all


def _unordered(tag: bytes) -> Write:
    """Sorted, so that equal sets give equal bytes."""

    def write_all(values: Any, out: list[Any], allow_pickle: bool) -> None:
        out += tag, _COUNT.pack(len(values))
        found: list[bytes] = []
        for value in values:
            parts: list[Any] = []
            write(value, parts, allow_pickle)
            found.append(b"".join(parts))
        out += sorted(found)

    return write_all


def _pairs(values: dict[Any, Any], out: list[Any], allow_pickle: bool) -> None:
    out += b"d", _COUNT.pack(len(values))
    for key, value in values.items():
        write(key, out, allow_pickle)
        write(value, out, allow_pickle)


def _parts(tag: bytes, parts: Callable[[Any], tuple[Any, ...]]) -> Write:
    """A value that is made of a few others."""

    def write_parts(value: Any, out: list[Any], allow_pickle: bool) -> None:
        out.append(tag)
        write(parts(value), out, allow_pickle)

    return write_parts


def _zone(zone: tzinfo | None) -> Any:
    """A time zone: its offset and name, or its key. Others are objects."""
    if type(zone) is timezone:
        return zone.__getinitargs__()  # type: ignore[attr-defined]
    return zone.key if type(zone) is ZoneInfo and zone.key else zone


def _unzone(parts: Any) -> tzinfo | None:
    if isinstance(parts, str):
        return ZoneInfo(parts)
    return timezone(*parts) if isinstance(parts, tuple) else parts


def _time(t: time | datetime) -> tuple[Any, ...]:
    if isinstance(t, datetime) and type(t.tzinfo).__module__.startswith("pytz"):
        name = getattr(t.tzinfo, "zone", None)  # as older pyarrow gives them
        t = t.astimezone(ZoneInfo(name)) if name else t
    return t.hour, t.minute, t.second, t.microsecond, _zone(t.tzinfo), t.fold


def _untime(h: int, m: int, s: int, us: int, zone: Any, fold: int) -> time:
    return time(h, m, s, us, _unzone(zone), fold=fold)


def _undatetime(year: int, month: int, day: int, *clock: Any) -> datetime:
    return datetime.combine(date(year, month, day), _untime(*clock))


_WRITE: dict[type, Write] = {
    type(None): lambda value, out, _: out.append(b"N"),
    bool: lambda value, out, _: out.append(b"T" if value else b"F"),
    int: _write_int,
    float: lambda value, out, _: out.extend((b"f", _FLOAT.pack(value))),
    str: lambda value, out, _: _write_bytes(b"s", value.encode("utf-8", "surrogatepass"), out),
    bytes: lambda value, out, _: _write_bytes(b"b", value, out),
    tuple: _several(b"t"),
    list: _several(b"l"),
    set: _unordered(b"e"),
    frozenset: _unordered(b"z"),
    dict: _pairs,
    complex: _parts(b"c", lambda c: (c.real, c.imag)),
    Decimal: _parts(b"D", lambda d: (str(d),)),
    date: _parts(b"y", lambda d: (d.year, d.month, d.day)),
    time: _parts(b"h", _time),
    datetime: _parts(b"w", lambda t: (t.year, t.month, t.day, *_time(t))),
    timedelta: _parts(b"m", lambda d: (d.days, d.seconds, d.microseconds)),
    Sketch: _parts(b"q", Sketch.plain),
}
_MAKE: dict[bytes, Callable[..., Any]] = {
    b"c": complex,
    b"D": Decimal,
    b"y": date,
    b"h": _untime,
    b"w": _undatetime,
    b"m": timedelta,
    b"q": Sketch.from_plain,
}


class Reader:
    """Values from bytes, one after the other; every length is checked against what is there."""

    def __init__(self, data: bytes | bytearray | memoryview, allow_pickle: bool) -> None:
        self.data, self.at = bytes(data), 0
        self.allow_pickle = allow_pickle

    def value(self) -> Any:
        """The next value."""
        tag = self.data[self.at : self.at + 1]
        self.at += 1
        read = _READ.get(tag)
        if read is not None:
            return read(self)
        if tag in _MAKE:
            return _MAKE[tag](*self.value())
        if not tag:
            raise ValueError(f"it ends at byte {len(self.data)}, too early")
        raise ValueError(f"no value begins with {tag!r}, at byte {self.at - 1}")

    def take(self, length: int) -> bytes:
        """The next bytes."""
        start, self.at = self.at, self.at + length
        if self.at > len(self.data):
            raise ValueError(f"it ends at byte {len(self.data)}, too early")
        return self.data[start : self.at]

    def count(self) -> int:
        """How many bytes or values follow: there cannot be more values than bytes."""
        (n,) = _COUNT.unpack(self.take(8))
        if n > len(self.data) - self.at:
            raise ValueError(f"{n} values or bytes after byte {self.at} of {len(self.data)}")
        return int(n)

    def several(self) -> list[Any]:
        """As many values as the count says."""
        return [self.value() for _ in range(self.count())]

    def pairs(self) -> dict[Any, Any]:
        """Keys and values in turn."""
        return {self.value(): self.value() for _ in range(self.count())}

    def numbers(self) -> np.ndarray:
        """An array: its type, its shape, its bytes."""
        description, shape = self.value()
        dtype = np.lib.format.descr_to_dtype(description)
        if dtype.hasobject:
            raise ValueError("an array of objects")
        if any(type(n) is not int or n < 0 for n in shape):
            raise ValueError(f"an array of shape {shape}")
        count = 1
        for n in shape:
            count *= n
        data = self.take(count * dtype.itemsize)
        return np.ndarray(shape, dtype, bytearray(data))

    def object(self) -> Any:
        """A pickled object, if that is allowed."""
        data = self.take(self.count())
        if not self.allow_pickle:
            raise PickledState(
                "the state has pickled objects in it, and reading a pickle can run any code: "
                "allow_pickle=True reads them, if you trust where the state comes from"
            )
        try:
            return pickle.loads(data)
        except Exception as problem:
            raise ValueError(f"a pickled object cannot be read: {problem}") from problem


_READ: dict[bytes, Callable[[Reader], Any]] = {
    b"N": lambda r: None,
    b"T": lambda r: True,
    b"F": lambda r: False,
    b"i": lambda r: _INT.unpack(r.take(8))[0],
    b"I": lambda r: int.from_bytes(r.take(r.count()), "little", signed=True),
    b"f": lambda r: _FLOAT.unpack(r.take(8))[0],
    b"s": lambda r: str(r.take(r.count()), "utf-8", "surrogatepass"),
    b"b": lambda r: bytes(r.take(r.count())),
    b"t": lambda r: tuple(r.several()),
    b"l": lambda r: r.several(),
    b"e": lambda r: set(r.several()),
    b"z": lambda r: frozenset(r.several()),
    b"d": Reader.pairs,
    b"a": Reader.numbers,
    b"n": lambda r: r.numbers()[()],
    b"P": Reader.object,
}
