"""`idle`: a key without a row for so long is forgotten, whatever the batches were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.definition import StreamDefinition
from tests.engine.streams import FRAMES, Run, aggregate, asked, cuts, defined, rows, same, without

BY_ROW = [("i", "ascending")]
PER_KEY = ("rows", "rows around", "session", "delta", "until", "policy", "lifetime")
IDLE = 6


def spelled(table: pa.Table) -> pa.Table:
    """Rows of which a key has another name after each time that it was idle."""
    k, t = table.column("k").to_pylist(), table.column("t").to_numpy()
    names, last, spell = [""] * len(k), dict[str, int](), dict[str, int]()
    for i in np.argsort(t, kind="stable").tolist():
        key, time = k[i], int(t[i])
        spell[key] = spell.get(key, 0) + (time - last.get(key, time) > IDLE)
        last[key], names[i] = time, f"{key} {spell[key]}"
    return table.set_column(0, "k", pa.array(names))


def answers(definition: StreamDefinition, table: pa.Table) -> pa.Table:
    """What a table gives whose keys begin again after they were idle."""
    found = aggregate(definition.plan.query, spelled(table))
    original = dict(zip(table["i"].to_pylist(), table["k"].to_pylist(), strict=True))
    keys = [original[i] for i in found["i"].to_pylist()]
    return found.set_column(0, "k", pa.array(keys, table.schema.field("k").type))


def sample(name: str, rng: np.random.Generator, n: int) -> pa.Table:
    table = rows(rng, n, 5, 8)
    if name == "delta":
        return table.set_column(2, "x", table.column("x").fill_null(0.5))
    return table


def check(name: str, emit: str, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    table, sizes = sample(name, rng, n), cuts(rng, n, n // 8)
    aggregations = asked(FRAMES[name], policy=name == "policy")
    definition = defined(emit, idle=IDLE, **aggregations)
    run = Run(definition, keep=seed % 2 == 0)
    found = run.all(table, sizes, delay=int(rng.integers(0, 6)))
    if emit == "final":
        expected = answers(definition, without(table, run.late))
        if name == "rows around":  # the last two rows of a key wait for others, or until it is idle
            out = set(found.column("i").to_pylist())
            expected = without(expected, set(range(n)) - out)
            assert len(out) >= n - len(run.late) - 2 * 5
    else:
        ends = np.cumsum(sizes).tolist()
        parts = []
        for size, end in zip(sizes, ends, strict=True):
            known = answers(definition, without(table.slice(0, end), run.late))
            parts.append(without(known, set(range(end - size))))
        expected = pa.concat_tables(parts)
    same(found, expected, BY_ROW)


@pytest.mark.parametrize("emit", ["final", "arrival"])
@pytest.mark.parametrize("name", PER_KEY)
def test_a_key_that_was_idle_begins_without_a_past(name: str, emit: str) -> None:
    check(name, emit, 1, 80)


@pytest.mark.slow
@pytest.mark.parametrize("emit", ["final", "arrival"])
@pytest.mark.parametrize("name", PER_KEY)
def test_idle_keys_for_many_seeds(name: str, emit: str) -> None:
    for seed in range(100, 200):
        check(name, emit, seed, 200)


def vanishing(**aggregations: Any) -> tuple[list[Any], list[pa.Table]]:
    """200 batches of 10 keys that never come again; figures and rows of each."""
    live = sash.stream("k", time="t", idle=50).agg(**aggregations)
    figures, found = [], []
    for number in range(200):
        times = np.arange(number * 10, number * 10 + 10)
        columns = {"k": [f"k{number}-{j}" for j in range(10)], "t": times, "x": times * 1.0}
        found.append(live.feed(pa.table(columns)))
        figures.append(live.stats)
    return figures, found


@pytest.mark.parametrize("frame", [sash.rows(5), sash.lifetime()])
def test_forgotten_keys_are_counted(frame: Any) -> None:
    figures, _ = vanishing(n=sf.count().over(frame))
    forgotten = sum(each.keys_forgotten for each in figures)
    assert figures[-1].state_rows <= 2000 - forgotten
    assert forgotten >= 2000 - 2.5 * 60


def test_rows_that_wait_come_out_when_their_key_is_forgotten() -> None:
    figures, found = vanishing(n=sf.count().over(sash.rows_between(-2, 2)))
    whole = pa.concat_tables(found)
    assert whole.num_rows == sum(each.keys_forgotten for each in figures)
    assert whole.num_rows >= 2000 - 2.5 * 60
    assert set(whole.column("n").to_pylist()) == {1}
