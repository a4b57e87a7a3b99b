"""The clone as a newcomer has it: its root, do.py as a module, a machine without Java."""

import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """What set-up reads, in a folder of its own, without a .venv."""
    for name in ("do.py", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def do(fresh: Path) -> ModuleType:
    """do.py of the fresh folder, as a module."""
    spec = importlib.util.spec_from_file_location("do", fresh / "do.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment with every program of this machine but Java, and an empty cache."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            link = programs / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAVA_", "SPARK_"))}
    return {**kept, "PATH": str(programs), "SASH_CACHE_DIR": str(tmp_path / "cache")}
