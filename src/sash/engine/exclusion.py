"""Exclusion: the windows of a frame without each row, or without its peers.

What is left of a window is its rows before those that are left out, maybe the row itself, and
its rows after them. The bounds of each piece only grow, so each is followed like a window of
its own. Many frames end where the rows that are left out do. Then what is left is in one piece,
which is found as windows are that end before those rows; the row itself, or its peers after it,
are a second one. Pieces of other frames are cut out of their windows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.engine.bounds import FURTHEST, Bounds, advance, before_peers, rows_away
from sash.engine.frames import ITSELF, PEERS, End, EndFinder, keys_before, time_target
from sash.engine.lengths import Lengths
from sash.engine.pieces import PeersAfter, Pieces
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, Partials, attach, get, straight
from sash.windows.frames import (
    Frame,
    Groups,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    length,
)


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


class PeerColumns(NamedTuple):
    """Times by row number, where keys begin, and what `later_peers` writes."""

    time: Partials
    keys: Int64
    which: Int64
    held: int


class LaterPeers(NamedTuple):
    """How many peers the last row has after it, and how many rows have some."""

    last: int
    rows: int


def later_peers(memory: Memory, begin: int, end: int, keys: int) -> LaterPeers:
    """The rows of `begin` to `end` - 1 that have peers after them, the youngest first.

    Each row is written, and few stay: so nothing has to be guessed.
    """
    q = attach(memory)
    more, count = 0, 0
    for key in range(keys - 1, -1, -1):
        first, stop = max(q.keys[key], begin), q.keys[key + 1]
        last = min(stop, end)
        later = get(q.time, last - 1)
        peers = advance(q, last, stop, later, True) - last
        if key == keys - 1:
            more = peers
        q.which[count] = last - 1 - begin
        count += peers > 0
        times = straight(q.time, first)
        for i in range(last - 2 - first, -1, -1):
            time = get(times, i)
            q.which[count] = first + i - begin
            count += time == later
            later = time
    return LaterPeers(more, count)


@functools.cache
def peers_pass(dtype: np.dtype) -> Any:
    """`later_peers`, compiled for times of `dtype`."""
    return compiled(later_peers, time_target(dtype, LaterPeers, PeerColumns)).run


@functools.cache
def loop(driver: Callable[..., Any]) -> Any:
    """A compiled loop."""
    return compiled(driver, time_target(np.dtype(np.int64), Lengths, Columns)).run


def end_before(frame: Frame, upper: End, ties: bool) -> End | None:
    """How the end of windows is found that end before the rows that are left out, where those are
    the last ones up to the row's peers; None: they are cut out.

    `upper`: how the frame's own end is found; `ties`: whether peers are not all rows of a time.
    """
    if frame.exclude is None or frame.most is not None or upper not in (PEERS, ITSELF):
        return None
    if not isinstance(frame, Rows | Groups | Range | Session | Sliding | Lifetime):
        return None
    if isinstance(frame, Rows | Groups | Range) and not _has_row(frame):
        return None
    if frame.exclude == "current row":
        return End(rows_away, 0)
    return None if ties and not isinstance(frame, Groups) else End(before_peers)


def _has_row(frame: Rows | Groups | Range) -> bool:
    """Whether a frame that ends at the row or its peers has the row."""
    before = math.inf if frame.preceding is None else length(frame.preceding)
    opened = isinstance(frame, Range) and frame.closed in ("right", "neither")
    return before > 0 or (before == 0 and not opened)


def first_peer(time: Tape, key: int, row: int) -> int:
    """The first row of a row's time; `key`: the first row of its key."""
    mine = time.values[key - time.base : row + 1 - time.base]
    return key + int(np.searchsorted(mine, mine[-1], "left"))


class EndExclusion:
    """The further pieces of windows whose last rows are left out."""

    def __init__(self, frame: Frame, dtype: np.dtype) -> None:
        self._keeps_row = frame.exclude == "ties"
        self._goes_on = frame.pieces() > 1 + self._keeps_row
        self._to_peers = peers_pass(dtype)
        self._which = np.empty(0, np.int64)

    def with_rest(self, block: Block, time: Tape) -> Bounds | Pieces:
        """The windows of a block and their further pieces. Good until the next call."""
        bounds, begin, n = block.bounds, block.begin, len(block.bounds)
        after = range(begin + 1, begin + n + 1)
        if self._keeps_row:
            return Pieces((bounds, Bounds(range(begin, begin + n), after, 1, 1, even=True)))
        if not self._goes_on:
            return bounds
        if n > len(self._which):
            self._which = np.empty(n, np.int64)
        keys = keys_before(block.keys, begin + n, block.stop)
        memory = (time.address, -1, keys.ctypes.data, 0, self._which.ctypes.data, 0, 0)
        last, count = self._to_peers(memory, begin, begin + n, len(keys) - 1)
        return Pieces((bounds, PeersAfter(after, last, self._which[:count])))


class Block(NamedTuple):
    """The rows that are worked on: their windows, and where the first of each key is."""

    bounds: Bounds
    begin: int
    keys: np.ndarray  # from that of row `begin` on
    stop: int  # the row after the last that is at hand


class Exclusion:
    """Cuts out of a frame's windows the rows that the frame leaves out; keeps its place."""

    def __init__(self, frame: Frame, dtype: np.dtype, ties: bool = False) -> None:
        """`dtype`: of the numbers by which rows are peers, times or those of their groups;
        `ties`: whether peers are not all rows of a time."""
        self._keeps_row = frame.exclude == "ties"
        self._goes_on = frame.pieces(ties) > 1 + self._keeps_row
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
            self._peers[0].begin_at(first_peer(time, int(block.keys[0]), block.begin))
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
