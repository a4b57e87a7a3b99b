"""Spark Connect: the same calls, against a local Connect server, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def calls(*which: str) -> int:
    """How many calls are right."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_calls", *which],
        cwd=ROOT, env={**kept, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.count("ok ")


@pytest.mark.slow
def test_same_calls() -> None:
    assert calls() == 5


@pytest.mark.slow
def test_a_stream() -> None:
    assert calls("streamed") == 1
