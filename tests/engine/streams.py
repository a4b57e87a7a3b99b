"""Streams in process for tests: rows out of order, batches of any size, a shard per batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from sash import functions as sf
from sash.engine import table as tables
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.keys import with_keys
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import KEY, BytesPages
from sash.engine.stream.shard import Shard
from sash.engine.stream.work import Work
from sash.plan.definition import Query
from sash.plan.plan import BY_DEFAULT, Options, over_table
from sash.plan.planner import plan_of
from sash.tables import windowed

SCHEMA = pa.schema(
    {"k": pa.string(), "t": pa.int64(), "x": pa.float64(), "s": pa.string(), "i": pa.int64()}
)

FRAMES: dict[str, Any] = {
    "time": sash.range_between(-10, 0),
    "long": sash.range_between(-60, 0),
    "following": sash.range_between(-5, 4),
    "before": sash.range_between(-20, -3),
    "right": sash.range_between(-10, 0, closed="right"),
    "neither": sash.range_between(-10, 3, closed="neither"),
    "from the first": sash.range_between(None, 0),
    "from the first, before": sash.range_between(None, -4),
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
    """Pages as bytes in a dictionary."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self.data.get(name)

    def put(self, name: str, data: Any) -> None:
        self.data[name] = bytes(memoryview(data))

    def delete(self, name: str) -> None:
        del self.data[name]


def rows(rng: np.random.Generator, n: int, keys: int, disorder: int) -> pa.Table:
    """Rows in the order in which they come, some of them late by up to `disorder`."""
    times = np.sort(rng.integers(0, n // 2, n))
    order = np.argsort(times + rng.integers(0, disorder + 1, n), kind="stable")
    return pa.table(
        {
            "k": [f"k{j}" for j in rng.integers(0, keys, n)],
            "t": times[order],
            "x": pa.array(np.round(rng.random(n), 3), mask=rng.random(n) < 0.1),
            "s": pa.array([f"s{j}" for j in rng.integers(0, 9, n)], mask=rng.random(n) < 0.1),
            "i": np.arange(n),
        },
        schema=SCHEMA,
    )


def asked(frame: Any, policy: bool = False) -> dict[str, Any]:
    """Aggregations of every kind; collect_list is not commutative, so order matters."""
    if policy:
        return {"sum": sf.sum("x").over(frame), "hi": sf.max("x").over(frame)}
    return {
        "n": sf.count().over(frame),
        "c": sf.count("x").over(frame),
        "sum": sf.sum("x").over(frame),
        "mean": sf.mean("x").over(frame),
        "list": sf.collect_list("i").over(frame),
        "first": sf.first("s").over(frame),
        "last": sf.last("x").over(frame),
        "who": sf.argmax("x", "s").over(frame),
        "word": sf.max("s").over(frame),
        "median": sf.median("x").over(frame),
        "distinct": sf.count_distinct("s").over(frame),
    }


def aggregate(query: Query, table: pa.Table, threads: int | None = None) -> pa.Table:
    """The answers of a query over a table in process."""
    return tables.aggregate(
        plan_of(query, table.schema, over_table(query, BY_DEFAULT)), table, threads
    )


def defined(
    emit: Any = "final",
    every: Any = None,
    idle: int | None = None,
    lead: int = 0,
    **aggregations: Any,
) -> StreamDefinition:
    work = windowed(SCHEMA.empty_table(), "k", time="t")
    query = (work if every is None else work.every(every)).query(**aggregations)
    found = aggregate(query, SCHEMA.empty_table()).schema
    types = {out: found.field(out).type for out in aggregations}
    options = Options(rows="stream", emit=emit, idle=idle, lead=lead)
    return StreamDefinition(plan_of(query, SCHEMA, options), types)


def keyed(table: pa.Table, collide: int | None = None) -> pa.Table:
    """Rows with the numbers of their keys; `collide`: of which there are only so many."""
    found = with_keys(table, ["k"])
    if collide is None:
        return found
    few = found.column(KEY).to_numpy() % collide
    return found.set_column(found.column_names.index(KEY), KEY, pa.array(few))


class Run:
    """A stream through a shard, then all that is left; the shard is opened again for each batch,
    or is kept, with what it has in memory."""

    def __init__(
        self, definition: StreamDefinition, collide: int | None = None, keep: bool = False
    ) -> None:
        self.definition, self.collide, self.keep = definition, collide, keep
        self.shard: Shard | None = None
        self.store, self.manifest = InMemory(), b""
        self.late: set[int] = set()
        self.stats: list[Any] = []

    def step(self, batch: pa.Table, mark: float | None) -> pa.Table:
        shard = self.shard
        if shard is None or not self.keep:
            known = Manifest.load(self.manifest) if self.manifest else None
            shard = self.shard = Shard(Work(self.definition), BytesPages(self.store), known)
        step = shard.step(keyed(batch, self.collide), mark)
        self.manifest = shard.manifest.dump()
        assert set(self.store.data) == {page.name for page in shard.manifest.pages}
        self.late |= set(step.late.column("i").to_pylist())
        self.stats.append(shard.measured(step.stats))
        return step.rows

    def all(self, table: pa.Table, sizes: list[int], delay: int) -> pa.Table:
        found, start, mark = [], 0, None
        for size in sizes:
            found.append(self.step(table.slice(start, size), mark))
            start += size
            seen = table.column("t").to_numpy()[:start]
            if len(seen):
                mark = max(-math.inf if mark is None else mark, int(seen.max()) - delay)
        found.append(self.step(table.slice(0, 0), 1 << 40))
        return pa.concat_tables(found)


def cuts(rng: np.random.Generator, n: int, most: int = 40) -> list[int]:
    edges = np.sort(rng.integers(0, n, int(rng.integers(1, most))))
    return np.diff(np.concatenate([[0], edges, [n]])).tolist()


def without(table: pa.Table, rows: set[int]) -> pa.Table:
    kept = [i not in rows for i in table.column("i").to_pylist()]
    return table.filter(pa.array(kept, pa.bool_()))


def same(found: pa.Table, expected: pa.Table, by: list[tuple[str, str]]) -> None:
    found, expected = found.sort_by(by), expected.sort_by(by)
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        got, want = found.column(name).to_pylist(), expected.column(name).to_pylist()
        for row, (a, b) in enumerate(zip(got, want, strict=True)):
            numbers = isinstance(a, float) and isinstance(b, float)
            assert a == b or (numbers and math.isclose(a, b, abs_tol=1e-9)), (name, row, a, b)
