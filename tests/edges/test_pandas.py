"""pandas: types come out as they came in; names that are no strings; types that Arrow stores."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf

TWO = sash.rows(2)
BEFORE = sash.rows_between(-2, -1)  # without rows for the first row
NEAR = sash.range_between(-5, 0)

# the type of a column, its values, and the types of max over rows before, of mean, of a count
FAMILIES = {
    "numpy": ("int64", [1, 2, 3], "float64", "float64", "int64"),
    "nullable": ("Int64", [1, None, 2**60 + 1], "Int64", "Float64", "Int64"),
    "small": ("Int8", [1, None, 3], "Int8", "Float64", "Int64"),
    "unsigned": ("UInt64", [1, None, 3], "UInt64", "Float64", "Int64"),
    "float": ("Float32", [1.5, None, 2.5], "Float32", "Float64", "Int64"),
    "arrow": ("int64[pyarrow]", [1, 2, 3], "int64[pyarrow]", "double[pyarrow]", "int64[pyarrow]"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers(name: str) -> None:
    kind, values, largest, mean, count = FAMILIES[name]
    data = pd.DataFrame({"t": [1, 2, 3], "x": pd.array(values, dtype=kind)}, index=[7, 7, 5])
    asked = {"hi": sf.max("x").over(BEFORE), "mean": sf.mean("x").over(TWO),
             "n": sf.count("x").over(TWO), "twice": sf.max("x").over(TWO) * 2}  # fmt: skip
    out = sash.windowed(data, time="t").agg(**asked)
    assert list(out.index) == [7, 7, 5]
    found = [str(out[column].dtype) for column in ("x", "hi", "mean", "n")]
    assert found == [kind, largest, mean, count]
    assert out["hi"].isna().tolist() == [True, False, False]
    assert out["hi"].tolist()[1] == values[0]
    if kind == "Int64":  # which a double does not hold
        assert out["twice"].tolist()[2] == 2**61 + 2


@pytest.mark.parametrize("kind", ["string", "string[pyarrow]", "boolean", "bool[pyarrow]"])
def test_text_and_booleans(kind: str) -> None:
    values = ["a", "b", None] if kind.startswith("s") else [False, True, None]
    data = pd.DataFrame({"t": [1, 2, 3], "x": pd.array(values, dtype=kind)})
    out = sash.windowed(data, time="t").agg(y=sf.max("x").over(BEFORE))
    assert out["y"].dtype == data["x"].dtype
    assert out["y"].tolist()[1:] == values[:2]
    assert out["y"][0] is pd.NA


def test_categories() -> None:
    """As values and as keys, ordered or not; a list of them is one of what they stand for."""
    kind = pd.CategoricalDtype(["low", "high", "unused"], ordered=True)
    data = pd.DataFrame({"t": [1, 2, 3], "x": pd.Categorical(["high", "low", None], dtype=kind)})
    asked = {"y": sf.first("x").over(TWO), "list": sf.collect_list("x").over(TWO),
             "who": sf.argmax("t", "x").over(TWO)}  # fmt: skip
    out = sash.windowed(data, time="t").agg(**asked)
    assert out["y"].dtype == out["who"].dtype == kind
    assert out["y"].tolist() == ["high", "high", "low"]
    assert [list(each) for each in out["list"]] == [["high"], ["high", "low"], ["low"]]
    every = sash.windowed(data, "x", time="t").every(5).agg(n=sf.count().over(NEAR))
    assert every["x"].dtype == kind
    assert sorted(map(str, every["x"])) == ["high", "low", "nan"]


def test_keys_and_times_of_every() -> None:
    data = pd.DataFrame({
        "k": pd.array([1, None, 1], dtype="Int64"),
        "t": pd.array(["2024-01-01", "2024-01-02", "2024-01-02"], dtype="datetime64[us, UTC]"),
        "x": pd.array([1, 2, None], dtype="Int32"),
    })  # fmt: skip
    out = sash.windowed(data, "k", time="t").every("1 day").agg(hi=sf.max("x").over("1 day"))
    kinds = {name: str(kind) for name, kind in out.dtypes.items()}
    assert kinds == {"k": "Int64", "window_start": "datetime64[us, UTC]",
                     "window_end": "datetime64[us, UTC]", "hi": "Int32"}  # fmt: skip


def test_streams() -> None:
    """Batch by batch, also where a category came only before."""

    def batch(t: int, x: Any, c: str) -> pd.DataFrame:
        values = {"t": [t], "x": pd.array([x], dtype="Int64"), "c": pd.Categorical([c])}
        return pd.DataFrame(values)

    live = sash.stream(time="t").agg(hi=sf.max("x").over(NEAR), c0=sf.first("c").over(NEAR))
    outs = [live.feed(batch(1, None, "a")), live.feed(batch(2, 2**60 + 1, "b"))]
    assert [out["hi"].tolist() for out in outs] == [[pd.NA], [2**60 + 1]]
    assert [str(out["x"].dtype) for out in outs] == ["Int64"] * 2
    assert [out["c"].tolist() + out["c0"].tolist() for out in outs] == [["a", "a"], ["b", "a"]]
    assert str(outs[1]["c0"].dtype) == "category"


def test_times_with_a_zone() -> None:
    """They were objects."""
    times = pd.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns, Europe/Berlin]")
    data = pd.DataFrame({"t": [1, 2], "x": times})
    out = sash.windowed(data, time="t").agg(y=sf.max("x").over(BEFORE))
    assert out["y"].dtype == data["x"].dtype
    assert out["y"].isna().tolist() == [True, False]


def test_names_that_are_no_strings() -> None:
    data = pd.DataFrame({0: [1, 2], 1: [3, 4]})
    asked: dict[str, Any] = {"y": sf.max("1").over(TWO)}
    with pytest.raises(TypeError, match="time: names of columns are strings, not 0"):
        sash.windowed(data, time=0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="by: names of columns are strings, not 1"):
        sash.windowed(data, ["a", 1], time="0")  # type: ignore[list-item]
    with pytest.raises(KeyError, match=r"names of columns are strings, not 0: use df.rename"):
        sash.windowed(data, time="0").agg(**asked)
    with pytest.raises(TypeError, match=r"names of columns are strings, not 0: use df.rename"):
        sash.stream(time="0").agg(**asked).feed(data)
    with pytest.raises(TypeError, match="takes a column's name or an expression, not 1"):
        sf.max(1)  # type: ignore[arg-type]
    out = sash.windowed(data.rename(columns=str), time="0").agg(**asked)
    assert out["y"].tolist() == [3, 4]
    beside = sash.windowed(data.rename(columns={0: "t"}), time="t").agg(n=sf.count().over(TWO))
    assert list(beside.columns) == ["t", 1, "n"]


@pytest.mark.parametrize("name", ["max", "first", "mode", "collect_set", "argmax"])
def test_text_as_views(name: str) -> None:
    """string_view, which Arrow has few functions for; the column itself stays as it is."""
    words = ["b", "a", None, "a"]
    asked = getattr(sf, name)(*(("t", "x") if name == "argmax" else ("x",))).over(NEAR)
    found = []
    for kind in (pa.string_view(), pa.large_string()):
        table = pa.table(
            {"t": [1, 2, 3, 4], "x": pa.array(words, kind), "k": pa.array(words, kind)}
        )
        out = sash.windowed(table, "k", time="t").agg(y=asked)
        assert out.schema.field("x").type == out.schema.field("k").type == kind
        live = sash.stream("k", time="t").agg(y=asked)
        given = pa.concat_tables(live.feed(table.slice(i, 2)) for i in (0, 2))
        assert given.column("y").to_pylist() == out.column("y").to_pylist()
        found.append(out.column("y"))
    assert found[0].equals(found[1])


def test_polars_categories() -> None:
    for kind in (pl.Categorical, pl.Enum(["b", "a"])):
        data = pl.DataFrame({"t": [1, 2], "x": pl.Series(["a", "b"], dtype=kind)})
        out = sash.windowed(data, "x", time="t").agg(y=sf.first("x").over(TWO))
        assert out["y"].to_list() == ["a", "b"]
        assert out["x"].dtype == data["x"].dtype
