"""The wheel and the source distribution: they build, and a bare install of the wheel is enough."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.ground.sizes import CORE, sizes

BUILD = "import sys, setuptools.build_meta as b; b.build_wheel('out'); b.build_sdist('out')"
SPARK = "import sash; sash.spark"
STREAM = """
time = "timestamp"
watermark = "1 minute"
[source]
format = "rate"
rows_per_second = 1
[aggregations]
n = { function = "count", over = "1 hour" }
[sink]
format = "console"
"""


@pytest.fixture(scope="session")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution of this clone."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(root / "src" / "sash", folder / "src" / "sash", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, folder)
    (folder / "out").mkdir()
    subprocess.run(
        [sys.executable, "-W", "error", "-c", BUILD], cwd=folder, check=True, capture_output=True
    )
    return folder / "out"


def ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "__pycache__"}


def test_the_wheel_has_code_and_data(built: Path, root: Path) -> None:
    [wheel] = built.glob("sash-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith("METADATA")]
        text = archive.read(metadata).decode()
    sources = {str(path.relative_to(root / "src")) for path in (root / "src").rglob("*.py")}
    assert sources <= names
    styles = {str(path.relative_to(root / "src")) for path in (root / "src").rglob("*.[cj]s*")}
    assert styles <= names
    assert {f"sash/{name}" for name in ("py.typed", "spark/conf/log4j2.properties")} <= names
    assert not [name for name in names if name.startswith("tests")]
    needed = re.findall(r"^Requires-Dist: (\w+)[^;\n]*$", text, re.MULTILINE)
    assert sorted(needed) == ["numba", "numpy", "pyarrow"]
    assert "License-Expression: Apache-2.0" in text
    assert "Author: the authors of Sash" in text
    version = re.search(r"^Version: (\S+)$", text, re.MULTILINE)
    assert version is not None
    changes = (root / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(version[1])}\b", changes, re.MULTILINE)


def test_the_source_distribution_has_what_builds_it(built: Path) -> None:
    [archive] = built.glob("sash-*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/sash/__init__.py"} <= names


@pytest.mark.slow
def test_a_bare_install_runs_the_readme(built: Path, root: Path, tmp_path: Path) -> None:
    """NumPy, numba and pyarrow, nothing else; missing extras are named where they are needed."""
    uv, bare = Path(sys.executable).parent / "uv", tmp_path / "bare"
    [wheel] = built.glob("*.whl")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, bare], check=True)
    install = [uv, "pip", "install", "-q", "--python", bare / "bin" / "python", wheel]
    subprocess.run(install, check=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    clean["SASH_CACHE_DIR"] = str(tmp_path / "cache")

    def run(code: str) -> subprocess.CompletedProcess[str]:
        command = [bare / "bin" / "python", "-c", code]
        return subprocess.run(command, env=clean, cwd=tmp_path, capture_output=True, text=True)

    of, readme = sizes(bare), (root / "README.md").read_text()
    assert set(of) == set(CORE), "nothing else is installed"
    stated = re.search(r"pyarrow: (\d+) MB on disk", readme)
    assert stated is not None
    assert sum(of.values()) == pytest.approx(float(stated[1]), rel=0.1), of
    assert of["sash"] < 10
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert example is not None
    done = run(example[1] + "print(out.num_rows, out.column_names)")
    assert done.returncode == 0, done.stderr
    assert "hi_24h" in done.stdout
    assert "pip install 'sash[spark]'" in run(SPARK).stderr
    stream, rows = tmp_path / "stream.toml", tmp_path / "rows.csv"
    stream.write_text(STREAM)
    rows.write_text("x\n1\n")
    for arguments, line in (
        (["demo"], "sash: demo: it needs pyspark: pip install 'sash[demo]'"),
        (["run", "--stream", stream], "sash: sash.spark needs PySpark: pip install 'sash[spark]'"),
        (["sql", "SELECT 1", rows], "sash: sash.sql reads queries with sqlglot: pip install"),
    ):
        command = [bare / "bin" / "sash", *arguments]
        told = subprocess.run(command, env=clean, cwd=tmp_path, capture_output=True, text=True)
        assert told.returncode != 0
        assert told.stderr.splitlines()[-1].startswith(line)
    refused = run("from sash import functions as sf; sf.count_if('x > 1')")
    assert "pip install 'sash[sql]'" in refused.stderr
