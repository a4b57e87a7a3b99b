"""The estimate of a stream's state, against what a stream keeps and writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.capacity import keys_per_second, sizes_of, written

START = 1_700_000_000_000_000
SECONDS, RATE = 40, 5_000
"""The length of the window, and rows per second; each second is a batch."""


def batch(second: int, keys: int) -> pa.Table:
    """The rows of a second."""
    rng = np.random.default_rng(second)
    times = START + np.sort(rng.integers(second * 10**6, (second + 1) * 10**6, RATE))
    columns = {"k": rng.integers(0, keys, RATE), "t": times.astype("datetime64[us]")}
    return pa.table({**columns, "x": rng.random(RATE)})


def fed(keys: int, every: str | None) -> Any:
    """A stream whose window is full."""
    defined = sash.stream("k", time="t")
    defined = defined if every is None else defined.every(every)
    frame = f"{SECONDS} seconds"
    live = defined.agg(hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame))
    for second in range(SECONDS + 4):
        live.feed(batch(second, keys))
    return live


@pytest.mark.parametrize(
    ("keys", "every"), [(20, None), (2_000, None), (100_000, None), (200, "1 second")]
)
def test_the_estimate_is_near(keys: int, every: str | None) -> None:
    live = fed(keys, every)
    sizes = sizes_of(live._running("explain").definition, RATE, keys)
    assert 0.6 < live.stats.state_bytes / sizes.total < 1.7
    if every is None:
        assert 0.9 < live.stats.state_rows / sizes.items < 1.1


def test_what_is_written_is_what_is_kept_over_the_window() -> None:
    live = fed(2_000, None)
    definition = live._running("explain").definition
    per_second = written(definition, sizes_of(definition, RATE, 2_000), RATE, 2_000)
    total, batches = 0, 8
    for second in range(SECONDS + 4, SECONDS + 4 + batches):
        live.feed(batch(second, 2_000))
        total += live.stats.written
    assert 0.5 < total / batches / per_second < 1.5


def test_keys_of_a_batch() -> None:
    assert keys_per_second(1_000, 10) == pytest.approx(1)  # all keys, in ten seconds
    assert keys_per_second(1, 10**9) == pytest.approx(1)  # each row has a key of its own
