"""How does it run on Spark? The only layer that imports pyspark."""

from typing import TYPE_CHECKING, Any

try:
    from sash.spark.session import session
except ModuleNotFoundError as problem:
    if (problem.name or "").partition(".")[0] != "pyspark":
        raise
    raise ModuleNotFoundError(
        "sash.spark needs PySpark: pip install 'sash[spark]', and 'sash[spark,java]' where there "
        "is no Java 17 or newer",
        name="pyspark",
    ) from None

if TYPE_CHECKING:
    from sash.spark.java import NoJavaError as NoJavaError
    from sash.spark.progress import Progress as Progress
    from sash.spark.progress import figures_of as figures_of
    from sash.spark.state import describe_state as describe_state
    from sash.spark.state import read_state as read_state

# Imported when they are first used: the driver's process for a query needs none of them.
_HOMES = {
    "NoJavaError": "java", "Progress": "progress", "describe_state": "state",
    "figures_of": "progress", "read_state": "state",
}  # fmt: skip

__all__ = ["NoJavaError", "Progress", "describe_state", "figures_of", "read_state", "session"]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'sash.spark' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sash.spark.{_HOMES[name]}"), name)
