"""Rows numbered among the known ones, in batches, some of them forgotten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sash.engine.bounds import Bounds
from sash.engine.ranks import Ranks


@pytest.mark.parametrize("first", [0, 60])
@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
def test_windows_among_the_known_rows(first: int, nulls: float) -> None:
    """`first`: where nulls begin; before that, rows are known and nothing is kept of them."""
    rng = np.random.default_rng(first)
    known = rng.random(300) >= nulls
    known[:first] = True
    column = pa.array(np.arange(300), mask=~known)
    before = np.append(0, np.cumsum(known))
    ranks, done = Ranks(), 0
    while done < 300:
        n = int(rng.integers(0, 40))
        taken = ranks.take(column.slice(done, n))
        assert (
            taken.to_pylist()
            == np.flatnonzero(known)[before[done] : before[min(300, done + n)]].tolist()
        )
        done = min(300, done + n)
        oldest = max(0, done - 50)
        lo = np.sort(rng.integers(oldest, done + 1, 20))
        hi = np.maximum(lo, np.sort(rng.integers(oldest, done + 1, 20)))
        found = ranks.of(Bounds.of(lo, hi))
        assert found.lo.tolist() == before[lo].tolist()
        assert found.hi.tolist() == before[hi].tolist()
        sizes = before[hi] - before[lo]
        assert found.longest == sizes.max()
        assert (found.shortest > 0) == (sizes.min() > 0)
        assert ranks.before(done) == before[done]
        ranks.forget(oldest)
