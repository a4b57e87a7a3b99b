"""Keys and times as numbers, and rows in order: what is one key, which times are where."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from sash.plan.definition import Query
from sash.plan.planner import plan_of
from sash.windows.frames import Closed

LEAST, MOST = -(2**63), 2**63 - 1
CLOSED: tuple[Closed, ...] = ("both", "left", "right", "neither")


def running(keys: Any, **options: Any) -> list[Any]:
    """The running sum of 1, 2, 4, … by key."""
    n = len(keys)
    table = pa.table({"k": keys, "t": np.arange(n), "x": 2 ** np.arange(n)})
    found = sash.windowed(table, "k", time="t", **options).agg(y=sf.sum("x").over(sash.lifetime()))
    return found.column("y").to_pylist()


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_zero_and_minus_zero_are_one_key(kind: pa.DataType) -> None:
    zero = kind.to_pandas_dtype()(0.0)  # old pyarrow takes for float16 NumPy's only
    assert running(pa.array([zero, -zero, zero], kind)) == [1, 3, 7]
    assert running(pa.array([-zero, None, zero, None], kind)) == [1, 2, 5, 10]


def test_all_nan_are_one_key() -> None:
    bits = np.array([0x7FF8 << 48, (0x7FF8 << 48) + 1, 0xFFF8 << 48], np.uint64)
    assert running(pa.array(bits.view(np.float64))) == [1, 3, 7]
    assert running(pa.array([np.nan, 1.0, np.nan, None])) == [1, 2, 5, 8]


WORDS = ["b", "a", None, "b", None, "a"]
TOTALS = [1, 2, 4, 9, 20, 34]


def test_dictionaries_are_keys() -> None:
    assert running(pa.array(WORDS).dictionary_encode()) == TOTALS
    places = pa.array([0, 1, 2, None, 4, 3])
    twice = pa.DictionaryArray.from_arrays(places, ["b", "a", None, "a", None])
    assert running(twice) == [1, 2, 4, 12, 28, 34]


def test_a_dictionary_may_differ_from_chunk_to_chunk() -> None:
    halves = [pa.array(WORDS[:3]).dictionary_encode(), pa.array(WORDS[3:]).dictionary_encode()]
    assert running(pa.chunked_array(halves)) == TOTALS


def test_categories_come_out_as_they_came_in() -> None:
    rows = {"t": range(6), "x": [1, 2, 4, 8, 16, 32]}
    asked = sf.sum("x").over(sash.lifetime())
    pandas = pd.DataFrame({"k": pd.Categorical(WORDS, ["z", "a", "b"]), **rows})
    found = sash.windowed(pandas, "k", time="t").agg(y=asked)
    assert found["y"].tolist() == TOTALS
    assert found["k"].equals(pandas["k"])
    for kind in (pl.Categorical, pl.Enum(["z", "a", "b"])):
        polars = pl.DataFrame({"k": pl.Series(WORDS, dtype=kind), **rows})
        found = sash.windowed(polars, "k", time="t").agg(y=asked)
        assert found["y"].to_list() == TOTALS
        assert found["k"].equals(polars["k"])
        assert found["k"].dtype == kind


def test_windows_of_every_have_the_keys_as_they_came_in() -> None:
    keys = pa.array(WORDS).dictionary_encode()
    table = pa.table({"k": keys, "j": [1.5, -0.0] * 3, "t": range(6), "key": range(6)})
    asked = sf.count().over(sash.range_between(-6, 0))
    found = sash.windowed(table, ["k", "j"], time="t").every(6).agg(n=asked)
    assert found.schema.field("k").type == keys.type
    assert found.column_names == ["k", "j", "window_start", "window_end", "n"]
    rows = {(row["k"], row["j"]): row["n"] for row in found.to_pylist()}
    assert rows == {("b", 1.5): 1, ("a", 0.0): 2, (None, 1.5): 2, ("b", 0.0): 1}


def test_keys_of_many_columns_and_wide_numbers() -> None:
    rng = np.random.default_rng(1)
    wide = np.array([LEAST, -1, 0, 7, MOST])
    columns = [rng.choice(wide, 200), rng.choice(wide, 200), rng.choice(["a", "b"], 200)]
    table = pa.table({**dict(zip("abc", columns)), "t": rng.permutation(200)})
    found = sash.windowed(table, ["a", "b", "c"], time="t").agg(n=sf.count().over(sash.lifetime()))
    frame = table.to_pandas()
    wanted = frame.sort_values("t").groupby(["a", "b", "c"]).cumcount() + 1
    assert found.column("n").to_pylist() == wanted.sort_index().tolist()


def test_unsigned_times_within_int64_are_times_and_later_ones_are_refused() -> None:
    asked = sf.sum("x").over(sash.range_between(-1, 0))
    times = pa.array([MOST - 2, MOST - 1, MOST], pa.uint64())
    table = pa.table({"t": times, "x": [1, 2, 4]})
    assert sash.windowed(table, time="t").agg(y=asked).column("y").to_pylist() == [1, 3, 6]
    table = pa.table({"t": pa.array([MOST, MOST + 1], pa.uint64()), "x": [1, 2]})
    with pytest.raises(ValueError, match="'t' is uint64 and has 9223372036854775808"):
        sash.windowed(table, time="t").agg(y=asked)


ENDS = [LEAST, LEAST, LEAST + 1, -1, 0, MOST - 1, MOST, MOST]
REACHES = [None, -(2**62), -2, -1, 0, 1, 2, 2**62]


def inside(t: int, s: int, start: int | None, end: int | None, closed: str) -> bool:
    after = start is None or s > t + start or (s == t + start and closed in ("both", "left"))
    before = end is None or s < t + end or (s == t + end and closed in ("both", "right"))
    return after and before


@pytest.mark.parametrize("closed", CLOSED)
def test_windows_at_the_ends_of_the_integers(closed: Closed) -> None:
    table = pa.table({"t": ENDS, "x": 2 ** np.arange(len(ENDS))})
    pairs = [
        (a, b) for a, b in itertools.product(REACHES, REACHES) if a is None or b is None or a <= b
    ]
    asked = {f"{a} {b}": sf.sum("x").over(sash.range_between(a, b, closed)) for a, b in pairs}
    found = sash.windowed(table, time="t").agg(**asked)
    for a, b in pairs:
        masks = [sum(2**j for j, s in enumerate(ENDS) if inside(t, s, a, b, closed)) for t in ENDS]
        assert found.column(f"{a} {b}").to_pylist() == [m or None for m in masks], (a, b)


def test_sessions_and_deltas_at_the_ends_of_the_integers() -> None:
    table = pa.table({"t": ENDS, "v": ENDS})
    found = sash.windowed(table, time="t").agg(
        burst=sf.count().over(sash.session(1)),
        long=sf.count().over(sash.session(2**62)),
        close=sf.count().over(sash.delta("v", 1)),
    )
    assert found.column("burst").to_pylist() == [2, 2, 3, 1, 2, 1, 3, 3]
    assert found.column("long").to_pylist() == [2, 2, 3, 1, 2, 1, 3, 3]
    assert found.column("close").to_pylist() == [1, 2, 3, 1, 2, 1, 2, 3]


def test_a_bound_of_float32_times_is_a_float32_as_in_spark() -> None:
    times = np.arange(50, dtype=np.float32) * np.float32(0.1)
    by = np.float32(0.3)
    wanted = [int(((times >= t - by) & (times <= t)).sum()) for t in times]
    asked = sf.count().over(sash.range_between(-0.3, 0))
    found = sash.windowed(pa.table({"t": times}), time="t").agg(n=asked)
    assert found.column("n").to_pylist() == wanted
    doubles = times.astype(np.float64)
    assert wanted != [int(((doubles >= t - 0.3) & (doubles <= t)).sum()) for t in doubles]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_wait_for_all_that_rounding_lets_in(kind: Any) -> None:
    """A row is ready only if no later row can be in its window as the pass rounds its edge."""
    times = np.cumsum(np.full(400, 0.1, kind), dtype=kind)
    table = pa.table({"t": times, "x": np.arange(400)})
    asked = {"y": sf.max("x").over(sash.range_between(-0.7, 0.3))}
    whole = sash.windowed(table, time="t").agg(**asked)
    query = Query((), "t", asked)
    found = pa.Table.from_batches(
        list(row_windows.run(plan_of(query, table.schema), table.to_batches(max_chunksize=1)))
    )
    assert found.column("y").to_pylist() == whole.column("y").to_pylist()


@pytest.mark.parametrize("kind", [np.int64, np.float64, "datetime64[us]"])
def test_descending_times(kind: Any) -> None:
    rng = np.random.default_rng(2)
    steps = rng.integers(-40, 40, 300)
    size: Any = "5 us" if kind == "datetime64[us]" else 5
    columns = {"k": rng.integers(0, 3, 300), "x": rng.integers(0, 1000, 300)}
    down = pa.table({**columns, "t": steps.astype(kind)})
    up = pa.table({**columns, "t": (-steps).astype(kind)})
    asked = {
        "last": sf.sum("x").over(
            sash.range_between(f"-{size}" if isinstance(size, str) else -5, 0)
        ),
        "rows": sf.first("x").over(sash.rows(3)),
    }
    found = sash.windowed(down, "k", time="t", descending=True).agg(**asked)
    wanted = sash.windowed(up, "k", time="t").agg(**asked)
    assert found.select(list(asked)).equals(wanted.select(list(asked)))


def test_descending_times_at_the_ends_of_the_integers() -> None:
    table = pa.table({"t": [MOST, LEAST, 0], "x": [1, 2, 4]})
    asked = sf.sum("x").over(sash.range_between(None, 0))
    found = sash.windowed(table, time="t", descending=True).agg(y=asked)
    assert found.column("y").to_pylist() == [1, 7, 5]
    with pytest.raises(ValueError, match="no descending order"):
        sash.windowed(table, time="t", descending=True).every(5)


def test_rows_without_a_time_stay_so_when_they_are_sorted() -> None:
    table = pa.table({"t": pa.array([3, None, 1, None, 2]), "x": [1, 2, 4, 8, 16]})
    found = sash.windowed(table, time="t").agg(
        y=sf.sum("x").over(sash.rows_between(None, 0)),
        known=sf.count("t").over(sash.rows_between(None, 0)),
        last=sf.last("t").over(sash.rows(1)),
    )
    assert found.column("y").to_pylist() == [31, 2, 14, 10, 30]
    assert found.column("known").to_pylist() == [3, 0, 1, 0, 2]
    assert found.column("last").to_pylist() == [3, None, 1, None, 2]
