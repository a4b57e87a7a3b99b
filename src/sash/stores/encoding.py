"""State as bytes and back: values as plain data, behind a seal that shows damage.

    encode, decode   values to bytes and back, exactly; objects only where that is allowed
    seal, unseal     bytes behind a header with their kind, format, length and checksum

Reading plain data runs nothing. Anything that is not plain data (an instance of a user's
class) has to be pickled, and a pickle can run any code when it is read. So both sides have to
allow it, with ``allow_pickle=True``.

The checksum finds damage: flipped bits, missing ends. It is not a signature: whoever can
write to a store can write another checksum too. So cursors and links are checked against
their arrays as well, before compiled code follows them. It is CRC-32, because pages have
megabytes: 2.5 GB/s, where BLAKE2 has 0.5 and SHA-256 1.4.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, TypeAlias

from sash.stores.errors import DamagedState, PickledState
from sash.stores.plain import Reader, write

Data: TypeAlias = bytes | bytearray | memoryview

MAGIC, FORMAT = b"Sash", 2
OLD_MAGIC = b"SASH"  # how format 1 began, which had no checksums
REMEDY = "use a copy from before the damage, or rebuild the state from its input"
_HEAD = struct.Struct("<4sI8sQ4x")  # magic, format, kind, length of the payload
_CHECK = struct.Struct("<I")  # the CRC-32 of the head and the payload
HEADER_SIZE = _HEAD.size + _CHECK.size  # 32, so that numbers behind it are aligned


def encode(value: Any, *, allow_pickle: bool = False) -> bytes:
    """`value` as bytes: plain data, nested as it is. Equal sets give equal bytes.

    None, bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, Decimal,
    date, time, datetime, timedelta, NumPy's numbers and arrays of numbers, and the sketches of
    `sash.monoids`. TypeError for anything else, unless `allow_pickle`: then it is pickled.

    >>> decode(encode({"at": (3, -0.0), "seen": {b"k"}}))
    {'at': (3, -0.0), 'seen': {b'k'}}
    """
    out: list[Any] = []
    try:
        write(value, out, allow_pickle)
    except RecursionError:
        raise ValueError("the value is nested too deeply, or contains itself") from None
    return b"".join(out)


def decode(data: Data, *, allow_pickle: bool = False) -> Any:
    """The value that `encode` was given; `DamagedState` if it cannot be read.

    `PickledState` if there are pickled objects in it, unless `allow_pickle`: allow that only
    for data from a place you trust, because a pickle can run any code.
    """
    reader = Reader(data, allow_pickle)
    try:
        value = reader.value()
    except PickledState:
        raise
    except Exception as problem:  # what Python's own types say of impossible contents
        raise DamagedState(f"damaged state: {problem}; {REMEDY}") from problem
    if reader.at != len(reader.data):
        raise DamagedState(f"damaged state: it goes on after its end; {REMEDY}")
    return value


def seal(payload: Any, *, kind: bytes) -> bytes:
    """`payload`, bytes or an array of numbers, behind a header that says what it is.

    `kind` is up to 8 bytes: `unseal` wants the same.

    >>> bytes(unseal(seal(b"rows", kind=b"page"), b"page"))
    b'rows'
    """
    if not 0 < len(kind) <= 8 or kind.endswith(b"\0"):
        raise ValueError(f"a kind has 1 to 8 bytes, the last not zero, not {kind!r}")
    data = memoryview(payload).cast("B")
    head = _HEAD.pack(MAGIC, FORMAT, kind, len(data))
    return b"".join((head, _CHECK.pack(_checksum(head, data)), data))


def unseal(data: Data, kind: bytes) -> memoryview:
    """The payload that was sealed, not copied; `DamagedState` if `data` is not what was sealed."""
    blob = memoryview(data).cast("B")
    what = kind.decode(errors="replace")
    if blob[:4] == OLD_MAGIC:
        raise DamagedState(
            f"a {what} of format 1, from a version of Sash without checksums; this version "
            f"reads format {FORMAT}: rebuild the state from its input"
        )
    if len(blob) < HEADER_SIZE:
        raise DamagedState(f"a {what} of {len(blob)} bytes is too short to be one; {REMEDY}")
    magic, version, found, length = _HEAD.unpack_from(blob)
    payload = blob[HEADER_SIZE:]
    (checksum,) = _CHECK.unpack_from(blob, _HEAD.size)
    if magic != MAGIC:
        raise DamagedState(
            f"not a {what} of format {FORMAT}: it was written by another version of Sash, or is "
            f"damaged; {REMEDY}"
        )
    if version != FORMAT:
        raise DamagedState(
            f"a {what} of format {version}; this version of Sash reads format {FORMAT}: read it "
            "with the version that wrote it, or rebuild the state from its input"
        )
    if length != len(payload):
        raise DamagedState(
            f"a damaged {what}: it has {len(payload)} bytes instead of {length}; {REMEDY}"
        )
    if checksum != _checksum(blob[: _HEAD.size], payload):
        raise DamagedState(f"a damaged {what}: its checksum does not match; {REMEDY}")
    if found.rstrip(b"\0") != kind:
        raise DamagedState(f"a {found.rstrip(bytes(1)).decode(errors='replace')}, not a {what}")
    return payload


def _checksum(head: Data, payload: Data) -> int:
    return zlib.crc32(payload, zlib.crc32(head))
