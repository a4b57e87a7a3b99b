"""`every`: one answer a key and window, against windows taken by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import functions as sf
from sash.engine.row_windows import run
from sash.plan.planner import plan_of
from sash.windows.frames import SlidingRows
from tests.engine.oracle import answer
from tests.engine.test_row_windows import sample


def by_hand(table: pa.Table, size: int, slide: int) -> list[tuple[Any, ...]]:
    """(key, start, end, count, words) for each key and window that has rows."""
    groups: dict[tuple[int, int], list[str]] = {}
    for row in table.to_pylist():
        start = (row["s"] - size) // slide * slide + slide
        while start <= row["s"]:
            groups.setdefault((row["k"], start), []).append(row["w"])
            start += slide
    return [
        (k, start, start + size, len(ws), "".join(w for w in ws if w) or known(ws))
        for (k, start), ws in sorted(groups.items())
    ]


def known(words: list[Any]) -> Any:
    return "" if "" in words else None


@pytest.mark.parametrize(("size", "slide"), [(10, 10), (12, 3), (12, 5), (60, 1), (7, 7)])
@pytest.mark.parametrize("batch", [1, 40, 1000])
def test_windows_are_those_of_spark(size: int, slide: int, batch: int) -> None:
    table = sample(150, size)
    if slide > size:
        return
    frame = sash.range_between(-size, 0)
    asked = {"n": sf.count().over(frame), "words": sf.concat("w").over(frame)}
    query = sash.windowed(table, "k", time="s").every(slide).query(**asked)
    batches = run(plan_of(query, table.schema), table.to_batches(max_chunksize=batch))
    found = [tuple(row.values()) for b in batches for row in b.to_pylist()]
    assert found == by_hand(table, size, slide)


def test_gaps_between_windows_and_means() -> None:
    table = pa.table({"t": [0, 1, 100, 101], "x": [1.0, 3.0, 5.0, 9.0]})
    mean = sf.mean("x").over(sash.range_between(-10, 0))
    found = sash.windowed(table, time="t").every(5).agg(mean=mean)
    assert found.column_names == ["window_start", "window_end", "mean"]
    wanted = [(-5, 5, 2.0), (0, 10, 2.0), (95, 105, 7.0), (100, 110, 7.0)]
    assert [tuple(r.values()) for r in found.to_pylist()] == wanted


def test_timestamps_keep_their_type_and_zone() -> None:
    table = sample(50, 3)
    found = sash.windowed(table, "k", time="ts").every("10 s").agg(n=sf.count().over("1 minute"))
    assert found.schema.field("window_start").type == table.schema.field("ts").type
    edges = np.asarray(found.column("window_start").cast(pa.int64()))
    assert (edges % 10_000_000 == 0).all()


def test_bad_definitions_are_refused() -> None:
    table = sample(5, 1)
    ask = sash.windowed(table, "k", time="s").every(5)
    with pytest.raises(ValueError, match="takes a duration"):
        ask.agg(a=sf.count().over(sash.rows(3)))
    with pytest.raises(ValueError, match="a: the slide, 5, is longer than the size, 3"):
        ask.agg(a=sf.count().over(sash.range_between(-3, 0)))
    with pytest.raises(ValueError, match="a window has no row of its own"):
        ask.agg(a=sf.count().over(sash.range_between(-10, 0), exclude="group"))
    with pytest.raises(ValueError, match="a: every has no slide"):
        sash.windowed(table, "k", time="s").every().agg(a=sf.count().over(sash.rows(3)))
    by_rows = sash.windowed(table, "k", time="s").every(sash.rows(4))
    with pytest.raises(ValueError, match=r"takes rows too, as in \.over\(sash\.rows\(50\)\)"):
        by_rows.agg(a=sf.count().over(sash.range_between(-10, 0)))
    with pytest.raises(ValueError, match="a slide of 4 rows is larger than windows of 3"):
        by_rows.agg(a=sf.count().over(sash.rows(3)))
    renamed = table.rename_columns(["window", *table.column_names[1:]])
    asked = {n: sf.count().over(sash.range_between(-n_, 0)) for n, n_ in (("a", 10), ("b", 20))}
    with pytest.raises(ValueError, match="the key 'window' has the name"):
        sash.windowed(renamed, "window", time="s").every(5).agg(**asked)


Windows = dict[tuple[Any, ...], list[dict[str, Any]]]


def windows_by_hand(table: pa.Table, kind: Any) -> Windows:
    """The rows of each window of a kind, by (key, start, end)."""
    found: Windows = {}
    rows = table.to_pylist()
    for key in dict.fromkeys(row["k"] for row in rows):
        mine = [row for row in rows if row["k"] == key]
        if isinstance(kind, SlidingRows):
            for end in range(kind.slide, len(mine) + 1, kind.slide):
                some = mine[max(0, end - kind.size) : end]
                found[key, some[0]["s"], some[-1]["s"], end] = some
            continue
        size, slide, offset = kind.size, kind.slide, kind.offset
        least, most = mine[0]["s"] - size, mine[-1]["s"]
        start = offset + (least - offset) // slide * slide
        while start <= most:
            some = [row for row in mine if inside(row["s"], start, start + size, kind.closed)]
            if some:
                found[key, start, start + size, 0] = some
            start += slide
    return found


def inside(t: Any, start: Any, end: Any, closed: str) -> bool:
    lower = t >= start if closed in ("left", "both") else t > start
    return bool(lower and (t <= end if closed in ("right", "both") else t < end))


def expected_rows(table: pa.Table, asked: dict[str, Any], several: bool) -> list[tuple[Any, ...]]:
    """What a call gives: for each kind and window the answers of its own, others null."""
    kinds = list(dict.fromkeys(a.frame for a in asked.values()))
    found = []
    for kind in kinds:
        for (key, start, end, _), rows in windows_by_hand(table, kind).items():
            own = [answer(a, rows) if a.frame == kind else None for a in asked.values()]
            found.append((key, *([str(kind)] if several else []), start, end, *own))
    return found


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def compared(table: pa.Table, call: Any, asked: dict[str, Any], batch: int = 1000) -> Any:
    query = call.query(**asked)
    plan = plan_of(query, table.schema)
    batches = list(run(plan, table.to_batches(max_chunksize=batch)))
    found = [tuple(row.values()) for b in batches for row in b.to_pylist()]
    several = len(plan.frames) > 1
    assert in_order(found) == in_order(expected_rows(table, query.aggregations, several))
    return plan


ALL_WAYS = {
    "n": lambda: sf.count(), "known": lambda: sf.count("i"), "total": lambda: sf.sum("i"),
    "mean": lambda: sf.mean("i"), "words": lambda: sf.concat("w"),
    "list": lambda: sf.collect_list("w"),
    "distinct": lambda: sf.count_distinct("i"), "first": lambda: sf.first("w"),
    "who": lambda: sf.argmax("x", "w"),
}  # fmt: skip
"""States over slices, of numbers and of objects, and those that follow rows."""


@pytest.mark.parametrize("batch", [1, 37, 1000])
def test_several_sizes_and_slides_in_one_call(batch: int) -> None:
    table = sample(300, 17, keys=4)
    kinds = {"a": sash.sliding(12, 4), "b": sash.sliding(12, 3), "c": sash.sliding(35, 5),
             "d": sash.tumbling(10, offset=3)}  # fmt: skip
    asked = {
        f"{name}_{k}": make().over(kind)
        for k, kind in kinds.items()
        for name, make in ALL_WAYS.items()
    }
    plan = compared(table, sash.windowed(table, "k", time="s").every(), asked, batch)
    [slices] = plan.slices
    assert slices.frames == (0, 1, 2, 3)
    over = {state.slices for state in plan.states if state.kind == "combine"}
    assert over == {0}


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("floats", [False, True])
def test_closed_ends(closed: Any, floats: bool) -> None:
    table = sample(200, 23, keys=3)
    if floats:
        table = table.set_column(1, "s", pc.divide(table.column("s").cast(pa.float64()), 2.0))
    call = sash.windowed(table, "k", time="s").every(4, closed=closed)
    asked = {
        "total": sf.sum("i").over(sash.range_between(-10, 0)),
        "words": sf.concat("w").over(sash.range_between(-4, 0)),
    }
    plan = compared(table, call, asked, 50)
    assert len(plan.slices) == (0 if floats else 1)


@pytest.mark.parametrize("batch", [1, 20, 1000])
def test_windows_of_rows_every_so_many_rows(batch: int) -> None:
    table = sample(200, 29, keys=5)
    call = sash.windowed(table, "k", time="s").every(sash.rows(4))
    asked = {name: make().over(sash.rows(4)) for name, make in ALL_WAYS.items()}
    asked |= {f"{name}_10": make().over(sash.rows(10)) for name, make in ALL_WAYS.items()}
    asked["by_time"] = sf.sum("i").over(sash.sliding(20, 10))
    plan = compared(table, call, asked, batch)
    assert [slices.by for slices in plan.slices] == ["time", "count"]


def test_conditions_filter_what_goes_into_slices() -> None:
    table = sample(200, 31, keys=3)
    call = sash.windowed(table, "k", time="s").every(5)
    frames = {"short": sash.range_between(-5, 0), "long": sash.range_between(-20, 0)}
    asked = {n: sf.sum("i").where("x > 0").over(f) for n, f in frames.items()}
    found = call.agg(**asked).to_pylist()
    kept = table.filter(pc.fill_null(pc.greater(table.column("x"), 0), False))
    plain = {n: sf.sum("i").over(f) for n, f in frames.items()}
    wanted = {
        (r["k"], r["window"], r["window_start"]): (r["short"], r["long"])
        for r in sash.windowed(kept, "k", time="s").every(5).agg(**plain).to_pylist()
    }
    for row in found:
        place = (row["k"], row["window"], row["window_start"])
        assert (row["short"], row["long"]) == wanted.get(place, (None, None))


def test_a_table_of_several_windows_is_sorted_and_named() -> None:
    table = pa.table({"t": [0, 1, 5, 9], "x": [1, 2, 4, 8], "k": ["b", "b", "a", "b"]})
    asked = {"s": sf.sum("x").over(sash.tumbling(5)), "l": sf.sum("x").over(sash.tumbling(10))}
    found = sash.windowed(table, "k", time="t").every().agg(**asked)
    assert found.column_names == ["k", "window", "window_start", "window_end", "s", "l"]
    rows = {(r["k"], r["window"], r["window_start"]): (r["s"], r["l"]) for r in found.to_pylist()}
    assert rows == {
        ("b", "5 every 5", 0): (3, None), ("b", "5 every 5", 5): (8, None),
        ("b", "10 every 10", 0): (None, 11), ("a", "5 every 5", 5): (4, None),
        ("a", "10 every 10", 0): (None, 4),
    }  # fmt: skip
    ends = [(r["k"], r["window_end"]) for r in found.to_pylist()]
    assert ends == sorted(ends, key=lambda end: (["b", "a"].index(end[0]), end[1]))


def test_rows_are_combined_once_for_all_windows() -> None:
    """Fewer combines than a call for each kind takes."""
    table = sample(400, 37, keys=2)

    def combines(kinds: list[Any]) -> int:
        count = 0

        def combine(a: str, b: str) -> str:
            nonlocal count
            count += 1
            return a + b

        text = sash.Monoid("text", "", lambda w: w or "", combine, dtype=object)
        asked = {f"w{i}": sf.apply(text, "w").over(kind) for i, kind in enumerate(kinds)}
        query = sash.windowed(table, "k", time="s").every().query(**asked)
        plan = plan_of(query, table.schema)
        count = 0
        list(run(plan, table.to_batches()))
        return count

    kinds = [sash.sliding(40, 20), sash.sliding(60, 20), sash.sliding(80, 40)]
    together, apart = combines(kinds), sum(combines([kind]) for kind in kinds)
    assert together < apart
