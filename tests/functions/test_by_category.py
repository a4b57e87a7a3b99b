"""`.by(column)`: any aggregation for each category, as a map."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m

rng = np.random.default_rng(3)
N, SIZE = 120, 17
TABLE = pa.table(
    {
        "t": range(N),
        "x": pa.array([None if v == 0 else int(v) for v in rng.integers(0, 9, N)], pa.int32()),
        "y": rng.integers(0, 5, N).astype(float),
        "card": pa.array(rng.choice(["visa", "amex", "debit", None], N)),
    }
)
ROWS = TABLE.to_pylist()


def by_category(answer: Any) -> list[list[tuple[str, Any]]]:
    """For each window, `answer` of the rows of each category, in order of first arrival."""
    found = []
    for i in range(N):
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in ROWS[max(0, i + 1 - SIZE) : i + 1]:
            if row["card"] is not None:
                groups.setdefault(row["card"], []).append(row)
        found.append([(card, answer(rows)) for card, rows in groups.items()])
    return found


def known(rows: list[Any], name: str = "x") -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


CASES: dict[str, tuple[Any, Any]] = {
    "sum": (sf.sum("x"), lambda rows: sum(known(rows)) if known(rows) else None),
    "count": (sf.count(), len),
    "count x": (sf.count("x"), lambda rows: len(known(rows))),
    "max": (sf.max("x"), lambda rows: max(known(rows), default=None)),
    "first": (sf.first("x"), lambda rows: rows[0]["x"]),
    "last": (sf.last("x"), lambda rows: rows[-1]["x"]),
    "distinct": (sf.count_distinct("x"), lambda rows: len(set(known(rows)))),
    "median": (sf.median("x"), lambda rows: float(np.median(known(rows))) if known(rows) else None),
    "argmax": (sf.argmax("y", "t"), lambda rows: max(rows, key=lambda row: row["y"])["t"]),
    "list": (sf.collect_list("x"), known),
    "sxy": (
        sf.regr_count("x", "y"),
        lambda rows: sum(row["x"] is not None and row["y"] is not None for row in rows),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_aggregation_by_category(name: str) -> None:
    aggregation, answer = CASES[name]
    found = sash.windowed(TABLE, time="t").agg(m=aggregation.by("card").over(sash.rows(SIZE)))
    assert found["m"].to_pylist() == by_category(answer)


def test_its_type_is_a_map() -> None:
    query = sash.windowed(TABLE, time="t").query(m=sf.sum("x").by("card").over("1 s"))
    assert query.answer_types(TABLE.schema)["m"] == pa.map_(pa.string(), pa.int64())


def test_the_frame_may_come_first_and_empty_windows_are_empty_maps() -> None:
    over = sf.sum("x").over(sash.rows_between(-2, -1)).by("card")
    found = sash.windowed(TABLE, time="t").agg(m=over)["m"].to_pylist()
    assert found[0] == []
    assert found[1] == [(ROWS[0]["card"], ROWS[0]["x"])]


def test_an_answer_of_no_known_type_is_refused() -> None:
    own = sf.apply(m.Max(), "x").by("card").over(sash.rows(2))
    with pytest.raises(TypeError, match=r"Max\(x\).by: give the type of its answers"):
        sash.windowed(TABLE, time="t").agg(m=own)


def test_columns_of_the_wrong_type_are_still_named() -> None:
    with pytest.raises(TypeError, match="sum_by takes a column of numbers, but card is string"):
        sash.windowed(TABLE, time="t").agg(m=sf.sum("card").by("x").over(sash.rows(2)))


def test_conditions_and_expressions() -> None:
    over = sash.rows(SIZE)
    found = sash.windowed(TABLE, time="t").agg(
        some=sf.sum("x").where("x > 3").by("card").over(over),
        half=sf.count().by(sf.col("y") > 2).over(over),
    )
    expected = by_category(lambda rows: sum(x for x in known(rows) if x > 3) or None)
    some = [[(card, total) for card, total in row if total] for row in expected]
    assert [sorted(row) for row in found["some"].to_pylist()] == [sorted(row) for row in some]
    counts = [dict(row) for row in found["half"].to_pylist()]
    assert [sum(row.values()) for row in counts] == [min(i + 1, SIZE) for i in range(N)]


def test_rows_by_their_place_are_refused() -> None:
    with pytest.raises(TypeError, match=r"nth_value\(x\) looks rows up by their place"):
        sf.nth_value("x", 2).by("card")
    two = sash.policy(lambda total, old: total - old >= 2, of=m.Count())
    with pytest.raises(TypeError, match="cannot be computed by category or over a policy"):
        sash.windowed(TABLE, time="t").agg(z=sf.nth_value("x", 2).over(two))


def test_means_of_decimals_are_rounded_as_without_categories() -> None:
    money = pa.array([Decimal("1.00"), Decimal("1.00"), Decimal("2.00")], pa.decimal128(9, 2))
    table = pa.table({"t": range(3), "x": money, "card": ["a", "a", "a"]})
    found = sash.windowed(table, time="t").agg(
        by=sf.mean("x").by("card").over(sash.rows(3)), alone=sf.mean("x").over(sash.rows(3))
    )
    assert [row[0][1] for row in found["by"].to_pylist()] == found["alone"].to_pylist()


def test_policies_keep_what_was_asked_for() -> None:
    """They count rows where the aggregation has a quicker way than combining."""
    table = pa.table({"t": range(4), "x": [5, None, 1, 3]})
    two = sash.policy(lambda total, old: total - old >= 2, of=m.Count())
    found = sash.windowed(table, time="t").agg(
        first=sf.first("x").over(two), last=sf.last("x").over(two),
        middle=sf.median("x").over(two), n=sf.count().over(two),
    )  # fmt: skip
    assert found["n"].to_pylist()[0] == 1
    assert found["last"].to_pylist() == [5, None, 1, 3]
    assert found["first"].to_pylist()[0] == 5
    assert found["middle"].to_pylist()[0] == 5.0
