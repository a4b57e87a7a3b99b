"""Arrays that are masked, in another byte order or read-only, and sizes that are not whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import swag
from tests.conformance.cases import int_sum

slow = pytest.mark.slow
IN_ORDER = [a for a in swag.ALGORITHMS.values() if a not in (swag.FiBA, swag.SubtractOnEvict)]
ALGORITHMS = [pytest.param(a, id=a.__name__) for a in [*IN_ORDER, swag.FiBA]]
COMPILED = [  # compiling takes seconds for each: by default two algorithms, in order and not
    pytest.param(a, id=a.__name__, marks=[] if a in (swag.DABALite, swag.FiBA) else [slow])
    for a in [*IN_ORDER, swag.FiBA]
]
NUMBERS = np.array([5, 1, 7, 3, 3, 9, 2, 8], np.int64)
MASK = np.array([0, 0, 1, 0, 1, 1, 1, 0], bool)


def plain(answers: Any) -> list[Any]:
    return answers.tolist() if isinstance(answers, np.ndarray) else list(answers)


def with_nones() -> list[Any]:
    return np.ma.array(NUMBERS, mask=MASK).tolist()


def expected(monoid: Any, size: int, xs: list[Any]) -> list[Any]:
    window = swag.Recalc(monoid, compiled=False)
    return [*window.slide(xs, size)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("make", [m.Max, m.Sum, m.Count, m.Mean])
def test_masked_items_are_null(algorithm: Any, make: Any) -> None:
    xs = np.ma.array(NUMBERS, mask=MASK)
    for size in (1, 2, 4):
        want = expected(make(), size, with_nones())
        assert plain(algorithm(make()).slide(xs, size)) == want


@pytest.mark.parametrize("algorithm", COMPILED)
def test_a_window_of_numbers_says_that_it_has_no_null(algorithm: Any) -> None:
    """It was typed by an array; that all of its items are null has no place in its state."""
    xs = np.ma.array(NUMBERS, mask=MASK)
    window = algorithm(m.Max())

    def insert(xs: Any) -> None:
        if algorithm is swag.FiBA:
            window.bulk_insert(np.arange(len(xs)), xs)
        else:
            window.insert_many(xs)

    insert(NUMBERS)
    for bad in (xs, xs.tolist()):
        with pytest.raises(TypeError, match="which has no null"):
            insert(bad)
    window.check()
    assert (len(window), window.query()) == (8, 9)
    counts = swag.DABALite(m.Count())  # none is 0, as none of many
    counts.insert_many(NUMBERS)
    counts.insert_many(xs)
    assert counts.query() == 12


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_inserting_masked_items(algorithm: Any) -> None:
    xs = np.ma.array(NUMBERS, mask=MASK)
    window = algorithm(m.Sum())
    if algorithm is swag.FiBA:
        window.bulk_insert(np.arange(8), xs)
        window.insert(8, None)
    else:
        window.insert_many(xs)
        window.insert(None)
    window.check()
    assert (len(window), window.query()) == (9, NUMBERS[~MASK].sum())


def test_a_mask_that_hides_nothing_runs_compiled() -> None:
    xs = np.ma.array(np.arange(1000), mask=False)
    answers = swag.DABALite(m.Max(), compiled=True).slide(xs, 10)
    assert plain(answers) == list(range(1000))
    with pytest.raises(TypeError, match="compiled=True"):
        swag.DABALite(m.Max(), compiled=True).slide(np.ma.array(NUMBERS, mask=MASK), 2)


def test_answers_of_masked_arrays_are_masked() -> None:
    answers = swag.TwoStacksLite(m.Max()).slide(np.ma.array([1.0, 2.0, 3.0], mask=[1, 1, 0]), 1)
    assert isinstance(answers, np.ma.MaskedArray)
    assert answers.mask.tolist() == [True, True, False]


def test_columns_with_masks() -> None:
    by = np.ma.array([1.0, 5.0, 3.0], mask=[0, 1, 0])
    of = np.array([10, 20, 30])
    assert swag.DABALite(m.ArgMax()).slide((by, of), 3)[-1] == 30


def test_masked_times_are_refused() -> None:
    tree = swag.FiBA(m.Sum())
    with pytest.raises(ValueError, match="time 1 is null"):
        tree.bulk_insert(np.ma.array([1, 2, 3], mask=[0, 1, 0]), np.arange(3))
    assert len(tree) == 0
    tree.bulk_insert(np.ma.array([1, 2, 3], mask=False), np.arange(3))
    assert tree.query() == 3


def test_masked_values_in_a_flat_fat() -> None:
    fat = swag.FlatFAT(m.Max(), np.ma.array(NUMBERS, mask=MASK))
    assert (fat.aggregate(), fat.prefix(2)) == (8, 5)
    fat.update(np.array([7, 0]), np.ma.array([0, 4], mask=[1, 0]))
    assert (fat.aggregate(), fat.prefix(1)) == (4, 4)
    with pytest.raises(TypeError, match="which has no null"):
        swag.FlatFAT(m.Max(), NUMBERS).update([0], np.ma.array([1], mask=[True]))


@pytest.mark.parametrize("algorithm", COMPILED)
@pytest.mark.parametrize("dtype", [">i8", pytest.param(">f4", marks=slow)])
def test_byte_swapped_arrays(algorithm: Any, dtype: str) -> None:
    xs = NUMBERS.astype(dtype)
    got = algorithm(m.Max()).slide(xs, 3)
    assert plain(got) == expected(m.Max(), 3, xs.tolist())
    if algorithm is swag.FiBA:
        tree = swag.FiBA(m.Sum())
        tree.bulk_insert(np.arange(8).astype(">i8"), xs)
        assert tree.query() == NUMBERS.sum()


@pytest.mark.parametrize(
    ("algorithm", "compiled"),
    [*((a, False) for a in [*IN_ORDER, swag.FiBA]), (swag.DABALite, True), (swag.AMTA, True)],
)
def test_a_read_only_out_is_refused(algorithm: Any, compiled: bool) -> None:
    window = algorithm(int_sum(), compiled=compiled)
    out = np.zeros(len(NUMBERS), np.int64)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        window.slide(NUMBERS, 3, out=out)
    assert (len(window), out.tolist()) == (0, [0] * len(NUMBERS))
    out = np.zeros(len(NUMBERS), np.int64)
    got = window.slide(NUMBERS, 3, out=out)
    assert got is out or np.shares_memory(got, out)
    assert out.tolist() == expected(int_sum(), 3, NUMBERS.tolist())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [1.5, 2.0, "3", None])
def test_a_size_that_is_not_whole_is_refused(algorithm: Any, size: Any) -> None:
    window = algorithm(m.Max())
    with pytest.raises((TypeError, ValueError), match="size"):
        window.slide(NUMBERS, size)
    assert len(window) == 0


def test_counts_that_are_not_whole_are_refused() -> None:
    window = swag.FlatFIT(m.Max())
    window.insert_many(NUMBERS)
    for call in (
        lambda: window.evict_many(1.5),
        lambda: window.query(last=1.5),
        lambda: window.slide_many(NUMBERS, sizes=[1, 2.5]),
        lambda: swag.FlatFIT(m.Max(), size=2.5),
        lambda: swag.DABALite(m.Max()).evict_many(0.5),
    ):
        with pytest.raises(TypeError, match=r"integer|whole number"):
            call()
    assert len(window) == len(NUMBERS)


def test_sizes_of_numpy_are_sizes() -> None:
    assert plain(swag.DABALite(m.Max()).slide(NUMBERS, np.int64(2))) == expected(
        m.Max(), 2, NUMBERS.tolist()
    )
