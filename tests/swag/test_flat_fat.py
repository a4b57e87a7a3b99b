"""FlatFAT: the figures of the RA paper's section 4, and any update against a list."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from tests.conformance.cases import affine, bits, words


def traced() -> tuple[Monoid, list[str]]:
    """Concatenation, and the list of what its combines gave."""
    made: list[str] = []

    def combine(a: str, b: str) -> str:
        made.append(a + b)
        return a + b

    return Monoid("traced", "", str, combine), made


def fold(monoid: Monoid, items: Any) -> Any:
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return monoid.lower(total)


def same(a: Any, b: Any) -> bool:
    return bool(np.all(np.asarray(a) == np.asarray(b)))


def assert_holds(fat: swag.FlatFAT, items: list[Any], monoid: Monoid) -> None:
    fat.check()
    assert same(fat.aggregate(), fold(monoid, items))
    for i in range(len(items)):
        assert same(fat.prefix(i), fold(monoid, items[: i + 1])), i
        assert same(fat.suffix(i), fold(monoid, items[i:])), i


def test_figure_3_a_node_is_its_leaves_combined() -> None:
    monoid, made = traced()
    fat = swag.FlatFAT(monoid, "12345678")
    g, e, f, a, b, c, d = (fat._memory.plain.part[v] for v in range(1, 8))
    assert (a, b, c, d) == ("12", "34", "56", "78")
    assert (e, f, g) == ("1234", "5678", "12345678")
    assert len(made) == 7


def test_figure_3_a_prefix_is_few_nodes() -> None:
    monoid, made = traced()
    fat = swag.FlatFAT(monoid, "12345678")
    made.clear()
    assert fat.prefix(6) == "1234567"
    assert made == ["567", "1234567"]  # T(e) + (T(c) + a[7])
    made.clear()
    assert fat.suffix(1) == "2345678"
    assert made == ["234", "2345678"]
    made.clear()
    assert (fat.aggregate(), fat.prefix(3), fat.suffix(4)) == ("12345678", "1234", "5678")
    assert made == []  # each is a node


def test_figure_4_only_nodes_above_a_change_are_renewed_level_by_level() -> None:
    monoid, made = traced()
    fat = swag.FlatFAT(monoid, "12345678")
    made.clear()
    fat.update([0, 1, 3, 6], "abdg")
    assert made == ["ab", "3d", "g8", "ab3d", "56g8", "ab3d56g8"]  # a, b, d; e, f; g


def test_locations_come_in_any_order() -> None:
    fat = swag.FlatFAT(words(), "12345678")
    fat.update([6, 0, 3, 1], ["g", "a", "d", "b"])
    assert fat.aggregate() == "ab3d56g8"
    assert len(fat) == 8


@pytest.mark.parametrize(
    ("case", "compiled"),
    [(affine, True), (affine, False), (bits, True), (bits, False), (words, False)],
)
def test_random_updates_agree_with_a_list(case: Any, compiled: bool) -> None:
    random, monoid = Random(f"{case.__name__}"), case()
    kind = np.array if compiled else list
    for n in [1, 2, 3, 5, 8, 13, 16, 33]:
        items = [random.randrange(1000) for _ in range(n)]
        fat = swag.FlatFAT(monoid, kind(items), compiled=compiled)
        assert_holds(fat, items, monoid)
        for _ in range(4):
            locations = random.sample(range(n), random.randint(1, n))
            values = [random.randrange(1000) for _ in locations]
            fat.update(kind(locations), kind(values))
            for location, value in zip(locations, values, strict=True):
                items[location] = value
            assert_holds(fat, items, monoid)


def test_arrays_are_typed_and_lists_are_objects() -> None:
    floats = swag.FlatFAT(m.Max(), np.array([1.5, 0.5]))
    assert floats._layout is not None
    floats.update([0], [3.5])  # one at a time, in the typed cells
    assert (floats.prefix(0), floats.suffix(1), floats.aggregate()) == (3.5, 0.5, 3.5)
    words_too = swag.FlatFAT(m.Max(), ["a", "c"])
    assert words_too._layout is None
    assert words_too.aggregate() == "c"


def test_a_value_that_does_not_fit_its_cell_is_refused() -> None:
    fat = swag.FlatFAT(Monoid("total", 0, lambda x: x, lambda a, b: a + b), [1, 2])
    with pytest.raises(TypeError, match=r"lift of monoid 'total' gave .*float64"):
        fat.update([0], [2.5])
    assert fat.aggregate() == 3


def test_columns_of_pairs() -> None:
    measures, names = np.array([1.0, 5.0, 5.0]), np.array([10, 20, 30])
    fat = swag.FlatFAT(m.ArgMax(), (measures, names))
    assert (fat.aggregate(), fat.prefix(0), fat.suffix(2)) == (20, 10, 30)
    fat.update(np.array([2, 0]), (np.array([2.0, 9.0]), np.array([31, 11])))
    assert (fat.aggregate(), fat.suffix(2)) == (11, 31)


def test_answers_are_lowered() -> None:
    assert swag.FlatFAT(m.Mean(), [1, 2, 6]).aggregate() == 3.0


def test_no_values() -> None:
    fat = swag.FlatFAT(m.Sum(), [])
    assert fat.aggregate() == m.Sum().lower(m.Sum().identity)
    assert len(fat) == 0
    fat.update([], [])
    with pytest.raises(IndexError, match="location 0 of a FlatFAT of 0 values"):
        fat.prefix(0)


@pytest.mark.parametrize(
    ("locations", "values", "error", "says"),
    [
        ([3], [9], IndexError, "location 3 of a FlatFAT of 3 values"),
        ([-1, 1], [9, 9], IndexError, "location -1 of a FlatFAT of 3 values"),
        ([1, 0, 1], [7, 8, 9], ValueError, "location 1 is given twice"),
        ([0, 1], [9], ValueError, "2 locations for 1 values"),
        ([0.5], [9], TypeError, "whole numbers"),
    ],
)
def test_bad_locations_are_refused_and_nothing_changes(
    locations: Any, values: Any, error: type[Exception], says: str
) -> None:
    fat = swag.FlatFAT(m.Sum(), [1, 2, 3])
    with pytest.raises(error, match=says):
        fat.update(locations, values)
    assert_holds(fat, [1, 2, 3], m.Sum())


@pytest.mark.parametrize("location", [-1, 3])
def test_bad_prefix_and_suffix_are_refused(location: int) -> None:
    fat = swag.FlatFAT(m.Sum(), [1, 2, 3])  # a leaf 3 is there, but not a value
    with pytest.raises(IndexError, match=f"location {location}"):
        fat.prefix(location)
    with pytest.raises(IndexError, match=f"location {location}"):
        fat.suffix(location)


def test_check_finds_a_broken_node() -> None:
    fat = swag.FlatFAT(words(), "abcd")
    fat._memory.plain.part[2] = "xx"
    with pytest.raises(AssertionError, match="node 1 is abcd, its children combined are xxcd"):
        fat.check()
