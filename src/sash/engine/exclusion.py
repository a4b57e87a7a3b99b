"""Exclusion: the windows of a frame without each row, or without its peers.

What is left of a window is its rows before those that are left out, maybe the row itself, and
its rows after them. The bounds of each piece only grow, so each is followed like a window of
its own. Many frames end where the rows that are left out do: then what is left is in one piece.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.engine.bounds import FURTHEST, Bounds, Lengths, before_peers
from sash.engine.frames import PEERS, End, EndFinder, keys_before, time_target
from sash.engine.pieces import Pieces
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, attach
from sash.windows.frames import Frame


class Columns(NamedTuple):
    """Windows, one end of the rows that are left out of each, and that end within the window."""

    lo: Int64
    hi: Int64
    out: Int64
    cut: Int64
    held: int


def cut_before(memory: Memory, n: int, begin: int, alone: int) -> Lengths:
    """End each window before the rows that are left out: the row itself where it is `alone`."""
    q = attach(memory)
    longest, shortest = 0, FURTHEST
    for i in range(n):
        out = begin + i if alone else q.out[i]
        cut = min(max(out, q.lo[i]), q.hi[i])
        q.cut[i] = cut
        longest, shortest = max(longest, cut - q.lo[i]), min(shortest, cut - q.lo[i])
    return Lengths(longest, shortest)


def cut_after(memory: Memory, n: int, begin: int, alone: int) -> Lengths:
    """Begin each window after the rows that are left out."""
    q = attach(memory)
    longest, shortest = 0, FURTHEST
    for i in range(n):
        out = begin + i + 1 if alone else q.out[i]
        cut = min(max(out, q.lo[i]), q.hi[i])
        q.cut[i] = cut
        longest, shortest = max(longest, q.hi[i] - cut), min(shortest, q.hi[i] - cut)
    return Lengths(longest, shortest)


@functools.cache
def loop(driver: Callable[..., Any]) -> Any:
    """A compiled loop."""
    return compiled(driver, time_target(np.dtype(np.int64), Lengths, Columns)).run


class Block(NamedTuple):
    """The rows that are worked on: their windows, and where the first of each key is."""

    bounds: Bounds
    begin: int
    keys: np.ndarray  # from that of row `begin` on
    stop: int  # the row after the last that is at hand


class Exclusion:
    """Cuts out of a frame's windows the rows that the frame leaves out; keeps its place."""

    def __init__(self, frame: Frame, dtype: np.dtype) -> None:
        """`dtype`: of the numbers by which rows are peers, times or those of their groups."""
        self._keeps_row = frame.exclude == "ties"
        self._goes_on = frame.pieces > 1 + self._keeps_row
        self._peers: tuple[EndFinder, ...] = ()
        if frame.exclude != "current row":
            ends = (End(before_peers), *(PEERS,) * self._goes_on)
            self._peers = tuple(EndFinder(end, dtype) for end in ends)
        self._begun = False
        self._arrays = [np.empty(0, np.int64)] * 4

    def cut(self, block: Block, time: Tape) -> Bounds | Pieces:
        """What is left of the windows of a block. Good until the next call."""
        bounds, n = block.bounds, len(block.bounds)
        if n > len(self._arrays[0]):
            self._arrays = [np.empty(n, np.int64) for _ in self._arrays]
        out = [array[:n] for array in self._arrays[: len(self._peers)]]
        left, right = (array[:n] for array in self._arrays[2:])
        if self._peers:
            self._find_peers(block, time, out)
        lengths = self._cut(cut_before, block, out[0] if out else left, left)
        parts = [Bounds(bounds.lo, left, *lengths)]
        if self._keeps_row:
            rows = np.arange(block.begin, block.begin + n)
            parts.append(Bounds.of(*(np.clip(r, bounds.lo, bounds.hi) for r in (rows, rows + 1))))
        if self._goes_on:
            lengths = self._cut(cut_after, block, out[1] if out else right, right)
            parts.append(Bounds(right, bounds.hi, *lengths))
        return Pieces(tuple(parts)) if len(parts) > 1 else parts[0]

    def _find_peers(self, block: Block, time: Tape, out: list[np.ndarray]) -> None:
        """The first of each row's peers, and the row after the last where that is asked."""
        if not self._begun:  # maybe in the middle of peers, where other rows are another's part
            key = int(block.keys[0])
            mine = time.values[key - time.base : block.begin + 1 - time.base]
            self._peers[0].begin_at(key + int(np.searchsorted(mine, mine[-1], "left")))
            self._begun = True
        keys = keys_before(block.keys, block.begin + len(out[0]), block.stop)
        for finder, found in zip(self._peers, out, strict=True):
            finder.find(time, keys, 0, block.begin, found)

    def _cut(self, driver: Any, block: Block, out: np.ndarray, cut: np.ndarray) -> Lengths:
        given = [
            np.ascontiguousarray(side, np.int64) for side in (block.bounds.lo, block.bounds.hi)
        ]
        places = (array.ctypes.data for array in (*given, out, cut))
        memory = (*(number for place in places for number in (place, 0)), 0)
        return Lengths(*loop(driver)(memory, len(cut), block.begin, not self._peers))
