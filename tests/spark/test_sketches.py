"""Sketches that Sash writes, read by Spark's own functions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf

READ = {
    "hll": "hll_sketch_estimate(hll)",
    "hll_longs": "hll_sketch_estimate(hll_longs)",
    "theta": "theta_sketch_estimate(theta)",
    "doubles": "kll_sketch_get_quantile_double(doubles, 0.5D)",
    "floats": "kll_sketch_get_quantile_float(floats, 0.5D)",
    "longs": "kll_sketch_get_quantile_bigint(longs, 0.5D)",
}


@pytest.mark.slow
def test_spark_reads_what_sash_writes(spark: Any) -> None:
    table = pa.table(
        {"t": range(50), "w": [f"word {i % 13}" for i in range(50)], "i": range(50),
         "x": [float(i) for i in range(50)]}
    )  # fmt: skip
    every = sash.rows(50)
    last = sash.windowed(table, time="t").agg(
        hll=sf.hll_sketch_agg("w").over(every), hll_longs=sf.hll_sketch_agg("i").over(every),
        theta=sf.theta_sketch_agg("w").over(every), doubles=sf.kll_sketch_agg("x").over(every),
        floats=sf.kll_sketch_agg_float("x").over(every),
        longs=sf.kll_sketch_agg_bigint("i").over(every),
    ).slice(49)  # fmt: skip
    row = spark.createDataFrame(
        [tuple(last[name][0].as_py() for name in READ)],
        ", ".join(f"{name} binary" for name in READ),
    )
    found = row.selectExpr(*(f"{sql} AS {name}" for name, sql in READ.items())).collect()[0]
    assert (found.hll, found.hll_longs, found.theta) == (13, 50, 13)
    assert (found.doubles, found.floats, found.longs) == (24.0, 24.0, 24)


@pytest.mark.slow
def test_sash_gives_on_spark_what_spark_gives(spark: Any) -> None:
    rows = [("k", i, f"word {i % 5}") for i in range(20)]
    df = spark.createDataFrame(rows, "k string, t bigint, w string")
    ours = sash.windowed(df, by="k", time="t").agg(
        hll=sf.hll_sketch_agg("w").over(sash.lifetime()),
        top=sf.approx_top_k("w", 2).over(sash.lifetime()),
        by=sf.count().by("w").over(sash.lifetime()),
    )
    last = ours.orderBy("t").collect()[-1]
    assert spark.createDataFrame([(bytes(last.hll),)], "s binary").selectExpr(
        "hll_sketch_estimate(s) n"
    ).collect()[0].n == 5  # fmt: skip
    assert [(row["item"], row["count"]) for row in last.top] == [("word 0", 4), ("word 1", 4)]
    assert last.by == {f"word {i}": 4 for i in range(5)}
