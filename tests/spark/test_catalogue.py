"""The statistics of the catalogue against Spark's own functions over the same windows."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import table
from tests.spark.test_native import HOUR, UNBOUNDED, Asked, check, spec

REGRESSIONS = ("count", "slope", "intercept", "r2", "avgx", "avgy", "sxx", "syy", "sxy")


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table()).cache()


def statistics() -> Asked:
    y, small = F.col("y"), F.col("small")
    found: Asked = {
        "corr": (sf.corr("y", "small"), F.corr(y, small)),
        "covar_pop": (sf.covar_pop("y", "small"), F.covar_pop(y, small)),
        "covar_samp": (sf.covar_samp("y", "small"), F.covar_samp(y, small)),
        "skewness": (sf.skewness("y"), F.skewness(y)),
        "kurtosis": (sf.kurtosis("y"), F.kurtosis(y)),
        "skewness_x": (sf.skewness("x"), F.skewness("x")),
        "count_if": (sf.count_if("b"), F.count_if("b")),
        "percentile": (sf.percentile("y", 0.3), F.percentile(y, 0.3)),
        "top": (
            sf.top_k("small", 3),
            lambda w: F.slice(F.sort_array(F.collect_list(small).over(w), asc=False), 1, 3),
        ),
        "most": (
            sf.max_count("small"),
            lambda w: F.nullif(
                F.size(
                    F.filter(F.collect_list(small).over(w), lambda v: v == F.max(small).over(w))
                ).cast("long"),
                F.lit(0),
            ),
        ),
    }
    for of in REGRESSIONS:
        name = f"regr_{of}"
        found[name] = (getattr(sf, name)("y", "small"), getattr(F, name)(y, small))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("frame", ["1 hour", "so far"])
def test_statistics_are_sparks(df: DataFrame, frame: str) -> None:
    ours: Any = "1 hour" if frame == "1 hour" else sash.lifetime()
    start = -HOUR if frame == "1 hour" else UNBOUNDED[0]
    asked = statistics()
    out = sash.windowed(df, "k", time="ts").agg(**{n: a.over(ours) for n, (a, _) in asked.items()})
    check(out, spec(F.unix_micros("ts"), start, 0), asked)
