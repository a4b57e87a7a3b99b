"""Amortized MTA: the paper's figures 4 and 5, bulk evictions, slide policies."""

from __future__ import annotations

import functools
import runpy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.swag.amta import end
from tests.swag.policies import CASES, Case, affine, enforce, recalculated, total_of


def levels(window: Any) -> list[list[tuple[Any, Any]]]:
    """Each level's nodes in pairs, as the paper draws them, None for its neutral element."""
    drawn = []
    for level in range(window._at.h + 1):
        lo, hi = window._at.f >> level, end(window._at.e, level)
        s = window._memory.cap >> level
        nodes = [
            window._q.part[s + (j & (s - 1))] if lo <= j < hi else None
            for j in range(lo & ~1, (hi + 1) & ~1)
        ]
        drawn.append(list(zip(nodes[::2], nodes[1::2], strict=True)))
    return drawn


def stack(window: Any) -> list[Any]:
    """The stack, its top last."""
    return [window._q.stack[s] for s in range(window._at.s)]


def result_pair(window: Any) -> tuple[Any, Any]:
    return window._at.front, window._at.back


def total() -> Monoid:
    return Monoid("sum", 0, int, lambda a, b: a + b)


def test_figure_4() -> None:
    window = swag.AMTA(total(), compiled=False)
    window.insert_many([1, 2, 1, 2, 1, 2, 1, 2])
    assert levels(window) == [
        [(1, 2), (1, 2), (1, 2), (1, 2)],
        [(3, 3), (3, None)],
        [(6, None)],
    ]
    assert stack(window) == [3, 5]
    assert result_pair(window) == (6, 6)
    window.insert(1)
    assert result_pair(window) == (6, 7), "an insertion goes to R1"
    window.evict()
    assert result_pair(window) == (5, 7), "an eviction pops the stack to R0"


def test_figure_5() -> None:
    window = swag.AMTA(total(), compiled=False)
    window.insert_many([1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    leaves = [(1, 3), (2, 1), (2, 1), (1, 0), (3, 1)]
    assert levels(window) == [leaves, [(4, 3), (3, 1)], [(7, None)]]
    assert (stack(window), result_pair(window), window.query()) == ([3, 6], (7, 8), 15)

    window.evict()  # nothing but the pop
    assert levels(window) == [[(None, 3), *leaves[1:]], [(4, 3), (3, 1)], [(7, None)]]
    assert (stack(window), result_pair(window), window.query()) == ([3], (6, 8), 14)

    window.evict()  # the pair (2, 1) comes first: 1 is pushed; inner nodes stay as they were
    assert levels(window) == [leaves[1:], [(None, 3), (3, 1)], [(7, None)]]
    assert (stack(window), result_pair(window), window.query()) == ([1], (3, 8), 11)


def test_the_oldest_tree_goes_and_the_next_takes_its_place() -> None:
    window = swag.AMTA(total(), compiled=False)
    window.insert_many([1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    for _ in range(4):
        window.evict()
    assert levels(window) == [[(2, 1), (1, 0), (3, 1)], [(3, 1)]]
    assert (stack(window), result_pair(window), window.query()) == ([1, 2], (4, 4), 8)


@pytest.mark.parametrize("compiled", [False, True])
def test_random_operations_with_bulk_evictions(compiled: bool) -> None:
    random = Random(5)
    monoid = affine()
    window, items = swag.AMTA(monoid, compiled=compiled), list[int]()
    for step in range(300):
        xs = [random.randrange(1000) for _ in range(random.randint(1, 40))]
        window.insert_many(np.array(xs))
        items += xs
        k = random.choice([0, 1, 2, 7, len(items), random.randint(0, len(items))])
        k = min(k, len(items))
        window.evict_many(k)
        del items[:k]
        assert window.query() == recalculated(monoid, items)
        window.check()
        if step % 50 == 25:
            window = swag.restore(window.snapshot(), monoid, compiled=compiled)


def test_objects_at_every_size_and_offset() -> None:
    """A window of n items slides over all places in the tree."""
    monoid = Monoid("words", "", str, lambda a, b: a + b)
    for n in range(1, 20):
        window, items = swag.AMTA(monoid), list[str]()
        for i in range(70):
            items = [*items, chr(97 + i % 26)][-n:]
            if len(window) == n:
                window.evict()
            window.insert(items[-1])
            assert window.query() == "".join(items)
            window.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_policies(case: Case) -> None:
    monoid, random = case.make(), Random(str(case))
    window, items = swag.AMTA(monoid, case.policy, compiled=False), list[Any]()
    for i, x in enumerate(case.draw(random, 400)):
        window.insert(x)
        items = enforce(monoid, case.policy, [*items, x])
        assert len(window) == len(items)
        assert window.query() == monoid.lower(total_of(monoid, items))
        if i % 20 == 0:
            window.check()
        if i % 100 == 50:
            window = swag.restore(window.snapshot(), monoid, policy=case.policy)


@pytest.mark.parametrize(
    "case", [CASES[0], *(pytest.param(c, marks=pytest.mark.slow) for c in CASES[1:])], ids=str
)
def test_policies_compiled(case: Case) -> None:
    """The same answers in batches, and in one that is longer than a piece."""
    xs = case.draw(Random(str(case)), 20_000)
    columns = tuple(map(np.array, zip(*xs, strict=True))) if isinstance(xs[0], tuple) else xs
    plain = swag.AMTA(case.make(), case.policy, compiled=False)
    compiled = swag.AMTA(case.make(), case.policy, compiled=True)
    answers = compiled.slide(columns if isinstance(columns, tuple) else np.array(xs))
    expected = [(plain.insert(x), plain.query())[1] for x in xs]
    assert answers.tolist() == expected
    assert len(compiled) == len(plain)
    compiled.check()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])
def test_a_policy_over_vectors_compiled(algorithm: Any) -> None:
    """A histogram; the window ends where a third item of value 0 would be in it."""

    def fill(out: Any, x: int) -> None:
        out[x % 8] += 1

    def three_zeros(total: Any, old: Any) -> bool:
        return bool(total[0] - old[0] >= 2)

    monoid = Monoid.vector("histogram", np.zeros(8, np.int64), fill, lambda a, b: a + b)
    xs = [Random(i).randrange(64) for i in range(500)]
    window = algorithm(monoid, three_zeros, compiled=True)
    items: list[int] = []
    for x, answer in zip(xs, window.slide(np.array(xs)), strict=True):
        items = enforce(monoid, three_zeros, [*items, x])
        assert answer.tolist() == recalculated(monoid, items).tolist()
    assert len(window) == len(items)
    window.check()


def test_the_running_example() -> None:
    """Section 3.2: [2, 2, 3, 3] and then 4 is [3, 3, 4]; the maximum was 3 and is 4."""
    window = swag.AMTA(CASES[0].make(), CASES[0].policy, compiled=False)
    window.insert_many([2, 2, 3, 3])
    assert (window.query(), len(window)) == (3, 4)
    window.insert(4)
    assert (window.query(), len(window)) == (4, 3)
    window.insert(11)
    assert (window.query(), len(window)) == (-1, 0), "a policy may evict all"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "slide_policies.py"
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    assert "         4 -> 3 items, 4\n" in said, "the paper's running example"
    assert "(8, 8) -> 4 items, Run(start=5, end=8, interval=3, count=4)" in said


def test_a_batch_of_numbers_of_two_types_is_one_batch() -> None:
    """A list is looked at as a whole, though it is taken in pieces."""
    xs: list[float] = [1] * 20_000 + [0.5] * 10
    window = swag.AMTA(m.Sum(), lambda total, old: total - old >= 5)
    answers = window.slide(xs)
    assert answers[-3:] == [5.0, 5.5, 5.0]


def test_a_policy_and_a_size() -> None:
    """Section 5.6: at most so many items, and none older than the maximum."""
    case, random = CASES[3], Random(4)
    monoid, xs = case.make(), case.draw(random, 300)
    window, items = swag.AMTA(monoid, case.policy, compiled=False), list[Any]()
    for answer, x in zip(window.slide(xs, 10), xs, strict=True):
        items = enforce(monoid, case.policy, [*items[-9:], x])
        assert answer == max(items)
    assert len(window) == len(items) <= 10


def test_a_policy_may_be_any_callable() -> None:
    def size_above(most: int, total: int, old: int) -> bool:
        return total - old >= most

    count = Monoid("count", 0, lambda x: 1, lambda a, b: a + b)
    window = swag.AMTA(count, functools.partial(size_above, 3), compiled=False)
    window.insert_many(range(10))
    assert len(window) == 3


@pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])
def test_a_policy_that_is_not_monotone_ends_at_one_of_its_borders(algorithm: Any) -> None:
    random = Random(9)
    count = Monoid("count", 0, lambda x: 1, lambda a, b: a + b)
    said: dict[int, bool] = {}
    window = algorithm(count, lambda total, old: said[old], compiled=False)
    for _ in range(500):
        n = len(window) + 1
        said.update({k: random.random() < 0.3 for k in range(1, n + 1)})
        window.insert(0)
        gone = n - len(window)
        assert gone == 0 or said[gone]
        assert gone == n or not said[gone + 1]
        window.check()


def test_bad_input() -> None:
    with pytest.raises(TypeError, match=r"policy must be a function of \(total, old\), not 3"):
        swag.AMTA(total(), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="slide needs a size, or a window with a policy"):
        swag.AMTA(total()).slide([1, 2])
    window = swag.AMTA(total(), lambda total, old: total - old > 10)
    blob = window.snapshot()
    with pytest.raises(swag.SnapshotError, match="give restore the same policy="):
        swag.restore(blob, total())
    with pytest.raises(swag.SnapshotError, match="with another policy"):
        swag.restore(blob, total(), policy=lambda total, old: total - old > 11)
    with pytest.raises(swag.SnapshotError, match="with no policy"):
        swag.restore(swag.AMTA(total()).snapshot(), total(), policy=lambda total, old: False)


def test_what_numba_can_not_compile_goes_on_in_plain_python() -> None:
    def odd(total: Any, old: Any) -> bool:
        return bool(eval("old > total"))

    window = swag.AMTA(total(), odd)
    with pytest.warns(RuntimeWarning, match="numba cannot compile policy of monoid 'sum'"):
        window.insert_many(np.arange(5))
    assert window.query() == 10
    with pytest.raises(TypeError, match="numba cannot compile policy"):
        swag.AMTA(total(), odd, compiled=True).insert_many(np.arange(5))


@pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])
def test_bulk_evictions_run_compiled(algorithm: Any) -> None:
    xs = np.random.default_rng(3).integers(0, 1000, 2000)
    window, oracle = algorithm(affine(), compiled=True), swag.Recalc(affine())
    for k in (0, 700, 65, 1333, 64, 900, 2000):
        for w in (window, oracle):
            w.evict_many(k)
            w.insert_many(xs[: 2000 - len(w)])
        assert window.query() == oracle.query()
        window.check()
    assert "evict_bulk" in {driver.__name__ for driver, *_ in window._kernels}
