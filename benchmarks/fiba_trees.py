"""Trees to measure: filled in order, or with entries far ahead, then slid by bulks."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from sash import monoids as m
from sash import swag
from sash.kernel.words import attach, item, lift, numbers
from sash.swag.fiba.aggregate import ready
from sash.swag.fiba.bulks import address
from sash.swag.fiba.evict import bulk_evict, evict
from sash.swag.fiba.insert import append, insert
from sash.swag.fiba.tree import USED, USED_KIDS, is_empty, youngest

MONOIDS = {"sum": m.Sum, "geomean": m.GeoMean, "bloom": lambda: m.Bloom(1024, 3)}
STEP = 1 << 16


def values(monoid: str, n: int) -> np.ndarray:
    """Items, the same in every run."""
    numbers_ = np.random.default_rng(1).random(n) + 0.5
    return (numbers_ * 1e6).astype(np.int64) if monoid == "bloom" else numbers_


def in_order(monoid: str, min_arity: int, n: int, progress: bool = False) -> Any:
    """A tree of the times 0 to n - 1."""
    xs = values(monoid, STEP)
    tree = swag.FiBA(MONOIDS[monoid]().of(xs.dtype), min_arity, compiled=True)
    for start in range(0, n, STEP):
        count = min(STEP, n - start)
        tree.bulk_insert(np.arange(start, start + count), xs[:count])
        if progress and start % (STEP * 100) == 0:
            print(f"\rfilled {start / n:.1%}", end="", file=sys.stderr, flush=True)
    return tree


def evict_singly(room: Any, n: int) -> int:
    """The loop that a tree without bulk eviction has to run."""
    q = attach(numbers(room))
    for _ in range(n):
        evict(q)
    ready(q)
    return 0


def insert_singly(room: Any, times: Any, xs: Any, n: int) -> int:
    """The loop that a tree without bulk insertion has to run."""
    q = attach(numbers(room))
    times = numbers(times)
    for i in range(n):
        if q.time[youngest(q)] < times[i]:
            append(q, times[i], lift(q, item(xs, i)))
        else:
            insert(q, times[i], lift(q, item(xs, i)))
    ready(q)
    return 0


def follow(room: Any, times: Any, xs: Any, n: int, span: int) -> int:
    """Insert one at a time, anywhere; evict what is `span` older than the youngest."""
    q = attach(numbers(room))
    times = numbers(times)
    for i in range(n):
        if is_empty(q) or q.time[youngest(q)] < times[i]:
            append(q, times[i], lift(q, item(xs, i)))
        else:
            insert(q, times[i], lift(q, item(xs, i)))
        bulk_evict(q, q.time[youngest(q)] - span)
        ready(q)
    return 0


def slide_singly(room: Any, times: Any, xs: Any, n: int) -> int:
    """Evict one, insert one, anywhere, and have the answer ready: n times."""
    q = attach(numbers(room))
    times = numbers(times)
    for i in range(n):
        evict(q)
        if q.time[youngest(q)] < times[i]:
            append(q, times[i], lift(q, item(xs, 0)))
        else:
            insert(q, times[i], lift(q, item(xs, 0)))
        ready(q)
    return 0


class Rounds:
    """Rounds of: evict the m oldest, insert m at distance d from the youngest, query.

    As the paper's: d entries are far in the future, all others come before them.
    """

    def __init__(
        self,
        monoid: str,
        min_arity: int,
        n: int,
        m: int,
        d: int,
        bulk_evict: bool = True,
        bulk_insert: bool = True,
        tree: Any = None,
    ) -> None:
        ways = {(True, True): "bulk", (True, False): "bulk evict", (False, False): "singly"}
        self.name = f"FiBA {min_arity} {ways[bulk_evict, bulk_insert]}"
        self.m, self.xs = m, values(monoid, m)
        self.old, self.young = 0, n - d
        self.tree = tree or in_order(monoid, min_arity, n - d)
        if d:
            self.tree.bulk_insert(2**62 + np.arange(d), values(monoid, d))
        self._evict = self._evict_bulk if bulk_evict else self._evict_singly
        self._insert = self._insert_bulk if bulk_insert else self._insert_singly

    def _evict_bulk(self) -> None:
        self.old += self.m
        self.tree.bulk_evict(self.old - 1)

    def _insert_bulk(self, times: np.ndarray) -> None:
        self.tree.bulk_insert(times, self.xs)

    def _evict_singly(self) -> None:
        self.old += self.m
        kernel = self.tree._kernel(evict_singly, (), self.m)
        kernel.run(self.tree._memory.address, self.m)

    def _insert_singly(self, times: np.ndarray) -> None:
        kernel, room = self.tree._kernel(insert_singly, (self.xs,), self.m), self.tree._memory
        room.enlarge(room.head[USED] + self.m + 99, room.head[USED_KIDS] + self.m + 99)
        kernel.run(room.address, address(times), (address(self.xs),), self.m)

    def _bulks(self, rounds: int) -> list[np.ndarray]:
        """The times of the next bulks."""
        start, self.young = self.young, self.young + rounds * self.m
        return np.split(np.arange(start, self.young), rounds)

    def run(self, rounds: int) -> Any:
        """So many rounds."""
        answer = None
        for times in self._bulks(rounds):
            self._evict()
            self._insert(times)
            answer = self.tree.query()
        return answer

    def run_compiled(self, rounds: int) -> None:
        """So many rounds of one entry each, without Python in between."""
        kernel, room = self.tree._kernel(slide_singly, (self.xs,), rounds), self.tree._memory
        room.enlarge(room.head[USED] + rounds + 99, room.head[USED_KIDS] + rounds + 99)
        times = np.arange(self.young, self.young + rounds)
        self.young, self.old = self.young + rounds, self.old + rounds
        kernel.run(room.address, address(times), (address(self.xs),), rounds)

    def evictions(self, rounds: int) -> np.ndarray:
        """The nanoseconds of each eviction."""
        return self._timed(rounds)[:, 0]

    def insertions(self, rounds: int) -> np.ndarray:
        """The nanoseconds of each insertion."""
        return self._timed(rounds)[:, 1]

    def _timed(self, rounds: int) -> np.ndarray:
        spent = np.zeros((rounds, 2), np.int64)
        for row, times in zip(spent, self._bulks(rounds), strict=True):
            start = time.perf_counter_ns()
            self._evict()
            between = time.perf_counter_ns()
            self._insert(times)
            row[:] = between - start, time.perf_counter_ns() - between
            self.tree.query()
        return spent
