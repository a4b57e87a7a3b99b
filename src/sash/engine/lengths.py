"""Lengths: how many rows windows have, on which their memory and shape depend."""

from __future__ import annotations

from typing import NamedTuple

from sash.engine.bounds import FURTHEST
from sash.kernel.words import Int64, Memory, attach

STRETCH = 64
"""Windows that are measured at once."""


class Ends(NamedTuple):
    """Both ends of windows."""

    lo: Int64
    hi: Int64
    held: int


class Lengths(NamedTuple):
    """How many rows windows have, at most and at least."""

    longest: int
    shortest: int


def measure(memory: Memory, at: Lengths, n: int) -> Lengths:
    """How long n windows are at most and at least; one that ends before it begins is empty.

    Ends only grow. So where the first window of a stretch ends after the last one begins, none
    is empty. What they have together, less than the first and the last have, is the most.
    """
    q = attach(memory)
    longest, shortest = 0, FURTHEST
    for first in range(0, n, STRETCH):
        last = min(first + STRETCH, n) - 1
        least = q.hi[first] - q.lo[last]
        if least > 0:
            longest, shortest = max(longest, q.hi[last] - q.lo[first]), min(shortest, least)
        else:
            for i in range(first, last + 1):
                lo, hi = q.lo[i], max(q.lo[i], q.hi[i])
                q.hi[i] = hi
                longest, shortest = max(longest, hi - lo), min(shortest, hi - lo)
    return Lengths(longest, shortest)
