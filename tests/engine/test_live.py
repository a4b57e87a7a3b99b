"""`sash.stream`: tables of any kind in, the same kind out; one key now; state in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import Monoid, stores
from sash import functions as sf
from sash.engine.stream.pages import StateError
from sash.stores.memory import Memory
from tests.engine.streams import FRAMES, rows, same

TEN = sash.range_between(-10, 0)


def batches(table: pa.Table, size: int) -> list[pa.Table]:
    return [table.slice(start, size) for start in range(0, table.num_rows, size)]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars"])
def test_tables_of_each_kind(kind: str) -> None:
    table = pa.table({"k": [1, 2, 1], "t": [1, 2, 9], "x": [1.0, 2.0, 3.0]})
    given = {"pyarrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
    found = sash.stream("k", time="t").agg(s=sf.sum("x").over(TEN)).feed(given)
    assert type(found) is type(given)
    if isinstance(found, pd.DataFrame):
        found = pa.Table.from_pandas(found)
    elif isinstance(found, pl.DataFrame):
        found = found.to_arrow()
    assert dict(zip(found.column("t").to_pylist(), found.column("s").to_pylist())) == {
        1: 1.0, 2: 2.0, 9: 4.0,
    }  # fmt: skip


def test_late_rows_are_counted_or_given() -> None:
    first, late = ({"k": [1], "t": [t], "x": [1.0]} for t in (20, 3))
    live = sash.stream("k", time="t", delay=5).agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table(first))
    assert live.feed(pa.table(late)).num_rows == 0
    assert live.late_rows == 1
    live = sash.stream("k", time="t", delay=5, late="side").agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table(first))
    assert live.feed(pa.table(late)).to_pylist() == [
        {"k": 1, "t": 3, "x": 1.0, "s": None, "late": True}
    ]


@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_the_current_value_of_a_key_is_that_of_a_row_now(emit: Any) -> None:
    """As a table gives it for a row without a value at that moment."""
    table = rows(np.random.default_rng(7), 200, 4, 0)
    frames = {name: FRAMES[name] for name in ("time", "long", "right", "session", "from the first")}
    asked = {name.replace(" ", "_"): sf.sum("x").over(frame) for name, frame in frames.items()}
    asked |= {"n": sf.count("x").over(FRAMES["long"]), "who": sf.argmax("x", "s").over(TEN)}
    live = sash.stream("k", time="t", emit=emit, delay=1).agg(**asked)
    for batch in batches(table, 37):
        live.feed(batch)
    if emit == "final":
        live.advance(int(table.column("t").to_numpy().max()))
    now = int(table.column("t").to_numpy().max())
    for key in ("k0", "k1", "k9"):
        row = pa.table(
            {"k": [key], "t": [now], "x": [None], "s": [None], "i": [-1]}, schema=table.schema
        )
        whole = sash.windowed(pa.concat_tables([table, row]), "k", time="t").agg(**asked)
        expected = next(r for r in whole.to_pylist() if r["i"] == -1)
        found = live.current(k=key)
        for name in asked:
            if isinstance(expected[name], float):
                assert found[name] == pytest.approx(expected[name]), name
            else:
                assert found[name] == expected[name], name


def test_a_feed_that_raises_changes_nothing() -> None:
    live = sash.stream("k", time="t").agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table({"k": [1], "t": [1], "x": [2**62]}))
    with pytest.raises(OverflowError):
        live.feed(pa.table({"k": [1], "t": [2], "x": [2**62]}))
    assert live.feed(pa.table({"k": [1], "t": [3], "x": [1]})).column("s").to_pylist() == [
        2**62 + 1
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"emit": "soon"}, "emit must be"),
        ({"late": "never"}, "late must be"),
        ({"delay": -1}, "delay must be"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        sash.stream("k", time="t", **given).agg(n=sf.count().over(TEN))


def test_an_option_that_is_not_known_is_named() -> None:
    says = "stream: latncy is not an option; .*did you mean 'latency'"
    with pytest.raises(TypeError, match=says):
        sash.stream("k", time="t", latncy="worst").agg(n=sf.count().over(TEN))


def test_columns_that_are_missing_are_named() -> None:
    live = sash.stream("k", time="t").agg(n=sf.count().over(TEN))
    live.feed(pa.table({"k": [1], "t": [1], "x": [1]}))
    with pytest.raises(KeyError, match="no column 'x'"):
        live.feed(pa.table({"k": [1], "t": [2]}))
    with pytest.raises(TypeError, match="give the keys k"):
        live.current(user=7)


def test_expressions_conditions_and_results() -> None:
    table = rows(np.random.default_rng(8), 200, 3, 0)
    asked: dict[str, Any] = {
        "twice": sf.sum(sf.col("x") * 2).over(TEN),
        "low": sf.count().where("x < 0.5").over(TEN),
        "word": sf.max("s").where(sf.col("x") < 0.5).over(TEN),
        "z": (sf.col("x") - sf.mean("x").over(TEN)) / sf.stddev("x").over(TEN),
        "others": sf.sum("x").over(TEN, exclude="current row"),
        "last": sf.sum("x").where("x < 0.5").over(sash.rows(4)),
        "visit": sf.count().where("x < 0.5").over(sash.session(3)),
    }
    live = sash.stream("k", time="t", delay=1).agg(**asked)
    found = pa.concat_tables([live.feed(batch) for batch in batches(table, 30)])
    expected = sash.windowed(table, "k", time="t").agg(**asked)
    expected = expected.filter(pa.array([i in set(found.column("i").to_pylist())
                                         for i in expected.column("i").to_pylist()]))  # fmt: skip
    assert found.num_rows > 150
    same(found, expected, [("i", "ascending")])


def test_a_stream_goes_on_from_its_store(tmp_path: Path) -> None:
    table = rows(np.random.default_rng(9), 300, 4, 0)
    asked = {"total": sf.sum("x").over(TEN), "l": sf.collect_list("i").over(sash.rows(3))}
    parts = batches(table, 40)
    found = []
    for number, batch in enumerate(parts):  # opened again for each batch
        with sash.stream("k", time="t", store=f"lmdb:{tmp_path}/state").agg(**asked) as live:
            assert live.offset == (number - 1 if number else None)
            found.append(live.feed(batch))
            live.commit(offset=number)
    whole = sash.stream("k", time="t").agg(**asked)
    expected = pa.concat_tables([whole.feed(batch) for batch in parts])
    same(pa.concat_tables(found), expected, [("i", "ascending")])


def test_two_owners_of_one_stream_are_told() -> None:
    store = stores.open("memory:")
    table = pa.table({"k": [1], "t": [1], "x": [1.0]})
    one, two = (
        sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN)) for _ in range(2)
    )
    one.feed(table)
    two.feed(table)
    one.commit()
    with pytest.raises(stores.StoreConflict):
        two.commit()


def test_a_store_with_another_definition() -> None:
    store = stores.open("memory:")
    live = sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table({"k": [1, 1], "t": [1, 50], "x": [1.0, 2.0]}))
    live.commit()
    longer = sf.sum("x").over(sash.range_between(-40, 0))
    with pytest.raises(StateError, match="become longer"):
        sash.stream("k", time="t", store=store).agg(s=longer)


class Counted(Memory):
    """Counts its commits."""

    commits = 0

    def _commit(self, *given: Any) -> None:
        self.commits += 1
        super()._commit(*given)


def test_a_commit_is_one_commit_of_the_store() -> None:
    """Offset and columns go with the state: a process may be killed between two commits."""
    store = Counted()
    live = sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table({"k": [1], "t": [1], "x": [1.0]}))
    live.commit(offset=7)
    assert store.commits == 1
    assert sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN)).offset == 7


@pytest.mark.parametrize("record", [b"offset", b"schema"])
def test_a_damaged_offset_or_schema_is_found(record: bytes) -> None:
    store = stores.open("memory:")
    live = sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN))
    live.feed(pa.table({"k": [1], "t": [1], "x": [1.0]}))
    live.commit(offset=40)
    space = store.space(b"stream")
    (good,) = space.get_many([record])
    assert good is not None
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        space.put_many([(record, bytes(damaged))])
        with pytest.raises(stores.DamagedState):
            sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN))


def test_explain_says_what_is_kept_and_how_much() -> None:
    live = sash.stream("k", time="t").agg(
        hi=sf.max("x").over(sash.range_between(-3600, 0)),
        m=sf.median("x").over(sash.range_between(-3600, 0)),
        last=sf.mean("x").over(sash.rows(50)),
    )
    with pytest.raises(ValueError, match="nothing was fed yet"):
        live.explain()
    live.feed(pa.table({"k": [1], "t": [1], "x": [1.0]}))
    text = live.explain()
    assert "hi: max(x), Forest: AMTA" in text
    assert "this grows with the window" in text
    assert "the last rows of each key that a later one reaches" in text
    few, many = (live.explain(rows_per_second=rate, keys=100) for rate in (10, 10_000_000))
    assert "about 1, for 10 rows per second" in few
    assert "about 6, for 10,000,000 rows per second" in many
    assert "36,000,000,000 rows of 40 bytes" in many


@pytest.mark.parametrize("offset", [1, None])
def test_closing_commits_no_rows_that_come_again(offset: int | None) -> None:
    """Commits that are told offsets: what was fed after the last of them is fed again."""
    batch = [pa.table({"k": [1], "t": [t], "x": [1.0]}) for t in (10, 11, 12)]

    def live() -> Any:
        return sash.stream("k", time="t", store=store).agg(s=sf.sum("x").over(TEN))

    store = Memory()
    first = live()
    first.feed(batch[0])
    first.commit(offset=offset)
    first.feed(batch[1])
    first.close()
    again = live()
    assert again.offset == offset
    for missed in batch[1 if offset else 2 :]:
        found = again.feed(missed)
    assert found["s"].to_pylist() == [3.0]


def test_a_monoid_whose_type_is_not_known_before_a_row() -> None:
    words = Monoid("words", "", str, lambda a, b: a + b)  # text is not compiled
    asked = {"all": sf.apply(words, "x").over(sash.range_between(-2, 0))}
    table = pa.table({"t": [1, 2, 3, 4, 9], "x": ["a", "b", "c", "d", "e"]})
    live = sash.stream(time="t").agg(**asked)
    found = [live.feed(table.slice(i, 1)).to_pylist() for i in range(5)]
    rows = [row for part in [*found, live.advance(20).to_pylist()] for row in part]
    assert rows == sash.windowed(table, time="t").agg(**asked).to_pylist()
