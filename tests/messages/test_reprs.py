"""Representations are one readable line."""

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.plan.planner import plan_of

TABLE = pa.table({"user": [1], "ts": pa.array([0], pa.timestamp("us")), "x": [1.0]})
WINDOWED = sash.windowed(TABLE, "user", time="ts")
TOTAL = sf.sum("x").over("1 hour")
QUERY = WINDOWED.query(total=TOTAL)


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (sf.sum("x"), '<sum(x): add .over("1 hour")>'),
        (TOTAL, "<sum(x) over the last 1 hour>"),
        (
            sf.sum("x").where("x > 1").over(sash.rows(3), min_periods=2),
            "<sum(x) where x > 1 over the last 3 rows, of 2 values at least>",
        ),
        (sf.col("a") * 2, "<a * 2>"),
        (TOTAL / 2, "<sum(x) / 2>"),
        (sash.rows(3), "<Rows: the last 3 rows>"),
        (sash.until("end"), "<Until: the rows since end was true>"),
        (sash.until(sf.col("x") > 3), "<Until: the rows since x > 3 was true>"),
        (sash.until(bool, "x"), "<Until: the rows since bool(x) was true>"),
        (sash.until(bool), "<Until: the rows since bool was true>"),
        (
            sash.windowed(TABLE),
            '<sash.windowed over a pyarrow table: add .agg(name=sf.max("column").over("1 hour"))>',
        ),
        (sash.sliding("1 hour", "1 minute"), "<Sliding: 1 hour every 1 minute>"),
        (
            WINDOWED,
            "<sash.windowed over a pyarrow table by user, time ts: add "
            '.agg(name=sf.max("column").over("1 hour"))>',
        ),
        (QUERY, "<total: sum(x) over the last 1 hour; by user, in order of ts>"),
        (
            plan_of(QUERY, TABLE.schema),
            "<plan: 1 output, 1 state, 1 frame; "
            "<total: sum(x) over the last 1 hour; by user, in order of ts>>",
        ),
        (sash.swag.DABALite(sash.monoids.Max()), "<DABALite of Max, 0 items>"),
        (sash.monoids.StdDev(ddof=0), "StdDev(ddof=0)"),
    ],
)
def test_repr(thing: object, text: str) -> None:
    assert repr(thing) == text


def test_explain_is_a_text_that_is_shown_as_it_is() -> None:
    explained = WINDOWED.explain(total=TOTAL)
    assert isinstance(explained, str)
    assert repr(explained) == str(explained)
    assert repr(explained).startswith("1 aggregation over 1 frame, by user, in order of ts\n")
    assert "sum(x)" in explained._repr_html_()
