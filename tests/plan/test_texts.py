"""Texts: compared with a literal by words of eight bytes, as Arrow compares them."""

from __future__ import annotations

import datetime as dt
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sash.functions import expr
from sash.plan import texts
from sash.plan.arrow_expressions import evaluate, types_of
from sash.plan.expressions import Expression

WANTED = ["a", "ok", "open", "seven..", "eight...", "nine.....", "sixteen.........", "größer ✓", ""]


def some(kind: pa.DataType, n: int, nulls: float) -> pa.Array:
    """Texts that are one of the wanted, or nearly."""
    random = Random(f"{kind} {n} {nulls}")
    near = [*WANTED, *(w + "x" for w in WANTED), *(w[:-1] + "?" for w in WANTED if w)]
    chosen = random.choices(near, k=n)
    return pa.array([None if random.random() < nulls else text for text in chosen], kind)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_texts_are_compared_as_arrow_does(
    kind: pa.DataType, nulls: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "WORTH_A_KERNEL", 1)
    column = some(kind, 2000, nulls)
    for part in (column, column.slice(3, 1001), column.slice(1990), column.slice(1999), column[:0]):
        for wanted in WANTED:
            found = texts.are(part, wanted)
            assert found.type == pa.bool_()
            assert found.to_pylist() == pc.equal(part, pa.scalar(wanted, kind)).to_pylist(), wanted


def test_no_byte_is_read_behind_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones, of which a word would reach further than the buffer, are Arrow's."""
    monkeypatch.setattr(texts, "WORTH_A_KERNEL", 1)
    inside: list[int] = []
    kernel = texts.kernel(texts.Narrow)

    def counted(memory: tuple[int, ...], n: int, *more: int) -> None:
        inside.append(n)
        kernel(memory, n, *more)

    monkeypatch.setattr(texts, "kernel", lambda columns: counted)
    values = ["ok", "no"] * 8
    begins = pa.array([2 * i for i in range(17)], pa.int32()).buffers()[1]
    exact = pa.py_buffer("".join(values).encode())
    column = pa.Array.from_buffers(pa.string(), 16, [None, begins, exact])
    assert texts.are(column, "ok").to_pylist() == [True, False] * 8
    assert inside == [13]  # of 32 bytes, eight from byte 24 on are the last


@pytest.mark.parametrize("sql", ["s = 'ok'", "'ok' <> s", "s IN ('a', 'open')", "s = NULL"])
def test_conditions_of_long_columns(sql: str) -> None:
    column = some(pa.string(), texts.WORTH_A_KERNEL + 5, 0.2)
    known = {"s = 'ok'": ["ok"], "'ok' <> s": ["ok"], "s IN ('a', 'open')": ["a", "open"]}
    found = evaluate({"r": expr(sql)}, pa.table({"s": column}))["r"].to_pylist()
    for value, answer in zip(column.to_pylist(), found, strict=True):
        if value is None or sql not in known:
            assert answer is None
        else:
            assert answer == ((value in known[sql]) != ("<>" in sql))


OF_ENTRIES = [
    "cast(s as string)",
    "s = 'ok'", "s <> 'ok'", "s < 'b'", "'b' >= s", "s LIKE 'o%'", "upper(s)", "length(s)",
    "s IN ('a', 'ok')", "isnull(s)", "coalesce(s, 'none')", "concat(s, '!')",
]  # fmt: skip


@pytest.mark.parametrize("sql", OF_ENTRIES)
def test_functions_of_a_dictionary_are_those_of_its_values(
    sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = pa.chunked_array([some(pa.string(), 50, 0.2), some(pa.string(), 30, 0.0)])
    encoded = pa.chunked_array([chunk.dictionary_encode() for chunk in plain.chunks])
    unused = pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int8()), ["a", "ok", "b"])
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None], pa.int8()), ["a", None])
    e: Expression = expr(sql)
    for column in (encoded, unused, with_null, encoded.slice(0, 0)):
        table = pa.table({"s": column})
        decoded = pa.table({"s": table["s"].cast(pa.string())})
        found, wanted = (evaluate({"r": e}, t)["r"] for t in (table, decoded))
        assert found.type == wanted.type == types_of({"r": e}, table.schema)["r"]
        assert found.to_pylist() == wanted.to_pylist()


def test_entries_that_no_row_has_raise_no_error() -> None:
    days = pa.DictionaryArray.from_arrays(pa.array([1, None]), ["no day", "2026-01-02", "x"])
    table = pa.table({"s": days})
    for sql in ("cast(s as date)", "s = DATE '2026-01-02'"):
        found = evaluate({"r": expr(sql)}, table)["r"].to_pylist()
        assert found[1] is None
        assert found[0] in (True, dt.date(2026, 1, 2))
