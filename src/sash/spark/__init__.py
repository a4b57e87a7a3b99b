"""How does it run on Spark? The only layer that imports pyspark."""

from sash.spark.java import NoJavaError
from sash.spark.session import session

__all__ = ["NoJavaError", "session"]
