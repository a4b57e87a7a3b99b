"""The JVM that a session starts is ended with it where the start is interrupted."""

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
