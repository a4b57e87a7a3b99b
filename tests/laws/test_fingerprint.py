"""What a monoid's functions capture is part of what they compute, or an error that names it."""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from sash import Monoid
from sash import monoids as m
from sash.monoids.fingerprint import NotPlain, fingerprint
from sash.monoids.pickling import check_pickles

Point = namedtuple("Point", "x y")


class Color(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Config:
    scale: Any
    log: Any = None


def using(value: Any) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        return (value, a, b)[1]

    return combine


PAIRS = [
    (1, 2), (1, True), (0.0, -0.0), (b"a", "a"), (Decimal("1.0"), Decimal("1.00")),
    (timedelta(1), timedelta(2)), (Color.RED, Color.BLUE), (Point(1, 2), Point(2, 1)),
    ([1, [2]], [1, [3]]), ({"a": 1}, {"a": 2}), ({1, 2}, {1, 3}), ((1, 2), [1, 2]),
    (np.array([1, 2]), np.array([1, 3])), (np.array(["a", None]), np.array(["b", None])),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    (Config(1), Config(2)), (SimpleNamespace(a=1), SimpleNamespace(a=2)),
    (re.compile("a" * 300), re.compile("a" * 301)), (re.compile("a"), re.compile("a", re.I)),
    (functools.partial(max, 1), functools.partial(max, 2)), ({"a": 1}.get, {"a": 2}.get),
    (functools.lru_cache(lambda x: x + 1), functools.lru_cache(lambda x: x + 2)),
    (np.add, np.multiply), (len, max), (np.mean, np.median), (str.upper, str.lower),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_another_value_is_another_function(one: Any, other: Any) -> None:
    assert fingerprint(using(one)) != fingerprint(using(other))
    assert fingerprint(using(one)) == fingerprint(using(one))


NOT_PLAIN = [
    (pd.DataFrame({"a": [1]}), "value, a pandas DataFrame"),
    (pl.DataFrame({"a": [1]}), "value, a polars DataFrame"),
    (pa.table({"a": [1]}), "value, a pyarrow Table"),
    (logging.getLogger("x"), "value, a logging Logger"),
    (threading.Lock(), "value, a _thread lock"),
    ((x for x in "abc"), "value, a builtins generator"),
    (np.random.default_rng(1), "value, a numpy Generator"),
    ({"a": [1, pd.Series([1])]}, r"value\['a'\]\[1\], a pandas Series"),
    (list(range(200_000)), "value, which holds more than 100,000 values"),
]


@pytest.mark.parametrize(("value", "said"), NOT_PLAIN, ids=[said for _, said in NOT_PLAIN])
def test_what_is_not_plain_is_an_error_that_names_it(value: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"combine of monoid 'mine': .*combine uses {said}: give"):
        _ = Monoid("mine", 0, int, using(value)).digest
    with pytest.raises(NotPlain) as caught:
        fingerprint(using(value))
    assert caught.value.variable.startswith("value")


def test_only_attributes_that_are_used_have_to_be_plain() -> None:
    config = Config(3, logging.getLogger("x"))

    def scaled(a: Any, b: Any) -> Any:
        return a + config.scale * b

    def logged(a: Any, b: Any) -> Any:
        config.log.info("combine")
        return a

    assert fingerprint(scaled)
    with pytest.raises(NotPlain, match=r"logged uses config\.log, a logging Logger"):
        fingerprint(logged)


class Scaled:
    """Spark's aggregator protocol, with a logger that is used in one method of a subclass."""

    log = logging.getLogger("x")
    zero = 0

    def __init__(self, scale: int) -> None:
        self.scale, self.table = scale, pd.DataFrame()

    def reduce(self, buffer: int, x: int) -> int:
        return buffer + x * self.scale

    def merge(self, a: int, b: int) -> int:
        return a + b

    def finish(self, buffer: int) -> int:
        return buffer


class Looking(Scaled):
    def finish(self, buffer: int) -> int:
        return buffer + len(self.table)


def test_objects_with_methods() -> None:
    assert m.as_monoid(Scaled(2)) == m.as_monoid(Scaled(2))
    assert m.as_monoid(Scaled(2)) != m.as_monoid(Scaled(3))
    with pytest.raises(NotPlain, match=r"monoid 'Looking'.* uses self\.table, a pandas DataFrame"):
        _ = m.as_monoid(Looking(2)).digest


def test_functions_and_classes_that_refer_to_each_other_are_walked_once() -> None:
    """Twenty classes, each of which knows all: today's hash took longer than anyone waits."""
    around: dict[str, Any] = {"__name__": __name__}
    names = [f"C{i}" for i in range(20)]
    for name in names:
        body = ", ".join(names)
        exec(f"class {name}:\n    def go(self):\n        return [{body}]\n", around)
    exec("def combine(a, b):\n    return C0().go() and a\n", around)
    assert fingerprint(around["combine"]) == fingerprint(around["combine"])


def test_recursion_and_containers_that_hold_themselves() -> None:
    loop: list[Any] = [1]
    loop.append(loop)

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert fingerprint(even) != fingerprint(odd)
    assert fingerprint(using(loop)) == fingerprint(using(loop))


def test_an_attribute_with_the_name_of_a_global_is_not_that_global() -> None:
    around: dict[str, Any] = {"__name__": __name__, "table": pd.DataFrame(), "np": np}
    exec("def lower(v):\n    return v.table\n", around)
    assert fingerprint(around["lower"])
    exec("def lower(v):\n    return table\n", around)
    with pytest.raises(NotPlain, match="lower uses table, a pandas DataFrame"):
        fingerprint(around["lower"])


class Stubborn:
    """Plain enough to be hashed, and refuses to be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("no pickle of this")


def test_what_cannot_be_pickled_is_named() -> None:
    stubborn = {"a": [1, Stubborn()]}

    def helper(a: Any) -> Any:
        return (stubborn, a)[1]

    def combine(a: Any, b: Any) -> Any:
        return helper(a)

    monoid = Monoid("mine", 0, int, combine)
    assert monoid.digest
    with pytest.raises(
        TypeError, match=r"combine of monoid 'mine' .* uses stubborn\['a'\]\[1\], a "
    ):
        check_pickles(monoid, cloudpickle.dumps)
    with pytest.raises(TypeError, match=r"combine of monoid 'join' .* uses stubborn\['a'\]\[1\]"):
        check_pickles(m.join(a=monoid), cloudpickle.dumps)
    check_pickles(Monoid("mine", 0, int, using(Config(1))), cloudpickle.dumps)
    check_pickles(m.join(a=m.Max(), b=m.Sum()), cloudpickle.dumps)
