"""What makes two monoids the same, and Spark's aggregators as monoids."""

from __future__ import annotations

import operator
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from sash import Monoid
from sash import monoids as m
from sash.monoids.monoid import same
from sash.testing import check_laws
from tests.laws.cases import CASES


def plus_one(x: int) -> int:
    return x + 1


def test_same_name_and_other_code_are_two_monoids() -> None:
    def made(step: int) -> Monoid:
        def combine(a: int, b: int) -> int:
            return a + step * b

        return Monoid("total", 0, same, combine)

    def f(a: int, b: int) -> int:
        return a + b

    def g(a: int, b: int) -> int:
        return a - b

    g.__name__ = g.__qualname__ = f.__name__
    one, other = Monoid("total", 0, same, f), Monoid("total", 0, same, g)
    assert made(1) == made(1)
    assert hash(made(1)) == hash(made(1))
    assert made(1).digest == made(1).digest
    for a, b in ((one, other), (made(1), made(2))):
        assert a != b
        assert a.digest != b.digest
        assert hash(a) != hash(b)
        assert len({a, b}) == 2


def test_parameters_and_variants_are_different_monoids() -> None:
    monoids = [case.make() for case in CASES.values()]
    monoids += [
        m.StdDev(0), m.FirstN(3), m.TopK(3), m.Concat(), m.Bloom(64, 2), m.HyperLogLog(11),
        m.Quantiles(at=0.9), m.Max(dtype="int64"), m.Max(dtype="float64"),
        m.join(hi=m.Max()), m.join(lo=m.Max()), m.column(0, m.Max()), m.column(1, m.Max()),
    ]  # fmt: skip
    assert len({monoid.digest for monoid in monoids}) == len(monoids)


def test_digests_are_the_same_in_another_process() -> None:
    program = (
        "from tests.laws.cases import CASES\n"
        "for case in CASES.values(): print(case.make().digest)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    ).stdout  # fmt: skip
    assert out.split() == [case.make().digest for case in CASES.values()]


def test_users_monoids_of_module_level_functions_pickle() -> None:
    monoid = Monoid("sum of successors", 0, plus_one, operator.add)
    again = pickle.loads(pickle.dumps(monoid))
    assert again == monoid
    assert again.lift(1) == 2
    joined = m.join(a=monoid, b=m.Max())
    assert pickle.loads(pickle.dumps(joined)) == joined


class Average:
    """Spark's aggregator protocol."""

    def zero(self) -> tuple[int, int]:
        return (0, 0)

    def reduce(self, buffer: tuple[int, int], x: int) -> tuple[int, int]:
        return (buffer[0] + 1, buffer[1] + x)

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, buffer: tuple[int, int]) -> Any:
        return buffer[1] / buffer[0] if buffer[0] else None


def test_sparks_aggregators_are_monoids() -> None:
    average = m.as_monoid(Average())
    assert average.name == "Average"
    assert average.lower(average.combine(average.lift(1), average.lift(2))) == 1.5
    assert average.lower(average.identity) is None
    assert check_laws(Average(), [1, 2, 3]) is None
    both = m.join(mean=Average(), hi=m.Max())
    assert both.lower(both.combine(both.lift(1), both.lift(2))) == (1.5, 2)


def test_what_is_neither_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"did you mean to call it, as in m.Max\(\)"):
        m.as_monoid(m.Max)
