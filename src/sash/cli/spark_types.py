"""Spark's types by name, for readers: only sash.spark imports pyspark."""

from typing import Any

DataFrame = Any
SparkSession = Any
StreamingQuery = Any
