"""The JVM that a session starts: ended where the start is interrupted, or a new one is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from typing import Any

from pyspark import SparkContext, java_gateway


@contextmanager
def ended_if_interrupted() -> Iterator[None]:
    """End a JVM that the body started and that no SparkContext has come to know.

    PySpark waits for its JVM with no way to name it; after Ctrl-C there it would go on forever.
    """
    started: list[Popen[Any]] = []

    class Recorded(Popen[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            started.append(self)
            super().__init__(*arguments, **options)

    names = vars(java_gateway)
    original, names["Popen"] = names["Popen"], Recorded
    try:
        yield
    except BaseException:
        for process in started if SparkContext._gateway is None else ():
            process.kill()
            process.wait()
        raise
    finally:
        names["Popen"] = original


def end_java() -> None:
    """End the JVM of sessions that have been stopped, so that the next session starts a new one.

    PySpark keeps it, with all that it has loaded and compiled, until the process ends.
    """
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        SparkContext._gateway = SparkContext._jvm = None
        gateway.shutdown()
        gateway.proc.stdin.close()  # it ends when this pipe does
        gateway.proc.wait()
