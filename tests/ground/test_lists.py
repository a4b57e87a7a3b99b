"""Lists that people keep by hand have what they list: decisions, and folders of tests."""

import re
from pathlib import Path


def test_the_list_of_decisions_has_each_with_its_title(root: Path) -> None:
    folder = root / "docs" / "decisions"
    pages = {page.name: page.read_text() for page in folder.glob("[0-9]*.md")}
    titles = [
        (name, text.splitlines()[0].removeprefix("# ")) for name, text in sorted(pages.items())
    ]
    rows = re.findall(
        r"^\| (\d+) \| \[(.+)\]\((.+)\) \|$", (folder / "README.md").read_text(), re.M
    )
    assert [(page, f"{number}. {title}") for number, title, page in rows] == titles


def test_the_table_of_tests_has_every_folder(root: Path) -> None:
    listed = re.findall(r"^\| `tests/(\w+)/` \|", (root / "CONTRIBUTING.md").read_text(), re.M)
    folders = {path.parent.name for path in (root / "tests").glob("*/test_*.py")}
    assert sorted(listed) == sorted(folders)
