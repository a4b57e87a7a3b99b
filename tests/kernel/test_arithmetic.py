"""Compiled functions of users follow Python: integers overflow and divide by zero with an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

from sash import Monoid, swag
from sash import monoids as m
from sash.kernel.arithmetic import follows_python

MOST, LEAST = 2**63 - 1, -(2**63)
EDGES = [0, 1, -1, 2, -2, 3, 7, 62, 63, 64, 65, 2**31, 2**32 - 1, -(2**32), 3037000499, 3037000500,
         2**62, -(2**62), MOST, MOST - 1, LEAST, LEAST + 1]  # fmt: skip


def in_place(a: int, b: int) -> int:
    a += b
    a -= 3
    a *= b
    return a


def cubed(a: int, b: int) -> int:
    return a**3 - b


def called(a: int, b: int) -> int:
    return operator.mul(operator.add(a, b), 2)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives, or the kind of its error; OverflowError for what does not fit."""
    try:
        found = function(*args)
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        return type(error)
    return found if LEAST <= found <= MOST else OverflowError


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: a << b if b < 1000 else 0,
    lambda a, b: a >> b,
    lambda a, b: a**b if 0 <= b <= 100 else 0,
    lambda a, b: -a if b else 0,
    lambda a, b: abs(a) if b else 0,
    lambda a, b: a**2 if b else 0,
    lambda a, b: operator.mul(a, b),
]


@pytest.mark.parametrize("function", [*OPERATIONS, in_place, cubed, called])
def test_integers_as_in_python_or_an_error(function: Callable[[int, int], int]) -> None:
    compiled = njit("int64(int64, int64)", **follows_python(function, "{operation}"))(function)
    for a in EDGES:
        for b in EDGES:
            found, expected = outcome(compiled, a, b), outcome(function, a, b)
            if function in OPERATIONS or found is not OverflowError:
                assert found == expected, (a, b)


@pytest.mark.parametrize("function", [int, round])
def test_floats_become_integers_as_in_python(function: Callable[[float], int]) -> None:
    def convert(x: float) -> int:
        return function(x)

    compiled = njit("int64(float64)", **follows_python(convert, "{operation}"))(convert)
    edges = [0.0, -0.5, 2.5, 3.5, -1e18, 2.0**63, -(2.0**63), np.nextafter(2.0**63, 0), 1e300,
             np.inf, -np.inf, np.nan, np.nextafter(-(2.0**63), -np.inf)]  # fmt: skip
    for x in edges:
        assert outcome(compiled, float(x)) == outcome(convert, float(x)), x


def test_unsigned_integers_do_not_wrap_around_either() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    def subtract(a: int, b: int) -> int:
        return a - b

    for function in (add, subtract):
        options = follows_python(function, "{operation} is too much")
        compiled = njit("uint64(uint64, uint64)", **options)(function)
        assert compiled(2**63, 5) == function(2**63, 5)
        with pytest.raises(OverflowError, match="is too much"):
            compiled(*((2**63, 2**63) if function is add else (5, 6)))


def slide(monoid: Monoid, xs: list[Any], size: int) -> Any:
    return swag.TwoStacksLite(monoid, compiled=True).slide(np.array(xs), size).tolist()


def test_a_product_that_overflows_names_the_monoid_and_the_operation() -> None:
    def combine(a: int, b: int) -> int:
        return a * b

    monoid = Monoid("product", 1, int, combine)
    assert slide(monoid, [2**40, 2**20, 4], 2) == [2**40, 2**60, 2**22]
    with pytest.raises(OverflowError, match=r"a \* b in .*combine of monoid 'product'.*object"):
        slide(monoid, [2**40, 2**40], 2)
    plain = monoid.with_(dtype=object)
    assert swag.TwoStacksLite(plain).slide([2**40, 2**40], 2) == [2**40, 2**80]


def test_a_division_by_zero_raises_in_lift_and_in_lower() -> None:
    shares = Monoid("shares", 0, lambda x: 100 // x, lambda a, b: a + b)
    assert slide(shares, [1, 2, 5], 2) == [100, 150, 70]
    with pytest.raises(ZeroDivisionError):
        slide(shares, [1, 0, 2], 2)
    inverse = Monoid("inverse", 0.0, float, lambda a, b: a + b, lambda s: 1 / s)
    with pytest.raises(ZeroDivisionError):
        slide(inverse, [1.0, -1.0], 2)


def test_a_result_that_does_not_fit_a_narrow_state() -> None:
    monoid = Monoid("narrow", 0, lambda x: x, lambda a, b: a + b, dtype="int32")
    assert slide(monoid, [2**30, 2**30 - 1], 2) == [2**30, 2**31 - 1]
    with pytest.raises(OverflowError, match="state of monoid 'narrow', which is int32"):
        slide(monoid, [2**30, 2**30], 2)


@pytest.mark.parametrize(
    ("monoid", "xs"),
    [
        (m.Sum(dtype="int64"), [2**62, 2**62]),
        (m.Sum(dtype="int64"), [LEAST, -1]),
        (m.Range(dtype="int64"), [LEAST, 0]),
        (m.Range(dtype="int64"), [-1, MOST]),
    ],
)
def test_built_in_monoids_say_what_to_do(monoid: Monoid, xs: list[int]) -> None:
    with pytest.raises(OverflowError, match="does not fit in 64 bits; cast the column"):
        slide(monoid, xs, 2)
    with pytest.raises(OverflowError, match="does not fit in 64 bits; cast the column"):
        swag.TwoStacksLite(monoid, compiled=False).slide(xs, 2)
