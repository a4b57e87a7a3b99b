"""A stream gives what a table gives: every frame, out of order, in batches of any size."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream import buffering, emit_arrival, forest, sealing
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import StateError
from tests.engine.streams import FRAMES, Run, aggregate, asked, cuts, defined, rows, same, without

BY_ROW = [("i", "ascending")]


def vary(rng: np.random.Generator, patch: pytest.MonkeyPatch) -> None:
    """Bulks and leaves of other sizes, so that few rows make tall trees."""
    patch.setattr(sealing, "BULK", int(rng.choice([8, 1 << 14])))
    patch.setattr(forest, "SMALL", int(rng.choice([0, 30, 8192])))
    patch.setattr(buffering, "BUFFERED", int(rng.choice([0, 20, 4096])))
    patch.setattr(buffering, "LATE_PAGES", int(rng.choice([1, 8])))
    patch.setattr(emit_arrival, "TOGETHER", int(rng.choice([1, 3, 16])))


def opened(seed: int) -> Any:
    """Every other time keys that share a number, every other two times a shard that is kept."""
    return {"collide": [None, 3][seed % 2], "keep": seed // 2 % 2 == 0}


def sample(name: str, rng: np.random.Generator, n: int) -> pa.Table:
    table = rows(rng, n, 5, 8)
    if name == "delta":
        return table.set_column(2, "x", table.column("x").fill_null(0.5))
    return table


def check_final(name: str, seed: int, patch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    vary(rng, patch)
    table = sample(name, rng, 300)
    definition = defined(**asked(FRAMES[name], policy=name == "policy"))
    run = Run(definition, **opened(seed))
    found = run.all(table, cuts(rng, 300), delay=int(rng.integers(0, 6)))
    expected = aggregate(definition.plan.query, without(table, run.late))
    if name == "rows around":  # the last two rows of a key wait for others
        answered = set(found.column("i").to_pylist())
        assert len(answered) >= 300 - len(run.late) - 2 * 5
        expected = without(expected, set(range(300)) - answered)
    same(found, expected, BY_ROW)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("seed", range(2))
def test_final_answers_are_those_of_a_table(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_final(name, seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_final_answers_for_many_seeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100, 300):
        check_final(name, seed, monkeypatch)


def check_arrival(name: str, seed: int, patch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1000 + seed)
    vary(rng, patch)
    table = sample(name, rng, 150)
    definition = defined("arrival", **asked(FRAMES[name], policy=name == "policy"))
    run = Run(definition, **opened(seed))
    sizes = cuts(rng, 150, 15)
    found = run.all(table, sizes, delay=int(rng.integers(0, 9)))
    expected, start = [], 0
    for size in sizes:
        start += size
        known = aggregate(definition.plan.query, without(table.slice(0, start), run.late))
        expected.append(without(known, set(range(start - size))))
    same(found, pa.concat_tables(expected), BY_ROW)


@pytest.mark.parametrize("name", FRAMES)
def test_on_arrival_answers_are_as_known_then(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_arrival(name, list(FRAMES).index(name), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_on_arrival_for_many_seeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100, 200):
        check_arrival(name, seed, monkeypatch)


def check_every(seed: int, patch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2000 + seed)
    vary(rng, patch)
    table = rows(rng, 300, 5, 8)
    size, slide = [(10, 5), (60, 7), (12, 12), (20, 1), (9, 6)][seed % 5]
    aggregations = asked(sash.range_between(-size, 0))
    if seed % 3:  # slices alone, or slices and rows for what slices do not answer
        del aggregations["median"], aggregations["distinct"]
    if seed % 3 == 1:  # the order of rows does not matter: rows wait as slices
        kept = {"n", "c", "sum", "mean", "word"}
        aggregations = {name: a for name, a in aggregations.items() if name in kept}
    definition = defined(every=slide, **aggregations)
    run = Run(definition, **opened(seed))
    found = run.all(table, cuts(rng, 300), delay=int(rng.integers(0, 6)))
    expected = aggregate(definition.plan.query, without(table, run.late))
    same(found, expected, [("k", "ascending"), ("window_start", "ascending")])


@pytest.mark.parametrize("seed", range(10))
def test_windows_every_slide(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_every(seed, monkeypatch)


@pytest.mark.parametrize("seed", range(4))
def test_windows_of_several_kinds_share_slices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3000 + seed)
    vary(rng, monkeypatch)
    table = rows(rng, 300, 5, 8)
    definition = defined(
        every=5,
        short=sf.sum("x").over(sash.range_between(-10, 0)),
        who=sf.argmax("x", "s").over(sash.range_between(-10, 0)),
        long=sf.sum("x").over(sash.range_between(-35, 0)),
        own=sf.collect_list("i").over(sash.sliding(12, 4)),
    )
    run = Run(definition, **opened(seed))
    found = run.all(table, cuts(rng, 300), delay=int(rng.integers(0, 6)))
    expected = aggregate(definition.plan.query, without(table, run.late))
    same(found, expected, [(name, "ascending") for name in ("k", "window", "window_start")])


@pytest.mark.slow
def test_windows_every_slide_for_many_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100, 600):
        check_every(seed, monkeypatch)


# State that goes on, or does not.


def stopped(definition: StreamDefinition, table: pa.Table, mark: int) -> Run:
    run = Run(definition)
    run.step(table, None)
    run.step(table.slice(0, 0), mark)
    return run


def test_windows_that_state_cannot_answer_are_refused() -> None:
    """A count over a long time is added to a stream that kept the last rows of keys alone."""
    table = rows(np.random.default_rng(1), 200, 3, 0)
    run = stopped(defined(last=sf.sum("x").over(sash.rows(4))), table, 80)
    run.definition = defined(
        last=sf.sum("x").over(sash.rows(4)), n=sf.count().over(sash.range_between(-25, 0))
    )
    with pytest.raises(StateError, match="windows by time"):
        run.step(table.slice(0, 0), 90)


def test_a_longer_window_is_refused_and_a_shorter_one_goes_on() -> None:
    table = rows(np.random.default_rng(1), 400, 3, 0)
    hundred = {"n": sf.sum("x").over(sash.range_between(-30, 0))}
    run = stopped(defined(**hundred), table.slice(0, 200), 60)
    run.definition = defined(n=sf.sum("x").over(sash.range_between(-60, 0)))
    with pytest.raises(StateError, match="become longer"):
        run.step(table.slice(0, 0), 70)
    shorter = defined(
        n=sf.mean("x").over(sash.range_between(-20, 0)),
        list=sf.collect_list("x").over(sash.range_between(-7, 0)),
    )
    run.definition = shorter
    found = [run.step(table.slice(200), None), run.step(table.slice(0, 0), 1 << 40)]
    expected = aggregate(shorter.plan.query, table)
    later = expected.filter(pa.array(expected.column("t").to_numpy() > 60))
    same(pa.concat_tables(found), later, BY_ROW)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"emit": "arrival"}, "emit"),
        ({"every": 5}, "every"),
        ({"extra": sf.sum("x").over(sash.session(5))}, "what each key keeps"),
        ({"extra": sf.max("s").over(sash.range_between(-5, 0))}, "columns"),
        ({"extra": sf.max("x").over(sash.range_between(-5, 2))}, "reach after a row: 0 then"),
    ],
)
def test_other_changes_are_refused(change: dict[str, Any], says: str) -> None:
    table = rows(np.random.default_rng(1), 100, 3, 0)
    asked_for = {"n": sf.sum("x").over(sash.range_between(-20, 0))}
    run = stopped(defined(**asked_for), table, 30)
    run.definition = defined(**asked_for, **change)
    with pytest.raises(StateError, match=says):
        run.step(table.slice(0, 0), 40)


def test_state_of_the_version_before_is_refused() -> None:
    with pytest.raises(StateError, match=r"written by Sash 0\.1\.0"):
        Manifest.load(json.dumps({"format": 1, "pages": []}).encode())


def test_damage_is_found() -> None:
    """A flipped bit anywhere in the manifest or in a page that is read."""
    table = rows(np.random.default_rng(1), 200, 3, 0)
    definition = defined(n=sf.sum("x").over(sash.range_between(-20, 0)))
    good = stopped(definition, table, 60)
    rng = np.random.default_rng(2)
    for _ in range(60):
        data = bytearray(good.manifest)
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        with pytest.raises(StateError):
            Manifest.load(bytes(data))
        with pytest.raises(StateError):
            Manifest.load(good.manifest[: rng.integers(len(good.manifest))])
    for name, data in list(good.store.data.items()):
        run = Run(definition)
        run.manifest = good.manifest
        run.store.data = dict(good.store.data)
        damaged = bytearray(data)
        damaged[rng.integers(len(damaged))] ^= 1
        run.store.data[name] = bytes(damaged)
        try:
            found = run.step(table.slice(0, 0), 1 << 40)
        except StateError:
            continue
        again = stopped(definition, table, 60)  # the page was not read
        same(found, again.step(table.slice(0, 0), 1 << 40), BY_ROW)


def test_the_manifest_is_small() -> None:
    table = rows(np.random.default_rng(1), 300, 3, 0)
    run = Run(defined(n=sf.sum("x").over(sash.range_between(-100, 0))))
    run.all(table, [10] * 30, 0)
    assert len(zlib.compress(run.manifest)) < 20_000


@pytest.mark.parametrize("name", [name for name in FRAMES if "from the first" not in name])
def test_state_is_bounded_when_keys_vanish(name: str) -> None:
    """60 batches, each with keys that never come again, with `idle` where time does not say."""
    frame = FRAMES[name]
    idle = None if name in ("time", "long", "following", "right", "session", "sliding") else 50
    live = sash.stream("k", time="t", idle=idle).agg(**asked_without_lists(frame, name == "policy"))
    sizes = []
    for number in range(60):
        times = np.arange(number * 10, number * 10 + 10)
        keys = [f"k{number}-{j}" for j in range(10)]
        columns = {"k": keys, "t": times, "x": times * 0.1 % 1, "s": keys, "i": times}
        live.feed(pa.table(columns))
        sizes.append(live.stats.state_rows)
    assert max(sizes[30:]) <= max(sizes[15:30])


def asked_without_lists(frame: Any, policy: bool) -> dict[str, Any]:
    found = asked(frame, policy)
    return {name: a for name, a in found.items() if name in ("sum", "hi", "n", "who")}
