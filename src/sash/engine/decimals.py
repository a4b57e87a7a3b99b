"""Decimals of up to 18 digits as 64-bit integers: what Arrow keeps of them, without the point."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.excluding import combiner_of
from sash.engine.fixed import column_of, known_of
from sash.engine.pieces import Pieces
from sash.plan.plan import Plan, State

HALF, LOW = 32, (1 << 32) - 1


def unscaled(column: pa.Array) -> pa.Array:
    """Decimals of up to 18 digits as integers, in units of their last place."""
    words = np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), 16 * column.offset)
    known = known_of(column) if column.null_count else None
    return column_of(pa.int64(), np.ascontiguousarray(words[::2]), known)


class DecimalSum:
    """Sums decimals of up to 18 digits, exactly: upper and lower halves of integers by themselves.

    A sum of halves has room for 2^31 rows; together they are the 128 bits of the answer.
    """

    def __init__(self, plan: Plan, state: State) -> None:
        [asked] = state.asked
        self._kind = asked.result([plan.schema.field(state.columns[0]).type])
        self._halves = combiner_of(plan, state, [pa.int64(), pa.int64()])

    def take(self, columns: list[pa.Array]) -> None:
        whole = unscaled(columns[0])
        values = np.frombuffer(whole.buffers()[1], np.int64, len(whole))
        known = known_of(whole) if whole.null_count else None
        halves = (values >> HALF, values & LOW)
        self._halves.take([column_of(pa.int64(), half, known) for half in halves])

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._halves.known(bounds)
        found, _ = self._halves.follow(known)
        upper, lower = (found[name] for name in found.dtype.names)
        upper = upper + (lower >> HALF)
        words = np.empty((len(upper), 2), np.int64)
        words[:, 0], words[:, 1] = (upper << HALF) | (lower & LOW), upper >> HALF
        empty = known.empty
        valid = None if empty is None else pa.py_buffer(np.packbits(~empty, bitorder="little"))
        return [pa.Array.from_buffers(self._kind, len(words), [valid, pa.py_buffer(words)])]

    def forget(self, row: int) -> None:
        self._halves.forget(row)
