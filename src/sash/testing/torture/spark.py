"""Spark: random definitions on Spark give what they give over a table in process.

Tables in process are held against plain Python by the part `tables`. One session serves all
cases of a run; it is made by the first.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sash import functions as sf
from sash.tables import windowed
from sash.testing.torture.case import Case
from sash.testing.torture.streams import definition, in_order, rows, without
from sash.windows import define as d

SCHEMA = "k string, t timestamp, x double, w string, i long"
FAR = 10**6
"""Seconds: later than all that a window reaches."""


def spark(case: Case) -> None:
    """A definition over a DataFrame, or over a stream of files."""
    table = rows(case.dice, case.dice.choice([20, 150]))
    (batch if case.dice.random() < 0.8 else stream)(case, table)


def session() -> Any:
    """The session of all cases."""
    from sash.spark import session as made

    settings: Any = {"spark.sql.shuffle.partitions": 3, "spark.sql.session.timeZone": "UTC"}
    return made("torture", "local[2]", **settings)


def batch(case: Case, table: pa.Table) -> None:
    """Rows in any order, keys split over time or not; rows of one time by their number."""
    frame, asked = definition(case.dice)
    over = {out: a.over(frame) for out, a in asked.items()}
    df = session().createDataFrame(table).repartition(3)
    by = case.dice.choice([["k"], []])
    split = case.dice.choice([None, True])
    found = windowed(df, by, time=["t", "i"], split=split).agg(**over).toArrow()
    expected = windowed(table, by, time=["t", "i"]).agg(**over)
    compare(case, found, expected, f"Spark: {frame}, split {split}")


def stream(case: Case, table: pa.Table) -> None:
    """A file per micro-batch; rows that come out marked as late are left out of the table."""
    dice = case.dice
    reach, short = dice.choice([1, 10, 60]), dice.randint(1, 5)
    frames = [f"{reach} s", d.range_between(f"-{reach + short} s", f"-{short} s"), d.rows(short),
              d.session(f"{short} s"), d.range_between(f"-{reach} s", f"{short} s")]  # fmt: skip
    frame = dice.choice(frames)
    over = {"list": sf.collect_list("i").over(frame), "hi": sf.max("x").over(frame)}
    timed = with_times(table)
    cuts = sorted(dice.randrange(table.num_rows + 1) for _ in range(dice.randint(1, 4)))
    edges = [0, *cuts, table.num_rows]
    parts = [timed.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    with tempfile.TemporaryDirectory(prefix="sash-torture-") as folder:
        found = ran(Path(folder), [part for part in parts if part.num_rows], over, dice)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    expected = windowed(without(timed, late), "k", time="t").agg(**over)
    kept = without(found, {*late, -1}).drop_columns(["late"])
    compare(case, kept, expected, f"a stream on Spark: {frame}")


def with_times(table: pa.Table) -> pa.Table:
    """Seconds as timestamps."""
    ticks = pa.array(table.column("t").to_numpy() * 1_000_000, pa.timestamp("us", "UTC"))
    return table.set_column(1, "t", ticks)


def ran(folder: Path, parts: Iterable[pa.Table], over: dict[str, Any], dice: Any) -> pa.Table:
    """The rows of a stream of files; the watermark needs a last row to pass all others."""
    end = with_times(pa.table({"k": ["end"], "t": [FAR], "x": [0.0], "w": [""], "i": [-1]}))
    (folder / "in").mkdir()
    for number, part in enumerate([*parts, end]):
        file = folder / "in" / f"{number:05}.parquet"
        pq.write_table(part.cast(end.schema), file)
        os.utime(file, (1_700_000_000 + 10 * number,) * 2)
    read = session().readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    source = read.parquet(str(folder / "in")).withWatermark("t", f"{dice.choice([0, 3])} seconds")
    out = windowed(source, "k", time="t", late="side", shards=dice.choice([1, 3])).agg(**over)
    writer = out.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "out")).start()
    query.awaitTermination()
    return session().read.parquet(str(folder / "out")).toArrow()


def compare(case: Case, found: pa.Table, expected: pa.Table, what: str) -> None:
    a, b = in_order(found, ["i"]), in_order(expected, ["i"])
    case.same([row["i"] for row in a], [row["i"] for row in b], f"{what}: rows")
    for mine, theirs in zip(a, b, strict=True):
        for name in theirs:
            case.same(mine[name], theirs[name], f"{what}: {name} of row {theirs['i']}")
