"""Streams: rows late and in batches of any size give what a table of the same rows gives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from sash import functions as sf
from sash import stores
from sash.engine.order import rows_by
from sash.engine.stream import buffering, emit_arrival, forest, keys, sealing
from sash.engine.stream.pages import StateError
from sash.engine.stream.sorted_keys import Collision
from sash.monoids import Count
from sash.streams import stream
from sash.tables import windowed
from sash.testing.torture.case import Case, Difference
from sash.windows import define as d
from sash.windows.frames import Rows

END = 1 << 40
SCHEMA = pa.schema(
    {"k": pa.string(), "t": pa.int64(), "x": pa.float64(), "w": pa.string(), "i": pa.int64()}
)


def streams(case: Case) -> None:
    """A stream that gives final answers, answers on arrival, or windows every slide."""
    dice = case.dice
    table = rows(dice, dice.choice([20, 150, 300]))
    as_numbers = dice.random() < 0.3
    if as_numbers:
        table = with_numbers(table)
    frame, asked = definition(dice)
    kind = dice.choice(["final", "arrival", "every"])
    if kind == "every":
        frame = d.range_between(-dice.choice([12, 19, 60]), 0)
        asked = {out: a for out, a in asked.items() if out != "total"}
    run = Run(dice, kind, {out: a.over(frame) for out, a in asked.items()})
    numbers = None if as_numbers else dice.choice([None, None, 1, 3])  # integers do not collide
    try:
        with small_trees(dice), colliding(numbers):
            given = run.all(table)
    except StateError as problem:  # keys that met only after both were committed: refused
        if numbers is None or not isinstance(problem.__cause__, Collision):
            raise
        case.operations += 1
        return
    case.operations += table.num_rows
    known = without(table, run.late)
    what = f"{kind} {frame}, by {run.time}" + ", filled" * (run.fill and kind == "every")
    if kind == "arrival":
        for end, batch in zip(run.ends, given, strict=True):
            so_far = run.table(known.filter(pa.array(known.column("i").to_numpy() < end)))
            answers = {row["i"]: row for row in so_far.to_pylist()}
            for row in batch.to_pylist():
                case.same(row, answers[row["i"]], what)
        case.same(sum(b.num_rows for b in given), known.num_rows, f"{what}: rows")
        return
    order = ["k", "window_start"] if kind == "every" else ["i"]
    found, expected = (in_order(t, order) for t in (pa.concat_tables(given), run.table(known)))
    if kind == "final" and isinstance(frame, Rows) and frame.following:
        last = waiting(known, frame.following, run.time)
        expected = [row for row in expected if row["i"] not in last]
    case.same(len(found), len(expected), f"{what}: rows")
    for a, b in zip(found, expected, strict=True):
        case.same(a, b, what)


def waiting(table: pa.Table, following: int, time: Any) -> set[int]:
    """The last rows of each key, which wait for the rows that follow them."""
    order = [time, "i"] if isinstance(time, str) else time
    last: dict[Any, list[int]] = {}
    for row in in_order(table, order):
        last.setdefault(row["k"], []).append(row["i"])
    return {i for found in last.values() for i in found[-following:]}


def definition(dice: Random) -> tuple[Any, dict[str, Any]]:
    """A frame, and aggregations of several kinds; collect_list is not commutative."""
    reach, short = dice.choice([1, 10, 60]), dice.randint(1, 5)
    frames = [
        d.range_between(-reach, 0, dice.choice(["both", "right", "left"])),
        d.range_between(-reach, short),
        d.range_between(-reach - short, -short),
        d.range_between(None, dice.choice([0, -short])),
        d.rows(short),
        d.rows_between(-short, 2),
        d.session(short),
        d.sliding(reach + 5, short),
        d.lifetime(),
        d.until(_high, "x"),
    ]
    if dice.random() < 0.1:
        return d.policy(_too_many, of=Count()), {"total": sf.sum("x"), "hi": sf.max("x")}
    every = {
        "n": sf.count(),
        "total": sf.sum("x"),
        "list": sf.collect_list("i"),
        "first": sf.first("w"),
        "who": sf.argmax("x", "w"),
        "word": sf.max("w"),
        "median": sf.median("x"),
        "distinct": sf.count_distinct("w"),
    }
    chosen = dice.sample(sorted(every), dice.randint(1, 4))
    return dice.choice(frames), {out: every[out] for out in {*chosen, "list"}}


def _high(x: float | None) -> bool:
    return x is not None and x > 800


def _too_many(total: int, old: int) -> bool:
    return total - old > 2


def rows(dice: Random, n: int) -> pa.Table:
    """Rows as they come, some of them late; numbered, so that each is told from the others."""
    rng = np.random.default_rng(dice.randrange(1 << 32))
    times = np.sort(rng.integers(0, n // 2, n))
    order = np.argsort(times + rng.integers(0, dice.choice([1, 9, 40]), n), kind="stable")
    names = dice.choice([1, 5, n])
    nulls = rng.random((2, n)) < 0.1
    return pa.table(
        {
            "k": [f"k{j}" for j in rng.integers(0, names, n)],
            "t": times[order],
            "x": pa.array(rng.permutation(n) * 1000.0 / n, mask=nulls[0]),
            "w": pa.array([f"w{j}" for j in rng.integers(0, 9, n)], mask=nulls[1]),
            "i": np.arange(n),
        },
        schema=SCHEMA,
    )


def with_numbers(table: pa.Table) -> pa.Table:
    """The rows with keys that are integers, or null: a key is its number in some batches."""
    names = [int(name[1:]) for name in table.column("k").to_pylist()]
    keys = pa.array([None if name % 4 == 3 else name for name in names], pa.int32())
    return table.set_column(0, "k", keys)


class Run:
    """A stream, opened again from its store now and then."""

    def __init__(self, dice: Random, kind: str, asked: dict[str, Any]) -> None:
        self.dice, self.kind, self.asked = dice, kind, asked
        self.slide = dice.choice([1, 5, 7, 12]) if kind == "every" else None
        self.fill = dice.random() < 0.4
        ordered = kind != "arrival" and dice.random() < 0.3
        self.time: Any = ["t", "w", "i"] if ordered else "t"
        self.emit: Any = "arrival" if kind == "arrival" else "final"
        self.delay, self.store = dice.choice([0, 3, 20]), stores.open("memory:")
        self.late: set[int] = set()
        self.ends: list[int] = []

    def open(self) -> Any:
        options: Any = {"emit": self.emit, "delay": self.delay, "late": "side"}
        return self.asked_of(stream("k", time=self.time, store=self.store, **options))

    def table(self, table: pa.Table) -> pa.Table:
        """The answers of a table."""
        return self.asked_of(windowed(table, "k", time=self.time))

    def asked_of(self, call: Any) -> Any:
        """The answers of a call, or a stream of them."""
        every = self.slide is not None
        return (call.every(self.slide, fill=self.fill) if every else call).agg(**self.asked)

    def all(self, table: pa.Table) -> list[pa.Table]:
        """The rows that each batch gives, without late rows, and those that are left at the end."""
        n, given, live = table.num_rows, [], self.open()
        cuts = sorted(self.dice.randrange(n + 1) for _ in range(self.dice.randint(1, 25)))
        self.ends = [*cuts, n]
        for start, end in zip([0, *cuts], self.ends, strict=True):
            batch = table.slice(start, end - start)
            late = self.too_late(table.slice(0, start), batch)
            given.append(in_time(live.feed(batch), len(late)))
            self.late |= late
            if self.dice.random() < 0.3:
                live.commit(offset=end)
                live = self.open()
        left = in_time(live.advance(END), 0)
        return [*given, left] if self.kind != "arrival" else given

    def too_late(self, before: pa.Table, batch: pa.Table) -> set[int]:
        """The rows of a batch that are at the watermark, as it was before, or older."""
        if not before.num_rows:
            return set()
        mark = int(before.column("t").to_numpy().max()) - self.delay
        return {row["i"] for row in batch.to_pylist() if row["t"] <= mark}


def in_time(given: pa.Table, late: int) -> pa.Table:
    """The rows that have answers; `late`: how many more there are to be."""
    flags = given.column("late").to_numpy(zero_copy_only=False)
    if flags.sum() != late:
        raise Difference(f"{flags.sum()} late rows, expected {late}")
    return given.filter(pa.array(~flags)).drop_columns(["late"])


def without(table: pa.Table, numbers: set[int]) -> pa.Table:
    return table.filter(pa.array([i not in numbers for i in table.column("i").to_pylist()]))


def in_order(table: pa.Table, by: list[str]) -> list[dict[str, Any]]:
    """Rows sorted by columns, nulls first."""
    return table.take(rows_by(table, [(n, "ascending", "at_start") for n in by])).to_pylist()


@contextlib.contextmanager
def small_trees(dice: Random) -> Iterator[None]:
    """Bulks, leaves and buffers of other sizes, so that few rows make tall trees."""
    sizes = (
        (sealing, "BULK", (8, 1 << 14)),
        (forest, "SMALL", (0, 30, 8192)),
        (buffering, "BUFFERED", (0, 20, 4096)),
        (buffering, "LATE_PAGES", (1, 8)),
        (emit_arrival, "TOGETHER", (1, 3, 16)),
    )
    with contextlib.ExitStack() as stack:
        for module, name, some in sizes:
            stack.enter_context(patch.object(module, name, dice.choice(some)))
        yield


@contextlib.contextmanager
def colliding(numbers: int | None) -> Iterator[None]:
    """Keys that share `numbers` numbers, which 64 bits would give in no one's lifetime."""
    whole = keys.key_numbers

    def few(columns: Any, n: int) -> Any:
        ids, checks = whole(columns, n)
        return (ids if numbers is None else ids % numbers), checks

    with patch.object(keys, "key_numbers", few):
        yield
