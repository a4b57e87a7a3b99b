"""do.py: what it says when something is missing, and when it leaves .venv alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


def call(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run do.py there, with none of this machine's pip settings."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
    clean |= {"PIP_CONFIG_FILE": os.devnull, "PIP_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, folder / "do.py", *arguments]
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True)


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed call has on stderr."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_parses_on_old_pythons(root: Path) -> None:
    ast.parse((root / "do.py").read_text(), feature_version=(3, 6))


def test_old_python_is_told(fresh: Path) -> None:
    older = "import runpy, sys; sys.version_info = (3, 10, 13); runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-c", older, fresh / "do.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "needs Python 3.11 or newer" in only_line(done)


def test_unknown_command_shows_the_commands(fresh: Path) -> None:
    done = call(fresh, "tset")
    assert done.returncode == 2
    assert "python3 do.py test" in done.stdout
    assert not (fresh / ".venv").exists()


def test_no_venv_module(fresh: Path) -> None:
    broken = fresh / "broken"
    broken.mkdir()
    (broken / "ensurepip.py").write_text("raise ImportError('no ensurepip here')")
    line = only_line(call(fresh, "setup", PYTHONPATH=str(broken)))
    assert "apt install python3-venv" in line


def test_no_disk(fresh: Path, do: ModuleType) -> None:
    with pytest.raises(do.Missing, match=r"not enough disk: set-up needs 1000000 GB and .* free"):
        do.check_disk(fresh, 10**15)
    assert "disk is full" in str(do.explain("OSError: [Errno 28] No space left on device"))


def test_no_permission(fresh: Path) -> None:
    (fresh / ".venv").write_text("a file where the folder should be")
    assert str(fresh / ".venv") in only_line(call(fresh, "setup"))


def test_no_network_then_repair(fresh: Path, do: ModuleType) -> None:
    """One venv, made while the index is out of reach, goes through all its states."""
    closed = "http://127.0.0.1:9/simple"
    assert "no network" in only_line(call(fresh, "setup", PIP_INDEX_URL=closed))
    assert "has no pip==" in only_line(call(fresh, "setup", PIP_NO_INDEX="1"))

    assert do.keeps(""), "a sound venv is kept, also one made by hand"
    assert not do.keeps(do.UNFINISHED), "one that was being installed into is not"
    assert not do.keeps(do.wanted().replace(str(fresh), "/elsewhere")), "nor one that was moved"
    assert not do.keeps(do.wanted().replace(sys.version.split()[0], "3.99.0"))

    do.STAMP.write_text(do.wanted())
    assert call(fresh, "setup", PIP_INDEX_URL=closed).returncode == 0, "it asks for nothing again"

    (fresh / "requirements.lock").write_text("")
    assert do.STAMP.read_text() != do.wanted(), "another lock means another set-up"


def test_sources_are_compiled_though_bytecode_is_not_written(
    fresh: Path, do: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    do.PYTHON.parent.mkdir(parents=True)
    do.PYTHON.symlink_to(sys.executable)
    (fresh / "src" / "sash").mkdir(parents=True)
    (fresh / "src" / "sash" / "one.py").write_text("x = 1\n")
    do.compile_sources()
    assert [file.suffix for file in (fresh / "src" / "sash" / "__pycache__").iterdir()] == [".pyc"]
