"""A first run: four aggregates over each sensor's last readings, on Spark.

Three monoids come from the catalogue, one is written here. Where Spark's own window functions
have the aggregate too, the answers are compared with theirs on every row.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash.spark
from sash import Monoid, swag
from sash import monoids as m

SENSORS = 8
State = tuple[float, float, float]  # highest, lowest, largest drop


def lift(x: float) -> State:
    return x, x, 0.0


def combine(old: State, new: State) -> State:
    drop = max(old[2], new[2], old[0] - new[1])
    return max(old[0], new[0]), min(old[1], new[1]), drop


def lower(state: State) -> float:
    return state[2]


# How far a reading lies below an earlier one, at most. Not commutative: order matters.
DROP = Monoid("drop", (-np.inf, np.inf, 0.0), lift, combine, lower)
AGGREGATES = {"highest": m.Max(), "mean": m.Mean(), "n": m.Count(), "drop": DROP}


def readings(spark: SparkSession, rows: int) -> DataFrame:
    """Random walks of that many rows, one a sensor."""
    steps = np.random.default_rng(7).integers(-9, 10, (SENSORS, rows)).astype(float)
    sensor, tick = np.indices(steps.shape)
    columns = {"sensor": sensor, "tick": tick, "reading": steps.cumsum(axis=1)}
    return spark.createDataFrame(pa.table({name: c.ravel() for name, c in columns.items()}))


def with_windows(rows: DataFrame, size: int) -> DataFrame:
    """The rows, each with the aggregates over its sensor's last `size` readings."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in one_a_sensor(batches):
            xs = batch["reading"].to_numpy()
            for name, monoid in AGGREGATES.items():
                answers = swag.DABALite(monoid).slide(xs, size)
                batch = batch.append_column(name, pa.array(answers))
            yield batch

    schema = (
        "sensor long, tick long, reading double, highest double, mean double, n long, drop double"
    )
    ordered = rows.repartition("sensor").sortWithinPartitions("sensor", "tick")
    return ordered.mapInArrow(run, schema)


def one_a_sensor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a sorted partition, cut where a sensor ends."""
    pieces = list(batches)
    if pieces:
        rows = pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
        cuts = np.flatnonzero(np.diff(rows["sensor"].to_numpy())) + 1
        for start, end in zip([0, *cuts], [*cuts, len(rows)]):
            yield rows.slice(start, end - start)


def differing(rows: DataFrame, size: int) -> int:
    """How many rows Spark's own window functions answer otherwise."""
    frame = Window.partitionBy("sensor").orderBy("tick").rowsBetween(1 - size, 0)
    wrong = F.lit(False)
    for name, theirs in {"highest": F.max, "mean": F.avg, "n": F.count}.items():
        error = F.abs(F.col(name) - theirs("reading").over(frame))
        wrong |= F.coalesce(error, F.lit(np.inf)) > 1e-9
    return rows.select(wrong.alias("wrong")).where("wrong").count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=25_000, help="rows a sensor")
    parser.add_argument("--size", type=int, default=100, help="rows a window")
    options = parser.parse_args()

    print("starting Spark …", flush=True)
    fast_frames = {"spark.sql.window.segmentTree.enabled": True}  # for the comparison
    spark = sash.spark.session("first run", **fast_frames)
    rows = readings(spark, options.rows)
    print(f"{SENSORS} sensors of {options.rows:,} rows, windows of {options.size} …", flush=True)
    start = time.perf_counter()
    answers = with_windows(rows, options.size).cache()
    count = answers.count()
    seconds = time.perf_counter() - start
    print(f"{count:,} rows answered in {seconds:.1f} s, a first run's compiling included")
    print("the last row of each sensor:")
    last = F.max_by(F.struct(*answers.columns[1:]), "tick").alias("last")
    answers.groupBy("sensor").agg(last).select("sensor", "last.*").orderBy("sensor").show()

    wrong = differing(answers, options.size)
    print(f"compared with Spark's own max, avg and count: {wrong} of {count:,} rows differ")
    raise SystemExit(wrong > 0 or count != SENSORS * options.rows)


if __name__ == "__main__":
    main()
