"""How does it run on Spark? The only layer that imports pyspark."""

from sash.spark.java import NoJavaError
from sash.spark.progress import Progress, figures_of
from sash.spark.session import session
from sash.spark.state import describe_state, read_state

__all__ = ["NoJavaError", "Progress", "describe_state", "figures_of", "read_state", "session"]
