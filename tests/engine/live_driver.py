"""A stream in a process of its own, to be killed: python -m tests.engine.live_driver URL EMIT."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from sash import functions as sf
from tests.engine.streams import FRAMES, rows

STEP, LAST = 20, 500
FRAMES_KEPT = ("time", "long", "rows", "session", "lifetime")


def table() -> pa.Table:
    """600 rows of 4 keys, some late, with ties; the last 100 are for whoever looks after."""
    return rows(np.random.default_rng(9), 600, 4, 6)


def live(store: Any, emit: Any) -> Any:
    """A stream with state of every kind; collect_list is not commutative."""
    asked = {name: sf.collect_list("i").over(FRAMES[name]) for name in FRAMES_KEPT}
    asked |= {"n": sf.count().over(FRAMES["long"]), "who": sf.argmax("x", "s").over(FRAMES["time"])}
    return sash.stream("k", time="t", emit=emit, delay=4, store=store).agg(**asked)


def main(url: str, emit: str) -> None:
    stream, given = live(url, emit), table()
    start = stream.offset or 0
    while start < LAST:
        stream.feed(given.slice(start, STEP))
        start += STEP
        stream.commit(offset=start)
        print(start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
