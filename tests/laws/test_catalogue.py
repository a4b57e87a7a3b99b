"""Every entry of the catalogue: its laws, its answers, nulls, pickling, both variants."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import monoids as m
from sash import swag
from sash.kernel import Layout
from sash.stores.encoding import decode, encode
from sash.testing import Oracle, alike, check_laws
from tests.laws.cases import CASES, Case

ALL = [pytest.param(case, id=name) for name, case in CASES.items()]
SLOW = pytest.mark.slow
LONG = {"Bloom", "column", "Correlation", "CountMin", "HyperLogLog", "join", "M4"}
"""Those that take longest to compile."""
KNOWN = {
    "ArgMax", "ArgMin", "Count", "GeoMean", "Max", "Mean", "Min", "Product", "Range", "StdDev",
    "Sum", "Var",
}  # fmt: skip
"""Those whose compiled answers the tests of tables compare with plain Python's too."""

COMPILED = [
    pytest.param(
        case,
        columns,
        id=f"{name}-{i}",
        marks=[pytest.mark.slow] if i or case.shares or name in LONG | KNOWN else [],
    )
    for name, case in CASES.items()
    for i, columns in enumerate(case.columns)
]
some = settings(max_examples=25)


def dtype_of(columns: Any) -> Any:
    return tuple(c.dtype for c in columns) if isinstance(columns, tuple) else columns.dtype


def rows(columns: Any) -> list[Any]:
    if isinstance(columns, tuple):
        return list(zip(*(c.tolist() for c in columns), strict=True))
    return columns.tolist()


def test_every_entry_is_here() -> None:
    assert {factory.__name__ for factory in m.CATALOGUE} | {"join", "column"} == set(CASES)
    assert all(name in m.__all__ for name in CASES)


@pytest.mark.parametrize("examples", [10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", ALL)
def test_laws_hold_on_random_states(case: Case, examples: int) -> None:
    @settings(max_examples=examples)
    @given(case.inputs, st.booleans())
    def check(items: list[Any], null: bool) -> None:
        samples = [*items, None] if null and case.skips_null else items
        found = check_laws(case.make(), samples, tolerance=case.tolerance, equal=case.equal)
        assert found is None, str(found)

    check()


@pytest.mark.parametrize("case", ALL)
def test_answers_are_what_the_entry_says(case: Case) -> None:
    @some
    @given(case.inputs)
    def check(items: list[Any]) -> None:
        oracle = Oracle(case.make())
        oracle.insert_many(items)
        assert alike(case.read(oracle.query()), case.answer(items), 1e-6), items

    check()


@pytest.mark.parametrize("case", ALL)
def test_the_identity_does_not_leak(case: Case) -> None:
    monoid = case.make()
    assert alike(case.read(monoid.lower(monoid.identity)), case.empty)


@pytest.mark.parametrize("case", [p for p in ALL if p.values[0].skips_null])
def test_nulls_are_skipped(case: Case) -> None:
    monoid = case.make()
    assert alike(case.read(monoid.lower(monoid.lift(None))), case.empty)

    @some
    @given(case.inputs, st.integers(0, 4))
    def check(items: list[Any], place: int) -> None:
        with_null, without = Oracle(monoid), Oracle(monoid)
        with_null.insert_many([*items[:place], None, *items[place:]])
        without.insert_many(items)
        assert alike(case.read(with_null.query()), case.read(without.query()))

    check()


@pytest.mark.parametrize("case", ALL)
def test_it_pickles_and_says_how_it_was_made(case: Case) -> None:
    monoid = case.make()
    variants = [monoid, *(monoid.of(dtype_of(columns)) for columns in case.columns)]
    for variant in variants:
        again = pickle.loads(pickle.dumps(variant))
        assert again == variant
        assert repr(again) == repr(variant)
        assert again.digest == variant.digest
        assert alike(again.identity, variant.identity)
        assert repr(eval(repr(variant), dict(vars(m)))) == repr(variant)


@pytest.mark.parametrize("case", ALL)
def test_states_are_plain_data_and_answers_pickle(case: Case) -> None:
    @settings(max_examples=5)
    @given(case.inputs)
    def check(items: list[Any]) -> None:
        monoid = case.make()
        total = monoid.identity
        for x in items:
            total = monoid.combine(total, monoid.lift(x))
        answer = monoid.lower(total)
        for again in (pickle.loads(pickle.dumps(total)), decode(encode(total))):
            assert alike(case.read(monoid.lower(again)), case.read(answer))
        assert alike(pickle.loads(pickle.dumps(answer)), answer)

    check()


@pytest.mark.parametrize(("case", "columns"), COMPILED)
def test_variants_agree_plain_and_compiled(case: Case, columns: Any) -> None:
    monoid, items = case.make(), rows(columns)
    typed = monoid.of(dtype_of(columns))
    for size in (1, 7, 40):
        expected = Oracle(monoid).slide(items, size)
        assert alike(Oracle(typed).slide(items, size), expected, 1e-9)
        compiled = swag.DABALite(typed, compiled=True).slide(columns, size)
        assert alike(list(compiled), expected, 1e-9)
    assert len(expected) == 40


@pytest.mark.parametrize("case", ALL)
def test_there_is_no_variant_for_what_is_not_a_number(case: Case) -> None:
    monoid = case.make()
    for dtype in ("U5", "O", "M8[ns]", "uint64", ("U5", "O")):
        typed = monoid.typed(dtype) if monoid.typed else None
        assert typed is None
        assert monoid.of(dtype) is monoid


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float32", "float64"])
def test_typed_states_are_numbers_that_plain_python_shares(dtype: str) -> None:
    variants = [
        case.make().typed(kinds)  # type: ignore[misc]
        for case in CASES.values()
        for kinds in (dtype, (dtype, dtype))
        if case.make().typed
    ]
    typed = [variant for variant in variants if variant is not None]
    assert len(typed) > 20
    for variant in typed:
        assert Layout.of(variant.identity) == Layout.of(variant.identity, variant.dtype), variant
