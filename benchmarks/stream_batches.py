"""Batches of a stream in process: what one costs by the rows in the window, and by late rows.

`benchmarks.streaming` runs them. Batches have 10,000 rows, and ask for max and mean over one window
that is full. Streams that are compared are fed in turn, a batch each, so that both have the same
machine. Of these batches, the time is the median and the bytes are the mean.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sash
from sash import functions as sf

Row = dict[str, Any]
ROWS, SPAN = 10_000, 1_000
"""The rows of a batch, and the time that it spans."""

WARM, MEASURED = 16, 32
"""Batches after the window is full that are not measured, and those that are: every size of node
up to 32 bulks is built in turn."""

DELAY = 10
"""Late rows are late by up to so many batches."""


class Kind(NamedTuple):
    """A stream: how many keys, how many batches in the window, when it answers, and which share
    of its rows is late."""

    keys: int
    window: int
    emit: Any
    slide: int | None = None
    late: float | None = None


def flat(keys: Sequence[int], repeat: int) -> Iterator[Row]:
    """Windows of 10^5 to 10^7 rows: final rows, rows on arrival, and windows every tick."""
    for count in keys:
        for emit, slide in (("final", None), ("arrival", None), ("final", 1)):
            found = best([Kind(count, n, emit, slide) for n in (10, 100, 1_000)], repeat)
            for row in found:
                ratios = {
                    "time to 10^5": row["ms per batch"] / found[0]["ms per batch"],
                    "bytes to 10^5": row["MB read"] / found[0]["MB read"],
                }
                yield {"emit": emit if slide is None else f"every {slide}"} | row | ratios


def late(keys: Sequence[int], repeat: int) -> Iterator[Row]:
    """On arrival, with 1 % of rows late by up to the whole delay, against none."""
    for count in keys:
        shares = (0.0, 0.01)
        found = best([Kind(count, 100, "arrival", None, share) for share in shares], repeat)
        for share, row in zip(shares, found, strict=True):
            ratio = row["ms per batch"] / found[0]["ms per batch"]
            yield {"late": f"{share:.0%}"} | row | {"time to in order": ratio}


def best(kinds: Sequence[Kind], repeat: int) -> list[Row]:
    """For each kind the best of some streams."""
    runs = [together(kinds) for _ in range(repeat)]
    return [min(found, key=lambda row: row["ms per batch"]) for found in zip(*runs, strict=True)]


def together(kinds: Sequence[Kind]) -> list[Row]:
    """Streams whose windows are full, fed in turn."""
    streams = [Fed(kind) for kind in kinds]
    for stream in streams:
        for _ in range(stream.full + WARM):
            stream.feed()
        stream.seconds, stream.read = [], []
    for _ in range(MEASURED):
        for stream in streams:
            stream.feed()
    return [stream.figures() for stream in streams]


class Fed:
    """A stream, with the time and the bytes of its batches."""

    def __init__(self, kind: Kind) -> None:
        delay = 0 if kind.late is None else DELAY
        frame = sash.range_between(-kind.window * SPAN, 0)
        defined = sash.stream("k", time="t", emit=kind.emit, delay=delay * SPAN)
        defined = defined if kind.slide is None else defined.every(kind.slide)
        self._live = defined.agg(hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame))
        self._kind, self._rng, self._number = kind, np.random.default_rng(1), 0
        self.full = kind.window + delay
        self.seconds: list[float] = []
        self.read: list[int] = []

    def feed(self) -> None:
        batch = rows(self._rng, self._number, self._kind.keys, self._kind.late or 0)
        self._number += 1
        start = time.perf_counter()
        self._live.feed(batch)
        self.seconds.append(time.perf_counter() - start)
        self.read.append(self._live.stats.read)

    def figures(self) -> Row:
        return {
            "keys": self._kind.keys,
            "rows in the window": self._kind.window * ROWS,
            "ms per batch": float(np.median(self.seconds)) * 1e3,
            "MB read": float(np.mean(self.read)) / 1e6,
        }


def rows(rng: np.random.Generator, number: int, keys: int, late: float) -> pa.Table:
    """The rows of a batch, in order of time but for those that are late."""
    times = np.sort(rng.integers(number * SPAN, (number + 1) * SPAN, ROWS))
    back = np.where(rng.random(ROWS) < late, rng.integers(0, DELAY * SPAN, ROWS), 0)
    times = np.maximum(0, times - back)
    return pa.table({"k": rng.integers(0, keys, ROWS), "t": times, "x": rng.random(ROWS)})
