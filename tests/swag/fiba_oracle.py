"""What FiBA is tested against: a sorted dictionary, combined anew for every question."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from sash import Monoid, swag

PRIME = 10_007


def words() -> Monoid:
    """Concatenation of strings: objects, not commutative."""
    return Monoid("words", "", lambda x: f"{x} ", lambda a, b: a + b)


def affine() -> Monoid:
    """x -> a * x + b, composed from older to younger: numbers, not commutative."""

    def lift(x: int) -> tuple[int, int]:
        return (x % PRIME or 1, (7 * x + 1) % PRIME)

    def combine(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
        return (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME)

    return Monoid("affine", (1, 0), lift, combine)


def bits() -> Monoid:
    """A small set as a vector of bits, combined in place."""

    def fill(out: Any, x: int) -> None:
        out[x % 4] |= np.uint64(1) << np.uint64(x % 64)

    return Monoid.vector("bits", np.zeros(4, np.uint64), fill, lambda a, b: a | b, commutative=True)


class Oracle:
    """Entries by time."""

    def __init__(self, monoid: Monoid) -> None:
        self.monoid, self.entries = monoid, {}

    def insert(self, time: Any, x: Any) -> None:
        v = self.monoid.lift(x)
        old = self.entries.get(time)
        self.entries[time] = v if old is None else self.monoid.combine(old, v)

    def evict(self) -> None:
        del self.entries[min(self.entries)]

    def bulk_insert(self, times: Any, xs: Any) -> None:
        for time, x in zip(times, xs, strict=True):
            self.insert(time, x)

    def bulk_evict(self, time: Any) -> None:
        self.entries = {t: v for t, v in self.entries.items() if t > time}

    def slide(self, xs: Any, size: int) -> list[Any]:
        answers, start = [], max(self.entries, default=-1) + 1
        for time, x in enumerate(xs, start):
            while len(self.entries) >= size:
                self.evict()
            self.insert(time, x)
            answers.append(self.query())
        return answers

    def range_query(self, lo: Any, hi: Any) -> Any:
        total = self.monoid.identity
        for time in sorted(self.entries):
            if lo <= time <= hi:
                total = self.monoid.combine(total, self.entries[time])
        return self.monoid.lower(total)

    def query(self) -> Any:
        return self.range_query(min(self.entries, default=0), max(self.entries, default=0))


def plain(answer: Any) -> Any:
    """An answer as plain Python has it."""
    if isinstance(answer, np.ndarray | np.generic):
        return answer.tolist()
    return [plain(x) for x in answer] if isinstance(answer, list) else answer


class Pair:
    """A FiBA window and its oracle, driven together; every operation is followed by a check."""

    def __init__(self, monoid: Monoid, min_arity: int, compiled: bool) -> None:
        self.monoid = monoid
        self.window = swag.FiBA(monoid, min_arity, compiled=compiled)
        self.oracle = Oracle(monoid)

    def __call__(self, operation: str, *arguments: Any) -> None:
        asked = [np.array(a) if isinstance(a, list) else a for a in arguments]
        got = getattr(self.window, operation)(*asked)
        wanted = getattr(self.oracle, operation)(*arguments)
        if wanted is not None:
            assert plain(got) == plain(wanted), (operation, arguments)
        self.agree()

    def agree(self) -> None:
        window, oracle = self.window, self.oracle
        window.check()
        assert len(window) == len(oracle.entries)
        entries = [(t, plain(v)) for t, v in window]
        assert entries == [(t, plain(oracle.entries[t])) for t in sorted(oracle.entries)]
        assert plain(window.query()) == plain(oracle.query())
        window.check()
        if oracle.entries:
            assert window.oldest() == min(oracle.entries)
            assert window.youngest() == max(oracle.entries)

    def restart(self) -> None:
        """Snapshot and restore."""
        blob = self.window.snapshot()
        compiled = self.window._compiled
        self.window = swag.restore(blob, self.monoid)
        self.window._compiled = compiled
        self.agree()


def drive(pair: Pair, random: Random, operations: int, span: int) -> None:
    """Random operations of every kind, near both ends and in the middle."""
    for _ in range(operations):
        times = sorted(pair.oracle.entries)
        young = times[-1] + 1 if times else 0
        kind = random.randrange(12)
        if kind < 3:
            pair("insert", random.choice([random.randrange(span), young]), random.randrange(1000))
        elif kind == 3 and times:
            pair("evict")
        elif kind < 7:
            n = random.choice([1, 2, 7, 30, 200])
            start = random.choice([random.randrange(span), young, young - span // 4])
            ts = [max(0, start) + random.randrange(random.choice([3, 50, span])) for _ in range(n)]
            ts = sorted(ts) if random.random() < 0.7 else ts
            pair("bulk_insert", ts, [random.randrange(1000) for _ in ts])
        elif kind < 9 and times:
            ends = [times[0], times[-1], times[-1] - 1, random.randrange(span), times[0] - 1]
            near = [random.choice(times), random.choice(times[:9]), random.choice(times[-9:])]
            pair("bulk_evict", random.choice(ends + near + near))
        elif kind == 9:
            xs = [random.randrange(1000) for _ in range(random.randrange(1, 40))]
            pair("slide", xs, random.choice([1, 2, 9, 40, 300]))
        elif kind == 10:
            pair("range_query", random.randrange(-3, 2 * span), random.randrange(-3, 2 * span))
        elif random.random() < 0.3:
            pair.restart()
        if len(times) > 1500:
            pair("bulk_evict", times[-200])
