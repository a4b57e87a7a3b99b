"""A stream that goes on: its definition against its checkpoint's state, before the query starts."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sash.engine.stream.compatibility import accepts
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import StateError
from sash.spark.state import manifests, operators

NOTHING_COMMITTED = "STDS_COMMITTED_BATCH_UNAVAILABLE"


def committed(spark: SparkSession, location: str) -> list[list[Manifest]]:
    """The manifests of a checkpoint's last batch, of each call of Sash in the query: none where the
    checkpoint is not there yet, or has no state of Sash's. Costs a read of the manifests."""
    return [_manifests(spark, location, operator) for operator in operators(spark, location)]


def check(kept: list[list[Manifest]], definition: StreamDefinition, location: str) -> None:
    """Raise StateError if the state of a checkpoint cannot go on with this definition.

    Of a query with several calls of Sash, the state of one has to.
    """
    problems = []
    for call in kept:
        try:
            for each in call:
                accepts(definition, each.definition, each.complete, each.watermark)
        except StateError as problem:
            problems.append(problem)
        else:
            return
    if problems:
        raise StateError(f"{problems[0]} ({location})")


def _manifests(spark: SparkSession, location: str, operator: int) -> list[Manifest]:
    """The manifests of the last batch; none where no batch was committed."""
    try:
        return list(manifests(spark, location, operator).values())
    except PySparkException as problem:
        if problem.getCondition() == NOTHING_COMMITTED:
            return []
        raise
