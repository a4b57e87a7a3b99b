"""Order: rows without a time, several columns of order, descending, as DuckDB and Spark sort."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from tests.language import duck


@pytest.mark.parametrize("block", [7, 1 << 17])
@pytest.mark.parametrize("descending", [False, True])
def test_several_columns_of_order(
    block: int, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", block)
    rows = duck.sample(200, 11, ties=6).take(np.random.default_rng(0).permutation(200))
    way = "DESC" if descending else "ASC"
    order = f"t {way}, i {way} NULLS {'LAST' if descending else 'FIRST'}"
    full = f"{order}, id"
    rows = rows.sort_by("id")  # ties of all columns are as they come
    work = sash.windowed(rows, "k", time=["t", "i"], descending=descending)
    found = work.agg(
        number=sf.row_number(),
        rank=sf.rank(),
        dense=sf.dense_rank(),
        before=sf.lag("id"),
        last=sf.sum("id").over(sash.rows(3)),
        groups=sf.sum("id").over(sash.groups_between(-1, 0)),
        others=sf.sum("id").over(sash.groups_between(-2, 2), exclude="group"),
    )
    rows_3, groups = "ROWS 2 PRECEDING", "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW"
    near = "GROUPS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP"
    expected = duck.answers(
        rows,
        {
            "number": f"row_number() {duck.over('', full)}",
            "rank": f"rank() {duck.over('', order)}",
            "dense": f"dense_rank() {duck.over('', order)}",
            "before": f"lag(id) {duck.over('', full)}",
            "last": f"sum(id) {duck.over(rows_3, full)}",
            "groups": f"sum(id) {duck.over(groups, order)}",
            "others": f"sum(id) {duck.over(near, order)}",
        },
    )
    duck.assert_same(found, expected)
    assert found.column("id").equals(rows.column("id"))


@pytest.mark.parametrize("exclude", ["current row", "group", "ties"])
@pytest.mark.parametrize("block", [7, 1 << 17])
def test_rows_of_one_time_that_are_no_peers_stay_in_the_window(
    exclude: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peers agree in all columns of order; a frame by time has all rows of its last time."""
    monkeypatch.setattr(row_windows, "BLOCK", block)
    rows = duck.sample(150, 5, ties=5)
    found = sash.windowed(rows, "k", time=["t", "b"]).agg(
        ids=sf.collect_list("id").over(sash.range_between(-2, 0), exclude=exclude),
        hi=sf.max("id").over(sash.lifetime(), exclude=exclude),
        n=sf.count().over(sash.session(1), exclude=exclude),
    )
    table = found.to_pylist()
    for row in table:
        mine = [r for r in table if r["k"] == row["k"] and r["t"] <= row["t"]]
        mine.sort(key=lambda r: (r["t"], {None: 0, False: 1, True: 2}[r["b"]], r["id"]))
        peers = [r for r in mine if (r["t"], r["b"]) == (row["t"], row["b"])]
        out = {"current row": [row], "group": peers, "ties": [r for r in peers if r is not row]}
        left = [r for r in mine if not any(r is o for o in out[exclude])]
        assert row["ids"] == [r["id"] for r in left if r["t"] >= row["t"] - 2]
        assert row["hi"] == max((r["id"] for r in left), default=None)
        times = sorted({r["t"] for r in mine}, reverse=True)
        start = next((t for t, b in itertools.pairwise(times) if t - b > 1), times[-1])
        assert row["n"] == sum(r["t"] >= start for r in left)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.timestamp("us"), pa.date32()])
@pytest.mark.parametrize("descending", [False, True])
def test_rows_without_a_time_come_before_all_others(kind: pa.DataType, descending: bool) -> None:
    plain = pa.array([5, None, 1, None, 2, 9, None], pa.int32() if kind == pa.date32() else None)
    table = pa.table({"t": plain.cast(kind), "x": [1, 2, 4, 8, 16, 32, 64]})
    number = kind in (pa.int64(), pa.float64())
    near = sash.range_between(-3 if number else "-3 days" if kind == pa.date32() else "-3 us", 0)
    found = sash.windowed(table, time="t", descending=descending).agg(
        near=sf.sum("x").over(near),
        all=sf.sum("x").over(sash.lifetime()),
        number=sf.row_number(),
        group=sf.sum("x").over(sash.groups_between(0, 0)),
    )
    nulls = 2 + 8 + 64
    if descending:
        assert found.column("near").to_pylist() == [1, nulls, 20, nulls, 17, 32, nulls]
        assert found.column("all").to_pylist() == [33, 127, 53, 127, 49, 32, 127]
        assert found.column("number").to_pylist() == [2, 5, 4, 6, 3, 1, 7]
    else:
        assert found.column("near").to_pylist() == [17, nulls, 4, nulls, 20, 32, nulls]
        assert found.column("all").to_pylist() == [95, nulls, 78, nulls, 94, 127, nulls]
        assert found.column("number").to_pylist() == [6, 1, 4, 2, 5, 7, 3]
    assert found.column("group").to_pylist() == [1, nulls, 4, nulls, 16, 32, nulls]


def test_windows_by_the_clock_have_no_place_for_rows_without_a_time() -> None:
    table = pa.table({"t": [1, None], "x": [1, 2]})
    with pytest.raises(ValueError, match="has 1 null"):
        sash.windowed(table, time="t").every(2).agg(n=sf.count().over(sash.range_between(-2, 0)))
    least = pa.table({"t": [-(1 << 63), None], "x": [1, 2]})
    with pytest.raises(ValueError, match="which they stand for"):
        sash.windowed(least, time="t").agg(n=sf.count().over(sash.rows(2)))
