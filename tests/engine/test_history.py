"""A stream that begins with a history: every answer is that of one batch over both."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import functions as sf
from sash.engine.stream import shard as shards
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import BytesPages
from sash.engine.stream.shard import Shard
from sash.engine.stream.work import Work
from tests.engine.streams import (
    FRAMES,
    Run,
    aggregate,
    asked,
    cuts,
    defined,
    keyed,
    rows,
    same,
    without,
)
from tests.engine.test_asof import AFFINE
from tests.engine.test_stream import sample, vary

BY_ROW = [("i", "ascending")]
TEN = sash.range_between(-10, 0)


class WithHistory(Run):
    """A run whose first state is built from a table, and opened again for each batch."""

    def load(self, history: pa.Table, cut: float) -> None:
        shard = Shard(Work(self.definition), BytesPages(self.store), None)
        shard.load(keyed(history, self.collide), cut)
        self.manifest = shard.manifest.dump()
        assert set(self.store.data) == {page.name for page in shard.manifest.pages}


def both(table: pa.Table, rng: np.random.Generator) -> tuple[pa.Table, pa.Table, int]:
    """A history in any order and a stream, some rows in both; and the cut."""
    half = table.num_rows // 2
    cut = int(np.quantile(table.column("t").to_numpy(), 0.4))
    return table.take(pa.array(rng.permutation(half + 20))), table.slice(half - 60), cut


def one_batch(history: pa.Table, stream: pa.Table, cut: int, late: set[int]) -> pa.Table:
    """The rows that count: the history's up to the cut, the stream's after it."""
    old = history.filter(pc.less_equal(history.column("t"), cut))
    new = stream.filter(pc.greater(stream.column("t"), cut))
    return pa.concat_tables([old, without(new, late)])


def check(name: str, emit: Any, seed: int, patch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    vary(rng, patch)
    patch.setattr(shards, "LOADED", int(rng.choice([7, 40, 1000])))
    history, stream, cut = both(sample(name, rng, 300), rng)
    definition = defined(emit, **asked(FRAMES[name], policy=name == "policy"))
    run = WithHistory(definition, collide=[None, 3][seed % 2])
    run.load(history, cut)
    sizes = cuts(rng, stream.num_rows, 12)
    found = run.all(stream, sizes, delay=int(rng.integers(0, 6)))
    seen = set(found.column("i").to_pylist())
    assert len(seen) == found.num_rows
    if emit == "final":
        expected = aggregate(definition.plan.query, one_batch(history, stream, cut, run.late))
        missing = set(expected.column("i").to_pylist()) - seen
        if name != "rows around":  # the last two rows of a key wait for others
            young = expected.filter(pc.greater(expected.column("t"), cut))
            assert not missing & set(young.column("i").to_pylist())
        same(found, without(expected, missing), BY_ROW)
        return
    parts, start = [], 0
    for size in sizes:
        start += size
        known = one_batch(history, stream.slice(0, start), cut, run.late)
        fresh = set(stream.slice(start - size, size).column("i").to_pylist())
        answers = aggregate(definition.plan.query, known)
        old = set(answers.column("i").to_pylist()) - (fresh & seen)
        parts.append(without(answers, old))
    same(found, pa.concat_tables(parts), BY_ROW)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_answers_are_those_of_one_batch(
    name: str, emit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, emit, 0, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_answers_for_many_seeds(name: str, emit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(1, 60):
        check(name, emit, seed, monkeypatch)


@pytest.mark.parametrize("seed", range(3))
def test_windows_every_slide(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    vary(rng, monkeypatch)
    monkeypatch.setattr(shards, "LOADED", 30)
    history, stream, cut = both(rows(rng, 300, 5, 8), rng)
    size, slide = [(10, 5), (60, 7), (9, 6)][seed % 3]
    aggregations = asked(sash.range_between(-size, 0))
    if seed % 2:
        del aggregations["median"], aggregations["distinct"]
    definition = defined(every=slide, **aggregations)
    run = WithHistory(definition)
    run.load(history, cut)
    found = run.all(stream, cuts(rng, stream.num_rows), delay=3)
    expected = aggregate(definition.plan.query, one_batch(history, stream, cut, run.late))
    expected = expected.filter(pc.greater(expected.column("window_end"), cut))
    same(found, expected, [("k", "ascending"), ("window_start", "ascending")])


def test_only_rows_that_windows_reach_are_kept() -> None:
    history = rows(np.random.default_rng(1), 5000, 5, 0)
    run = WithHistory(defined(n=sf.count().over(TEN)))
    run.load(history, 2499)
    assert Manifest.load(run.manifest).rows == sum(t >= 2489 for t in history["t"].to_pylist())


def test_the_stream_goes_on_from_a_table_of_any_kind(tmp_path: Path) -> None:
    table = pa.table({"k": [1, 1, 2], "t": [1, 5, 9], "x": [1.0, 2.0, 4.0]})
    more = pa.table({"k": [1, 2], "t": [9, 12], "x": [8.0, 16.0]})
    for history in (table, table.to_pandas()):
        live = sash.stream("k", time="t", history=history).agg(s=sf.sum("x").over(TEN))
        assert live.current(k=1) == {"s": 3.0}
        assert live.feed(more).to_pylist() == [{"k": 2, "t": 12, "x": 16.0, "s": 20.0}]
        assert live.late_rows == 1  # at the cut: the history has it, or nobody
    cut = sash.stream("k", time="t", history=table, cut=5).agg(s=sf.sum("x").over(TEN))
    assert [row["s"] for row in cut.feed(more).to_pylist()] == [11.0, 16.0]
    store = f"lmdb:{tmp_path / 'state'}"
    for _ in range(2):  # the second time the store has the state, and the history is not read
        options: dict[str, Any] = {"history": table, "store": store}
        with sash.stream("k", time="t", **options).agg(s=sf.sum("x").over(TEN)) as live:
            live.feed(more)
            assert live.current(k=2) == {"s": 20.0}


def test_a_definition_that_state_cannot_follow_starts_again_after_the_watermark() -> None:
    """The old stream answers rows up to its watermark, the new one each row after it, once."""
    rng, row = np.random.default_rng(3), np.arange(400)
    seconds = row * 60 + rng.integers(-300, 300, 400)  # up to ten minutes out of order
    times = (seconds * 1_000_000 + row).astype("datetime64[us]")
    source = pa.table({"k": rng.integers(0, 5, 400), "t": times, "x": seconds % 7})
    options: dict[str, Any] = {"by": "k", "time": "t", "delay": "10 minutes"}
    old = sash.stream(**options).agg(n=sf.count().over("1 hour"))
    assert old.watermark is None
    answered = [old.feed(source.slice(start, 50)) for start in range(0, 250, 50)]
    assert old.watermark == max(source.slice(0, 250)["t"].to_pylist()) - timedelta(minutes=10)
    wanted = {
        "day": sf.sum("x").over("1 day"), "last": sf.apply(AFFINE, "x").over(sash.rows(3)),
        "visit": sf.count().over(sash.session("3 minutes")),
    }  # fmt: skip
    new = sash.stream(**options, history=source.slice(0, 250), cut=old.watermark).agg(**wanted)
    given = [new.feed(source.slice(start, 30)) for start in range(200, 400, 30)]
    given.append(new.advance(source["t"].to_pylist()[-1] + timedelta(hours=1)))
    before, after = (pa.concat_tables(tables) for tables in (answered, given))
    whole = sash.windowed(source, "k", time="t").agg(**wanted)
    late = [t > old.watermark for t in whole["t"].to_pylist()]
    order = [("t", "ascending"), ("k", "ascending")]
    assert after.sort_by(order).equals(whole.filter(pa.array(late)).sort_by(order))
    assert before.num_rows + after.num_rows == source.num_rows


def test_an_empty_history() -> None:
    none = pa.table({"k": [1], "t": [1], "x": [1.0]}).slice(1)
    live = sash.stream("k", time="t", history=none).agg(n=sf.count().over(TEN))
    assert live.feed(pa.table({"k": [1], "t": [1], "x": [1.0]})).column("n").to_pylist() == [1]
    live = sash.stream("k", time="t", history=none, cut=1).agg(n=sf.count().over(TEN))
    live.feed(pa.table({"k": [1], "t": [1], "x": [1.0]}))
    assert live.late_rows == 1


def test_what_is_wrong_is_said() -> None:
    table = pa.table({"k": [1], "t": [1], "x": [1.0]})

    def live(**options: Any) -> Any:
        return sash.stream("k", time="t", **options).agg(s=sf.sum("x").over(TEN))

    with pytest.raises(TypeError, match=r"cut is .* give history="):
        live(cut=3)
    with pytest.raises(TypeError, match="cut: a time of 't' is int64"):
        live(history=table, cut="yesterday")
    with pytest.raises(TypeError, match="history takes a pandas or polars DataFrame"):
        live(history="past.parquet")
    with pytest.raises(KeyError, match="no column 'x'"):
        live(history=table.drop_columns(["x"]))
    with pytest.raises(ValueError, match="'t' has 1 null"):
        live(history=pa.table({"k": [1], "t": pa.array([None], pa.int64()), "x": [1.0]}))
    with pytest.raises(KeyError, match="the history has no column 'y'"):
        live(history=table).feed(table.append_column("y", pa.array([1])))
