"""Texts: which values of a column of text are one text, compared by eight bytes at a time.

Conditions on text are mostly of this kind, and Arrow compares value by value, which takes longer
than a window over numbers does.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import Address, Int8, Int32, Int64, Memory, attach, numbers
from sash.monoids.monoid import Monoid, same

WORTH_A_KERNEL = 1 << 14
"""Values from which on a compiled loop is worth its loading."""

WORD = 8


class Narrow(NamedTuple):
    """The columns that `compare` reads and writes: where values begin, and what is found."""

    begins: Int32
    found: Int8
    wanted: Int64
    held: int


class Wide(NamedTuple):
    """The same of large texts."""

    begins: Int64
    found: Int8
    wanted: Int64
    held: int


class Nothing(NamedTuple):
    """Nothing is kept from one value to the next."""

    row: int


def compare(memory: Memory, n: int, texts: Address, length: int, last: int) -> int:
    """Whether each of n values is the wanted text, of which there are words, the last one in part:
    its bits in `last`. No value is guessed, as that would be wrong as often as texts differ."""
    q = attach(memory)
    words = (length + WORD - 1) // WORD
    for i in range(n):
        begin = q.begins[i]
        value = numbers(texts + begin)
        other = (q.begins[i + 1] - begin) ^ length
        for k in range(words - 1):
            other |= value[k] ^ q.wanted[k]
        other |= (value[words - 1] ^ q.wanted[words - 1]) & last
        q.found[i] = other == 0
    return 0


@functools.cache
def kernel(columns: type) -> Any:
    """The loop, compiled."""
    nothing = Monoid("texts", 0, same, max, dtype=np.int64)
    return compiled(compare, Target(nothing, Layout(np.dtype(np.int64)), {}, Nothing, columns)).run


def are(column: Any, text: str) -> Any:
    """Which values of a column, or whether the one of a scalar, are a text; null where they are
    null."""
    if isinstance(column, pa.Scalar):
        return pc.equal(column, pa.scalar(text, column.type))
    wide = pa.types.is_large_string(column.type)
    _, begins, bytes_ = column.buffers()
    wanted = text.encode()
    if len(column) < WORTH_A_KERNEL or not wanted or bytes_ is None:
        return pc.equal(column, pa.scalar(text, column.type))
    words = -(-len(wanted) // WORD)
    kind = np.dtype(np.int64 if wide else np.int32)
    offsets = np.frombuffer(begins, kind, len(column) + 1, column.offset * kind.itemsize)
    inside = int(np.searchsorted(offsets[:-1], bytes_.size - words * WORD, "right"))
    padded = np.frombuffer(wanted.ljust(words * WORD, b"\0"), np.int64)
    last = (1 << 8 * ((len(wanted) - 1) % WORD + 1)) - 1
    found = np.frombuffer(pa.allocate_buffer(inside), np.int8)  # memory that Arrow keeps
    memory = (*(x for a in (offsets, found, padded) for x in (a.ctypes.data, 0)), 0)
    signed = last - (1 << 64) if last >> 63 else last
    kernel(Wide if wide else Narrow)(memory, inside, bytes_.address, len(wanted), signed)
    rest = pc.equal(column.slice(inside), pa.scalar(text, column.type))
    bits = pa.py_buffer(np.packbits(found, bitorder="little"))
    known = pc.is_valid(column.slice(0, inside)).buffers()[1] if column.null_count else None
    first = pa.Array.from_buffers(pa.bool_(), inside, [known, bits])
    return pa.concat_arrays([first, rest]) if len(rest) else first
