"""A cluster: executors that share nothing but the checkpoint, and are killed in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).parents[2]
OWN = """from sash import Monoid

LONGEST = Monoid("longest word", "", str, lambda a, b: b if len(b) > len(a) else a)
"""


def run(base: Path, what: str, path: str) -> dict[str, str]:
    """What a driver with a cluster of its own says; executors' Python has `path` to import from."""
    home = base / "spark"
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():  # executors' folders are made in here
        (home / each.name).symlink_to(each)
    python = base / "python"
    python.write_text(
        "#!/bin/sh\nmkdir -p tmp cache\n"
        f'TMPDIR=$PWD/tmp SASH_CACHE_DIR=$PWD/cache PYTHONPATH={path} exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    conf = ROOT / "src" / "sash" / "spark" / "conf"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    more = {"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(conf), "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster_driver", str(base), what],
        cwd=ROOT, env={**kept, **more}, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[:5000]
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def folders(base: Path) -> list[Path]:
    """The folders of the executors that there were."""
    return sorted(each for each in base.glob("spark/work/app-*/*") if each.name.isdigit())


@pytest.mark.slow
def test_batch(tmp_path: Path) -> None:
    said = run(tmp_path, "batch", f"{ROOT / 'src'}:{ROOT}")
    assert said == {"killed": "1", "differing": "{}"}
    caches = [list(each.glob("cache/kernels/*.kernel")) for each in folders(tmp_path)]
    assert len(caches) >= 3  # a third executor came for the one that was killed
    assert sum(map(bool, caches)) >= 2  # each has compiled its own kernels


@pytest.mark.slow
def test_stream(tmp_path: Path) -> None:
    said = run(tmp_path, "stream", f"{ROOT / 'src'}:{ROOT}")
    assert said == {"killed": "2", "rows": "True", "differing": "{}"}
    pages = [list(each.glob("tmp/sash-pages-*/*")) for each in folders(tmp_path)]
    assert len(pages) >= 4
    assert sum(map(bool, pages)) >= 2


@pytest.mark.slow
def test_shipped(tmp_path: Path) -> None:
    """As docs/operations.rst says: one archive with Sash and a module of the user's."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own_monoids.py").write_text(OWN)
    with tarfile.open(tmp_path / "packages.tar.gz", "w:gz") as archive:
        archive.add(ROOT / "src" / "sash", "sash")
        archive.add(tmp_path / "own" / "own_monoids.py", "own_monoids.py")
        archive.add(ROOT / "tests", "tests")
    said = run(tmp_path, "shipped", "$PYTHONPATH")
    assert said["differing"] == "{}"
    for where in said["from"].split():
        assert "/packages/" in where
