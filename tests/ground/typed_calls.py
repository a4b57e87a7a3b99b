"""What type checkers see: mypy checks this file, and nothing runs it.

A line with `type: ignore` has to be wrong: mypy reports an ignore that is not used.
"""

from typing import assert_type

import polars as pl
from pyspark.sql import DataFrame

import sash
from sash import functions as sf
from sash.tables import Windowed


def the_kind_that_comes_in_comes_out(
    eager: pl.DataFrame, lazy: pl.LazyFrame, spark: DataFrame
) -> None:
    hi = sf.max("amount").over("1 hour")
    assert_type(sash.windowed(eager, "user", time="ts"), Windowed[pl.DataFrame])
    assert_type(sash.windowed(eager, "user", time="ts").agg(hi=hi), pl.DataFrame)
    assert_type(sash.windowed(lazy, time="ts").every("1 minute").agg(hi=hi), pl.LazyFrame)
    assert_type(sash.windowed(spark, ["user"], time="ts", emit="arrival").agg(hi=hi), DataFrame)
    assert_type(sash.features(eager, "user", "ts", {"x": ["sum"]}, ["1h"]), pl.DataFrame)
    assert_type(sash.stream("user", time="ts").agg(hi=hi, half=hi / 2).feed(eager), pl.DataFrame)


def mistakes(df: pl.DataFrame) -> None:
    sash.windowed(df, tmie="ts")  # type: ignore[call-arg]
    sash.windowed(df, time="ts", emit="finally")  # type: ignore[arg-type]
    sash.windowed(df, time="ts").agg(hi=3)  # type: ignore[arg-type]
    sash.windowed(df, time="ts").evry("1 minute")  # type: ignore[attr-defined]
    sash.windowed(df, time="ts").agg(sf.max("amount").over("1 hour"))  # type: ignore[arg-type]
    sash.windowd(df, time="ts")  # type: ignore[attr-defined]
    sf.maxx("amount")  # type: ignore[attr-defined]
    sf.max("amount").over("1 hour", closd="right")  # type: ignore[call-arg]
    sash.stream("user", tmie="ts")  # type: ignore[call-arg]
