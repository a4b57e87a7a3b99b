"""Keys on Spark: their numbers, and the shards that they go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, IntegralType

from sash.engine.stream.manifest import Manifest
from sash.spark.batch import Job
from sash.spark.names import quoted

PARTITIONS = "spark.sql.shuffle.partitions"
MOST = 1 << 16
"""Shards at most."""


def shards_of(df: DataFrame, shards: int | None, kept: Sequence[list[Manifest]] = ()) -> int:
    """How many shards there are: as asked, as kept, or as many as Spark's partitions, which a
    query's first checkpoint fixes. Each has its own call, manifest and pages, so more of them take
    longer."""
    if shards is None:
        known = {each.definition["shards"] for call in kept for each in call}
        partitions = int(str(df.sparkSession.conf.get(PARTITIONS)))
        return known.pop() if len(known) == 1 else _power_of_two(partitions)
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= MOST:
        raise ValueError(f"shards must be a whole number from 1 to {MOST}, not {shards!r}")
    return shards


def numbers_of(job: Job, kept: Sequence[list[Manifest]]) -> Literal["own", "hashed"]:
    """Whose numbers keys have: a single integer is its own, unless the state that is kept of these
    keys has hashes, as all had before."""
    by = job.query.by
    if len(by) != 1 or not isinstance(job.df.schema[by[0]].dataType, IntegralType):
        return "hashed"
    known = [each.definition for call in kept for each in call]
    given = {d.get("numbers", "hashed") for d in known if d["keys"] == list(by)}
    return "hashed" if given == {"hashed"} else "own"


def hash_of(job: Job, function: Any) -> Column:
    """A hash of a row's keys; 0.0 and -0.0 are one key.

    Spark's hashes skip nulls, so that (null, a) and (a, null) have the same: where nulls are
    is hashed too.
    """
    keys = []
    for name in job.query.by:
        column = F.col(quoted(name))
        is_float = isinstance(job.df.schema[name].dataType, FloatType | DoubleType)
        keys += [column + F.lit(0.0) if is_float else column, column.isNull()]
    return (function(*keys) if keys else F.lit(0)).cast("long")


def _power_of_two(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()
