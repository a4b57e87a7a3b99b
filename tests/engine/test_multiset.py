"""Distinct counts and percentiles of windows, against the values themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import multiset, row_windows
from sash.engine.row_windows import run
from sash.plan.planner import plan_of
from sash.windows import bounds
from tests.engine.oracle import alike
from tests.engine.test_row_windows import sample

FRAME = sash.range_between(-25, 3)


def windows(table: pa.Table, column: str) -> list[list[Any]]:
    values, keys = table.column(column).to_pylist(), np.asarray(table.column("k"))
    times, found = np.asarray(table.column("s")), [[] for _ in values]
    for key in np.unique(keys):
        places = np.flatnonzero(keys == key)
        for i, lo, hi in zip(places, *bounds(FRAME, times[places]), strict=True):
            found[i] = [values[j] for j in places[lo:hi] if values[j] is not None]
    return found


def answers(table: pa.Table, aggregation: Any, size: int) -> list[Any]:
    query = sash.windowed(table, "k", time="s").query(y=aggregation.over(FRAME))
    batches = run(plan_of(query, table.schema), table.to_batches(max_chunksize=size))
    return [y for batch in batches for y in batch.column("y").to_pylist()]


@pytest.mark.parametrize("column", ["w", "i", "f", "b", "ts"])
@pytest.mark.parametrize("size", [1, 50, 1000])
def test_distinct_counts(column: str, size: int) -> None:
    table = sample(300, 3)
    counts = [len({"nan" if x != x else x for x in ws}) for ws in windows(table, column)]
    assert answers(table, sf.count_distinct(column), size) == counts


def test_values_that_left_are_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr(multiset, "max", lambda a, b: b, raising=False)  # renumber at once
    table = sample(300, 4, keys=1)
    table = table.set_column(5, "i", pa.array(np.arange(300) // 3))
    counts = [len(set(ws)) for ws in windows(table, "i")]
    assert answers(table, sf.count_distinct("i"), 10) == counts


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.75, 1])
@pytest.mark.parametrize("size", [1, 60, 1000])
def test_percentiles(share: float, size: int) -> None:
    table = sample(300, 5)
    ws = windows(table, "x")
    exact = [float(np.percentile(w, 100 * share)) if w else None for w in ws]
    found = answers(table, sf.percentile("x", share), size)
    assert all(map(alike, found, exact))
    ranks = [max(0, math.ceil(share * len(w)) - 1) for w in ws]
    values = [sorted(w)[rank] if w else None for w, rank in zip(ws, ranks, strict=True)]
    assert answers(table, sf.percentile_approx("x", share), size) == values


@pytest.mark.parametrize("size", [40, 3000])
def test_percentiles_of_windows_longer_than_a_block(size: int, monkeypatch: Any) -> None:
    """Rows that stay from block to block keep their order, and codes are far apart."""
    monkeypatch.setattr(row_windows, "BLOCK", 500)
    rng = np.random.default_rng(size)
    x = np.where(rng.random(6000) < 0.5, rng.integers(0, 9, 6000), rng.normal(0, 1e6, 6000))
    x[::700] = np.nan
    table = pa.table({"t": np.arange(6000), "x": x})
    found = sash.windowed(table, time="t").agg(
        y=sf.percentile_approx("x", 0.3).over(sash.rows_between(-size, 0), exclude="current row")
    )
    for i in [*range(1, 6000, 97), 5999]:
        window = np.sort(x[max(0, i - size) : i])
        wanted = window[max(0, math.ceil(0.3 * len(window)) - 1)]
        assert alike(found.column("y")[i].as_py(), float(wanted))


def test_a_percentile_of_integers_and_times_keeps_their_type() -> None:
    table = sample(100, 6)
    asked = {"i1": sf.percentile_approx("i", 0.5), "t1": sf.percentile_approx("ts", 0.5)}
    found = sash.windowed(table, "k", time="s").agg(
        **{name: a.over(FRAME) for name, a in asked.items()}
    )
    assert found.schema.field("i1").type == pa.int32()
    assert found.schema.field("t1").type == table.schema.field("ts").type
    with pytest.raises(ValueError, match="share must be from 0 to 1"):
        sf.percentile("x", 50)
