"""One Spark for the whole directory."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sash.spark
from tests.stores.conftest import new_server

__all__ = ["new_server"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": 3,  # some are empty where keys are few
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.sql.execution.arrow.maxRecordsPerBatch": 64,  # keys go on over many batches
        "spark.sql.window.segmentTree.enabled": True,
    }
    session = sash.spark.session("tests", "local[2]", **settings)
    yield session
    session.stop()
