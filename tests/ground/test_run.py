"""The main job of `python3 do.py run`, on fewer rows."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType


def test_the_main_job_runs(do: ModuleType, root: Path) -> None:
    (job,) = do.COMMANDS["run"]
    program, *arguments = job.split()
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments, "--rows=500", "--size=20"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "0 of 4,000 rows differ" in done.stdout
