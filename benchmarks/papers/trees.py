"""Windows to slide by bulks: FiBA's trees, in order or with entries far ahead, and others."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from sash import monoids as m
from sash import swag
from sash.kernel.words import Address, InputColumns, attach, item, lift, numbers
from sash.swag.fiba.aggregate import ready
from sash.swag.fiba.bulks import address
from sash.swag.fiba.evict import bulk_evict, evict
from sash.swag.fiba.insert import append, insert
from sash.swag.fiba.nodes import push, reopen
from sash.swag.fiba.tree import (
    DEFERRED,
    FREE_INNER,
    USED,
    USED_KIDS,
    is_empty,
    oldest,
    youngest,
)

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


def evict_singly(room: Address, n: int) -> int:
    """The loop that a tree without bulk eviction has to run."""
    q = attach(numbers(room))
    for _ in range(n):
        evict(q)
    ready(q)
    return 0


def evict_and_free(room: Address, t: int) -> int:
    """A bulk eviction that visits all nodes which go, as without the deferred free list."""
    q = attach(numbers(room))
    bulk_evict(q, t)
    while q.head[DEFERRED] != 0:
        push(q, FREE_INNER, reopen(q))
    ready(q)
    return 0


def insert_singly(room: Address, times: Address, xs: InputColumns, n: int) -> int:
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


def follow(room: Address, times: Address, xs: InputColumns, n: int, span: int) -> int:
    """Insert one at a time, anywhere; evict what is `span` older than the youngest, in bulk."""
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


def follow_singly(room: Address, times: Address, xs: InputColumns, n: int, span: int) -> int:
    """As `follow`, with an eviction for each entry that goes."""
    q = attach(numbers(room))
    times = numbers(times)
    for i in range(n):
        if is_empty(q) or q.time[youngest(q)] < times[i]:
            append(q, times[i], lift(q, item(xs, i)))
        else:
            insert(q, times[i], lift(q, item(xs, i)))
        while q.time[oldest(q)] <= q.time[youngest(q)] - span:
            evict(q)
        ready(q)
    return 0


def slide_singly(room: Address, times: Address, xs: InputColumns, n: int) -> int:
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


def slide_by_bulk_evict(room: Address, times: Address, xs: InputColumns, n: int) -> int:
    """As `slide_singly`, with a bulk eviction for each entry that goes."""
    q = attach(numbers(room))
    times = numbers(times)
    for i in range(n):
        bulk_evict(q, q.time[oldest(q)])
        if q.time[youngest(q)] < times[i]:
            append(q, times[i], lift(q, item(xs, 0)))
        else:
            insert(q, times[i], lift(q, item(xs, 0)))
        ready(q)
    return 0


class Rounds(ABC):
    """Rounds of: evict the m oldest entries, insert m, query."""

    name: str

    def __init__(self, n: int, m: int, d: int, xs: np.ndarray) -> None:
        self.m, self.xs = m, xs
        self.old, self.young = 0, n - d

    @abstractmethod
    def evict(self) -> None:
        """Evict the m oldest."""

    @abstractmethod
    def insert(self, times: np.ndarray) -> None:
        """Insert m entries at these times."""

    @abstractmethod
    def query(self) -> Any: ...

    def _bulks(self, rounds: int) -> list[np.ndarray]:
        """The times of the next bulks."""
        start, self.young = self.young, self.young + rounds * self.m
        return np.split(np.arange(start, self.young), rounds)

    def run(self, rounds: int) -> Any:
        """So many rounds."""
        answer = None
        for times in self._bulks(rounds):
            self.evict()
            self.insert(times)
            answer = self.query()
        return answer

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
            self.evict()
            between = time.perf_counter_ns()
            self.insert(times)
            row[:] = between - start, time.perf_counter_ns() - between
            self.query()
        return spent


class InOrderRounds(Rounds):
    """Rounds of an algorithm that works in order; what it has no bulks for is a compiled loop."""

    def __init__(self, algorithm: Any, monoid: str, n: int, m: int) -> None:
        super().__init__(n, m, 0, values(monoid, m))
        self.name = algorithm.__name__
        self.window = algorithm(MONOIDS[monoid]().of(self.xs.dtype), compiled=True)
        for start in range(0, n, STEP):
            self.window.insert_many(values(monoid, min(STEP, n - start)))

    def evict(self) -> None:
        self.window.evict_many(self.m)

    def insert(self, times: np.ndarray) -> None:
        self.window.insert_many(self.xs)

    def query(self) -> Any:
        return self.window.query()


class TreeRounds(Rounds):
    """Rounds of FiBA, at distance d from the youngest.

    As the paper's: d entries are far in the future, all others come before them.
    """

    def __init__(
        self,
        monoid: str,
        min_arity: int,
        n: int,
        m: int,
        d: int = 0,
        bulk_evict: bool = True,
        bulk_insert: bool = True,
        deferred: bool = True,
        tree: Any = None,
    ) -> None:
        super().__init__(n, m, d, values(monoid, m))
        ways = {(True, True): "bulk", (True, False): "bulk evict", (False, False): "singly"}
        self.name = f"FiBA {min_arity} {ways[bulk_evict, bulk_insert]}"
        self.name += "" if deferred else ", no deferred free list"
        self.tree = tree or in_order(monoid, min_arity, n - d)
        if d:
            self.tree.bulk_insert(2**62 + np.arange(d), values(monoid, d))
        self._bulk_evict, self._bulk_insert, self._deferred = bulk_evict, bulk_insert, deferred

    def evict(self) -> None:
        self.old += self.m
        if self._bulk_evict and self._deferred:
            self.tree.bulk_evict(self.old - 1)
        elif self._bulk_evict:
            kernel = self.tree._kernel(evict_and_free, (), self.m)
            kernel.run(self.tree._memory.address, self.old - 1)
        else:
            kernel = self.tree._kernel(evict_singly, (), self.m)
            kernel.run(self.tree._memory.address, self.m)

    def insert(self, times: np.ndarray) -> None:
        if self._bulk_insert:
            self.tree.bulk_insert(times, self.xs)
            return
        kernel, room = self.tree._kernel(insert_singly, (self.xs,), self.m), self.tree._memory
        room.enlarge(room.head[USED] + self.m + 99, room.head[USED_KIDS] + self.m + 99)
        kernel.run(room.address, address(times), (address(self.xs),), self.m)

    def query(self) -> Any:
        return self.tree.query()

    def run_compiled(self, rounds: int) -> None:
        """So many rounds of one entry each, without Python in between."""
        loop = slide_by_bulk_evict if self._bulk_evict else slide_singly
        kernel, room = self.tree._kernel(loop, (self.xs,), rounds), self.tree._memory
        room.enlarge(room.head[USED] + rounds + 99, room.head[USED_KIDS] + rounds + 99)
        times = np.arange(self.young, self.young + rounds)
        self.young, self.old = self.young + rounds, self.old + rounds
        kernel.run(room.address, address(times), (address(self.xs),), rounds)
