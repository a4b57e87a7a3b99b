"""Rows that Spark makes, and what it does with them, for `benchmarks.asof`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from benchmarks.asof_others import NAMES, SPAN


def rows_shuffled(spark: Any, run: Callable[[], Any]) -> int:
    """The rows that the largest shuffle of a run writes, by Spark's own count."""
    context = spark.sparkContext
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    none = gateway.new_array(gateway.jvm.double, 0)

    def stages() -> dict[int, int]:
        found = store.stageList(None, False, False, none, None)
        each = (found.apply(i) for i in range(found.length()))
        return {stage.stageId(): stage.shuffleWriteRecords() for stage in each}

    before = stages()
    run()
    return max(n for stage, n in stages().items() if stage not in before)


def made(spark: Any, n: int, keys: int) -> Any:
    """Rows of random keys and values, evenly over time."""
    from pyspark.sql import functions as F

    def random(below: int) -> Any:
        return F.pmod(F.xxhash64("id", F.lit(n), F.lit(below)), F.lit(below))

    time = F.timestamp_micros((F.col("id") * F.lit(SPAN / n)).cast("long"))
    x = random(1 << 30) / F.lit(1 << 30)
    columns = random(keys).alias("k"), time.alias("t"), x.alias("x"), F.col("id").alias("i")
    return spark.range(n).select(*columns)


def save(df: Any) -> None:
    """All rows, to nowhere."""
    df.write.format("noop").mode("overwrite").save()


def passed(events: Any, spine: Any) -> Any:
    """The union, the shuffle, the sort, and spine rows back from Python with nine columns."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType, StructField, StructType

    there = events.select(
        "k", "t", "x", F.lit(None).cast("long").alias("i"), F.lit(False).alias("s")
    )
    here = spine.select(
        "k", "t", F.lit(None).cast("double").alias("x"), "i", F.lit(True).alias("s")
    )
    rows = there.unionAll(here).repartition("k").sortWithinPartitions("k", "t", "s")
    names = list(NAMES)

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.filter(batch.column("s"))
            columns = [kept.column("k"), kept.column("t"), kept.column("i")]
            columns += [kept.column("x") for _ in names]
            yield pa.RecordBatch.from_arrays(columns, names=["k", "t", "i", *names])

    fields = [spine.schema[name] for name in ("k", "t", "i")]
    schema = StructType([*fields, *(StructField(name, DoubleType()) for name in names)])
    return rows.mapInArrow(same, schema)
