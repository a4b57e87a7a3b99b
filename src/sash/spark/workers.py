"""The Python of Spark's workers: it has to be the driver's version and to have Sash.

A plain session starts its workers with the `python3` on the PATH, whatever runs the driver. Where
workers run on this machine, theirs is looked at before anything runs.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from typing import Any

from pyspark.sql import DataFrame

PROBE = (
    "import sys; from importlib.util import find_spec as f; print('%d.%d' % sys.version_info[:2], "
    "*(n for n in ('sash', 'pyarrow', 'numba', 'pandas') if f(n) is None))"
)


class WorkerError(RuntimeError):
    """Spark's workers would run another Python than the driver."""


def check_workers(df: DataFrame) -> None:
    """Raise WorkerError where workers on this machine could not run Sash."""
    if type(df.sparkSession).__module__.startswith("pyspark.sql.connect"):
        return  # the workers are elsewhere
    context: Any = df.sparkSession.sparkContext
    shipped = context.getConf().get("spark.submit.pyFiles", "")  # may have what is not installed
    if context.master.startswith("local") and not shipped:
        _check(str(context.pythonExec))


@functools.lru_cache
def _check(program: str) -> None:
    found = shutil.which(program)
    if found is not None and os.path.abspath(found) == os.path.abspath(sys.executable):
        return
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    version, *missing = _looked_at(found)
    if version == here and not missing:
        return
    lacks = f", without {', '.join(missing)}" if missing else ""
    said = f"Python {version} ({found}{lacks})" if version else f"{program!r}, which does not start"
    raise WorkerError(
        f"Spark's workers would run {said}, and the driver runs Python {here} ({sys.executable}): "
        f"set PYSPARK_PYTHON={sys.executable} before the session starts, or use "
        "sash.spark.session(), which does"
    )


def _looked_at(program: str | None) -> list[str]:
    """The version of a Python and the packages that it lacks; an empty version if it fails."""
    if program is None:
        return [""]
    try:
        done = subprocess.run([program, "-c", PROBE], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return [""]
    return done.stdout.split() if done.returncode == 0 and done.stdout.strip() else [""]
