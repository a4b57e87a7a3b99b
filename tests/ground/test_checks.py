"""Style, types and import layers hold, and the layers' contracts can fail."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKS = ["ruff check", "ruff format --check", "mypy", "lint-imports"]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("check", CHECKS)
def test_check_passes(check: str, root: Path) -> None:
    name, *arguments = check.split()
    done = subprocess.run([BIN / name, *arguments], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_do_lint_runs_these_checks(do: ModuleType) -> None:
    assert do.COMMANDS["lint"] == CHECKS


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("monoids", "sash.swag", "Each layer imports only"),
        ("engine", "sash.spark", "Each layer imports only"),
        ("kernel", "sash.functions", "Each layer imports only"),
        ("spark", "sash.testing", "Each layer imports only"),
        ("swag", "numba", "Only sash.kernel imports numba"),
        ("engine", "pyspark", "Only sash.spark imports pyspark"),
        ("functions", "sash.engine", None),
        ("kernel", "numba", None),
        ("spark", "pyspark", None),
    ],
)
def test_contracts(
    module: str, imported: str, contract: str | None, root: Path, tmp_path: Path
) -> None:
    """A package whose only import is `module` importing `imported`."""
    package = tmp_path / "sash"
    layers = "monoids windows kernel stores swag plan engine spark functions cli report testing"
    for name in ["", *layers.split()]:
        (package / name).mkdir()
        (package / name / "__init__.py").touch()
    (package / module / "__init__.py").write_text(f"import {imported}\n")
    shutil.copy(root / "pyproject.toml", tmp_path)
    done = subprocess.run(
        [BIN / "lint-imports", "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    broken = [line for line in done.stdout.splitlines() if line.endswith("BROKEN")]
    if contract is None:
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        assert done.returncode == 1
        assert [line.startswith(contract) for line in broken] == [True], done.stdout
