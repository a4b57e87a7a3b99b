"""Parameters that make no sense are errors that name them; `dtype=` gives the typed variant."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from sash import monoids as m


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: m.FirstN(0), ValueError, "FirstN: k must be at least 1, not 0"),
        (lambda: m.LastN(1.5), TypeError, "LastN: k must be a whole number, not 1.5"),
        (lambda: m.TopK(True), TypeError, "TopK: k must be a whole number"),
        (lambda: m.StdDev(ddof=-1), ValueError, "StdDev: ddof must be at least 0, not -1"),
        (lambda: m.Var("1"), TypeError, "Var: ddof"),
        (lambda: m.Bloom(bits=0, hashes=2), ValueError, "Bloom: bits must be at least 1"),
        (lambda: m.Bloom(bits=8, hashes=0), ValueError, "Bloom: hashes"),
        (lambda: m.CountMin(width=0, depth=1), ValueError, "CountMin: width"),
        (lambda: m.CountMin(width=1, depth=0), ValueError, "CountMin: depth"),
        (lambda: m.HyperLogLog(3), ValueError, "HyperLogLog: p must be at least 4"),
        (lambda: m.HyperLogLog(19), ValueError, "HyperLogLog: p must be at most 18"),
        (lambda: m.Quantiles(7), ValueError, "Quantiles: k must be at least 8"),
        (lambda: m.Quantiles(100_000), ValueError, "Quantiles: k must be at most"),
        (lambda: m.Quantiles(at=1.5), ValueError, "Quantiles: at must be from 0 to 1, not 1.5"),
        (lambda: m.Quantiles(at=()), ValueError, "Quantiles: at is empty"),
        (lambda: m.Quantiles(at="median"), TypeError, "Quantiles: at"),
        (lambda: m.LastDistinct(0), ValueError, "LastDistinct: k must be at least 1"),
        (lambda: m.ByCategory(m.Max), TypeError, r"did you mean to call it"),
        (lambda: m.ByCategory(m.Max(), -1), ValueError, "ByCategory: inputs must be at least 0"),
        (lambda: m.Regression("x"), ValueError, "Regression: of must be one of slope, .* 'x'"),
        (lambda: m.BinCounts([1]), ValueError, "BinCounts: edges must be two numbers or more"),
        (lambda: m.BinCounts([1, 1]), ValueError, "BinCounts: edges must be .* rising"),
        (lambda: m.BinCounts([0, float("nan")]), ValueError, "BinCounts: edges must be"),
        (lambda: m.DecayedSum(0), ValueError, "DecayedSum: half_life must be more than zero"),
        (lambda: m.DecayedSum(float("inf")), ValueError, "DecayedSum: half_life must be .* finite"),
        (lambda: m.DecayedMean("1 h"), TypeError, "DecayedMean: half_life must be a number"),
        (lambda: m.HllSketch(3), ValueError, "HllSketch: lg_k must be at least 4"),
        (lambda: m.HllSketch(22), ValueError, "HllSketch: lg_k must be at most 21"),
        (lambda: m.ThetaSketch(27), ValueError, "ThetaSketch: lg_k must be at most 26"),
        (lambda: m.KllSketch(of="text"), ValueError, "KllSketch: of must be double, float or"),
        (lambda: m.FrequentItems(0), ValueError, "FrequentItems: tracked must be at least 1"),
        (lambda: m.FrequentItems(k=0), ValueError, "FrequentItems: k must be at least 1"),
        (lambda: m.Concat(1), TypeError, "Concat: separator must be a string"),
        (lambda: m.Max(depth=1), TypeError, r"Max\(\) got an unexpected keyword argument 'depth'"),
        (lambda: m.Max(dtype="U3"), TypeError, "Max has no variant for dtype 'U3'; leave dtype"),
        (lambda: m.ArgMax(dtype="f8"), TypeError, "ArgMax has no variant for dtype 'f8'"),
        (lambda: m.join(), TypeError, "join: give at least one monoid"),
        (lambda: m.join(hi=m.Max), TypeError, r"did you mean to call it, as in m.Max\(\)"),
        (lambda: m.join(_hi=m.Max()), ValueError, "join: '_hi' cannot be the name"),
        (lambda: m.column(-1, m.Max()), ValueError, "column: index must be at least 0"),
    ],
)
def test_bad_parameters(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_dtype_gives_the_typed_variant_at_once() -> None:
    assert m.Max(dtype="int64").identity == -(2**63)
    assert m.Max(dtype=np.float32).identity == -np.inf
    assert m.Max(dtype="int64") == m.Max().of(np.dtype("int64"))
    assert m.Max(dtype="int64") != m.Max()
    assert m.Max(dtype="int64").combine(1, 2) == 2
    assert repr(m.ArgMax(dtype=(np.dtype("f8"), "i8"))) == "ArgMax(dtype=('float64', 'i8'))"


def test_a_changed_copy_forgets_its_recipe() -> None:
    changed = m.Max().with_(name="largest")
    assert changed.recipe is None
    assert repr(changed) == "Monoid('largest')"


@pytest.mark.parametrize(
    "factory", [m.Quantiles, m.HllSketch, m.ThetaSketch, m.KllSketch, m.FrequentItems]
)
def test_sketches_say_what_to_install(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    message = rf"{factory.__name__} needs .* pip install 'sash\[sketches\]'"
    with pytest.raises(ImportError, match=message):
        factory()
