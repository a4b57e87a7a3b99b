"""Kernels that come with Sash: found before the user's own, where content and processor fit."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest

from sash import Monoid, swag
from sash.kernel import build, cache, code, compiled
from sash.kernel.cache import Entry

TRIPLE, _, FEATURES = code.processor()


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Monoid, Path]:
    """A monoid whose kernel is shipped, and its file; the user's cache is empty."""
    monoid = Monoid(f"sum for {tmp_path}", 0, int, lambda a, b: a + b)
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "first"))
    slide(monoid, monkeypatch)
    (made,) = (tmp_path / "first" / "kernels").iterdir()
    file = tmp_path / "shipped" / (made.stem.rpartition("_")[0] + ".kernel")
    file.parent.mkdir()
    made.rename(file)
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    return monoid, file


def slide(monoid: Monoid, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Slide as a new process would; what it warned of."""
    monkeypatch.setattr(compiled, "_kernels", {})
    monkeypatch.setattr(cache, "_warned", False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        window = swag.TwoStacksLite(monoid, compiled=True)
        assert window.slide(np.arange(1, 6), 3).tolist() == [1, 3, 6, 9, 12]
    return [str(w.message) for w in seen]


def own_kernels(tmp_path: Path) -> int:
    return len(list(tmp_path.glob("cache/kernels/*.kernel")))


def change(file: Path, processor: tuple[str, str, str]) -> None:
    entry = cache._read(file)
    assert entry is not None
    file.write_bytes(cache.as_bytes(Entry({**entry.notes, "processor": processor}, entry.code)))


def test_a_shipped_kernel_is_not_compiled(
    shipped: tuple[Monoid, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monoid, _ = shipped
    assert slide(monoid, monkeypatch) == []
    assert own_kernels(tmp_path) == 0


HERE = ",".join(f"+{name}" for name, has in code.llvm.get_host_cpu_features().items() if has)


@pytest.mark.parametrize(
    ("processor", "runs"),
    [
        ((TRIPLE, "generic", ""), True),
        ((TRIPLE, "generic", HERE), True),
        ((TRIPLE, "generic", f"{HERE},+quantum"), False),
        ((TRIPLE, "another", HERE), False),
        (("another-system", "generic", ""), False),
    ],
)
def test_the_processor_must_have_what_the_code_needs(
    shipped: tuple[Monoid, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    processor: tuple[str, str, str], runs: bool,
) -> None:  # fmt: skip
    monoid, file = shipped
    change(file, processor)
    assert slide(monoid, monkeypatch) == []
    assert own_kernels(tmp_path) == (0 if runs else 1)


def test_a_damaged_one_is_compiled_into_the_users_cache(
    shipped: tuple[Monoid, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monoid, file = shipped
    file.write_bytes(file.read_bytes()[:-1])
    (said,) = slide(monoid, monkeypatch)
    assert "is damaged; compiling instead" in said
    assert own_kernels(tmp_path) == 1


def test_code_that_needs_what_is_not_here_does_not_end_the_process(
    shipped: tuple[Monoid, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM ends the process where it cannot find a name."""
    monoid, file = shipped
    monkeypatch.setattr(code, "_needed", lambda library: ["a_function_that_is_nowhere"])
    file.unlink()
    slide(monoid, monkeypatch)
    monkeypatch.undo()
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    (said,) = slide(monoid, monkeypatch)
    assert "ImportError('it needs a_function_that_is_nowhere')" in said


def test_a_word_about_what_takes_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    monoid = Monoid(f"other sum for {tmp_path}", 0, int, lambda a, b: a + b)
    monkeypatch.setattr(build, "WORTH_A_WORD", 0.0)
    with caplog.at_level(logging.WARNING, "sash"):
        slide(monoid, monkeypatch)
        slide(monoid, monkeypatch)
    (said,) = [r.getMessage() for r in caplog.records]
    assert f"{monoid.name} was compiled in" in said
    assert said.endswith("s, once, and kept for later processes")
