"""check_laws sees a monoid that was broken on purpose, and says so in one line."""

from __future__ import annotations

from typing import Any

import pytest

from sash import Monoid
from sash import monoids as m
from sash.monoids.monoid import same
from sash.testing import Counterexample, alike, check_laws


def plus(a: Any, b: Any) -> Any:
    return a + b


def append(a: list[int], b: list[int]) -> list[int]:
    a.extend(b)
    return a


BROKEN = {
    "identity on the right": (
        Monoid("younger", 0, same, lambda a, b: b),
        "younger has a wrong identity: combine(a, identity) = 0, but a = 1, for a = lift(1)",
    ),
    "identity on the left": (
        Monoid("minus", 0, same, lambda a, b: a - b),
        "minus has a wrong identity: combine(identity, a) = -1, but a = 1, for a = lift(1)",
    ),
    "associativity": (
        Monoid("ratio", None, float, lambda a, b: b if a is None else a if b is None else a / b),
        "ratio is not associative: combine(combine(a, b), c) = 0.5, "
        "but combine(a, combine(b, c)) = 2.0, for a = lift(1), b = lift(1), c = lift(2)",
    ),
    "identity": (
        Monoid("product", 0, same, lambda a, b: a * b),
        "product has a wrong identity: combine(identity, a) = 0, but a = 1, for a = lift(1)",
    ),
    "inverse": (
        Monoid("sum", 0, same, plus, inverse=lambda total, old: total),
        "sum has a wrong inverse: inverse(combine(a, b), a) = 1, but b = 0, "
        "for a = lift(1), b = identity",
    ),
    "commutative": (
        Monoid("text", "", str, plus, commutative=True),
        "text is not commutative: combine(a, b) = '12', but combine(b, a) = '21', "
        "for a = lift(1), b = lift(2)",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_monoid_is_caught_in_one_line(what: str) -> None:
    monoid, text = BROKEN[what]
    found = check_laws(monoid, [1, 2])
    assert isinstance(found, Counterexample)
    assert str(found) == text
    assert "\n" not in str(found)


def test_a_combine_that_changes_its_arguments_is_caught() -> None:
    found = check_laws(Monoid("lists", [], lambda x: [x], append), [1, 2])
    assert str(found) == (
        "lists changes what it combines: a was [], but is [1] after combine(a, b), "
        "for a = identity, b = lift(1)"
    )


def test_every_law_is_checked_on_the_typed_variant_too() -> None:
    def typed(dtype: Any) -> Monoid:
        return Monoid("typed", 0, same, lambda a, b: a if a > b else b)

    def objects(typed: Any) -> Monoid:
        return Monoid("largest", -99, same, max, typed=typed)

    found = check_laws(objects(typed), [-3, -2])
    assert str(found).startswith("typed has a wrong identity: combine(identity, a) = 0, but a = -3")
    assert check_laws(objects(typed), [-3, None or -2, 1.5]) is not None
    assert check_laws(objects(lambda dtype: None), [-3, -2]) is None


def test_a_typed_variant_with_other_answers_is_caught() -> None:
    def typed(dtype: Any) -> Monoid:
        return Monoid("Max", 99, same, min)

    found = check_laws(Monoid("largest", -99, same, max, typed=typed), [3, 2])
    assert str(found) == (
        "largest and its typed variant differ: 3 over objects, but 2 typed, for items = [3, 2]"
    )


def test_rounding_is_tolerated_unless_told_otherwise() -> None:
    floats = [0.1, 0.2, 0.3]
    assert check_laws(m.Sum(), floats) is None
    assert "is not associative" in str(check_laws(m.Sum(), floats, tolerance=0))
    assert check_laws(m.Sum(), [1.0, 2.0, 3.0], tolerance=0) is None


def test_states_can_have_an_equality_of_their_own() -> None:
    either = Monoid("either", 0, same, lambda a, b: b or a)
    assert check_laws(either.with_(commutative=True), [1, 2]) is not None
    both_zero = check_laws(
        either.with_(commutative=True), [1, 2], equal=lambda a, b: bool(a) == bool(b)
    )
    assert both_zero is None


def test_there_must_be_samples() -> None:
    with pytest.raises(ValueError, match="give at least one sample"):
        check_laws(m.Max(), [])


def test_many_samples_do_not_take_long() -> None:
    assert check_laws(m.Max(), range(40)) is None


def test_long_states_are_cut_short() -> None:
    long = Monoid("long", "", lambda x: "x" * 500 + str(x), plus, commutative=True)
    text = str(check_laws(long, [1, 2]))
    assert "…" in text
    assert len(text) < 300


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1.0, True), (1, True, True), (1, 2, False), ("a", "a", True), ("1", 1, False),
        ((1, 2), [1, 2], True), ((1,), (1, 2), False), (None, 0, False), (None, None, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False), ({1}, {1}, True), (0.0, -0.0, True),
        (float("nan"), float("nan"), True), (float("nan"), 1.0, False), (1.0, 1.0 + 1e-12, False),
    ],
)  # fmt: skip
def test_alike(a: Any, b: Any, expected: bool) -> None:
    assert alike(a, b) is expected
    assert alike(b, a) is expected


def test_alike_within_a_tolerance() -> None:
    assert alike([1e12], [1e12 + 1], 1e-9)
    assert not alike([1e12], [1e12 + 1])
    assert not alike([10**12], [10**12 + 1], 1e-9)  # integers are exact
