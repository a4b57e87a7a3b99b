"""`sash bench`: the benchmarks of a clone of Sash, which are no part of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sash.cli.errors import EndError


def main(arguments: list[str]) -> int:
    """Run `python -m benchmarks` of the clone with these arguments; returns its status."""
    paths = [str(clone()), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, env=environment).returncode


def clone() -> Path:
    """The folder that holds benchmarks/: this one, or the one Sash is installed from."""
    for folder in (Path.cwd(), Path(__file__).resolve().parents[3]):
        if (folder / "benchmarks" / "suites.py").exists():
            return folder
    raise EndError("bench: there is no benchmarks/ here: run it in a clone of Sash")
