"""Batches of a stream in process: what one costs by the rows in the window, and by late rows.

`benchmarks.streaming` runs them. Batches have 10,000 rows, and ask for max and mean over one window
that is full. Of the batches after that, the time is the median and the bytes are the mean.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

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


def flat(keys: Sequence[int], repeat: int) -> Iterator[Row]:
    """Windows of 10^5 to 10^7 rows: final rows, rows on arrival, and windows every tick."""
    for count in keys:
        for emit, slide in (("final", None), ("arrival", None), ("final", 1)):
            first: Row = {}
            for window in (10, 100, 1_000):
                found = best(count, window, emit, slide, None, repeat)
                first = first or found
                ratios = {
                    "time to 10^5": found["ms per batch"] / first["ms per batch"],
                    "bytes to 10^5": found["MB read"] / first["MB read"],
                }
                yield {"emit": emit if slide is None else f"every {slide}"} | found | ratios


def late(keys: Sequence[int], repeat: int) -> Iterator[Row]:
    """On arrival, with 1 % of rows late by up to the whole delay, against none."""
    for count in keys:
        found = [best(count, 100, "arrival", None, share, repeat) for share in (0.0, 0.01)]
        for share, row in zip((0.0, 0.01), found, strict=True):
            ratio = row["ms per batch"] / found[0]["ms per batch"]
            yield {"late": f"{share:.0%}"} | row | {"time to in order": ratio}


def best(
    keys: int, window: int, emit: Any, slide: int | None, late: float | None, repeat: int
) -> Row:
    """The best of some streams."""
    runs = [fed(keys, window, emit, slide, late) for _ in range(repeat)]
    return min(runs, key=lambda row: row["ms per batch"])


def fed(keys: int, window: int, emit: Any, slide: int | None, late: float | None) -> Row:
    """The median batch of a stream after a window of so many batches is full."""
    rng, delay = np.random.default_rng(1), 0 if late is None else DELAY
    frame = sash.range_between(-window * SPAN, 0)
    defined = sash.stream("k", time="t", emit=emit, delay=delay * SPAN)
    defined = defined if slide is None else defined.every(slide)
    live = defined.agg(hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame))
    seconds, read = [], []
    for number in range(window + delay + WARM + MEASURED):
        batch = rows(rng, number, keys, late or 0)
        start = time.perf_counter()
        live.feed(batch)
        if number >= window + delay + WARM:
            seconds.append(time.perf_counter() - start)
            read.append(live.stats.read)
    kept = {"keys": keys, "rows in the window": window * ROWS}
    return kept | {
        "ms per batch": float(np.median(seconds)) * 1e3,
        "MB read": float(np.mean(read)) / 1e6,
    }


def rows(rng: np.random.Generator, number: int, keys: int, late: float) -> pa.Table:
    """The rows of a batch, in order of time but for those that are late."""
    times = np.sort(rng.integers(number * SPAN, (number + 1) * SPAN, ROWS))
    back = np.where(rng.random(ROWS) < late, rng.integers(0, DELAY * SPAN, ROWS), 0)
    times = np.maximum(0, times - back)
    return pa.table({"k": rng.integers(0, keys, ROWS), "t": times, "x": rng.random(ROWS)})
