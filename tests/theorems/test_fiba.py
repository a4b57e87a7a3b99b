"""FiBA's theorems, by counting the nodes that an operation touches and its combines.

Theorem 1: bulk evict takes amortized O(log m), O(log n) at worst.
Theorem 4: bulk insert takes amortized O(log d + m (1 + log (d / m))).
And for single operations: amortized O(1) in order, O(log d) at distance d.
"""

from __future__ import annotations

from math import ceil, log
from random import Random
from typing import Any

import pytest

from sash import Monoid, swag
from sash.swag.fiba.tree import TIMES, USED
from sash.testing import counting


class Watched:
    """A column that notes which rows are read or written."""

    def __init__(self, column: Any, cells: int, seen: set[int]) -> None:
        self.column, self.cells, self.seen = column, cells, seen

    def __getitem__(self, i: Any) -> Any:
        self._note(i)
        return self.column[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        self._note(i)
        self.column[i] = value

    def _note(self, i: Any) -> None:
        cells = range(i.start, i.stop) if isinstance(i, slice) else (i,)
        self.seen.update(cell // self.cells for cell in cells)


class Probe:
    """A tree of numbered items, with its nodes and combines counted."""

    def __init__(self, min_arity: int) -> None:
        monoid = Monoid("last", 0, int, lambda a, b: b)
        counted, self.counter = counting(monoid)
        self.tree = swag.FiBA(counted, min_arity, compiled=False)
        self.min_arity = min_arity

    def fill(self, times: range) -> None:
        for start in range(0, len(times), 500):
            part = times[start : start + 500]
            self.tree.bulk_insert(part, part)
        self.tree.query()

    def __call__(self, operation: str, *arguments: Any) -> tuple[int, int]:
        """Run it: nodes visited, without the journal's own rows, and combines.

        A node is visited if its times or values are looked at or changed. To read a
        child's aggregate, or to put it on a free list, is not a visit.
        """
        room, seen = self.tree._memory, set[int]()
        self.tree._make_room()
        room.enlarge(*(room.head[i] + 4000 for i in (USED, USED + 1)))
        entries = TIMES * self.min_arity - 1
        q = room.plain
        watched = {n: Watched(getattr(q, n), entries, seen) for n in ("time", "val")}
        room._plain = q._replace(**watched)
        self.counter.reset()
        getattr(self.tree, operation)(*arguments)
        room._plain = None
        return len({x for x in seen if x < room.head[USED]}), self.counter.combines


def levels(entries: float, min_arity: int) -> int:
    """How high a tree of so many entries can be."""
    return 1 + max(0, ceil(log(max(entries, 1), min_arity)))


arities = pytest.mark.parametrize("min_arity", [2, pytest.param(4, marks=pytest.mark.slow), 8])


@arities
def test_theorem_1_bulk_evict_touches_log_m_nodes_whatever_n_is(min_arity):
    """Amortized over a run that evicts m and inserts m in turns, in order."""
    found = {}
    for n in (1000, 8000):
        for m in (1, 8, 64, 512):
            probe = Probe(min_arity)
            probe.fill(range(n))
            nodes = combines = 0
            rounds = 12 if m > 1 else 60
            for k in range(rounds):
                more = probe("bulk_evict", (k + 1) * m - 1)
                nodes, combines = nodes + more[0], combines + more[1]
                probe.fill(range(n + k * m, n + (k + 1) * m))
            found[n, m] = nodes / rounds, combines / rounds
            each = levels(m, min_arity)
            b = TIMES * min_arity
            assert nodes / rounds <= each + 5
            assert combines / rounds <= b * each
    for m in (1, 8, 64, 512):
        for small, large in zip(found[1000, m], found[8000, m], strict=True):
            assert large <= 1.5 * small + 4 * min_arity


@arities
def test_theorem_1_no_bulk_evict_touches_more_than_log_n_nodes(min_arity):
    n, b = 6000, TIMES * min_arity
    for cut in [0, 1, 77, 1000, n // 2, n - 100, n - 2]:
        probe = Probe(min_arity)
        probe.fill(range(n))
        nodes, combines = probe("bulk_evict", cut)
        assert nodes <= 3 * levels(n, min_arity) + 3
        assert combines <= 2 * b * levels(n, min_arity)


@arities
def test_theorem_1_evicting_all_but_a_few_is_as_cheap(min_arity):
    """Evicting nearly everything touches what is left, not what goes."""
    for keep in (1, 10, 100):
        costs = []
        for n in (500, 4000, 16_000):
            probe = Probe(min_arity)
            probe.fill(range(n))
            costs.append(probe("bulk_evict", n - keep - 1))
        assert costs[2][0] <= costs[0][0] + 2 * TIMES * min_arity
        assert costs[2][1] <= costs[0][1] + 4 * TIMES * min_arity


@arities
@pytest.mark.parametrize("spread", [False, True], ids=["one gap", "interleaved"])
def test_theorem_4_bulk_insert_at_distance_d(min_arity, spread):
    """Amortized over a run, in nodes touched and combines; the window's size does not matter."""
    found = {}
    b = TIMES * min_arity
    for n in (4000, 12_000):
        for d, m in [(0, 1), (0, 64), (1024, 1), (1024, 16), (1024, 256), (2048, 64), (64, 1024)]:
            nodes, combines = insertions(min_arity, spread, n, d, m)
            found[n, d, m] = nodes, combines
            ways = log(max(d, 1), min_arity) + m * (1 + max(0, log(max(d, 1) / m, min_arity)))
            assert nodes <= ways + 5
            assert combines <= b * (ways + 2)
    for (n, d, m), cost in found.items():
        if n == 12_000:
            for small, large in zip(found[4000, d, m], cost, strict=True):
                assert large <= 1.5 * small + 4 * b


def insertions(min_arity: int, spread: bool, n: int, d: int, m: int) -> tuple[float, float]:
    """The average cost of inserting m entries, at least d before the end, several times."""
    probe = Probe(min_arity)
    step, far = 1000, 10**9
    probe.fill(range(0, n * step, step))
    if not spread:  # all between the window and d entries that come much later
        probe.fill(range(far, far + d))
    random = Random(d + m)
    rounds = 6 if m > 1 else 40
    nodes = combines = 0
    for k in range(rounds):
        if spread and d:
            low = (n - d) * step
            times = sorted(low + 1 + random.randrange(d * step) for _ in range(m))
        else:
            times = [n * step + k * m + i for i in range(m)]
        more = probe("bulk_insert", times, times)
        nodes, combines = nodes + more[0], combines + more[1]
    return nodes / rounds, combines / rounds


@arities
def test_sharing_makes_a_bulk_cheaper_than_single_inserts(min_arity):
    random = Random(1)
    times = [random.randrange(3_000_000, 4_000_000) for _ in range(500)]
    singly, at_once = Probe(min_arity), Probe(min_arity)
    for probe in (singly, at_once):
        probe.fill(range(0, 4_000_000, 1000))
    one_by_one = sum(singly("insert", t, t)[0] for t in times)
    assert at_once("bulk_insert", times, times)[0] < one_by_one / 3


@arities
@pytest.mark.parametrize("n", [10, 100, 1000, 20_000])
def test_in_order_insert_and_evict_take_constant_time(min_arity, n):
    probe = Probe(min_arity)
    probe.fill(range(n))
    slides = 400
    nodes = combines = 0
    for t in range(n, n + slides):
        for operation in (("insert", t, t), ("evict",), ("query",)):
            more = probe(*operation)
            nodes, combines = nodes + more[0], combines + more[1]
    assert nodes / slides <= 3
    assert combines / slides <= 12


@arities
def test_an_insert_at_distance_d_takes_log_d(min_arity):
    """Not log n: from either end, on average over many places at that distance."""
    n = 20_000
    costs = {}
    for d in (1, 30, 1000, 9000):
        for end in (1, -1):
            probe = Probe(min_arity)
            probe.fill(range(0, n * 1000, 1000))
            spent = []
            for k in range(20):
                at = (n - d) * 1000 + k if end < 0 else d * 1000 + k
                spent.append(probe("insert", at + 1, 1))
            costs[d, end] = [sum(x) / len(spent) for x in zip(*spent, strict=True)]
    for (d, _), (nodes, combines) in costs.items():
        assert nodes <= levels(d, min_arity) + 5
        assert combines <= 3 * TIMES * min_arity * levels(d, min_arity)
