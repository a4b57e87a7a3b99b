"""Monoids of users that are wrong: what, which function of which monoid, and what to do."""

import logging
import threading
import warnings
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import sash
from sash import Monoid
from sash import functions as sf
from sash.monoids.pickling import check_pickles
from sash.testing import check_laws

TABLE = pa.table({"t": [1, 2, 3], "x": [None, 2.0, 4.0]})
LOCK = threading.Lock()
LOGGER = logging.getLogger("tests")
FRAME = pd.DataFrame({"a": [1]})
RATES = pl.DataFrame({"a": [1]})


def run(monoid: Any, **options: Any) -> list[Any]:
    asked = sf.apply(monoid, "x", **options).over(sash.rows(1))
    return sash.windowed(TABLE, time="t").agg(y=asked)["y"].to_pylist()


def error(monoid: Any) -> str:
    with pytest.raises(TypeError) as caught:
        run(monoid)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("identity", [0.0, []])
def test_a_combine_that_returns_nothing(identity: Any) -> None:
    assert error(Monoid("mine", identity, lambda x: identity, lambda a, b: None)) == (
        "combine of monoid 'mine' gives None for (identity, identity): it has to return the "
        "combined partial; is a `return` missing?"
    )


def test_a_wrong_number_of_arguments() -> None:
    assert error(Monoid("mine", 0.0, float, lambda a: a)) == (
        "combine of monoid 'mine' takes a; it has to take two partials, combine(older, younger)"
    )
    assert "takes a, b, c;" in error(Monoid("mine", 0.0, float, lambda a, b, c: a))
    assert error(Monoid("mine", 0.0, float, max, lambda: 1.0)) == (
        "lower of monoid 'mine' takes nothing; it has to take one partial, lower(partial)"
    )


@pytest.mark.parametrize(
    ("monoid", "law"),
    [
        (Monoid("mine", 0.0, float, lambda a, b: a - b), "has a wrong identity"),
        (Monoid("mine", 0.0, float, lambda a, b: a + b + a * a * b), "is not associative"),
    ],
)
def test_a_broken_law_is_a_warning_once(monoid: Monoid, law: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"^y: monoid mine {law}: .*check=False") as caught:
        run(monoid)
    assert "\n" not in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(monoid)


def test_the_check_can_be_turned_off_and_good_monoids_pass() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(Monoid("off", 0.0, float, lambda a, b: a - 2 * b), check=False)
        assert run(Monoid("good", 0.0, float, lambda a, b: a + b)) == [0.0, 2.0, 4.0]
        sketch = Monoid("longest", "", str, lambda a, b: max(a, b, key=len))
        run(sketch)


def test_a_broken_law_in_streams_spines_and_expressions() -> None:
    def wrong(k: float) -> Any:
        made = Monoid("mine", 0.0, float, lambda a, b: a + b + k * a * a * b)
        return sf.apply(made, sf.col("x") * 2).over(sash.rows(2))

    told = "^y: monoid mine is not associative: .* = lift\\(4.0\\)"
    with pytest.warns(RuntimeWarning, match=told):
        sash.windowed(TABLE, time="t").agg(y=wrong(1.0))
    with pytest.warns(RuntimeWarning, match=told):
        sash.stream(time="t").agg(y=wrong(2.0)).feed(TABLE)
    with pytest.warns(RuntimeWarning, match=told):
        sash.windowed(TABLE, time="t").at(TABLE).agg(y=wrong(3.0))


@pytest.mark.parametrize(
    "monoid",
    [
        Monoid("mean", (0.0, 0), lambda x: (x, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]),
               lambda s: s[0] / s[1]),
        Monoid("largest", [], lambda x: [x], lambda a, b: a + b, max),
    ],
    ids=["compiled", "objects"],
)  # fmt: skip
def test_a_lower_that_raises_for_no_rows_gives_null(monoid: Monoid) -> None:
    assert run(monoid) == [None, 2.0, 4.0]
    found = check_laws(monoid, [1.0, 2.0])
    assert "has no answer for no rows: lower(identity) raises" in str(found)


def test_what_cannot_be_hashed_is_named_at_once() -> None:
    def locked(a: float, b: float) -> float:
        with LOCK:
            return a + b

    def logged(a: float, b: float) -> float:
        LOGGER.info("combining")
        return a + b

    def looked_up(a: float, b: float) -> float:
        return a + b + len(FRAME)

    def rated(a: float, b: float) -> float:
        return a + b + RATES.height

    for function, variable in (
        (locked, "LOCK, a _thread lock"), (logged, "LOGGER, a logging Logger"),
        (looked_up, "FRAME, a pandas DataFrame"), (rated, "RATES, a polars DataFrame"),
    ):  # fmt: skip
        text = error(Monoid("mine", 0.0, float, function))
        assert "combine of monoid 'mine': " in text
        assert f"{function.__name__} uses {variable}: give it numbers" in text


def test_what_cannot_be_pickled_is_named() -> None:
    def locked(a: float, b: float) -> float:
        with LOCK:
            return a + b

    with pytest.raises(TypeError, match=r"combine of monoid 'mine' cannot be sent .* uses LOCK"):
        check_pickles(Monoid("mine", 0.0, float, locked), cloudpickle.dumps)
