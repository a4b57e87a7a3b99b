"""The scanner finds every key that tomllib finds, on the line where it stands."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from sash.cli.lines import Path, lines_of

DOCUMENTS = [
    'a = 1\n\n# b = 2\nc = "# no comment"\n[t]\nd = 3\n[t.u]\ne = 4',
    '"quoted.key" = 1\n\'single\' = 2\na."b.c".d = 3\n[x."y z"]\nf = 1',
    'many = """\nno = 1\n[no]\n"""\nafter = 2\nraw = \'\'\'\nno = "\'\'\'\nlast = 1',
    'list = [\n  1, # one\n  { k = "]" },\n  [2, 3],\n]\n'
    'next = { a = [1, 2], b = { c = "}" } }\nz = 0',
    "[[t]]\na = 1\n[[t]]\na = 2\n[t.sub]\nb = 3\n[[t.more]]\nc = 4\n[[t.more]]\nc = 5",
    'x = "a \\" b" # c\ny = 2024-01-01T00:00:00Z\nw = -1.5e3\nv = true',
    "\r\n".join(["a = 1", "[b]", "c = 'x'", "d = [1,", "2]", "e = 5"]),
]


def paths(data: Any, at: Path = ()) -> Iterator[Path]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*at, key)
            yield from paths(value, (*at, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            if isinstance(value, dict):
                yield from paths(value, (*at, number))


@pytest.mark.parametrize("text", DOCUMENTS)
def test_every_key_is_found_on_its_line(text: str) -> None:
    found = lines_of(text)
    lines = text.splitlines()
    for path in paths(tomllib.loads(text)):
        assert str(path[-1]) in lines[found[path] - 1], path


def test_lines_of_tables_in_arrays() -> None:
    found = lines_of(DOCUMENTS[4])
    assert [found["t", 0, "a"], found["t", 1, "a"], found["t", 1, "more", 1, "c"]] == [2, 4, 10]
