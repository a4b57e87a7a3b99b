"""Random definitions over tables against plain Python: frames, aggregations, nulls, ties, keys."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from sash import functions as sf
from sash.tables import windowed
from sash.testing.torture.case import Case
from sash.windows import define as d
from sash.windows.bounds import bounds
from sash.windows.frames import Delta, Frame, Groups, Range, Rows, Until
from sash.windows.shapes import Shape, shaped

Row = dict[str, Any]
CLOSED: tuple[Any, ...] = ("both", "left", "right", "neither")


def tables(case: Case) -> None:
    """A few random columns over a random table, in one definition: per row, or per window."""
    dice = case.dice
    table = sample(dice, dice.choice([0, 1, 2, 30, 150, 400]))
    by = dice.choice([[], ["k"], ["j"], ["k", "j"]])
    (periodic if dice.random() < 0.2 else per_row)(case, table, by)


def per_row(case: Case, table: pa.Table, by: list[str]) -> None:
    """An answer per row, over frames of every kind and shape."""
    dice = case.dice
    asked = {f"c{i}": (dice.choice(list(ANSWERS)), frame(dice)) for i in range(dice.randint(1, 5))}
    found = windowed(table, by, time="t").agg(
        **{out: function(name).over(over) for out, (name, over) in asked.items()}
    )
    case.same(found.column_names, [*table.column_names, *asked], "columns")
    rows = table.to_pylist()
    for out, (name, over) in asked.items():
        got = found.column(out).to_pylist()
        for i, inside in windows(rows, by, over):
            what = f"{name} over {over} by {by}, row {i} of {len(rows)}"
            case.same(got[i], ANSWERS[name]([rows[j] for j in inside]), what)


def periodic(case: Case, table: pa.Table, by: list[str]) -> None:
    """`every`: a row per key and window that has rows, its edges at whole slides."""
    dice = case.dice
    slide = dice.choice([1, 5, 7, 40])
    asked = {f"c{i}": dice.choice(list(ANSWERS)) for i in range(dice.randint(1, 4))}
    size = dice.choice([slide, 2 * slide, slide + 3, 60])
    closed = dice.choice(CLOSED[1:3])
    frame = d.range_between(-size, 0)
    named = {out: function(name).over(frame) for out, name in asked.items()}
    found = windowed(table, by, time="t").every(slide, closed=closed).agg(**named).to_pylist()
    expected: dict[Any, list[Row]] = {}
    for row in table.to_pylist():
        youngest = row["t"] // slide * slide
        for start in range(youngest, youngest - size - slide - 1, -slide):
            end = start + size
            is_in = start <= row["t"] < end if closed == "left" else start < row["t"] <= end
            if is_in:
                at = (*(_key(row[name]) for name in by), start, end)
                expected.setdefault(at, []).append(row)
    what = f"every {slide} by {by}, windows of {size}, closed {closed}"
    case.same(len(found), len(expected), f"{what}: windows")
    for given in found:
        at = (*(_key(given[name]) for name in by), given["window_start"], given["window_end"])
        inside = sorted(expected[at], key=lambda row: row["t"])  # stable: peers as they came
        for out, name in asked.items():
            case.same(given[out], ANSWERS[name](inside), f"{name} of {what}, window {at}")


def sample(dice: Random, n: int) -> pa.Table:
    """Rows in any order, with ties and gaps in time, nulls everywhere but in the time."""
    span, keys = dice.choice([1, 20, 3 * n + 1]), dice.choice([1, 3, n + 1])
    nulls = dice.choice([0.0, 0.2, 0.9])

    def some(draw: Callable[[], Any]) -> list[Any]:
        return [None if dice.random() < nulls else draw() for _ in range(n)]

    table = pa.table(
        {
            "k": pa.array(some(lambda: f"k{dice.randrange(keys)}"), pa.string()),
            "j": pa.array(some(lambda: dice.choice([0.0, -0.0, 1.5, math.nan])), pa.float64()),
            "t": pa.array([dice.randrange(-span, span) for _ in range(n)], pa.int64()),
            "x": pa.array(some(lambda: float(dice.randrange(-50, 50))), pa.float64()),
            "f": pa.array(some(lambda: dice.choice([-1.5, 2.0, math.inf, math.nan])), pa.float64()),
            "i": pa.array(some(lambda: dice.randrange(-9, 9)), pa.int32()),
            "w": pa.array(some(lambda: dice.choice(["a", "b", "cc", "", "ä"])), pa.string()),
            "b": pa.array(some(lambda: dice.random() < 0.3), pa.bool_()),
        }
    )
    cut = dice.randint(0, n)  # a table of several chunks
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


def frame(dice: Random) -> Frame:
    """A frame of any kind, some of them always empty at the edges."""

    def ends(most: int) -> tuple[int | None, int | None]:
        start, end = sorted(dice.randint(-most, most) for _ in range(2))
        return dice.choice([start, start, start, None]), dice.choice([end, end, 0, end, None])

    start, end = ends(dice.choice([1, 6, 40]))
    if start is not None and end is not None and start > end:
        start = end
    size = dice.randint(1, 30)
    kinds: list[Callable[[], Frame]] = [
        lambda: d.rows(size),
        lambda: d.rows_between(start, end, empty=True),
        lambda: d.groups_between(start, end, empty=True),
        lambda: d.range_between(start, end, dice.choice(CLOSED), empty=True),
        lambda: d.session(dice.randint(1, 9)),
        lambda: d.lifetime(),
        lambda: d.tumbling(size, closed=dice.choice(CLOSED[1:3])),
        lambda: d.sliding(size + 5, dice.randint(1, size), closed=dice.choice(CLOSED[1:3])),
        lambda: d.until("b"),
        lambda: d.until(_many, "x"),
        lambda: d.delta("t", dice.randint(1, 20)),
    ]
    made = dice.choice(kinds)()
    if dice.random() < 0.3 and isinstance(made, Rows | Groups | Range):
        shapes: list[Shape] = [
            {"exclude": "current row"}, {"exclude": "group"}, {"exclude": "ties"},
            {"most": dice.randint(1, 9)}, {"peers": False},
        ]  # fmt: skip
        return shaped(made, **dice.choice(shapes))
    return made


def _many(x: float | None) -> bool:
    return x is not None and x > 30


def windows(rows: list[Row], by: list[str], over: Frame) -> list[tuple[int, list[int]]]:
    """Each row's number with those of the rows in its window, in order of time."""
    found, groups = [], dict[Any, list[int]]()
    for i, row in enumerate(rows):
        groups.setdefault(tuple(_key(row[name]) for name in by), []).append(i)
    for places in groups.values():
        places.sort(key=lambda i: rows[i]["t"])  # stable: peers as they came
        lo, hi = bounds(
            over, np.array([rows[i]["t"] for i in places]), _content(over, rows, places)
        )
        for i, a, b in zip(places, lo, hi, strict=True):
            found.append((i, [j for j in places[a:b] if not left_out(over, rows, i, j)]))
    return found


def left_out(over: Frame, rows: list[Row], own: int, other: int) -> bool:
    """Whether a frame excludes another row from the window of one."""
    peers = rows[own]["t"] == rows[other]["t"]
    excluded = {"current row": own == other, "group": peers, "ties": peers and own != other}
    return over.exclude is not None and excluded[over.exclude]


def _key(value: Any) -> Any:
    """One zero and one NaN, as Spark has it."""
    return repr(value + 0.0) if isinstance(value, float) else value


def _content(over: Frame, rows: list[Row], places: list[int]) -> Any:
    if isinstance(over, Delta):
        return [rows[i][over.column] for i in places]
    if isinstance(over, Until):
        values = [rows[i][str(over.column)] for i in places]
        return [over.predicate(v) if over.predicate else bool(v) for v in values]
    return None


def function(name: str) -> Any:
    """`sf.max("x")` for "max x"; others are made of expressions."""
    if name in DERIVED:
        return DERIVED[name]()
    how, *columns = name.split()
    return getattr(sf, how)(*columns)


def _known(column: str, answer: Callable[[list[Any]], Any]) -> Callable[[list[Row]], Any]:
    """The result of `answer` for the values that are not null; null for none."""

    def over(rows: list[Row]) -> Any:
        values = [row[column] for row in rows if row[column] is not None]
        return answer(values) if values else None

    return over


def _largest(values: list[float]) -> float:
    return math.nan if any(x != x for x in values) else max(values)


def _least(values: list[float]) -> float:
    return min((x for x in values if x == x), default=math.nan)


DERIVED: dict[str, Callable[[], Any]] = {
    "sum of 2 i + 1": lambda: sf.sum(sf.col("i") * 2 + 1),
    "max x where i > 0": lambda: sf.max("x").where(sf.col("i") > 0),
    "count where b": lambda: sf.count().where("b"),
}
"""Aggregations of expressions and of rows that meet a condition."""

ANSWERS: dict[str, Callable[[list[Row]], Any]] = {
    "count": len,
    "count x": lambda rows: sum(row["x"] is not None for row in rows),
    "sum x": _known("x", math.fsum),
    "sum i": _known("i", sum),
    "mean x": _known("x", lambda xs: math.fsum(xs) / len(xs)),
    "max x": _known("x", max),
    "max f": _known("f", _largest),
    "min f": _known("f", _least),
    "min i": _known("i", min),
    "max w": _known("w", lambda xs: max(xs, key=str.encode)),
    "median x": _known("x", statistics.median),
    "bool_or b": _known("b", any),
    "bool_and b": _known("b", all),
    "first w": lambda rows: rows[0]["w"] if rows else None,
    "last x": lambda rows: rows[-1]["x"] if rows else None,
    "concat w": _known("w", "".join),
    "collect_list w": lambda rows: [row["w"] for row in rows if row["w"] is not None],
    "count_distinct w": lambda rows: len({row["w"] for row in rows} - {None}),
    "sum of 2 i + 1": _known("i", lambda xs: sum(2 * x + 1 for x in xs)),
    "max x where i > 0": lambda rows: max(
        (r["x"] for r in rows if r["x"] is not None and r["i"] is not None and r["i"] > 0),
        default=None,
    ),
    "count where b": lambda rows: sum(bool(row["b"]) for row in rows),
}
"""Aggregations in plain Python: the name is the function and its columns."""
