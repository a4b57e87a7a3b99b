"""Blocks of the documentation that are not run: they can be read, and their names are there.

They need Spark, a server or files of the reader's, so only their Python, TOML and commands are
checked: against the package, the parser of pipeline files and that of the command line.
"""

import ast
import re
import shlex
import textwrap
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sash
from sash import functions as sf
from sash.cli.main import parser
from sash.options import Settings

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.rst")), ROOT / "README.md"]
RST = re.compile(r"^( *)\.\. code-block:: (\w+)\n\n((?:\1   .*\n|\n)+)", re.MULTILINE)
MARKDOWN = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[Any]:
    """The blocks of a kind on all pages, as parameters of a test; others run as doctests."""
    found = []
    for page in PAGES:
        text = page.read_text()
        all_of = [(one[1], one[2]) for one in RST.findall(text)] + MARKDOWN.findall(text)
        of_kind = [
            textwrap.dedent(block) for name, block in all_of if name == kind and ">>>" not in block
        ]
        name = page.relative_to(ROOT)
        found += [pytest.param(block, id=f"{name} {n}") for n, block in enumerate(of_kind)]
    return found


@pytest.mark.parametrize("block", blocks("python"))
def test_python(block: str) -> None:
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Attribute):
            names = ast.unparse(node).split(".")
            if names[0] in ("sash", "sf") and all(name.isidentifier() for name in names):
                thing: Any = {"sash": sash, "sf": sf}[names[0]]
                for name in names[1:]:
                    thing = getattr(thing, name)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sash.windowed":
            known = {"by", "time", "descending", *Settings.__annotations__}
            assert {word.arg for word in node.keywords} <= known


@pytest.mark.parametrize("block", blocks("toml"))
def test_toml(block: str) -> None:
    known = {"time", "keys", "watermark", "engine", "every", "where", "sql", "columns", "source",
             "spine", "history", "windows", "aggregations", "functions", "sink", "stream", "spark",
             }  # fmt: skip
    flat = re.sub(r",\n +", ", ", block)  # a table of one line is broken to fit the page
    read = tomllib.loads(flat)
    assert set(read) <= known
    for asked in read.get("aggregations", {}).values():
        name = asked.get("function", "count")
        assert ":" in name or hasattr(sf, name)


@pytest.mark.parametrize("block", blocks("console"))
def test_commands(block: str) -> None:
    """Options of `sash` are there, and so are the modules and files that Python is told to run."""
    lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    assert lines
    for line in lines:
        words = shlex.split(line.split(" | ")[0], comments=True)
        if words[0] == "sash":
            parser().parse_args(words[1:])
        elif words[:2] == ["python", "-m"]:
            assert find_spec(words[2]) is not None
        elif words[0].startswith("python"):
            assert (ROOT / words[1]).exists()
        else:
            assert words[0] == "pip"
