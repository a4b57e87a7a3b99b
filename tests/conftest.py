"""What all tests share: how Hypothesis runs, Spark's Java, and which tests come first."""

import gc
import os

import pytest
from hypothesis import settings

# A busy machine is not a failing test: an example may take as long as it takes.
settings.register_profile("sash", deadline=None)
settings.load_profile("sash")

# Spark of the tests, and of the programs that they start, lives for minutes: the compiler that
# makes faster code of what runs for longer takes as much time as all the rest of it.
FOR_SHORT_RUNS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
for variable in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(variable, FOR_SHORT_RUNS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with a Spark session come first. Workers begin with equal parts of the list, and one
    that is done takes tests from the end of another's: so one worker has all tests with Spark,
    which takes half a minute to warm up, and no long test is left for the end."""
    items.sort(key=lambda item: not has_spark(item))


def pytest_collection_finish() -> None:
    """Python's collector of cycles no longer looks at the modules and tests that stay until the
    end, at millions of objects each time."""
    gc.collect()
    gc.freeze()


def has_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ()) or "spark" in item.path.parts
