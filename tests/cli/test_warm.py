"""`sash warm`: what it runs is valid, and what it ships leaves nothing to compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sash
from sash.cli.warm import calls

SIX = """
import numpy as np, pandas as pd
import sash
from sash import functions as sf
n = 1000
table = pd.DataFrame({
    "t": pd.date_range("2026-01-01", periods=n, freq="s"), "k": np.arange(n) % 10,
    "x": np.arange(n) * %s,
})
names = "count sum mean min max stddev".split()
for asked in (names, names[::-1]):
    frame = "10 minutes"
    asked = {name: getattr(sf, name)("x").over(frame) for name in asked}
    sash.windowed(table, time="t", by=["k"]).agg(**asked)
"""


def test_every_call_has_a_plan() -> None:
    made = list(calls())
    assert len(made) > 100
    for windows, asked in made:
        assert windows.explain(**asked)


@pytest.mark.slow
def test_a_new_process_with_an_empty_cache_compiles_nothing(tmp_path: Path) -> None:
    """In a copy of the package, so that this one's kernels stay as they are."""
    package = tmp_path / "copy" / "sash"
    shutil.copytree(Path(sash.__file__).parent, package, ignore=shutil.ignore_patterns("shipped"))
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "SASH_CACHE_DIR": str(cache)}
    warm = "import sys; from sash.cli import main; sys.exit(main(['warm', '--shipped']))"
    run(warm, environment)
    assert len(list(package.glob("kernel/shipped/*.kernel"))) > 50
    assert not cache.exists()
    for kind in ("1", "0.5"):
        run(SIX.replace("%s", kind), environment)
    assert not list(cache.glob("kernels/*.kernel"))


def run(program: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
