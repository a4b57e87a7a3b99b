"""The JVM of a session, from its start to its end."""

import subprocess
import sys

import pytest

TWO_SESSIONS = """
from pyspark import SparkContext
from sash.spark import session
from sash.spark.gateway import end_java

seen = []
for _ in range(2):
    spark = session(master="local[1]")
    seen.append((SparkContext._gateway.proc, spark.range(7).count()))
    spark.stop()
    end_java()
end_java()  # there is none
(first, some), (second, others) = seen
assert first is not second and some == others == 7
assert first.returncode is not None and second.returncode is not None
"""


@pytest.mark.slow  # the demo, which has a Java for each part, runs by default
def test_a_session_after_the_end_of_java_starts_a_new_one() -> None:
    subprocess.run([sys.executable, "-c", TWO_SESSIONS], check=True)
