"""README.md: its examples run, and .ci/run calls its test command."""

import doctest
import os
from pathlib import Path


def test_examples_run(root: Path) -> None:
    ran = doctest.testfile(str(root / "README.md"), module_relative=False)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_ci_runs_the_test_command_of_the_readme(root: Path) -> None:
    assert "python3 do.py test" in (root / "README.md").read_text()
    assert "python3 do.py test" in (root / ".ci" / "run").read_text()
    assert os.access(root / ".ci" / "run", os.X_OK)
