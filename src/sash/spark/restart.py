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


def check_checkpoint(spark: SparkSession, location: str, definition: StreamDefinition) -> None:
    """Raise StateError if the state of a checkpoint cannot go on with this definition.

    Of a query with several calls of Sash, the state of one has to. A checkpoint that is not there
    yet, or that has no state of Sash's, is left to Spark. Costs a read of the manifests.
    """
    problems = []
    for operator in operators(spark, location):
        try:
            for each in _committed(spark, location, operator):
                accepts(definition, each.definition, each.complete, each.watermark)
        except StateError as problem:
            problems.append(problem)
        else:
            return
    if problems:
        raise StateError(f"{problems[0]} ({location})")


def _committed(spark: SparkSession, location: str, operator: int) -> list[Manifest]:
    """The manifests of the last batch; none where no batch was committed."""
    try:
        return list(manifests(spark, location, operator).values())
    except PySparkException as problem:
        if problem.getCondition() == NOTHING_COMMITTED:
            return []
        raise
