"""Bins: how many numbers lie between the edges of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry
from sash.monoids.sums import plus


def BinCounts(edges: Sequence[float]) -> Monoid:
    """How many numbers are in each bin, as a vector of one count per bin; it compiles.

    As NumPy's histogram: a bin has its left edge, the last one both; numbers outside of
    all bins, NaN and nulls are not counted. A combine adds two vectors.

    >>> w = BinCounts([0, 10, 100])
    >>> w.lower(w.combine(w.lift(3), w.combine(w.lift(10), w.lift(200)))).tolist()
    [1, 1]
    """
    known = tuple(float(edge) for edge in edges)
    bins = len(known) - 1
    if bins < 1 or not all(a < b for a, b in pairwise(known)):
        raise ValueError(f"BinCounts: edges must be two numbers or more, rising, not {edges!r}")
    zero = np.zeros(bins, np.int64)
    zero.setflags(write=False)

    def fill(out: Any, x: Any) -> None:
        v = float(+x)
        if known[0] <= v <= known[bins]:
            low, high = 0, bins  # the bin is among those from low to high - 1
            while high - low > 1:
                middle = (low + high) // 2
                if v >= known[middle]:
                    low = middle
                else:
                    high = middle
            out[low] += 1

    def lift(x: Any) -> Any:
        out = zero.copy()
        if x is not None:
            fill(out, x)
        return out

    return entry(
        BinCounts, Monoid("BinCounts", zero, lift, plus, commutative=True, fill=fill), edges=known
    )
