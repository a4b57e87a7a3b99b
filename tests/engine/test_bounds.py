"""Bounds of many keys, block by block, against those of each key all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sash
from sash.engine.frames import Finder
from sash.engine.tape import Tape
from sash.windows import Frame, bounds

SIZES = [1, 700, 2, 3, 64, 1, 300, 63, 128, 5]
"""Rows of each key: with one row, too few for parts, just enough, and many."""

FRAMES: dict[str, Frame] = {
    "last": sash.range_between(-20, 0),
    "open": sash.range_between(-20, 0, closed="neither"),
    "right": sash.range_between(-20, 0, closed="right"),
    "around": sash.range_between(-7, 30),
    "around_left": sash.range_between(-7, 30, closed="left"),
    "before": sash.range_between(-90, -30),
    "after": sash.range_between(3, 60),
    "far": sash.range_between(-100_000, 100_000),
    "unbounded": sash.range_between(None, 9),
    "rest": sash.range_between(-9, None),
    "lifetime": sash.lifetime(),
    "session": sash.session(4),
    "sliding": sash.sliding(40, 15, 3),
    "sliding_both": sash.sliding(40, 15, 3, closed="both"),
    "rows": sash.rows(7),
    "rows_around": sash.rows_between(-3, 90),
    "rows_after": sash.rows_between(2, 4),
    "rows_far": sash.rows_between(-(2**62) - 1, 2**63 - 2),
}


def times_of(kind: Any, how: str, seed: int) -> list[np.ndarray]:
    """The sorted times of each key."""
    rng = np.random.default_rng(seed)
    if how == "regular":
        return [np.arange(n, dtype=kind) * 3 for n in SIZES]
    spread = {"random": 5, "ties": 1, "bursts": 1}[how]
    found = [rng.integers(-n, n * spread, n) for n in SIZES]
    if how == "bursts":
        found = [t // 40 * 100 + rng.integers(0, 2, len(t)) for t in found]
    return [np.sort(t).astype(kind) / (8 if kind is np.float64 else 1) for t in found]


def found_in_blocks(
    frame: Frame, times: list[np.ndarray], block: int
) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    flat = np.concatenate(times).astype(times[0].dtype)
    keys = np.cumsum([0, *map(len, times[:-1])])
    finder, tape, n = Finder(frame, flat.dtype, None), Tape(flat.dtype, flat), len(flat)
    parts, lengths = [], []
    for begin in range(0, n, block):
        end = min(n, begin + block)
        here = keys[np.searchsorted(keys, begin, "right") - 1 :]
        found = finder.find(tape, here, None, begin, end, n)
        parts.append((found.lo.copy(), found.hi.copy()))
        sizes = found.hi - found.lo
        lengths.append(sizes.max() <= found.longest <= max(0, 2 * sizes.max() - 1))
        lengths.append(min(1, sizes.min()) <= found.shortest <= sizes.min())
    lo, hi = (np.concatenate(side) for side in zip(*parts, strict=True))
    return lo, hi, lengths


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("how", ["random", "ties", "bursts", "regular"])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_blocks_of_many_keys(kind: Any, how: str, name: str) -> None:
    frame, times = FRAMES[name], times_of(kind, how, seed=len(name))
    for block in (2000, 333):
        lo, hi, lengths = found_in_blocks(frame, times, block)
        assert all(lengths)
        start = 0
        for t in times:
            wanted_lo, wanted_hi = bounds(frame, t)
            stop = start + len(t)
            some = wanted_lo < wanted_hi  # where an empty window lies is no one's concern
            assert ((lo < hi)[start:stop] == some).all()
            assert (lo[start:stop][some] - start == wanted_lo[some]).all()
            assert (hi[start:stop][some] - start == wanted_hi[some]).all()
            start = stop
        assert (np.diff(lo) >= 0).all()
        assert (np.diff(hi) >= 0).all()


def test_ends_of_the_integers() -> None:
    """Many rows are compared at once where no edge leaves the integers, else one by one."""
    rng = np.random.default_rng(5)
    middle = np.sort(rng.integers(-(2**40), 2**40, 500))
    ends = np.sort(rng.integers(2**63 - 10**6, 2**63 - 1, 500))
    for times in (middle, ends, ~ends[::-1]):
        for frame in (sash.range_between(-(10**4), 10**4), sash.range_between(-9000, -10)):
            lo, hi = bounds(frame, times)
            found_lo, found_hi, _ = found_in_blocks(frame, [times], 500)
            some = lo < hi
            assert (found_lo[some] == lo[some]).all()
            assert (found_hi[some] == hi[some]).all()
