"""README.md: its examples run, its links lead somewhere, and .ci/run calls its test command."""

import doctest
import os
import re
from pathlib import Path
from typing import Any


def test_examples_run(root: Path) -> None:
    ran = doctest.testfile(str(root / "README.md"), module_relative=False)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_the_first_example_runs(root: Path) -> None:
    example = re.search(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    exec(example[1], names)
    out = names["out"]
    assert out.column("n_1h").to_pylist() == [1, 1, 2, 1]
    assert out.column("who").to_pylist()[-1] == "garage"


def test_links_lead_to_files(root: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (root / "README.md").read_text())
    assert "docs/_static/window.svg" in links
    assert [link for link in links if not (root / link).exists()] == []


def test_ci_runs_the_test_command_of_the_readme(root: Path) -> None:
    assert "python3 do.py test" in (root / "README.md").read_text()
    assert "python3 do.py test" in (root / ".ci" / "run").read_text()
    assert os.access(root / ".ci" / "run", os.X_OK)
