"""The main job of `python3 do.py run`, on fewer rows; `tests/cli/test_demo.py` runs its batches."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.slow
def test_the_main_job_runs(do: ModuleType, root: Path, tmp_path: Path) -> None:
    (job,) = do.COMMANDS["run"]
    program, command, *arguments = job.split()
    assert (program, command, arguments) == ("sash", "demo", ["--out", "artifacts/demo"])
    done = subprocess.run(
        [Path(sys.executable).parent / program, command, "--rows=2000", f"--out={tmp_path}/demo"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "own frames: 0 of 18,000 answers differ" in done.stdout
    assert "Spark with in process: 0 of 24,000 answers differ" in done.stdout
    assert re.findall(r"^  (S.+?) +[\d.]+ s, (?:[\d.]+× (.+): )?(\d.+?);", done.stdout, re.M) == [
        ("Sash in process", "as fast as Spark's own frames", "12 answers"),
        ("Sash on Spark", "as fast as Spark's own frames", "12 answers"),
        ("Spark's own frames", "", "9 of the 12 answers"),
    ]
    assert done.stdout.count("first job of a new Java") == 2
    assert done.stderr.count("starting Spark (") == 2
    assert "stream with batch: 0 of " in done.stdout
    report = (tmp_path / "demo" / "report.html").read_text()
    assert "2,000 flights from New York" in report
    assert (tmp_path / "demo" / "features" / "_SUCCESS").exists()
