"""Any Python function over a window: plain, compiled, of several columns, of objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import window_functions
from tests.language import duck


def slope(x: Any, y: Any) -> float:
    return float(np.sum((x - np.mean(x)) * (y - np.mean(y))))


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_a_function_of_the_values_that_are_not_null(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_functions, "WORTH_COMPILING", least)
    table = duck.sample(300, 1, keys=1)
    found = sash.windowed(table, "k", time="t").agg(
        spread=sf.function(np.ptp, "x").over(sash.rows(9)),
        mad=sf.function(lambda x: np.median(np.abs(x - np.median(x))), "x").over(sash.rows(9)),
        both=sf.function(slope, "x", "i").over(sash.rows(9)),
        excluded=sf.function(lambda x: x.sum(), "x").over(sash.rows(9), exclude="current row"),
        total=sf.sum("x").over(sash.rows(9), exclude="current row"),
        positive=sf.function(lambda x: x.sum(), "x").where("x > 0").over(sash.rows(9)),
        sum_positive=sf.sum("x").where("x > 0").over(sash.rows(9)),
    )
    x = pd.Series(table.column("x").to_numpy(zero_copy_only=False))
    wanted = x.rolling(9, min_periods=1).apply(lambda v: np.nanmax(v) - np.nanmin(v))
    ours = [np.nan if v is None else v for v in found.column("spread").to_pylist()]
    assert np.allclose(ours, wanted, equal_nan=True)
    for a, b in (("excluded", "total"), ("positive", "sum_positive")):
        pairs = zip(found.column(a).to_pylist(), found.column(b).to_pylist(), strict=True)
        assert all(duck.same(*pair) for pair in pairs)
    i = table.column("i").to_pylist()
    last = [(a, b) for a, b in zip(x.tolist()[-9:], i[-9:]) if a == a and b is not None]
    assert found.column("both").to_pylist()[-1] == pytest.approx(
        slope(*(np.array(column, float) for column in zip(*last, strict=True)))
    )


def test_objects_and_other_answers() -> None:
    table = pa.table({"t": [1, 2, 3], "s": ["b", "a", "c"]})
    asked = sf.function(lambda s: "".join(sorted(s)), "s", returns=pa.string()).over(sash.rows(2))
    found = sash.windowed(table, time="t").agg(r=asked)
    assert found.column("r").to_pylist() == ["b", "ab", "ac"]


def test_explain_says_what_it_costs_and_what_would_be_cheaper() -> None:
    table = pa.table({"t": [1], "x": [1.0]})
    asked = sf.function(np.ptp, "x").over(sash.rows(2))
    text = sash.windowed(table, time="t").explain(r=asked)
    assert "ptp(x), called with the window's values, O(window) per row; a monoid" in text


def test_mistakes_are_named() -> None:
    with pytest.raises(TypeError, match="function takes a function, not 'x'"):
        sf.function("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name at least one column"):
        sf.function(np.ptp)
