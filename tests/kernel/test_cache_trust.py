"""The kernel cache loads only what this user wrote and nothing has damaged; else it compiles."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sash import Monoid, swag
from sash.kernel import cache, compiled
from sash.kernel.cache import Entry

ENTRY = Entry({"answer": "<i8", "nullable": [False]}, b"machine code")
OTHER = 12345  # another user

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with one entry, in a process that has not warned yet."""
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write("one", ENTRY)
        assert cache.read("one") == ENTRY
        assert cache.read("two") is None
    return tmp_path / "kernels"


@pytest.fixture
def slide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Slide as a new process would, with a cache of its own; gives warnings about the cache."""
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    monoid = Monoid(f"sum for {tmp_path}", 0, int, lambda a, b: a + b)

    def once() -> list[str]:
        monkeypatch.setattr(cache, "_warned", False)
        monkeypatch.setattr(compiled, "_kernels", {})
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            window = swag.TwoStacksLite(monoid, compiled=True)
            assert window.slide(np.arange(1, 6), 3).tolist() == [1, 3, 6, 9, 12]
        return [str(w.message) for w in seen]

    return once


def let_others_read(folder: Path) -> None:
    """Open what pytest closes to others: its temporary directories."""
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and not path.stat().st_mode & 0o001:
            path.chmod(0o755)


def refused(pattern: str) -> None:
    """The entry is not loaded, and one warning says why."""
    with pytest.warns(RuntimeWarning, match=pattern):
        assert cache.read("one") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.read("one") is None


def test_only_this_user_can_write_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    before = os.umask(0)
    try:
        cache.write("one", ENTRY)
    finally:
        os.umask(before)
    assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "kernels" / "one.kernel").stat().st_mode & 0o777 == 0o644


@needs_root
def test_a_file_of_another_user_is_not_loaded(folder: Path) -> None:
    os.chown(folder / "one.kernel", OTHER, OTHER)
    refused(f"one.kernel belongs to another user .uid {OTHER}.*SASH_CACHE_DIR")


@needs_root
def test_a_directory_of_another_user_is_not_used(folder: Path) -> None:
    os.chown(folder, OTHER, OTHER)
    refused("kernels belongs to another user")
    cache.write("two", ENTRY)
    assert not (folder / "two.kernel").exists()


@needs_root
def test_files_of_root_are_loaded_by_others(folder: Path) -> None:
    """Who makes an image fills its cache as root; its user could replace nothing there."""
    let_others_read(folder)
    os.seteuid(OTHER)
    try:
        assert cache.read("one") == ENTRY
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    refused("others can write to .*kernels .*chmod -R go-w .*kernels")


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_a_file_that_others_can_write_is_not_loaded(folder: Path, mode: int) -> None:
    (folder / "one.kernel").chmod(mode)
    refused("others can write to .*one.kernel .*chmod -R go-w .*kernels")


def test_a_link_is_not_followed(folder: Path) -> None:
    (folder / "one.kernel").rename(folder / "elsewhere")
    (folder / "one.kernel").symlink_to(folder / "elsewhere")
    refused("one.kernel")


def test_every_flipped_bit_and_every_missing_byte_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "one.kernel"
    whole = path.read_bytes()
    for i in range(len(whole)):
        for damaged in (whole[:i], whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :]):
            monkeypatch.setattr(cache, "_warned", False)
            path.write_bytes(damaged)
            refused("one.kernel is damaged; compiling instead")
    cache.write("one", ENTRY)
    assert cache.read("one") == ENTRY


def test_a_damaged_kernel_is_compiled_again_and_replaced(
    tmp_path: Path, slide: Callable[[], list[str]]
) -> None:
    assert slide() == []
    (file,) = (tmp_path / "kernels").iterdir()
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    (said,) = slide()
    assert f"{file.name} is damaged; compiling instead" in said
    assert slide() == []
    assert [*(tmp_path / "kernels").iterdir()] == [file], "a lock or a temporary file is left"


def test_code_that_numba_cannot_load_is_compiled_again(
    tmp_path: Path, slide: Callable[[], list[str]]
) -> None:
    """The digest fits, and still it is not what this version writes."""
    slide()
    (file,) = (tmp_path / "kernels").iterdir()
    entry = cache._read(file)
    assert entry is not None
    file.write_bytes(cache.as_bytes(Entry(entry.notes, b"no pickle")))
    (said,) = slide()
    assert "cannot be loaded (UnpicklingError" in said
    assert slide() == []


@needs_root
def test_a_forged_entry_does_not_run(tmp_path: Path, slide: Callable[[], list[str]]) -> None:
    """Another user puts code where a process of root looks for its kernels."""
    slide()
    (file,) = (tmp_path / "kernels").iterdir()
    notes = cache._read(file).notes  # type: ignore[union-attr]
    trap = f"cos\nmkdir\n(V{tmp_path / 'trap'}\ntR.".encode()  # a pickle that makes a directory
    file.write_bytes(cache.as_bytes(Entry(notes, trap)))
    os.chown(file, OTHER, OTHER)
    (said,) = slide()
    assert "belongs to another user" in said
    assert not (tmp_path / "trap").exists()
    os.chown(file, 0, 0)
    file.write_bytes(cache.as_bytes(Entry(notes, trap)))
    slide()
    assert (tmp_path / "trap").exists(), "the forged entry was no threat, and so no test"


def test_a_file_where_the_directory_should_be(
    tmp_path: Path, slide: Callable[[], list[str]]
) -> None:
    (tmp_path / "kernels").write_text("not a directory")
    (said,) = slide()
    assert "kernels" in said


def test_a_write_that_fails_halfway(tmp_path: Path, slide: Callable[[], list[str]]) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        (said,) = slide()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "File too large" in said
    assert [*(tmp_path / "kernels").iterdir()] == [], "half a file was left behind"


TRY = """
import sys, warnings
from sash.kernel import cache
exec(sys.argv[1])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for name in ("one", "two"):
        assert cache.read(name) is None
        with cache.locked(name):
            cache.write(name, cache.Entry({}, bytes(100_000)))
        assert cache.read(name) is None
(warning,) = seen
print(warning.message)
"""


def attempt(first: str, *prefix: str, **environment: str) -> str:
    """The one warning of a process of its own, that runs `first` and then uses the cache."""
    kept = {k: v for k, v in os.environ.items()
            if k not in ("HOME", "SASH_CACHE_DIR", "XDG_CACHE_HOME")}  # fmt: skip
    done = subprocess.run(
        [*prefix, sys.executable, "-c", TRY, first], env={**kept, **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("may not mount a file system")
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_root
def test_no_home_directory() -> None:
    said = attempt(f"import os; os.setuid({OTHER})")  # the system does not know this user
    assert "no home directory; set SASH_CACHE_DIR; compiling instead" in said


@needs_root
def test_a_home_directory_of_another_user_that_is_read_only(tmp_path: Path) -> None:
    let_others_read(tmp_path)
    said = attempt(f"import os; os.setuid({OTHER})", HOME=str(tmp_path))
    assert "Permission denied" in said
    assert [*tmp_path.iterdir()] == []


def mounted(options: str, folder: Path) -> tuple[str, ...]:
    """Run what follows with a file system of its own at `folder`."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("may not mount a file system")
    mount = f'mount -t tmpfs -o {options} none {folder} 2>/dev/null || exit 99; exec "$@"'
    return ("unshare", "-m", "sh", "-c", mount, "sh")


def test_a_read_only_disk(tmp_path: Path) -> None:
    said = attempt("", *mounted("ro", tmp_path), SASH_CACHE_DIR=str(tmp_path))
    assert "Read-only file system" in said
    assert "the kernel is not kept" in said


def test_a_full_disk(tmp_path: Path) -> None:
    said = attempt("", *mounted("size=64k", tmp_path), SASH_CACHE_DIR=str(tmp_path))
    assert "No space left on device" in said
    assert "the kernel is not kept" in said
