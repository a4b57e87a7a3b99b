"""Spark's workers with another Python than the driver's: said before anything runs."""

import sys
from pathlib import Path

import pytest

from sash.spark import workers


def python(folder: Path, text: str) -> str:
    """A program that answers as a Python would."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def error(program: str) -> str:
    with pytest.raises(workers.WorkerError) as caught:
        workers._check(program)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(
        f"set PYSPARK_PYTHON={sys.executable} before the session starts, or use "
        "sash.spark.session(), which does"
    )
    return text


def test_another_version(tmp_path: Path) -> None:
    other = python(tmp_path, "echo 3.9")
    text = error(other)
    assert text.startswith(f"Spark's workers would run Python 3.9 ({other}), and the driver runs")


def test_the_same_version_without_sash(tmp_path: Path) -> None:
    same = f"{sys.version_info[0]}.{sys.version_info[1]}"
    other = python(tmp_path, f'exec {sys.executable} -I -S "$@"')  # no site-packages
    assert f"Python {same} ({other}, without sash, pyarrow, numba, pandas)" in error(other)


def test_one_that_does_not_start(tmp_path: Path) -> None:
    assert "would run 'no-such-python', which does not start" in error("no-such-python")
    assert "which does not start" in error(python(tmp_path, "exit 3"))


def test_the_drivers_own_and_one_that_can_run_sash(tmp_path: Path) -> None:
    workers._check(sys.executable)
    workers._check(python(tmp_path, f'exec {sys.executable} "$@"'))
