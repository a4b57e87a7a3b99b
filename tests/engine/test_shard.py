"""A shard on a stream gives what a table gives: for every frame, out of order, whatever is kept."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.live import Live
from sash.engine.pages import KEY, LIST, Listing, StateError
from sash.engine.shard import Shard
from sash.engine.table import aggregate
from sash.engine.upkeep import FEW
from sash.tables import windowed

SCHEMA = pa.schema({"k": pa.string(), "t": pa.int64(), "x": pa.float64(), "i": pa.int64()})

FRAMES = {
    "time": sash.range_between(-10, 0),
    "half open": sash.range_between(-10, 0),
    "following": sash.range_between(-5, 4),
    "rows": sash.rows(4),
    "rows around": sash.rows_between(-2, 2),
    "session": sash.session(3),
    "delta": sash.delta("x", 0.4),
    "until": sash.until(lambda x: x is not None and x > 0.8, "x"),
    "policy": sash.policy(lambda total, old: total - old > 2, of=sash.monoids.Count()),
    "lifetime": sash.lifetime(),
    "sliding": sash.sliding(12, 5),
}


class InMemory:
    """Pages in a dictionary, and how many bytes were read."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.read = 0

    def get(self, name: str) -> bytes | None:
        found = self.data.get(name)
        self.read += len(found or b"")
        return found

    def put(self, name: str, data: object) -> None:
        self.data[name] = bytes(memoryview(data))  # type: ignore[arg-type]

    def delete(self, name: str) -> None:
        del self.data[name]


def rows(rng: np.random.Generator, n: int, keys: int, disorder: int) -> pa.Table:
    """Rows in the order in which they come, some of them late by up to `disorder`."""
    times = np.sort(rng.integers(0, n // 2, n))
    order = np.argsort(times + rng.integers(0, disorder + 1, n), kind="stable")
    xs = np.round(rng.random(n), 3)
    return pa.table(
        {
            "k": [f"k{j}" for j in rng.integers(0, keys, n)],
            "t": times[order],
            "x": pa.array(xs, mask=rng.random(n) < 0.1),
            "i": np.arange(n),
        },
        schema=SCHEMA,
    )


def hashed(table: pa.Table, distinct: int = 1 << 40) -> pa.Table:
    codes = [hash(k) % distinct for k in table.column("k").to_pylist()]
    return table.append_column(KEY, pa.array(codes, pa.int64()))


def live_of(emit: str = "final", every: object = None, slack: int = 40, **asked: object) -> Live:
    work = windowed(SCHEMA.empty_table(), "k", time="t")
    query = (work if every is None else work.every(every)).query(**asked)
    found = aggregate(query, SCHEMA.empty_table()).schema
    return Live(query, SCHEMA, {out: found.field(out).type for out in asked}, emit, slack)


def run(
    live: Live, table: pa.Table, sizes: list[int], delay: int, collide: int = 1 << 40
) -> tuple[pa.Table, set[int], InMemory, int]:
    """A stream of batches through a shard, opened anew for each; then all that is left."""
    store, found, late, start, watermark, most = InMemory(), [], set(), 0, None, 0
    for size in [*sizes, 0]:
        batch = table.slice(start, size)
        start += size
        if not size:
            watermark = 1 << 40
        step = Shard(live, store).step(hashed(batch, collide), watermark)
        found.append(step.rows)
        late |= set(step.late.column("i").to_pylist())
        most = max(most, len(store.data))
        seen = table.column("t").to_numpy()[:start]
        if len(seen):
            watermark = max(watermark or -math.inf, int(seen.max()) - delay)
    return pa.concat_tables(found), late, store, most


def cuts(rng: np.random.Generator, n: int) -> list[int]:
    edges = np.sort(rng.integers(0, n, 12))
    return np.diff(np.concatenate([[0], edges, [n]])).tolist()


def same(found: pa.Table, expected: pa.Table, by: list[tuple[str, str]]) -> None:
    found, expected = found.sort_by(by), expected.sort_by(by)
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        got, want = found.column(name).to_pylist(), expected.column(name).to_pylist()
        for a, b in zip(got, want, strict=True):
            close = (
                isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, abs_tol=1e-9)
            )
            assert close or a == b, (name, a, b)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_gives_what_a_table_gives(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = FRAMES[name]
    closed = "right" if name == "half open" else None
    asked = {
        "n": sf.count("i").over(frame, closed),
        "s": sf.sum("x").over(frame, closed),
        "list": sf.collect_list("i").over(frame, closed),  # in order: it is not commutative
    }
    if name == "policy":
        asked = {"s": sf.sum("x").over(frame), "hi": sf.max("x").over(frame)}
    table = rows(rng, 300, 5, 8)
    if name == "delta":
        table = table.set_column(2, "x", table.column("x").fill_null(0.5))
    live = live_of(**asked)
    found, late, store, _ = run(live, table, cuts(rng, 300), delay=1)
    assert late, "some rows should be late"
    on_time = table.filter(pa.array([i not in late for i in range(300)]))
    expected = aggregate(live.query, on_time)
    if name == "rows around":  # the last two rows of a key wait for rows to come
        ready = set(found.column("i").to_pylist())
        expected = expected.filter(pa.array([i in ready for i in expected.column("i").to_pylist()]))
        assert expected.num_rows >= on_time.num_rows - 2 * 5
    same(found, expected, [("i", "ascending")])
    if live.behind < math.inf:
        assert set(store.data) == {LIST}  # nothing is left behind


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "slide"), [(12, 5), (10, 10), (7, 1)])
@pytest.mark.parametrize("sliced", [True, False])
def test_windows_every_slide(seed: int, size: int, slide: int, sliced: bool) -> None:
    rng = np.random.default_rng(seed)
    frame = sash.range_between(-size, 0)
    asked = {"n": sf.count(), "known": sf.count("x"), "s": sf.sum("x"), "mean": sf.mean("x")}
    if not sliced:
        asked["list"] = sf.collect_list("i")
    live = live_of(every=slide, **{out: a.over(frame) for out, a in asked.items()})
    assert (live.slices is not None) == sliced
    table = rows(rng, 300, 5, 8)
    found, late, store, _ = run(live, table, cuts(rng, 300), delay=1)
    on_time = table.filter(pa.array([i not in late for i in range(300)]))
    expected = aggregate(live.query, on_time)
    same(found, expected, [("k", "ascending"), ("window_start", "ascending")])
    assert set(store.data) == {LIST}


def test_slices_are_kept_instead_of_rows() -> None:
    frame = sash.range_between(-100, 0)
    live = live_of(every=10, s=sf.sum("x").over(frame))
    store, watermark = InMemory(), None
    for start in range(0, 1000, 20):
        many = pa.table(
            {"k": ["a"] * 500, "t": [start + i // 25 for i in range(500)],
             "x": [1.0] * 500, "i": [0] * 500}, schema=SCHEMA,
        )  # fmt: skip
        step = Shard(live, store).step(hashed(many), watermark)
        watermark = start + 19
        if start > 200:
            assert step.stats.state_rows < 1100  # of 5,500
            assert step.rows.column("s").to_pylist() == [2500.0] * 2


@pytest.mark.parametrize("seed", range(3))
def test_at_once_as_known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = sash.range_between(-10, 0)
    live = live_of("arrival", n=sf.count().over(frame), list=sf.collect_list("i").over(frame))
    table, sizes = rows(rng, 200, 4, 8), cuts(rng, 200)
    found, late, _, _ = run(live, table, sizes, delay=1)
    expected, start = [], 0
    for size in sizes:
        start += size
        known = table.slice(0, start)
        known = known.filter(pa.array([i not in late for i in range(start)]))
        fresh = [i >= start - size for i in known.column("i").to_pylist()]
        expected.append(aggregate(live.query, known).filter(pa.array(fresh, pa.bool_())))
    same(found, pa.concat_tables(expected), [("i", "ascending")])


def test_two_keys_of_one_hash_are_two_keys() -> None:
    rng = np.random.default_rng(5)
    live = live_of(s=sf.sum("x").over(sash.range_between(-10, 0)))
    table = rows(rng, 200, 9, 0)
    found, _, _, _ = run(live, table, [100, 100], delay=6, collide=2)
    same(found, aggregate(live.query, table), [("i", "ascending")])


@pytest.mark.parametrize("name", ["rows", "session", "delta", "until", "policy"])
def test_what_no_later_row_can_reach_goes(name: str) -> None:
    rng = np.random.default_rng(1)
    frame = sash.delta("x", 0.05) if name == "delta" else FRAMES[name]
    live = live_of(s=sf.sum("x").over(frame))
    table = rows(rng, 4000, 3, 0)
    table = table.set_column(2, "x", table.column("x").fill_null(0.5))
    store, most, watermark = InMemory(), 0, None
    for start in range(0, 4000, 50):
        batch = table.slice(start, 50)
        Shard(live, store).step(hashed(batch), watermark)
        watermark = int(batch.column("t").to_numpy().max()) - 1
        listing = Listing.load(store.data[LIST])
        most = max(most, listing.rows)
        assert len(store.data) - 1 == sum(1 + (page.rest > 0) for page in listing.pages)
    assert most < 500


def test_a_batch_reads_the_keys_it_touches_and_writes_its_own_rows() -> None:
    """With 100 times the rows kept, a batch of the same rows writes no more."""
    live = dataclasses.replace(live_of(s=sf.sum("x").over(sash.range_between(-(1 << 20), 0))))
    written = []
    for many in (1_000, 100_000):
        store = InMemory()
        full = pa.table(
            {"k": [f"k{j}" for j in range(many)], "t": [0] * many, "x": [1.0] * many,
             "i": list(range(many))}, schema=SCHEMA,
        )  # fmt: skip
        Shard(live, store).step(hashed(full), None)
        Shard(live, store).step(hashed(full.slice(0, 0)), 5)
        few = full.slice(0, 100).set_column(1, "t", pa.array([10] * 100))
        step = Shard(live, store).step(hashed(few), 6)
        written.append(step.stats.written)
        step = Shard(live, store).step(hashed(few.slice(0, 0)), 20)
        assert step.rows.column("s").to_pylist() == [2.0] * 100
        assert step.stats.keys == 100
    assert written[1] == written[0]


def test_many_small_pages_become_few() -> None:
    rng = np.random.default_rng(2)
    live = live_of(s=sf.sum("x").over(sash.range_between(-100_000, 0)))
    table = rows(rng, 4000, 50, 0)
    sizes = [20] * 200
    found, _, _, most = run(live, table, sizes, delay=1)
    assert most < 2 * FEW + 20
    same(found, aggregate(live.query, table), [("i", "ascending")])


def test_another_definition_is_refused_by_name_or_goes_on() -> None:
    store = InMemory()
    table = rows(np.random.default_rng(0), 50, 3, 0)
    first = live_of(s=sf.sum("x").over(sash.range_between(-10, 0)))
    Shard(first, store).step(hashed(table), 5)
    Shard(live_of(hi=sf.max("x").over(sash.range_between(-8, 0))), store)
    with pytest.raises(StateError, match="the longest window: 10 then, 20 now"):
        Shard(live_of(s=sf.sum("x").over(sash.range_between(-20, 0))), store)
    with pytest.raises(StateError, match="columns"):
        Shard(live_of(s=sf.count().over(sash.range_between(-10, 0))), store)
    with pytest.raises(StateError, match="emit: 'final' then, 'arrival' now"):
        Shard(live_of("arrival", s=sf.sum("x").over(sash.range_between(-10, 0))), store)
    store.data[LIST] = store.data[LIST].replace(b'"format": 1', b'"format": 99')
    with pytest.raises(StateError, match="another version of Sash"):
        Shard(first, store)


def test_null_times_are_refused() -> None:
    live = live_of(n=sf.count().over(sash.range_between(-10, 0)))
    bad = pa.table({"k": ["a"], "t": [None], "x": [1.0], "i": [0]}, schema=SCHEMA)
    with pytest.raises(ValueError, match="'t' has 1 null"):
        Shard(live, InMemory()).step(hashed(bad), None)
