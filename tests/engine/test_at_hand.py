"""Quantiles of sketches over tables, whose rows are at hand: exact, and not sketched."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.plan.plan import Options
from sash.plan.planner import plan_of

RANDOM = np.random.default_rng(5)
FLOATS = RANDOM.normal(size=900)
FLOATS[::50] = np.nan
COLUMNS = {
    "float64": pa.array(FLOATS, mask=np.arange(900) % 11 == 2),
    "int32": pa.array(RANDOM.integers(-9, 9, 900), pa.int32()),
    "int64": pa.array(RANDOM.integers(2**60, 2**62, 900)),
}


def expected(values: list[Any], rank: float) -> float | None:
    """The smallest value that at least a share of `rank` is not above; NaN is above all."""
    known = sorted((x for x in values if x is not None), key=lambda x: (x != x, x))
    return float(known[max(0, math.ceil(rank * len(known)) - 1)]) if known else None


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("rank", [0, 0.3, 0.9, 1.0])
def test_they_are_exact_where_a_sketch_is_not(kind: str, rank: float) -> None:
    table = pa.table({"t": np.arange(900), "x": COLUMNS[kind]})
    sketch = sf.apply(m.Quantiles(k=8, at=rank), "x")
    exact = sf.percentile_approx("x", rank)  # of the column's own type: another state
    out = sash.windowed(table, time="t").agg(
        q=sketch.over(sash.rows(300)), whole=sketch.over(sash.rows_between(None, 0)),
        own=exact.over(sash.rows(300)),
    )  # fmt: skip
    values = table.column("x").to_pylist()
    wanted = [expected(values[max(0, i - 299) : i + 1], rank) for i in range(900)]
    assert out.schema.field("q").type == pa.float64()
    assert out.schema.field("own").type == table.schema.field("x").type
    assert np.array_equal(as_floats(out.column("q").to_pylist()), as_floats(wanted), equal_nan=True)
    last = as_floats([expected(values, rank)])
    assert np.array_equal(as_floats(out.column("whole").to_pylist()[-1:]), last, equal_nan=True)


def as_floats(values: list[Any]) -> np.ndarray:
    """Values as doubles; a null is infinite, which no value is."""
    return np.array([math.inf if x is None else x for x in values], np.float64)


def test_sketches_are_kept_on_streams_and_where_an_algorithm_is_asked_for() -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.float64(), "d": pa.decimal128(9, 2)})
    call = sash.windowed(schema.empty_table(), time="t")

    def kind(a: Any, **options: Any) -> str:
        return (
            plan_of(call.query(q=a.over(sash.rows(9))), schema, Options(**options)).states[0].kind
        )

    one, several = m.Quantiles(at=0.9), m.Quantiles(at=(0.1, 0.9))
    assert kind(sf.apply(one, "x")) == "percentile"
    assert kind(sf.apply(one, "x"), rows="stream") == "combine"
    assert kind(sf.apply(one, "x"), algorithm="FiBA") == "combine"
    assert kind(sf.apply(one, "d")) == kind(sf.apply(several, "x")) == "combine"


def test_distinct_values_are_counted_where_rows_are_at_hand() -> None:
    table = pa.table({"t": np.arange(900), "x": COLUMNS["float64"]})
    call, frame = sash.windowed(table, time="t"), sash.rows(300)
    out = call.agg(
        about=sf.approx_count_distinct("x", p=4).over(frame),
        exact=sf.count_distinct("x").over(frame),
    )
    assert out.column("about").equals(out.column("exact"))
    query = call.query(about=sf.approx_count_distinct("x").over(frame))
    assert plan_of(query, table.schema, Options(rows="stream")).states[0].kind == "combine"


WORDS = ["b", "", None, "ä", "aa", "z\x00", "𝄞", "a"]
OBJECTS = {
    "text": pa.array([WORDS[i] for i in RANDOM.integers(0, 8, 400)]),
    "bytes": pa.array([bytes([i]) * (i % 3) for i in RANDOM.integers(0, 250, 400)]),
    "decimal": pa.array([Decimal(int(i)) / 100 for i in RANDOM.integers(-900, 900, 400)]),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("exclude", [None, "current row"])
def test_extremes_of_objects_are_found_by_rank(kind: str, exclude: str | None) -> None:
    keys, passes = RANDOM.integers(0, 3, 400), RANDOM.integers(0, 4, 400) > 0
    table = pa.table({"k": keys, "t": np.arange(400), "x": OBJECTS[kind], "ok": passes})
    call, frame = sash.windowed(table, "k", time="t"), sash.rows(30)
    shape: Any = {} if exclude is None else {"exclude": exclude}
    asked = {
        "hi": sf.max("x").over(frame, **shape),
        "lo": sf.min("x").where("ok").over(frame, **shape),
        "when": sf.argmax("x", "t").over(frame, **shape),
    }
    assert {state.kind for state in call.plan(**asked).states} == {"argument"}
    assert "by rank, values are sorted once" in str(call.explain(**asked))
    out, rows = call.agg(**asked), table.to_pylist()
    assert out.schema.field("hi").type == table.schema.field("x").type
    for i, found in enumerate(out.to_pylist()):
        window = [row for row in rows[: i + 1] if row["k"] == rows[i]["k"]][-30:]
        window = window[:-1] if exclude else window
        known = [row for row in window if row["x"] is not None]
        passing = [row["x"] for row in known if row["ok"]]
        best = max(known, key=lambda row: row["x"], default={"x": None, "t": None})
        assert (found["hi"], found["when"]) == (best["x"], best["t"]), i
        assert found["lo"] == min(passing, default=None), i


def test_extremes_of_objects_are_combined_where_rows_come_in_batches() -> None:
    schema = pa.schema({"t": pa.int64(), "s": pa.string()})
    query = sash.windowed(schema.empty_table(), time="t").query(hi=sf.max("s").over(sash.rows(9)))
    assert plan_of(query, schema).states[0].kind == "combine"


def random_decimals(digits: int, n: int) -> list[Decimal | None]:
    """Decimals of up to so many digits, two of them after the point, of both signs; and nulls."""
    most = 10**digits
    whole = [int(x) for x in RANDOM.integers(-most + 1, most, n)]
    return [None if i % 13 == 5 else Decimal(x).scaleb(-2) for i, x in enumerate(whole)]


@pytest.mark.parametrize("exclude", [None, "current row", "group"])
@pytest.mark.parametrize("digits", [4, 18, 25])
def test_sums_of_decimals_are_exact(digits: int, exclude: Any) -> None:
    """Up to 18 digits they are sums of integers, of more digits they are Python's own."""
    values = random_decimals(min(digits, 18), 400)
    column = pa.array([None] * 3 + values, pa.decimal128(digits, 2)).slice(3)
    table = pa.table({"t": np.arange(400) // 2, "x": column})
    shape: Any = {} if exclude is None else {"exclude": exclude}
    call = sash.windowed(table, time="t")
    asked = {"y": sf.sum("x").over(sash.rows_between(-30, 4), **shape)}
    kinds = [
        s.kind for s in plan_of(call.query(**asked), table.schema, Options(rows="whole")).states
    ]
    assert kinds == ["decimal" if digits <= 18 else "combine"]
    out = call.agg(**asked).column("y")
    assert out.type == pa.decimal128(digits + 10, 2)
    for i, found in enumerate(out.to_pylist()):
        peers = {"current row": {i}, "group": {i - i % 2, i - i % 2 + 1}}.get(exclude, set())
        window = [values[j] for j in range(max(0, i - 30), min(400, i + 5)) if j not in peers]
        known = [x for x in window if x is not None]
        assert found == (sum(known, Decimal(0)) if known else None), i


@pytest.mark.parametrize("exclude", [None, "current row"])
@pytest.mark.parametrize("kind", ["text", "float64", "empty"])
def test_lists_are_copied_from_the_rows(kind: str, exclude: Any) -> None:
    columns = {
        "text": pa.array([None if i % 7 == 3 else f"v{i % 50}" for i in range(900)]),
        "float64": COLUMNS["float64"],
        "empty": pa.nulls(900, pa.int32()),
    }
    table = pa.table({"t": np.arange(900), "x": columns[kind]})
    ahead = -2 if kind == "text" else 3
    shape: Any = {} if exclude is None else {"exclude": exclude}
    call = sash.windowed(table, time="t")
    asked = {"y": sf.collect_list("x").over(sash.rows_between(-20, ahead), **shape)}
    assert "copied" in str(call.explain(**asked))
    values = table.column("x").to_pylist()
    for i, found in enumerate(call.agg(**asked).column("y").to_pylist()):
        rows = range(max(0, i - 20), min(900, i + ahead + 1))
        wanted = [values[j] for j in rows if not (exclude and j == i) and values[j] is not None]
        assert str(found) == str(wanted), i  # NaN is like NaN


def test_many_values_are_copied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.engine import collected

    monkeypatch.setattr(collected, "AT_ONCE", 100)
    table = pa.table({"t": np.arange(900), "x": np.arange(900)})
    out = sash.windowed(table, time="t").agg(y=sf.collect_list("x").over(sash.rows(60)))
    assert out.column("y").to_pylist() == [list(range(max(0, i - 59), i + 1)) for i in range(900)]
