"""Compiled and plain Python agree; what cannot be compiled is said once, by name."""

from __future__ import annotations

import contextlib
import gc
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sash import Monoid, swag
from sash import monoids as m
from sash.kernel.compiled import CannotCompile


def test_a_function_that_numba_can_not_compile_warns_once_and_goes_on() -> None:
    def combine(a: int, b: int) -> int:
        return sorted({a, b}, key=str)[0]

    monoid = Monoid("as_text", 10, lambda x: x, combine)
    xs = np.arange(5, 15)
    with pytest.warns(RuntimeWarning, match=r"combine of monoid 'as_text' \(.*combine\)") as seen:
        answers = swag.DABALite(monoid).slide(xs, 3)
    assert len([w for w in seen if "as_text" in str(w.message)]) == 1
    assert list(answers) == list(swag.DABALite(monoid, compiled=False).slide(xs, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swag.TwoStacksLite(monoid).slide(xs, 3)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("empty_cache")
def test_only_the_driver_becomes_machine_code() -> None:
    """Not the words that it uses: LLVM's engine takes longer for each kernel, the more it has."""
    from numba.core.registry import cpu_target

    known = cpu_target.target_context.codegen()._engine._defined_symbols
    before = set(known)
    monoid = Monoid("of its own", 1, lambda x: x % 5 + 1, lambda a, b: a * b % 10_007)
    assert swag.DABALite(monoid, compiled=True).slide(np.arange(4), 2).tolist() == [1, 2, 6, 12]
    functions = {name for name in known - before if name.startswith("_ZN4sash")}
    assert any("slide" in name for name in functions)
    assert not {name for name in functions if name.startswith("_ZN4sash6kernel5build")}


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(
    "combine", [lambda a, b: a + b - 17 + 17, lambda a, b: a + b + len(input())]
)
def test_the_collector_of_cycles_is_on_again(combine: Callable[[int, int], int]) -> None:
    """After a kernel that was compiled, and after one that could not be."""
    with contextlib.suppress(CannotCompile):
        swag.DABALite(Monoid("collected", 0, int, combine), compiled=True).slide(np.arange(3), 2)
    assert gc.isenabled()


def test_compiled_true_makes_it_an_error() -> None:
    monoid = Monoid("reader", 0, lambda x: x, lambda a, b: a + b + len(input()))
    with pytest.raises(CannotCompile, match="combine of monoid 'reader'"):
        swag.DABALite(monoid, compiled=True).slide(np.arange(3), 2)
    with pytest.raises(TypeError, match="not made of numbers"):
        swag.DABALite(m.Concat(), compiled=True).slide(["a", "b"], 2)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("role", "monoid"),
    [
        ("lift", Monoid("halves", 0, lambda x: x / 2, lambda a, b: a + b)),
        ("lift", Monoid("pairs", 0, lambda x: (x, x), lambda a, b: a)),
        ("combine", Monoid("means", 0, lambda x: x, lambda a, b: (a + b) / 2)),
    ],
)
def test_another_shape_than_the_identity_names_both(
    role: str, monoid: Monoid, compiled: bool
) -> None:
    window = swag.DABALite(monoid, compiled=compiled)
    with pytest.raises(TypeError, match=rf"{role} of monoid '{monoid.name}'.*state is.*int64"):
        window.slide(np.arange(1, 5), 2)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_integer_sum_that_overflows_is_an_error(compiled: bool) -> None:
    window = swag.TwoStacksLite(m.Sum(dtype="int64"), compiled=compiled)
    with pytest.raises(OverflowError):
        window.slide(np.array([2**62, 2**62, 2**62]), 3)
    with pytest.raises(RuntimeError, match=r"left half changed by OverflowError.*new one"):
        window.query()


@pytest.mark.parametrize("algorithm", [swag.TwoStacksLite, swag.DABALite, swag.DABA])
def test_nan_is_larger_than_any_number_compiled_and_plain(algorithm: type[swag.Window]) -> None:
    xs = np.array([1.0, math.nan, 3.0, -math.inf, math.inf, math.nan, 2.0])
    for compiled in (True, False):
        window: Any = algorithm(m.Max(dtype="float64"), compiled=compiled)
        expected = [1.0, math.nan, math.nan, 3.0, math.inf, math.nan, math.nan]
        np.testing.assert_array_equal(window.slide(xs, 2), expected)


def test_functions_that_call_functions_and_capture_values() -> None:
    scale = 3

    def scaled(x: int) -> int:
        return scale * x

    def lift(x: int) -> int:
        return scaled(x) + 1

    monoid = Monoid("scaled", 0, lift, lambda a, b: max(a, b))
    answers = swag.DABALite(monoid, compiled=True).slide(np.array([1, 5, 2, 3]), 2)
    assert answers.tolist() == [4, 16, 16, 10]


def test_nested_tuples_and_answers_that_can_be_null() -> None:
    def combine(a: Any, b: Any) -> Any:
        return (a[0] + b[0], (max(a[1][0], b[1][0]), a[1][1] or b[1][1]))

    def lower(v: Any) -> Any:
        return None if v[0] < 2 else v[1][0]

    monoid = Monoid("nested", (0, (-1.0, False)), lambda x: (1, (x, x > 5)), combine, lower)
    answers = swag.DABALite(monoid, compiled=True).slide(np.array([1.0, 7.0, 3.0]), 2)
    assert answers.tolist() == [None, 7.0, 7.0]


def test_pairs_come_as_a_tuple_of_arrays() -> None:
    measures, arguments = np.array([1.0, 9.0, 2.0, 3.0]), np.array([10, 20, 30, 40])
    answers = swag.DABALite(m.ArgMax(), compiled=True).slide((measures, arguments), 2)
    assert list(answers) == [10, 20, 20, 40]
    with pytest.raises(ValueError, match="different lengths"):
        swag.DABALite(m.ArgMax()).slide((measures, arguments[:2]), 2)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float32", "float64", "bool"])
def test_input_of_every_number_type(dtype: str) -> None:
    xs = np.array([3, 1, 2, 1, 0, 5]).astype(dtype)
    answers = swag.TwoStacksLite(m.Max()).slide(xs, 2)
    assert [x.item() for x in answers] == swag.Recalc(m.Max(), compiled=False).slide(xs.tolist(), 2)


def test_out_is_written_to_and_checked() -> None:
    xs, out = np.arange(4.0), np.empty(4)
    answers = swag.TwoStacksLite(m.Sum()).slide(xs, 2, out=out)
    assert answers is out
    assert out.tolist() == [0.0, 1.0, 3.0, 5.0]
    with pytest.raises(TypeError, match="contiguous array of 4 float64"):
        swag.TwoStacksLite(m.Sum()).slide(xs, 2, out=np.empty(3))
