"""Blocks of rows: late rows read a few of them, and answers are those of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream import (
    blocks,
    buffering,
    emit_arrival,
    forest,
    late,
    leaf_rows,
    selected,
)
from sash.engine.stream.blocks import Cuts, Runs, blocks_of, covered
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.lookups import Column
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.selected import Folding
from sash.plan.plan import Options
from sash.plan.planner import plan_of
from sash.tables import windowed
from tests.engine.streams import SCHEMA, Run, aggregate, without

FRAMES = {
    "time": sash.range_between(-40, 0),
    "around": sash.range_between(-30, 20),
    "before": sash.range_between(-60, -20),
    "right": sash.range_between(-40, 0, closed="right"),
    "left": sash.range_between(-40, 10, closed="left"),
    "neither": sash.range_between(-40, 10, closed="neither"),
    "sliding": sash.sliding(50, 20),
}

ORDERED = {
    "first": lambda frame: sf.first("i").over(frame),
    "last": lambda frame: sf.last("i").over(frame),
    "who": lambda frame: sf.argmax("x", "i").over(frame),
}
ANY_ORDER = {
    "n": lambda frame: sf.count().over(frame),
    "sum": lambda frame: sf.sum("i").over(frame),
    "hi": lambda frame: sf.max("x").over(frame),
    "mean": lambda frame: sf.mean("i").over(frame),
    "some": lambda frame: sf.sum("i").where("x > 0.5").over(frame),
}
BESIDE = {
    "median": lambda frame: sf.median("x").over(frame),
    "rows": lambda frame: sf.sum("i").over(sash.rows(4)),
    "session": lambda frame: sf.count().over(sash.session(3)),
}


def defined(kind: dict[str, Any], frame: Any) -> StreamDefinition:
    query = windowed(SCHEMA.empty_table(), "k", time="t").query(
        **{name: made(frame) for name, made in kind.items()}
    )
    types = {f.name: f.type for f in aggregate(query, SCHEMA.empty_table()).schema}
    kept = {name: types[name] for name in kind}
    return StreamDefinition(plan_of(query, SCHEMA, Options(rows="stream", emit="arrival")), kept)


def rows(rng: np.random.Generator, n: int, keys: int) -> pa.Table:
    """Rows of batches of 100 ticks, many of them of one time, a tenth late by up to 300 ticks."""
    times = np.sort(rng.integers(0, n, n)) // 5 * 5
    times = np.maximum(0, times - np.where(rng.random(n) < 0.1, rng.integers(0, 300, n), 0))
    return pa.table(
        {
            "k": [f"k{j}" for j in rng.integers(0, keys, n)],
            "t": times,
            "x": pa.array(np.round(rng.random(n), 3), mask=rng.random(n) < 0.1),
            "s": [f"s{j}" for j in rng.integers(0, 9, n)],
            "i": np.arange(n),
        },
        schema=SCHEMA,
    )


def vary(rng: np.random.Generator, patch: pytest.MonkeyPatch) -> None:
    """Few rows make many blocks, bulks and pages of late rows."""
    patch.setattr(blocks, "FANOUT", int(rng.choice([2, 4, 8])))
    patch.setattr(selected, "WORTH", int(rng.choice([2, 1000])))
    patch.setattr(forest, "SMALL", int(rng.choice([0, 300])))
    patch.setattr(buffering, "BUFFERED", int(rng.choice([0, 20, 1024])))
    patch.setattr(late, "WAITING", int(rng.choice([0, 20, 1024])))
    for each in (late, buffering):
        patch.setattr(each, "BATCHES", int(rng.choice([0, 2, 8])))
    patch.setattr(buffering, "LATE_PAGES", int(rng.choice([1, 2, 8])))
    patch.setattr(emit_arrival, "TOGETHER", int(rng.choice([1, 3, 16])))


def counted(patch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks each lookup reads."""
    found: list[int] = []

    def counting(*given: Any) -> Any:
        cover = covered(*given)
        found.append(int((cover.block >= 0).sum()))
        return cover

    patch.setattr(selected, "covered", counting)
    return found


def check(kind: dict[str, Any], name: str, seed: int, patch: pytest.MonkeyPatch) -> int:
    """Answers on arrival against those of a table of the rows that have come; the blocks read."""
    rng = np.random.default_rng(seed)
    vary(rng, patch)
    read = counted(patch)
    table, definition = rows(rng, 900, int(rng.choice([1, 3]))), defined(kind, FRAMES[name])
    run = Run(definition, collide=[None, 2][seed % 2], keep=seed % 3 < 2)
    found, start = [], 0
    for size in [100] * 9:
        mark = None if not start else int(table.column("t").to_numpy()[:start].max()) - 300
        found.append(run.step(table.slice(start, size), mark))
        start += size
        known = aggregate(definition.plan.query, without(table.slice(0, start), run.late))
        expected = without(known, set(range(start - size)))
        by_row = [found[-1].sort_by("i"), expected.sort_by("i")]
        for column in ("i", *kind):
            assert by_row[0].column(column).to_pylist() == by_row[1].column(column).to_pylist()
    return sum(read)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize(
    "kind",
    [
        ORDERED | ANY_ORDER,
        ANY_ORDER | BESIDE,
        *(pytest.param(alone, marks=pytest.mark.slow) for alone in (ORDERED, ANY_ORDER)),
    ],
)
def test_answers_are_those_of_the_rows(
    kind: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = (0, 1) if kind == ORDERED | ANY_ORDER else (1, 2)
    assert sum(check(kind, name, seed, monkeypatch) for seed in seeds) > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("kind", [ORDERED | ANY_ORDER, ANY_ORDER | BESIDE])
def test_answers_for_three_seeds(
    kind: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sum(check(kind, name, seed, monkeypatch) for seed in range(3)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_answers_for_many_seeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100, 160):
        check([ANY_ORDER | BESIDE, ORDERED | ANY_ORDER][seed % 2], name, seed, monkeypatch)


def fails(kind: dict[str, Any], patch: pytest.MonkeyPatch) -> bool:
    """Whether one of some streams gives other answers than a table."""
    for seed in range(12):
        try:
            check(kind, "around", seed, patch)
        except AssertionError:
            return True
    return False


def test_blocks_of_a_page_that_was_written_again_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """These tests can fail: blocks of other rows, as those that outlive their page, give wrong
    answers. They are as many as those of the page, since none beyond them may be read."""

    def stale(self: Any, rows: Rows) -> Any:
        other = rows.table.take(pa.array(np.roll(np.arange(len(rows)), 1)))
        return blocks_of(self._states, other, rows.ids)

    monkeypatch.setattr(leaf_rows.LeafRows, "_blocks", stale)
    assert fails(ANY_ORDER, monkeypatch)


def test_blocks_across_late_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the order of rows matters, blocks end where late rows are."""
    monkeypatch.setattr(leaf_rows, "Folding", lambda made, _: Folding(made, ordered=False))
    assert fails(ORDERED, monkeypatch)


@pytest.mark.parametrize("fanout", [2, 8])
def test_runs_are_covered_once_and_by_few(fanout: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FANOUT", fanout)
    rng, n = np.random.default_rng(4), 5_000
    times = Column.of(np.sort(rng.integers(0, 1_000, n)))
    for _ in range(50):
        first, stop = np.sort(rng.integers(0, n + 1, 2))
        least = np.sort(rng.integers(0, 1_000, 3))
        most = least + rng.integers(0, 3, 3)
        runs = Runs(*(np.array([x]) for x in (1, first, stop)), np.array([True]))
        given = (np.array([times.address]), np.array([n]), runs)
        cover = covered(*given, Cuts(np.array([3]), least, most))
        ends = np.append(cover.place[1:], stop)
        assert first == stop or cover.place[0] == first
        sizes = ends - cover.place
        assert (sizes > 0).all()
        assert np.array_equal(cover.block < 0, sizes == 1)
        for a, b in zip(least, most, strict=True):
            begin, end = (np.searchsorted(times.array, edge) for edge in (a, b))
            inside = (ends > begin) & (cover.place < end)
            assert (sizes[inside] == 1).all()  # one by one between both times of a cut
            assert not ((cover.place < begin) & (ends > begin)).any()
        ones = sum(int(((times.array >= a) & (times.array < b)).sum()) for a, b in zip(least, most))
        levels = np.log(n) / np.log(fanout) + 1
        assert len(cover.place) <= ones + 4 * 2 * (fanout - 1) * levels


def test_a_late_row_reads_few_rows_of_a_bulk_of_one_key() -> None:
    """Of two bulks of 8,192 rows of its key, once their blocks are there."""
    frame = sash.range_between(-8_000, 0)
    live = sash.stream("k", time="t", emit="arrival", delay=100_000).agg(
        hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame)
    )
    for number in range(4):
        times = np.arange(number * 8_192, (number + 1) * 8_192)
        live.feed(pa.table({"k": [0] * 8_192, "t": times, "x": np.ones(8_192)}))
    read = []
    for place in range(12):
        live.feed(pa.table({"k": [0], "t": [20_000 + 10 * place], "x": [1.0]}))
        read.append(live.stats.rows_read)
    assert max(read) > 8_192  # blocks are built once
    assert max(read[2:]) <= 2 * 2 * 7 * 5 + 12


def test_small_partials_only() -> None:
    """Blocks of large partials would take more memory than the rows."""
    frame = sash.range_between(-10, 0)
    for kind, expected in (("sum", True), ("list", False)):
        made = sf.sum("i").over(frame) if kind == "sum" else sf.collect_list("i").over(frame)
        definition = defined({"it": lambda _, made=made: made}, frame)
        assert blocks.are_small(definition.partials) is expected


def test_a_definition_for_which_order_matters_finds_late_rows_that_wait() -> None:
    """Those of a definition for which it does not are beside the tree."""
    rng = np.random.default_rng(7)
    table, frame = rows(rng, 900, 3), FRAMES["around"]
    run, expected = Run(defined(ANY_ORDER, frame)), defined(ANY_ORDER | ORDERED, frame)
    for start in range(0, 900, 100):
        if start == 600:
            known = Manifest.load(run.manifest).bulks
            assert known.waiting is not None
            run.definition = expected
        mark = None if not start else int(table.column("t").to_numpy()[:start].max()) - 300
        found = run.step(table.slice(start, 100), mark)
    assert Manifest.load(run.manifest).bulks.waiting is None
    known = aggregate(expected.plan.query, without(table, run.late))
    for column in ("i", *ANY_ORDER, *ORDERED):
        answers = without(known, set(range(800))).sort_by("i").column(column)
        assert found.sort_by("i").column(column).to_pylist() == answers.to_pylist()


def test_late_rows_that_wait_are_forgotten_with_their_time() -> None:
    live = sash.stream("k", time="t", emit="arrival", delay=50).agg(
        n=sf.count().over(sash.range_between(-100, 0))
    )
    live.feed(pa.table({"k": [0, 0], "t": [0, 100]}))
    late = live.feed(pa.table({"k": [0, 1], "t": [60, 70]}))
    assert sorted(late.column("n").to_pylist()) == [1, 2]
    rows = live.feed(pa.table({"k": [0, 1], "t": [130, 130]}))
    assert sorted(rows.column("n").to_pylist()) == [2, 3]
    live.feed(pa.table({"k": [0], "t": [10_000]}))
    assert live.stats.state_rows == 1


@pytest.mark.parametrize("ordered", [False, True])
def test_ends_between_floats(ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an end is rounded, rows near it are read one by one."""
    monkeypatch.setattr(selected, "WORTH", 1000)
    monkeypatch.setattr(forest, "SMALL", 0)
    frame = sash.range_between(-0.7, 0.0)
    asked = {"n": sf.count().over(frame), "sum": sf.sum("i").over(frame)}
    asked |= {"last": sf.last("i").over(frame)} if ordered else {}
    live = sash.stream("k", time="t", emit="arrival", delay=5.0).agg(**asked)
    rng, read = np.random.default_rng(9), counted(monkeypatch)
    times = np.sort(np.round(rng.random(600) * 6, 1))  # many at the very end of windows
    times = np.maximum(0, times - np.where(rng.random(600) < 0.2, np.round(rng.random(600), 1), 0))
    table = pa.table({"k": rng.integers(0, 2, 600), "t": times, "i": np.arange(600)})
    for start in range(0, 600, 100):
        found = live.feed(table.slice(start, 100)).sort_by("i")
        known = windowed(table.slice(0, start + 100), "k", time="t").agg(**asked).sort_by("i")
        for name in asked:
            assert found.column(name).to_pylist() == known.column(name).to_pylist()[start:]
    assert sum(read) > 0
