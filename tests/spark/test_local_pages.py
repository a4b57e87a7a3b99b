"""Local copies of pages: found by name, tidied up, and never those of someone else."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sash.spark.local_pages import OLD, LocalPages


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
