"""Rows are combined to slices before they are sent to their shards, and late ones are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from sash.engine.stream.pages import CHECK, KEY, StateError, from_bytes
from sash.spark import marks
from sash.spark.local_pages import LocalPages, NoPages
from sash.spark.marks import Marks
from sash.spark.shards import AFTER, Packing, is_sliced, packed, shard_ids, sliced_after
from tests.spark import streams

DELAY = 10


def totals(data: Any, by: str = "k", **options: Any) -> Any:
    work = sash.windowed(data, by, time="ts", **options).every("20 seconds")
    asked = {"n": sf.count(), "hi": sf.max("x"), "total": sf.sum("v")}
    return work.agg(**{name: each.over("1 minute") for name, each in asked.items()})


@pytest.mark.parametrize(
    ("by", "cache"),
    [
        ("g", True),
        pytest.param("k", True, marks=pytest.mark.slow),
        pytest.param("k", False, marks=pytest.mark.slow),
    ],
)
def test_a_shuffle_moves_slices(spark: SparkSession, tmp_path: Path, by: str, cache: bool) -> None:
    """From the second batch on, which knows the watermark before it; not without local files. Text
    is hashed by Spark, an integer is its own number."""
    table = streams.rows(np.random.default_rng(4), 600, disorder=120)
    files = [*streams.cut(table, 4), streams.last()]
    late = streams.late(files, DELAY)
    streams.write(tmp_path / "in", files)
    stream = streams.source(spark, tmp_path / "in")
    figures = streams.run(totals(stream, by, late="side", shards=2, cache=cache), tmp_path)
    found = streams.written(spark, tmp_path)
    flags = found.column("late")
    assert sum(flags.to_pylist()) == len(late) > 0
    assert sum(each["rows_late"] for each in figures) == len(late)
    assert sum(each["rows_in"] for each in figures) == 601
    on_time = found.filter(pa.compute.invert(flags)).drop_columns(["late"])
    expected = totals(streams.without(table, late), by)
    assert streams.differing(on_time, expected, [by, "window_start"]) == {}
    lifted = [each["combined"] >= 3 * (each["rows_in"] - each["rows_late"]) for each in figures[:4]]
    assert lifted == [True] + [not cache] * 3


def test_integers_are_their_own_numbers() -> None:
    """Spark sends no hashes of them, and each key is in one shard, whatever its remainder."""
    keys = [None if i % 50 == 0 else 64 * (i % 7 - 3) for i in range(1_000)]
    rows = pa.table({"k": pa.array(keys, pa.int32()), "x": np.arange(1_000.0)})
    packing = Packing((KEY, CHECK, "k", "x"), tuple(shard_ids(4)), own="k")
    assert packing.sent == ("k", "x")
    shards: dict[Any, set[int]] = {}
    for block in packed(packing, iter(rows.to_batches(max_chunksize=300))):
        for shard, data in zip(*(column.to_pylist() for column in block.columns), strict=True):
            for row in from_bytes(data).to_pylist() if data else []:
                shards.setdefault((row["k"], row[KEY], row[CHECK] == 0), set()).add(shard)
    assert {(k, number) for k, number, _ in shards if k is not None} == {
        (64 * n, 64 * n) for n in range(-3, 4)
    }
    assert [plain for k, _, plain in shards if k is None] == [False]
    assert all(len(found) == 1 for found in shards.values())
    assert len({shard for found in shards.values() for shard in found}) > 1


def test_a_mark_is_of_the_batch_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task: list[Any] = [("run", 4)]
    monkeypatch.setattr(marks, "_task", lambda: task[0])
    near = LocalPages(tmp_path / "pages")
    known = Marks("stream", near)
    assert known.before() is None
    known.keep(70)
    found = {}
    for each in (("run", 4), ("run", 5), ("run", 6), ("another", 5), None):
        task[0] = each
        found[each] = Marks("stream", near).before()
    assert found == {
        ("run", 4): None, ("run", 5): 70, ("run", 6): None, ("another", 5): None, None: None,
    }  # fmt: skip
    task[0] = ("run", 5)
    assert Marks("another", near).before() is None
    near.put("mark-run-stream", b"damaged")
    assert known.before() is None
    Marks("stream", NoPages()).keep(70)
    assert Marks("stream", NoPages()).before() is None


def test_slices_of_another_watermark_are_refused() -> None:
    block = pa.table({"n": [1]}).replace_schema_metadata({AFTER: b"70"})
    assert is_sliced(block)
    assert not is_sliced(pa.table({"n": [1]}))
    for mark in (None, 60, 70):
        found = sliced_after([block, block], mark)
        assert found is not None
        assert found.num_rows == 2
    assert sliced_after([], 70) is None
    with pytest.raises(StateError, match="rows were combined that may be late"):
        sliced_after([block], 71)
