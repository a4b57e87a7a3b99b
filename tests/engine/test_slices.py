"""Slices that are made of rows before they come to their shard give what the rows give."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import BytesPages
from sash.engine.stream.shard import Shard
from sash.engine.stream.slices import COUNT, Slices
from sash.engine.stream.work import Work
from tests.engine.streams import InMemory, aggregate, defined, keyed, rows, same, without

ORDER = [("k", "ascending"), ("window_start", "ascending")]


def windows() -> dict[str, sash.Aggregation]:
    frame = sash.sliding(12, 4)
    return {
        "n": sf.count().over(frame),
        "c": sf.count("x").over(frame),
        "hi": sf.max("x").over(frame),
        "word": sf.max("s").over(frame),
        "some": sf.sum("i").where(sf.col("x") > 0.5).over(frame),
        "twice": sf.sum(sf.col("i") * 2).over(frame),
    }


@pytest.mark.parametrize("seed", range(12))
def test_rows_and_slices_of_them_are_one(seed: int) -> None:
    """Each batch comes as rows, as slices of those that are not late, or half and half; each
    shard is opened again from what was committed."""
    rng = np.random.default_rng(seed)
    table = rows(rng, 400, keys=int(rng.choice([1, 3, 40])), disorder=10)
    definition, collide = defined(every=4, **windows()), [None, None, 2][seed % 3]
    slices, store, known = Slices(definition), InMemory(), b""
    found, late, start, mark, sliced, came = [], set(), 0, None, 0, 0
    while start < table.num_rows:
        size = int(rng.integers(1, 120))
        batch = keyed(table.slice(start, size), collide)
        start += size
        shard = Shard(Work(definition), BytesPages(store), Manifest.load(known) if known else None)
        before = -math.inf if shard.manifest.watermark is None else shard.manifest.watermark
        chosen = np.asarray(batch.column("t")) > before
        chosen &= rng.random(len(chosen)) < rng.choice([0, 0.5, 1])
        parts = batch.filter(pa.array(~chosen)), batch.filter(pa.array(chosen))
        made = slices.of_any_order(parts[1]) if parts[1].num_rows else None
        sliced += made is not None
        step = shard.step(batch if made is None else parts[0], mark, made)
        late |= set(step.late.column("i").to_pylist())
        came += step.stats.rows_in
        known = shard.manifest.dump()
        found.append(step.rows)
        mark = int(np.asarray(table.column("t"))[:start].max()) - 8
    shard = Shard(Work(definition), BytesPages(store), Manifest.load(known))
    found.append(shard.step(keyed(table.slice(0, 0)), 1 << 40).rows)
    expected = aggregate(definition.plan.query, without(table, late))
    same(pa.concat_tables(found).sort_by(ORDER), expected.sort_by(ORDER), ORDER)
    assert came == table.num_rows
    assert sliced or table.column("k").unique().__len__() > 3 or collide


def test_slices_are_made_where_they_are_fewer() -> None:
    slices = Slices(defined(every=4, **windows()))
    few = rows(np.random.default_rng(1), 100, keys=1, disorder=0)
    made = slices.of_any_order(keyed(few))
    assert made is not None
    assert made.column_names == [*slices.columns, COUNT]
    assert made.num_rows <= 14
    assert sum(made.column(COUNT).to_pylist()) == 100
    assert slices.of_any_order(keyed(rows(np.random.default_rng(1), 100, 90, 0))) is None


def test_slices_of_several_tasks_wait_as_one() -> None:
    """Per key and slice one item is written, in order of time, whatever tasks had rows of it."""
    definition = defined(every=4, **windows())
    slices, table = Slices(definition), keyed(rows(np.random.default_rng(1), 300, 1, 9))
    tasks = [slices.of_any_order(table.take(np.arange(i, 300, 2))) for i in range(2)]
    sent = pa.concat_tables(tasks)
    shard = Shard(Work(definition), BytesPages(InMemory()), None)
    step = shard.step(table.slice(0, 0), None, sent)
    (pending,) = shard.manifest.pending
    whole = slices.of_any_order(table)
    assert whole is not None
    assert pending.page.rows == whole.num_rows < sent.num_rows
    assert step.stats.combined == (sent.num_rows - whole.num_rows) * len(slices.states)
    times = shard.state.times(shard.state.pages.table(pending.page))
    assert (times[1:] >= times[:-1]).all()


def test_two_keys_of_one_number_stay_rows() -> None:
    slices = Slices(defined(every=4, **windows()))
    table = keyed(rows(np.random.default_rng(1), 100, 2, 0))
    same_number = table.set_column(table.column_names.index("_sash"), "_sash", pa.array([7] * 100))
    assert slices.of_any_order(table) is not None
    assert slices.of_any_order(same_number) is None


def test_times_that_are_far_apart_stay_rows() -> None:
    slices = Slices(defined(every=4, **windows()))
    table = rows(np.random.default_rng(1), 100, 1, 0)
    times = np.asarray(table.column("t")).copy()
    times[50:] = (1 << 62) - 4
    far = table.set_column(table.column_names.index("t"), "t", pa.array(times))
    assert slices.of_any_order(keyed(far)) is None
