"""Rows in order of key and time, and back: against NumPy's sort, in any number of threads."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import arrangement, order, team
from sash.engine.arrangement import Codes, arranged
from sash.engine.filling import MARK, Filling
from sash.engine.team import Team

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture(params=[1, 2, 5])
def threads(request: Any, monkeypatch: Any) -> Any:
    """A team, in which a thread is worth its start for any row."""
    monkeypatch.setattr(team, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(arrangement, "FIRST_LOOK", 2)
    with Team(request.param) as made:
        yield made


TIMES: dict[str, Any] = {
    "few": lambda rng, n: rng.integers(0, 4, n),
    "some": lambda rng, n: rng.integers(-n, n, n),
    "wide": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "widest": lambda rng, n: rng.choice([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST], n),
    "same": lambda rng, n: np.full(n, 7),
    "floats": lambda rng, n: rng.choice([-np.inf, -2.5, -0.0, 0.0, 1e-300, 3.0, np.inf], n),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
}


@pytest.mark.parametrize("how", TIMES)
@pytest.mark.parametrize("keys", [None, 1, 3, 700])
@pytest.mark.parametrize("n", [2, 3, 40, 1500, 9000])
def test_rows_come_in_order_and_back(n: int, keys: int | None, how: str, threads: Team) -> None:
    rng = np.random.default_rng(n)
    times = TIMES[how](rng, n)
    codes = None if keys is None else Codes(rng.integers(0, keys, n), keys)
    columns = [times + 0.0 if times.dtype.kind == "f" else times]
    columns += [] if codes is None else [codes.values]
    wanted = np.lexsort(columns)
    for sort_first in (False, True):
        if sort_first:  # rows in order of time, brought together by key
            by_time = np.argsort(columns[0], kind="stable")
            times = times[by_time]
            codes = None if codes is None else Codes(codes.values[by_time], codes.size)
            wanted = np.lexsort([times + 0, *([] if codes is None else [codes.values])])
        found = arranged(codes, times, threads)
        if found is None:
            assert (wanted == np.arange(n)).all()
            continue
        assert (found.order == wanted).all()
        assert (found.ranks[wanted] == np.arange(n)).all()
        if codes is not None:
            assert (found.codes == codes.values[wanted]).all()
        rows = pa.array(np.arange(n))
        assert (np.asarray(found.into(rows)) == wanted).all()
        assert found.back(found.into(rows)).equals(rows)


@pytest.mark.parametrize("furthest", [3, 2**62 - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_booleans_go_with_times(sign: int, furthest: int, threads: Team) -> None:
    """Times from the first to the last that have a bit to spare, ascending or descending."""
    rng, n = np.random.default_rng(furthest), 500
    inner = rng.integers(-furthest - 1, furthest, n - 2, endpoint=True)
    times = np.sort([-furthest - 1, *inner, furthest])[::sign]
    found = arranged(Codes(rng.integers(0, 7, n), 7), np.arange(n), threads)
    assert found is not None
    flags, column = pa.array(rng.random(n + 3) < 0.5).slice(3), pa.array(times)
    for each in (
        column,
        column.cast(pa.timestamp("us", "UTC")),
        pa.concat_arrays([column] * 2)[n:],
    ):
        both = found.into_with(each, flags)
        assert both is not None
        assert both[0].equals(found.into(each))
        assert both[1].equals(found.into(flags))


@pytest.mark.parametrize(
    "times",
    [
        pa.array([0, 1, 2**62]),
        pa.array([-(2**62) - 1, 0, 1]),
        pa.array([0, None, 2]),
        pa.array([0, 1, 2], pa.uint64()),
        pa.array([0, 1, 2], pa.int32()),
        pa.array([0.0, 1.0, 2.0]),
    ],
    ids=str,
)
def test_times_without_a_bit_to_spare_go_alone(times: pa.Array, threads: Team) -> None:
    found = arranged(Codes(np.array([1, 0, 1]), 2), np.arange(3), threads)
    assert found is not None
    assert found.into_with(times, pa.array([True, False, True])) is None
    assert found.into_with(pa.array([0, 1, 2]), pa.array([True, None, True])) is None


COLUMNS = {
    "int8": pa.array([1, None, 3, -4, 5], pa.int8()),
    "int16": pa.array([1, 2, 3, -4, 5], pa.int16()),
    "float32": pa.array([0.5, None, float("inf"), -1.0, None], pa.float32()),
    "bool": pa.array([True, None, False, True, True]),
    "string": pa.array(["a", None, "ccc", "", "e"]),
    "list": pa.array([[1], None, [], [2, 3], [None]]),
    "decimal": pa.array([1, None, 3, 4, 5], pa.decimal128(30, 2)),
    "date": pa.array([dt.date(2024, 1, d) if d != 3 else None for d in range(1, 6)]),
    "timestamp": pa.array(
        [dt.datetime(2024, 1, d) for d in range(1, 6)], pa.timestamp("us", "UTC")
    ),
    "duration": pa.array([None, 1, 2, 3, 4], pa.duration("ms")),
    "dictionary": pa.array(["x", None, "y", "x", "z"]).dictionary_encode(),
    "null": pa.nulls(5),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("times", [[5, 1, 4, 4, 0], [0, 1, 1, 2, 3]])
def test_columns_of_every_type(name: str, times: list[int], threads: Team) -> None:
    codes = Codes(np.array([1, 0, 1, 0, 1]), 2)
    found = arranged(codes, np.array(times), threads)
    assert found is not None
    column = COLUMNS[name]
    rows = np.lexsort([times, codes.values])
    assert found.into(column).to_pylist() == [column.to_pylist()[i] for i in rows]
    assert found.back(found.into(column)).equals(column)
    part = pa.concat_arrays([column.slice(3, 2), column]).slice(2, 5)  # with an offset
    assert found.back(found.into(part)).to_pylist() == column.to_pylist()


KEYS: dict[str, Any] = {
    "bytes": lambda rng, n: rng.integers(-128, 128, n).astype(np.int8),
    "unsigned": lambda rng, n: rng.choice(np.array([0, 7, 2**63, 2**64 - 1], np.uint64), n),
    "wide": lambda rng, n: rng.choice([LEAST, -5, 0, 1, MOST], n),
    "spread": lambda rng, n: rng.integers(0, 50, n) * 10**12,
    "words": lambda rng, n: rng.choice(["", "a", "bb", "ä"], n),
    "flags": lambda rng, n: rng.random(n) < 0.5,
    "days": lambda rng, n: rng.integers(0, 9, n).astype("datetime64[D]"),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("nulls", [False, True])
def test_codes_are_one_for_each_key(name: str, nulls: bool, threads: Team) -> None:
    rng = np.random.default_rng(3)
    n = 400
    values = KEYS[name](rng, n)
    column = pa.array(values, mask=rng.random(n) < 0.2 if nulls else None)
    codes = order.codes_of([column], threads)
    assert codes is not None
    assert codes.values.min() >= 0
    assert codes.values.max() < codes.size
    pairs = set(zip(codes.values.tolist(), column.to_pylist(), strict=True))
    assert len(pairs) == len(set(codes.values.tolist())) == len(set(column.to_pylist()))
    both = order.codes_of([column, column, pa.array(rng.integers(0, 3, n))], threads)
    assert both is not None
    assert len(set(both.values.tolist())) == len(set(zip(column.to_pylist(), both.values.tolist())))


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_with_keys_of_any_type(n: int, threads: Team) -> None:
    for column in (pa.array(["a"] * n, pa.string()), pa.array([7] * n, pa.int64())):
        codes = order.codes_of([column, column], threads)
        assert codes is not None
        assert len(codes.values) == n
        table = pa.table({"k": column, "t": pa.array([3] * n, pa.int64())})
        found = sash.windowed(table, "k", time="t").agg(n=sf.count().over(sash.rows(2)))
        assert found.column("n").to_pylist() == [1] * n


def test_places_of_more_rows_than_32_bits_can_number(threads: Team, monkeypatch: Any) -> None:
    monkeypatch.setattr(arrangement, "NARROW", 0)
    test_rows_come_in_order_and_back(1500, 3, "some", threads)
    test_rows_come_in_order_and_back(1500, None, "floats", threads)
    test_columns_of_every_type("float32", [5, 1, 4, 4, 0], threads)


def test_answers_of_every_type_come_back(threads: Team) -> None:
    rng = np.random.default_rng(4)
    n = 3000
    table = pa.table(
        {
            "k": rng.choice(["a", "b", "c"], n),
            "t": rng.permutation(n),
            "x": pa.array(rng.random(n), mask=rng.random(n) < 0.3),
            "w": rng.choice(["p", "q", None], n),
        }
    )
    asked = {
        "mean": sf.mean("x").over(sash.rows(3)),
        "word": sf.last("w").over(sash.rows(2)),
        "most": sf.max("w").over(sash.rows(4)),
        "some": sf.count("x").over(sash.range_between(-50, -1)),
        "any": sf.max("x").over(sash.rows(5)) > 0.9,  # null where all are
        "all": sf.collect_list("w").over(sash.rows(2)),
    }
    found = sash.windowed(table, "k", time="t").agg(**asked)
    by_time = table.append_column("id", pa.array(range(n))).sort_by(
        [("k", "ascending"), ("t", "ascending")]
    )
    wanted = sash.windowed(by_time, "k", time="t").agg(**asked).sort_by("id")
    for name in asked:
        assert found.column(name).to_pylist() == wanted.column(name).to_pylist(), name


@pytest.mark.parametrize("nulls", [0, 3, 900])
@pytest.mark.parametrize("looks_like_a_mark", [False, True])
def test_answers_come_back_with_their_nulls(
    nulls: int, looks_like_a_mark: bool, threads: Team
) -> None:
    """Few are told by marks, unless a value looks like one."""
    rng, n = np.random.default_rng(nulls), 1000
    found = arranged(Codes(rng.integers(0, 7, n), 7), np.arange(n), threads)
    assert found is not None
    values = rng.integers(0, 100, n)
    values[5] = MARK.view(np.int64) if looks_like_a_mark else 5
    answers = pa.array(values, mask=np.arange(n) >= n - nulls)
    filling = Filling(n, marks=True)
    for row in range(0, n, 100):
        filling.put(row, answers.slice(row, 100))
    assert found.back_of(filling).equals(found.back(answers))
    told = filling.moved(lambda cells: cells, threads)
    assert (told is not None) == (nulls == 3 and not looks_like_a_mark)
