"""Runs of windows over slices: every window comes once, with the slices that plain Python finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sash.engine.stream.window_runs import RunFinder


def expected(
    keys: list[list[float]], size: float, slide: float, offset: float, least: int, upto: float
) -> list[tuple[int, int, float]]:
    """Each window with slices of a key, from number `least` on: its slices, and its start."""
    found, first = [], 0
    for times in keys:
        number = least
        while (start := offset + number * slide) + size <= upto:
            inside = [i for i, t in enumerate(times) if start <= t < start + size]
            if inside:
                found.append((first + inside[0], first + inside[-1] + 1, start))
            number += 1
        first += len(times)
    return found


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_runs_are_windows(dtype: type) -> None:
    rng = np.random.default_rng(5)
    unit = 1 if dtype is np.int64 else 0.1  # sums of 0.1 are rounded
    for _ in range(60):
        size, slide, offset = (int(x) * unit for x in rng.integers(1, 12, 3))
        keys = [
            (np.unique(rng.integers(-20, 60, int(rng.integers(1, 9)))) * unit).astype(dtype)
            for _ in range(int(rng.integers(1, 5)))
        ]
        least, upto = int(rng.integers(-8, 4)), int(rng.integers(20, 90)) * unit
        begins = np.cumsum([0, *(len(times) for times in keys)])[:-1]
        finder = RunFinder(np.dtype(dtype), size, slide, offset)
        runs = finder.find(np.concatenate(keys), begins, least, upto)
        starts, ends = finder.spans(runs)
        lo, hi = (runs.repeated(pa.array(side)).to_pylist() for side in (runs.lo, runs.hi))
        found = list(zip(lo, hi, starts.tolist(), strict=True))
        listed = [times.tolist() for times in keys]
        assert found == expected(listed, size, slide, offset, least, upto)
        assert (ends == starts + size).all()
        assert len(runs.lo) <= 2 * len(np.concatenate(keys)) + len(keys) or dtype is np.float64


def test_values_of_runs_of_any_type() -> None:
    finder = RunFinder(np.dtype(np.int64), 4, 1, 0)
    runs = finder.find(np.array([0, 9]), np.array([0]), 0, 12)
    assert runs.counts.tolist() == [1, 3]
    for values in (["a", None], [1.5, None], [1, 2], [None, [3]]):
        given = pa.array(values)
        assert runs.repeated(given).to_pylist() == [values[0], values[1], values[1], values[1]]
        assert runs.repeated(given).type == given.type
