"""Keys of unusual types, in every executor in process."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf

NESTED = {
    "list": pa.array([[1], [1]]),
    "struct": pa.array([{"a": 1}, {"a": 1}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
}
ASKED: dict[str, Any] = {"n": sf.count().over(sash.range_between(-9, 0))}


@pytest.mark.parametrize("name", NESTED)
def test_nested_keys_are_refused(name: str) -> None:
    table = pa.table({"k": NESTED[name], "t": [1, 2]})
    message = f"the key 'k' is {name}.*; a key is .*: make its parts columns of their own"
    with pytest.raises(TypeError, match=message):
        sash.windowed(table, "k", time="t").agg(**ASKED)
    with pytest.raises(TypeError, match=message):
        sash.windowed(table, "k", time="t").every(2).agg(**ASKED)
    with pytest.raises(TypeError, match=message):
        sash.stream("k", time="t").agg(**ASKED).feed(table)


FLAT = {
    "null": pa.nulls(3),
    "text": pa.array(["a", None, "a"]),
    "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1.5, 0.0, 1.5]).dictionary_encode(),
    "bytes": pa.array([b"a", b"", b"a"]),
    "decimal": pa.array([1, 2, 1], pa.int64()).cast(pa.decimal256(40, 2)),
    "boolean": pa.array([True, False, True]),
    "date": pa.array([1, 2, 1], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_keys(name: str) -> None:
    table = pa.table({"k": FLAT[name], "t": [1, 2, 3]})
    expected = [1, 2, 3] if name == "null" else [1, 1, 2]
    assert sash.windowed(table, "k", time="t").agg(**ASKED).column("n").to_pylist() == expected
    live = sash.stream("k", time="t").agg(**ASKED)
    given = pa.concat_tables(live.feed(table.slice(i, 1)) for i in range(3))
    assert given.column("n").to_pylist() == expected
