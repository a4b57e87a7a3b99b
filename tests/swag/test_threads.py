"""Threads: a window that is in use says so, whatever the algorithm; its state stays sound."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.stores.memory import Memory
from tests.conformance.cases import words

slow = pytest.mark.slow
THREADS = 4
CALLS = 150


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def hammer(calls: list[Callable[[], Any]]) -> list[str]:
    """All calls from several threads at once; what RuntimeErrors and IndexErrors said."""
    said: list[str] = []
    ready = threading.Barrier(THREADS)
    other: list[BaseException] = []

    def work(turn: int) -> None:
        ready.wait()
        for i in range(CALLS):
            try:
                calls[(i + turn) % len(calls)]()
            except (RuntimeError, IndexError) as problem:
                said.append(str(problem))
            except BaseException as problem:
                other.append(problem)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not other
    return said


def calls_of(window: Any, xs: Any) -> list[Callable[[], Any]]:
    """A window's calls, single and in batches."""
    if isinstance(window, swag.FiBA):
        return [
            lambda: window.insert(len(window), xs[0]),
            lambda: window.bulk_insert(np.arange(len(xs)), xs),
            window.evict,
            lambda: window.bulk_evict(20),
            window.query,
            lambda: window.range_query(3, 30),
        ]
    return [
        lambda: window.insert(xs[0]),
        lambda: window.insert_many(xs),
        window.evict,
        lambda: window.evict_many(len(window) // 2),
        window.query,
        lambda: window.slide(xs, 40),
    ]


CASES = [swag.DABALite, swag.Reactive, swag.FlatFIT, swag.FiBA]
COMPILED = [  # compiling takes seconds for each
    pytest.param(a, True, id=f"{a.__name__}-compiled", marks=[] if a is swag.DABALite else [slow])
    for a in CASES
]
PLAIN = [pytest.param(a, False, id=f"{a.__name__}-plain") for a in CASES]


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize(("algorithm", "compiled"), PLAIN + COMPILED)
def test_four_threads_on_one_window(algorithm: Any, compiled: bool) -> None:
    monoid, xs = (m.Max(), np.arange(60.0)) if compiled else (words(), list("abcdefgh") * 8)
    window = algorithm(monoid, compiled=None if compiled else False)
    if compiled:  # kernels first, and typed for the inputs
        for call in calls_of(window, xs):
            call()
    said = hammer(calls_of(window, xs))
    assert {text for text in said if "evict" not in text} <= {message(algorithm)}
    window.check()


def message(algorithm: Any) -> str:
    return (
        f"this {algorithm.__name__} window is in use: one thread per window; give each thread its "
        "own, or hold a lock around every call (a monoid's functions cannot call its window)"
    )


ALGORITHMS = [pytest.param(a, id=name) for name, a in swag.ALGORITHMS.items()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_call_while_another_is_under_way_changes_nothing(algorithm: Any) -> None:
    """One thread is inside a step, in the monoid's combine; another one calls."""
    inside, go_on = threading.Event(), threading.Event()
    waits = False

    def combine(a: str, b: str) -> str:
        if waits:
            inside.set()
            assert go_on.wait(100)
        return a + b

    monoid = Monoid("slow", "", str, combine, inverse=lambda total, old: total[len(old) :])
    window = algorithm(monoid, compiled=False)
    in_order = algorithm is not swag.FiBA
    for i in range(9):
        window.insert(i) if in_order else window.insert(i, i)
    waits = True
    slow = threading.Thread(target=lambda: slide(window))
    slow.start()
    assert inside.wait(100)
    calls: list[Callable[[], Any]] = [window.evict, window.query, window.snapshot]
    if in_order:
        calls += [lambda: window.insert(9), lambda: window.insert_many([1, 2])]
        calls += [lambda: window.slide([1], 3), lambda: window.evict_many(2)]
    else:
        calls += [lambda: window.insert(3, 3), lambda: window.bulk_insert([1], [2])]
        calls += [lambda: window.bulk_evict(3), lambda: window.range_queries([1], [3])]
    for call in calls:
        with pytest.raises(RuntimeError, match="one thread per window"):
            call()
    waits = False
    go_on.set()
    slow.join()
    window.check()
    assert (len(window), window.query()) == (4, "6789")


def slide(window: Any) -> None:
    window.slide([9], 4)


def test_a_monoid_cannot_call_its_own_window() -> None:
    def combine(a: int, b: int) -> int:
        return a + b if len(window) < 3 else window.query()

    window = swag.TwoStacksLite(Monoid("nosy", 0, int, combine), compiled=False)
    for i in range(3):
        window.insert(i)
    with pytest.raises(RuntimeError, match="cannot call its window"):
        window.insert(4)


class Slow(Memory):
    """A store whose commits wait."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.go_on = threading.Event(), threading.Event()

    def _commit(self, *records: Any) -> None:
        self.inside.set()
        assert self.go_on.wait(100)
        super()._commit(*records)


def test_windows_over_a_store() -> None:
    store = Slow()
    window = swag.AMTA(words(), store=store, compiled=False)
    window.insert_many([1, 2, 3])
    slow = threading.Thread(target=window.commit)
    slow.start()
    assert store.inside.wait(100)
    for call in (window.commit, window.close, lambda: window.insert_many([5]), window.evict):
        with pytest.raises(RuntimeError, match="one thread per window"):
            call()
    store.go_on.set()
    slow.join()
    assert (window.commit(), window.query()) == (3, "123")


def test_windows_of_several_threads_share_nothing() -> None:
    windows = [swag.DABALite(m.Sum()) for _ in range(THREADS)]
    xs = np.arange(1000.0)
    windows[0].slide(xs, 10)
    answers: list[Any] = [None] * THREADS

    def work(i: int) -> None:
        for _ in range(20):
            answers[i] = windows[i].slide(xs + i, 100)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(1, THREADS):
        assert np.array_equal(answers[i][-1:], [sum(range(900, 1000)) + 100 * i])
