"""Local copies of pages: found by name, tidied up, and never those of someone else."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from sash.engine.stream.pages import Page, StateError, to_bytes
from sash.spark.local_pages import OLD, LocalPages
from sash.spark.processor import StatePages


def test_a_page_is_found_by_its_name(tmp_path: Path) -> None:
    near = LocalPages(tmp_path / "pages")
    assert near.get("a") is None
    near.put("a", b"rows")
    assert bytes(LocalPages(tmp_path / "pages").get("a")) == b"rows"
    near.delete("a")
    near.delete("a")
    assert near.get("a") is None


def test_what_is_old_or_too_much_goes(tmp_path: Path) -> None:
    near = LocalPages(tmp_path)
    for age, name in ((OLD + 10, "old"), (200, "third"), (100, "second"), (0, "first")):
        near.put(name, b"x" * 100)
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    near.tidy()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".tidied", "first", "second", "third"]
    near.tidy(limit=250)  # not again so soon
    assert near.get("third") is not None
    os.utime(tmp_path / "third", (time.time() - 200,) * 2)
    near.tidy(limit=250, often=0)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".tidied", "first", "second"]


def test_a_directory_that_is_not_ours_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "pages").symlink_to(tmp_path / "theirs")
    near = LocalPages(tmp_path / "pages")
    near.put("a", b"rows")
    (tmp_path / "theirs" / "b").write_bytes(b"rows")
    assert near.get("a") is None
    assert near.get("b") is None
    assert not (tmp_path / "theirs" / "a").exists()


class State:
    """What Spark's map state does, in a dictionary."""

    def __init__(self) -> None:
        self.values: dict[tuple[str], tuple[bytes]] = {}
        self.reads = 0

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        self.reads += 1
        return self.values.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.values[key] = value

    def removeKey(self, key: tuple[str]) -> None:
        del self.values[key]


ROWS = pa.table({"x": list(range(500)), "w": [f"word {i}" for i in range(500)]})


def kept_in(directory: Path) -> tuple[StatePages, State, Page]:
    state = State()
    pages = StatePages(state, LocalPages(directory))
    return pages, state, pages.put("page", ROWS)


def test_a_copy_that_fits_is_read_and_not_the_state_store(tmp_path: Path) -> None:
    pages, state, page = kept_in(tmp_path / "pages")
    assert pages.get(page).equals(ROWS)
    assert state.reads == 0
    assert [p.name for p in (tmp_path / "pages").iterdir()] == ["page"]


def flip(data: bytes, dice: Random) -> bytes:
    damaged = bytearray(data)
    damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


DAMAGE: dict[str, Callable[[bytes, Random], bytes]] = {
    "flipped": flip,
    "truncated": lambda data, dice: data[: dice.randrange(1, len(data))],
    "empty": lambda data, dice: b"",
    "longer": lambda data, dice: data + b"more",
    "another page": lambda data, dice: bytes(to_bytes(ROWS.slice(1))),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_copy_is_read_again_from_the_state_store(tmp_path: Path, how: str) -> None:
    pages, state, page = kept_in(tmp_path)
    good, dice = (tmp_path / "page").read_bytes(), Random(how)
    for number in range(50):
        (tmp_path / "page").write_bytes(DAMAGE[how](good, dice))
        assert pages.get(page).equals(ROWS)
        assert state.reads == number + 1
        assert (tmp_path / "page").read_bytes() == good  # mended on the way
    assert pages.get(page).equals(ROWS)
    assert state.reads == 50


def test_damage_in_the_state_store_is_told(tmp_path: Path) -> None:
    pages, state, page = kept_in(tmp_path)
    (tmp_path / "page").unlink()
    state.values[("page",)] = (flip(state.values[("page",)][0], Random(1)),)
    with pytest.raises(StateError, match="page page is damaged in Spark's state store"):
        pages.get(page)
    pages.delete(page)
    with pytest.raises(StateError, match="page page is missing from Spark's state store"):
        pages.get(page)


def a_plain_file(place: Path, patch: pytest.MonkeyPatch) -> None:
    place.write_text("not a directory")


def below_a_plain_file(place: Path, patch: pytest.MonkeyPatch) -> None:
    place.parent.rmdir()
    place.parent.write_text("not a directory")


def another_owner(place: Path, patch: pytest.MonkeyPatch) -> None:
    place.mkdir(mode=0o700)
    (place / "page").write_bytes(b"theirs")
    patch.setattr(os, "getuid", lambda: place.lstat().st_uid + 1)


def writable_by_all(place: Path, patch: pytest.MonkeyPatch) -> None:
    place.mkdir()
    place.chmod(0o777)
    (place / "page").write_bytes(b"theirs")


def a_symbolic_link(place: Path, patch: pytest.MonkeyPatch) -> None:
    theirs = place.with_name("theirs")
    theirs.mkdir(mode=0o700)
    (theirs / "page").write_bytes(b"theirs")
    place.symlink_to(theirs)


def a_directory_named_like_the_page(place: Path, patch: pytest.MonkeyPatch) -> None:
    (place / "page").mkdir(parents=True)
    place.chmod(0o700)


@pytest.mark.parametrize(
    "found",
    [
        a_plain_file,
        below_a_plain_file,
        another_owner,
        writable_by_all,
        a_symbolic_link,
        a_directory_named_like_the_page,
    ],
)
def test_what_is_not_ours_is_left_alone_and_is_no_error(
    found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    place = tmp_path / "in" / "pages"
    found(place, monkeypatch)
    before = tree(tmp_path)
    pages, state, page = kept_in(place)
    assert pages.get(page).equals(ROWS)
    assert state.reads == 1
    pages.delete(page)
    assert state.values == {}
    if found is not a_directory_named_like_the_page:  # that directory is ours, and looked after
        LocalPages(place).tidy(limit=0, often=0)
    assert tree(tmp_path) == before


def tree(directory: Path) -> dict[str, bytes | None]:
    found = sorted(directory.rglob("*"))
    return {str(p): p.read_bytes() if p.is_file() else None for p in found}


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    pages, state, page = kept_in(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert pages.get(page).equals(ROWS)
    assert state.reads == 1
