"""FiBA's memory: nodes are reused, evicting does not look at what goes, nothing creeps."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pytest

from sash import swag
from sash.memory.growing import MAPPED, GrowingArray
from sash.swag.fiba.tree import TIMES, USED
from tests.swag.fiba_oracle import affine, words


def bound(n, min_arity):
    """How many nodes n entries can take, all of them as empty as may be."""
    return n // (min_arity - 1) + 10


def random_run(tree, random, rounds, most):
    """Bulks in and out, in order and not, of a window that never has more than `most` entries."""
    now = 0
    for _ in range(rounds):
        n = random.randrange(1, most // 4)
        now += n
        late = random.choice([0, 0, random.randrange(most)])
        times = np.sort(np.array(random.sample(range(now, now + 4 * n), n))) - late
        tree.bulk_insert(times, times % 1000)
        if random.random() < 0.3:
            for _ in range(min(len(tree), 20)):
                tree.evict()
        if len(tree) > most // 2:
            tree.bulk_evict(now - random.randrange(most // 2))
        while len(tree) > most * 3 // 4:
            tree.bulk_evict(int((tree.oldest() + tree.youngest()) / 2))


@pytest.mark.parametrize(
    ("min_arity", "compiled"),
    [(8, True), (2, False), (8, False), pytest.param(2, True, marks=pytest.mark.slow)],
)
def test_memory_does_not_creep(min_arity, compiled):
    random, most = Random(min_arity), 600
    tree = swag.FiBA(affine(), min_arity, compiled=compiled)
    random_run(tree, random, 60, most)
    used, bytes_ = tree._memory.head[USED], tree.nbytes
    random_run(tree, random, 600 if compiled else 150, most)
    tree.check()
    assert tree._memory.head[USED] <= min(1.5 * used, bound(most + most // 4, min_arity))
    assert tree.nbytes <= 1.6 * bytes_


def test_evicted_objects_go_when_their_room_is_reused():
    """Deferred, as the paper has it: by the time that as many are inserted."""
    tree = swag.FiBA(words(), 4)
    tracemalloc.start()
    sizes = []
    for k in range(12):
        tree.bulk_insert(range(k * 2000, (k + 1) * 2000), [f"{k} {i}" * 10 for i in range(2000)])
        tree.bulk_evict((k - 1) * 2000)
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert max(sizes[6:]) <= 1.2 * max(sizes[2:6])


def test_evicting_leaves_its_room_to_the_next_entries():
    tree = swag.FiBA(affine(), 4, compiled=True)
    n = 20_000
    ones = np.ones(n, np.int64)
    tree.bulk_insert(np.arange(n), ones)
    used = tree._memory.head[USED]
    for k in range(1, 9):
        tree.bulk_evict(k * n - n // 2)
        tree.bulk_insert(np.arange(k * n, k * n + n // 2), ones[: n // 2])
        tree.bulk_evict(k * n + n // 4)
        tree.bulk_insert(np.arange(k * n + n // 2, (k + 1) * n), ones[: n // 2])
    tree.check()
    assert tree._memory.head[USED] <= used + n // (TIMES * 4)


def test_memory_grows_in_place_and_keeps_what_it_has():
    memory = GrowingArray(10, np.dtype(np.int64))
    memory.array[:] = 7
    for count in (100, MAPPED // 8 - 1, MAPPED // 8 + 1, MAPPED, 3 * MAPPED, MAPPED // 4):
        memory.resize(count)
        assert len(memory.array) == count
        assert memory.array[:10].tolist() == [7] * 10
        assert not memory.array[10:].any()


def test_memory_is_copied_where_a_view_of_it_is_left():
    memory = GrowingArray(MAPPED, np.dtype(np.int64))
    memory.resize(MAPPED + 1)
    memory.array[5] = 9
    view = memory.array[:10]
    memory.resize(2 * MAPPED)
    assert (memory.array[5], view[5], len(memory.array)) == (9, 9, 2 * MAPPED)
