"""Derived columns: evaluated before rows are brought together by key, where that leaves less to
move; and monoids of a user's own in windows that leave rows out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from sash.engine.arrangement import Arrangement

N = 500
RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "k": RNG.integers(0, 9, N),
        "t": np.cumsum(RNG.poisson(1.0, N)),
        "x": pa.array(RNG.integers(-9, 9, N).astype(float), mask=RNG.random(N) < 0.1),
        "i": RNG.integers(1, 5, N),
        "s": pa.array(RNG.choice(["ok", "no", "other"], N), mask=RNG.random(N) < 0.1),
    }
)
FRAME = sash.range_between(-20, 0)
ASKED = {
    "text": sf.sum("x").where("s = 'ok'").over(FRAME),
    "both": sf.count().where("s = 'ok' and x > i").over(FRAME),
    "input": sf.max(sf.expr("case when s = 'no' then x else i end")).over(FRAME),
    "result": (sf.col("x") / sf.sum(sf.col("x") * 2).over(FRAME)),
    "constant": sf.sum("x").where("1 < 2").over(FRAME),
    "frame": sf.sum("i").over(sash.until(sf.col("s") == "ok")),
    "place": sf.last("s").where("x > 0").over(FRAME),
}


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the columns that are brought in order."""
    found: list[str] = []
    into, into_with = Arrangement.into, Arrangement.into_with

    def counted(self: Arrangement, column: pa.Array) -> pa.Array:
        found.append(str(column.type))
        return into(self, column)

    def both(self: Arrangement, column: pa.Array, flags: pa.BooleanArray) -> Any:
        made = into_with(self, column, flags)
        found.extend([] if made is None else [str(column.type), "with it a bit"])
        return made

    monkeypatch.setattr(Arrangement, "into", counted)
    monkeypatch.setattr(Arrangement, "into_with", both)
    return found


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("order", ["time", "random"])
def test_answers_are_those_of_rows_in_order(name: str, order: str) -> None:
    """Rows of equal time keep the order in which they come."""
    came = TABLE if order == "time" else TABLE.take(np.random.default_rng(1).permutation(N))
    came = came.append_column("row", pa.array(range(N)))
    in_order = came.sort_by([("k", "ascending"), ("t", "ascending"), ("row", "ascending")])
    found, wanted = (
        sash.windowed(table, "k", time="t").agg(y=ASKED[name]).sort_by("row")["y"].to_pylist()
        for table in (came, in_order)
    )
    assert found == wanted
    assert any(value is not None for value in found)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("text", ["double", "int64", "with it a bit"]),
        ("both", ["int64", "with it a bit"]),
        ("input", ["double", "int64"]),
        ("place", ["int64", "string", "with it a bit"]),
    ],
)
def test_conditions_are_moved_as_bits(name: str, wanted: list[str], moved: list[str]) -> None:
    """And text is not, unless it is what is aggregated."""
    sash.windowed(TABLE, "k", time="t").agg(y=ASKED[name])
    assert sorted(moved) == wanted


def test_columns_are_moved_where_more_are_derived_from_them(moved: list[str]) -> None:
    asked = {f"y{j}": sf.sum(sf.col("i") * j).over(FRAME) for j in range(2, 6)}
    sash.windowed(TABLE, "k", time="t").agg(**asked)
    assert sorted(moved) == ["int64", "int64"]


def test_conditions_of_windows_as_of_moments(moved: list[str]) -> None:
    spine = TABLE.select(["k", "t"]).slice(40, 200)
    at = sash.windowed(TABLE, "k", time="t").at(spine, time="t", closed="both")
    found = at.agg(y=sf.sum("x").where("s = 'ok'").over(FRAME))["y"].to_pylist()
    assert "string" not in moved
    rows = TABLE.to_pylist()
    for row, y in zip(spine.to_pylist(), found, strict=True):
        known = [
            r["x"] for r in rows
            if r["k"] == row["k"] and row["t"] - 20 <= r["t"] <= row["t"]
            and r["s"] == "ok" and r["x"] is not None
        ]  # fmt: skip
        assert y == (sum(known) if known else None)


def test_what_overflows_is_said_by_name() -> None:
    table = TABLE.set_column(3, "i", pa.array([1 << 62] * N))
    with pytest.raises(OverflowError, match=r"`?i`? \* 4"):
        sash.windowed(table, "k", time="t").agg(y=sf.sum(sf.col("i") * 4).over(FRAME))


def test_comparisons_of_columns_with_nan_and_null() -> None:
    """NaN is larger than any number and equal to itself; null is not known."""
    values = [None, -1.0, 0.0, 2.0, float("nan"), float("inf")]
    pairs = [(a, b) for a in values for b in values]
    table = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "t": range(36)})

    def rank(x: float) -> tuple[bool, float]:
        return (True, 0.0) if x != x else (False, x)

    for text, of in {
        "a < b": lambda x, y: x < y, "a <= b": lambda x, y: x <= y, "a > b": lambda x, y: x > y,
        "a >= b": lambda x, y: x >= y, "a = b": lambda x, y: x == y, "a <> b": lambda x, y: x != y,
    }.items():  # fmt: skip
        found = sash.windowed(table, time="t").agg(y=sf.expr(text))["y"].to_pylist()
        for (a, b), y in zip(pairs, found, strict=True):
            known = a is not None and b is not None
            assert y == (of(rank(a), rank(b)) if known else None), (a, text, b)


def added(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


def three_added(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


OWN = {
    "mean": sash.Monoid("mean", (0.0, 0), lambda x: (x, 1), added, lambda s: s[0] / s[1]),
    "rest": sash.Monoid("rest", (0.0, 0), lambda x: (x, 1), added, lambda s: s[0] / (s[1] - 1)),
    "wide": sash.Monoid(
        "wide", (0, 0.0, 0.0), lambda x: (1, x, x * x), three_added, lambda s: s[2] / (s[0] - 1)
    ),
    "first": sash.Monoid("first", (0.0, False), lambda x: (x, True), lambda a, b: a if a[1] else b,
                         lambda s: s[0] / s[1]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "exclude"),
    [
        *((name, "current row") for name in OWN),
        *((name, exclude) for name in ("mean", "first") for exclude in ("group", "ties")),
    ],
)  # the others raise at windows of one row, which are asked for without a group, or ties
@pytest.mark.parametrize("frame", ["range", "so far"])
def test_a_lower_that_may_raise_is_asked_for_whole_windows_alone(
    name: str, exclude: Any, frame: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows have each time: where a window without its row's peers has one row or none, the
    peers make it two or more. Those of `first` and `mean` may have one."""
    monkeypatch.setattr(row_windows, "BLOCK", 97)
    monoid, keys = OWN[name], 7
    n = 4 * 16 * keys
    table = pa.table(
        {"k": np.arange(n) // 64, "t": np.arange(n) // 4 % 16 * 3, "x": np.arange(n) % 11 + 1.0}
    )
    of = FRAMES[frame]
    asked = sf.apply(monoid, "x", check=False).over(of, exclude=exclude)
    rows, wanted = table.to_pylist(), []
    for i, row in enumerate(rows):
        begin = row["t"] - 9 if frame == "range" else -1
        chosen = [
            monoid.lift(other["x"]) for j, other in enumerate(rows)
            if (other["k"] == row["k"] and begin <= other["t"] <= row["t"]
            and not (j == i if exclude == "current row" else other["t"] == row["t"]))
            or (exclude == "ties" and j == i)
        ]  # fmt: skip
        wanted.append(chosen)
    found = sash.windowed(table, "k", time="t").agg(y=asked)["y"].to_pylist()
    for chosen, y in zip(wanted, found, strict=True):
        total = monoid.identity
        for partial in chosen:
            total = monoid.combine(total, partial)
        assert y == (pytest.approx(monoid.lower(total)) if chosen else None)


FRAMES = {"range": sash.range_between(-9, 0), "so far": sash.lifetime()}
