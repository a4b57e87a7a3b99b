"""A batch of a stream costs the batch: rows read, combines and bytes are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import Monoid, stores
from sash import functions as sf
from sash.engine.stream import forest
from sash.engine.stream.pages import StateError


def batch_costs(
    window: int, emit: str, every: int | None, keys: int, late: float = 0.0, more: int = 6
) -> list[Any]:
    """The figures of the last batches of 500 rows, the window full of `window` batches."""
    rng, stats = np.random.default_rng(5), []
    frame = sash.range_between(-window * 100, 0)
    live: Any = sash.stream("k", time="t", emit=emit, delay=500 if late else 0)  # type: ignore[arg-type]
    live = (live if every is None else live.every(every)).agg(
        hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame)
    )
    for number in range(window + more):
        times = np.sort(rng.integers(number * 100, number * 100 + 100, 500))
        moved = rng.random(500) < late
        times = np.where(moved, np.maximum(0, times - rng.integers(0, 500, 500)), times)
        columns = {"k": rng.integers(0, keys, 500), "t": times, "x": rng.random(500)}
        live.feed(pa.table(columns))
        if number >= window:
            stats.append(live.stats)
    return stats


@pytest.mark.parametrize("keys", [1, pytest.param(20, marks=pytest.mark.slow), 400])
@pytest.mark.parametrize(
    ("emit", "every", "late"),
    [("final", None, 0.0), ("arrival", None, 0.0), ("arrival", None, 0.02), ("final", 5, 0.0)],
)
def test_a_batch_costs_the_batch(
    emit: str, every: int | None, late: float, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forest, "SMALL", 0)  # each batch a leaf of its own: the tallest tree
    short = batch_costs(10, emit, every, keys, late)
    long = batch_costs(160, emit, every, keys, late)
    for name in ("rows_read", "combined"):
        few = max(getattr(s, name) for s in short)
        many = max(getattr(s, name) for s in long)
        assert many <= 1.6 * few + 40 * min(keys, 500), (name, few, many)
    nodes = max(s.partials_read for s in long) / min(keys, 500)
    assert nodes <= (16 if not late else 16 * 6)  # 2 log n of them, per bulk that rows come into
    assert max(s.written for s in long) <= 2.5 * max(s.written for s in short) + 1_000_000


def test_many_keys_have_a_middle_of_two_partials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Combined maps are carried: on average a batch reads as much, however long the window."""
    monkeypatch.setattr(forest, "SMALL", 0)
    short, long = (batch_costs(window, "final", None, 400, more=32) for window in (16, 256))
    for name in ("partials_read", "read", "combined"):
        few, many = (sum(getattr(s, name) for s in found) for found in (short, long))
        assert many <= 1.3 * few, (name, few, many)


def test_late_rows_cost_late_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 500 rows 5 are late, each into another bulk: what is read grows by their keys' rows."""
    monkeypatch.setattr(forest, "SMALL", 0)
    in_order, some_late = (batch_costs(64, "arrival", None, 20, late, 16) for late in (0.0, 0.01))
    for name, factor in (("rows_read", 2.0), ("combined", 2.5), ("read", 3.0), ("written", 4.0)):
        usual, most = (sum(getattr(s, name) for s in found) for found in (in_order, some_late))
        assert most <= factor * usual, (name, usual, most)


def late_cost(bulks: int, distance: int) -> float:
    """Combines of a batch of two rows, one so many bulks before the end; of a stream that keeps so
    many bulks, on average over 32 batches."""
    collected = sf.collect_list("x").over(sash.range_between(-200, 0))
    live = sash.stream("k", time="t", emit="arrival", delay=200 * bulks).agg(rows=collected)
    spent = []
    for number in range(bulks + 32):
        late = [100 * (number - distance) + 50] if number >= bulks else []
        times = [100 * number, *late]
        live.feed(pa.table({"k": [0] * len(times), "t": times, "x": [number] * len(times)}))
        if late:
            spent.append(live.stats.combined)
    return sum(spent) / len(spent)


def test_a_late_row_costs_log_d_whatever_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """FiBA's bound, amortized: O(log d) for a row d bulks before the end, of 40 bulks or 120.

    How many nodes are above a bulk depends on how near the number of bulks is to a power of 2, so
    the averages of 32 batches differ by some combines."""
    monkeypatch.setattr(forest, "SMALL", 0)  # each batch a bulk of its own
    distances = (1, 4, 16)
    few, many = ([late_cost(bulks, d) for d in distances] for bulks in (40, 120))
    for d, small, large in zip(distances, few, many, strict=True):
        assert large <= 1.3 * small, d
        assert large <= 12 + 8 * np.log2(d), d


def test_late_rows_are_written_as_two_pages() -> None:
    live = sash.stream("k", time="t", emit="arrival", delay=1000).agg(
        hi=sf.max("x").over(sash.range_between(-500, 0))
    )
    columns = {"k": [0] * 20_000, "t": np.arange(20_000) // 20, "x": np.ones(20_000)}
    for part in range(0, 20_000, 1000):
        live.feed(pa.table(columns).slice(part, 1000))
    before = live.stats
    live.feed(pa.table({"k": [0] * 10, "t": np.arange(50, 950, 90), "x": [1.0] * 10}))
    assert live.stats.rows_late == 0
    assert live.stats.written <= before.written / 2


def test_rows_of_a_key_that_is_touched_are_read_and_no_others() -> None:
    live = sash.stream("k", time="t").agg(mean=sf.mean("x").over(sash.rows(50)))
    rng = np.random.default_rng(3)
    for number in range(60):
        times = np.arange(number * 500, number * 500 + 500)
        columns = {"k": rng.integers(0, 100, 500), "t": times, "x": rng.random(500)}
        live.feed(pa.table(columns))
    live.feed(pa.table({"k": [7, 8], "t": [10**6, 10**6], "x": [1.0, 2.0]}))
    assert live.stats.rows_read <= 2 * 2 * 51  # once to answer, once to go on


def test_a_frame_by_rows_does_not_change_what_frames_by_time_keep() -> None:
    def kept(**more: Any) -> int:
        live = sash.stream("k", time="t").agg(n=sf.count().over(sash.range_between(-50, 0)), **more)
        for number in range(40):
            times = np.arange(number * 50, number * 50 + 50)
            live.feed(pa.table({"k": times % 7, "t": times, "x": times * 1.0}))
        return live.stats.state_rows

    assert kept(last=sf.mean("x").over(sash.rows(5))) <= kept() + 2 * 7 * 6


def test_several_windows_in_one_call_cost_what_each_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 10 and of 160 batches together read as much as each by itself."""
    monkeypatch.setattr(forest, "SMALL", 0)

    def read(*windows: int) -> tuple[int, int]:
        live = sash.stream("k", time="t").agg(
            **{f"hi{n}": sf.max("x").over(sash.range_between(-n * 100, 0)) for n in windows}
        )
        rng, found = np.random.default_rng(5), []
        for number in range(166):
            times = np.sort(rng.integers(number * 100, number * 100 + 100, 500))
            live.feed(pa.table({"k": rng.integers(0, 20, 500), "t": times, "x": rng.random(500)}))
            found.append((live.stats.rows_read, live.stats.partials_read))
        rows, partials = zip(*found[-6:], strict=True)
        return max(rows), max(partials)

    both, short, long = read(10, 160), read(10), read(160)
    assert both[0] <= short[0] + long[0]
    assert both[1] <= short[1] + long[1]


def test_the_reactive_aggregators_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """The RA paper's own: 24 hours by a minute, max, how many have it, and whose it is, a string.
    A day later a batch reads no more, and what is kept is a partial per key and slice."""
    monkeypatch.setattr(forest, "SMALL", 0)  # each batch a leaf of its own
    day, minute, keys = 24 * 60, 60, 3
    asked = {"hi": sf.max("x"), "n": sf.max_count("x"), "who": sf.argmax("x", "s")}
    frame = sash.range_between(-day * minute, 0)
    over = {name: a.over(frame) for name, a in asked.items()}
    live = sash.stream("k", time="t").every(minute).agg(**over)
    rng, batches, given, figures = np.random.default_rng(4), [], [], []
    for number in range(2 * 24 + 2):  # an hour each
        times = np.sort(rng.integers(number * 3600, (number + 1) * 3600, 600))
        columns = {"k": rng.integers(0, keys, 600), "t": times, "x": rng.integers(0, 50, 600)}
        batches.append(pa.table({**columns, "s": [f"s{j}" for j in rng.integers(0, 9, 600)]}))
        given.append(live.feed(batches[-1]))
        figures.append(live.stats)
    found = pa.concat_tables(given)
    expected = sash.windowed(pa.concat_tables(batches), "k", time="t").every(minute).agg(**over)
    last = found["window_end"].to_numpy().max()
    expected = expected.filter(pa.array(expected["window_end"].to_numpy() <= last))
    order = [("k", "ascending"), ("window_start", "ascending")]
    assert found.sort_by(order).equals(expected.sort_by(order))
    for name in ("rows_read", "partials_read", "combined", "written"):
        full, later = (
            sum(getattr(s, name) for s in part) for part in (figures[26:38], figures[38:])
        )
        assert later <= 1.5 * full, name
    assert max(s.rows_read for s in figures) <= 3 * 60 * keys  # slices that enter and leave
    assert figures[-1].state_rows <= (day + 180) * keys


def test_frames_by_rows_after_a_year() -> None:
    """A row per key and hour for a year, then two: about 50 rows of each are read."""
    live = sash.stream("k", time="t", delay="1 hour").agg(mean=sf.mean("x").over(sash.rows(50)))
    hours = np.datetime64("2023-01-01", "us") + np.arange(366 * 24) * np.timedelta64(1, "h")
    for week in range(0, len(hours), 7 * 24):
        times = np.repeat(hours[week : week + 7 * 24], 5)
        keys = np.tile(np.arange(5), len(times) // 5)
        live.feed(pa.table({"k": keys, "t": times, "x": keys * 1.0}))
    late_hours = np.array(["2024-02-01", "2024-02-02"], "datetime64[us]")
    live.feed(pa.table({"k": [3, 4], "t": late_hours, "x": [1.0, 2.0]}))
    before = live.stats
    assert before.rows_out >= 1
    live.advance(np.datetime64("2024-03-01", "us"))
    assert live.stats.rows_read <= 2 * 51 + 1  # once to answer, once to go on; the row that waited
    assert live.stats.state_rows <= 3 * 5 * 50


def test_nothing_new_costs_nothing() -> None:
    live = sash.stream("k", time="t").agg(
        n=sf.count().over(sash.range_between(-50, 0)), last=sf.sum("x").over(sash.rows(5))
    )
    for number in range(30):
        times = np.arange(number * 50, number * 50 + 50)
        live.feed(pa.table({"k": times % 7, "t": times, "x": times * 1.0}))
    empty = pa.table({"k": pa.array([], pa.int64()), "t": pa.array([], pa.int64()), "x": []})
    live.feed(empty.cast(pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.float64()})))
    figures = live.stats._replace(state_rows=0, state_bytes=0)
    assert not any(figures)


FLAT = {
    "distinct": (sf.count_distinct("s"), {}, "flat: approx_count_distinct; or a shorter window"),
    "median": (
        sf.median("x"),
        {},
        "flat: sf.apply(monoids.Quantiles(at=…), …); or a shorter window",
    ),
    "exclude": (sf.max("s"), {"exclude": "current row"}, "flat: the same frame without exclude"),
    "most": (sf.sum("x"), {"most": 5}, "flat: the same frame without exclude, most"),
}


@pytest.mark.parametrize("name", FLAT)
def test_explain_says_which_windows_are_read_again(name: str) -> None:
    """The rows of the windows of the batch's keys, and nothing else; `explain` says so."""
    aggregation, options, says = FLAT[name]
    live = sash.stream("k", time="t").agg(
        a=aggregation.over(sash.range_between(-1000, 0), **options)
    )
    rng = np.random.default_rng(3)
    for number in range(30):
        times = np.sort(rng.integers(number * 100, number * 100 + 100, 200))
        columns = {"k": rng.integers(0, 20, 200), "t": times, "x": rng.random(200)}
        live.feed(pa.table({**columns, "s": [f"s{j}" for j in rng.integers(0, 9, 200)]}))
    live.feed(pa.table({"k": [7], "t": [3000], "x": [1.0], "s": ["s1"]}))
    assert 50 <= live.stats.rows_read <= 200  # a twentieth of the 2,000 rows of the window
    text = str(live.explain())
    assert "a batch reads the rows of the windows of its keys: this grows with the window" in text
    assert says in text


def test_rows_wait_as_slices_where_their_order_does_not_matter() -> None:
    """20 keys and 10 slices per batch: what waits is 200 slices, not 5,000 rows."""

    def written(**asked: Any) -> int:
        live = sash.stream("k", time="t", delay=100).every(10).agg(**asked)
        rng, total = np.random.default_rng(7), 0
        for number in range(12):
            times = np.sort(rng.integers(number * 100, number * 100 + 100, 5_000))
            columns = {"k": rng.integers(0, 20, 5_000), "t": times, "x": rng.random(5_000)}
            live.feed(pa.table(columns))
            total += live.stats.written if number >= 6 else 0
        return total

    frame = sash.range_between(-500, 0)
    few = written(hi=sf.max("x").over(frame), mean=sf.mean("x").over(frame))
    all_rows = written(first=sf.first("x").over(frame))
    assert few <= 6 * 200 * 8 * 64  # bytes of a slice, in the page where it waits and in nodes
    assert all_rows >= 6 * 5_000 * 32


def test_other_aggregations_are_refused_while_slices_wait() -> None:
    frame, store = sash.range_between(-500, 0), stores.open("memory:")
    live = sash.stream("k", time="t", delay=100, store=store).every(10)
    first = live.agg(hi=sf.max("x").over(frame))
    first.feed(pa.table({"k": [1], "t": [1], "x": [1.0]}))
    first.commit()
    again = sash.stream("k", time="t", delay=100, store=store).every(10)
    with pytest.raises(StateError, match="what slices have combined"):
        again.agg(low=sf.min("x").over(frame)).feed(pa.table({"k": [1], "t": [2], "x": [1.0]}))


def test_the_same_aggregations_in_another_form_are_refused() -> None:
    """As after an upgrade, or a change of a monoid's version."""

    def kept(version: int) -> None:
        total = Monoid("total", 0.0, lambda x: x, lambda a, b: a + b, version=version)
        live = sash.stream("k", time="t", delay=100, store=store).every(10)
        with live.agg(s=sf.apply(total, "x").over(sash.range_between(-500, 0))) as opened:
            opened.feed(pa.table({"k": [1], "t": [version], "x": [1.0]}))
            opened.commit()

    store = stores.open("memory:")
    kept(1)
    kept(1)
    with pytest.raises(StateError, match="another version of Sash, or of a monoid"):
        kept(2)
