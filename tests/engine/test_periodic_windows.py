"""`every`: one answer a key and window, against windows taken by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.row_windows import run
from sash.plan.plan import plan_of
from tests.engine.oracle import alike
from tests.engine.test_row_windows import sample


def by_hand(table: pa.Table, size: int, slide: int) -> list[tuple[Any, ...]]:
    """(key, start, end, count, words) for each key and window that has rows."""
    groups: dict[tuple[int, int], list[str]] = {}
    for row in table.to_pylist():
        start = (row["s"] - size) // slide * slide + slide
        while start <= row["s"]:
            groups.setdefault((row["k"], start), []).append(row["w"])
            start += slide
    return [
        (k, start, start + size, len(ws), "".join(w for w in ws if w) or known(ws))
        for (k, start), ws in sorted(groups.items())
    ]


def known(words: list[Any]) -> Any:
    return "" if "" in words else None


@pytest.mark.parametrize(("size", "slide"), [(10, 10), (12, 3), (12, 5), (60, 1), (7, 7)])
@pytest.mark.parametrize("batch", [1, 40, 1000])
def test_windows_are_those_of_spark(size: int, slide: int, batch: int) -> None:
    table = sample(150, size)
    if slide > size:
        return
    frame = sash.range_between(-size, 0)
    asked = {"n": sf.count().over(frame), "words": sf.concat("w").over(frame)}
    query = sash.windowed(table, "k", time="s").every(slide).query(**asked)
    batches = run(plan_of(query, table.schema), table.to_batches(max_chunksize=batch))
    found = [tuple(row.values()) for b in batches for row in b.to_pylist()]
    assert found == by_hand(table, size, slide)


def test_gaps_between_windows_and_means() -> None:
    table = pa.table({"t": [0, 1, 100, 101], "x": [1.0, 3.0, 5.0, 9.0]})
    mean = sf.mean("x").over(sash.range_between(-10, 0))
    found = sash.windowed(table, time="t").every(5).agg(mean=mean)
    assert found.column_names == ["window_start", "window_end", "mean"]
    wanted = [(-5, 5, 2.0), (0, 10, 2.0), (95, 105, 7.0), (100, 110, 7.0)]
    assert [tuple(r.values()) for r in found.to_pylist()] == wanted


def test_timestamps_keep_their_type_and_zone() -> None:
    table = sample(50, 3)
    found = sash.windowed(table, "k", time="ts").every("10 s").agg(n=sf.count().over("1 minute"))
    assert found.schema.field("window_start").type == table.schema.field("ts").type
    edges = np.asarray(found.column("window_start").cast(pa.int64()))
    assert (edges % 10_000_000 == 0).all()


def test_bad_definitions_are_refused() -> None:
    table = sample(5, 1)
    ask = sash.windowed(table, "k", time="s").every(5)
    with pytest.raises(ValueError, match="one call, one size"):
        ask.agg(
            a=sf.count().over(sash.range_between(-10, 0)),
            b=sf.count().over(sash.range_between(-20, 0)),
        )
    with pytest.raises(ValueError, match="takes a duration"):
        ask.agg(a=sf.count().over(sash.rows(3)))
    with pytest.raises(ValueError, match="slide"):
        ask.agg(a=sf.count().over(sash.range_between(-3, 0)))
    assert alike(1.0, 1.0 + 1e-12)
