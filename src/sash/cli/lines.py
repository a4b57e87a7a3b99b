"""Where in a TOML file a key stands: tomllib says what is in it, this says on which line.

The text has been read by tomllib before, so it is well formed; only keys, strings, brackets
and comments have to be told apart.
"""

from __future__ import annotations

import re
from typing import Any

Path = tuple[str | int, ...]
"""The keys that lead to a value, and places in an array of tables."""

DEEPEST = 64
"""Brackets within brackets, and keys with dots: a pipeline needs 4, and parsers recurse."""

PLAIN = re.compile(r"[A-Za-z0-9_-]+")
STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL
)
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")


def lines_of(text: str) -> dict[Path, int]:
    """The line of every table and key, from 1 on.

    >>> found = lines_of('a = 1\\n[b]\\nc = { d = 2,\\n "e.f" = "x#" }\\n[[g]]\\nh.i = 0')
    >>> found[("b",)], found[("b", "c", "d")], found[("b", "c", "e.f")], found[("g", 0, "h", "i")]
    (2, 3, 4, 6)
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.found


MARKS = re.compile(rf"{STRING.pattern}|#[^\n]*|[\[{{]|[\]}}]", re.DOTALL)


def too_deep(text: str) -> int | None:
    """The line where brackets are nested deeper than DEEPEST; the text may be anything.

    >>> too_deep('a = "' + "[" * 99 + '"\\nb = ' + "[" * 99 + "]" * 99)
    2
    """
    open_ = 0
    for mark in MARKS.finditer(text):
        open_ += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark.group(), 0)
        if open_ > DEEPEST:
            return text.count("\n", 0, mark.start()) + 1
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        self.blank()
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.blank()

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path under which the keys that follow are."""
        line = self.line()
        many = self.text.startswith("[[", self.at)
        self.at += 1 + many
        table = self.entered(self.keys())
        if many:
            number = self.counts.get(table, 0)
            self.counts[table] = number + 1
            table = (*table, number)
        self.at += 1 + many
        self.found[table] = line
        return table

    def entered(self, keys: list[str]) -> Path:
        """A path in which an array of tables means its last one, but at the end."""
        path: Path = ()
        line = self.line()
        for i, key in enumerate(keys):
            path = (*path, key)
            self.found.setdefault(path, line)
            if i < len(keys) - 1 and path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def pair(self, table: Path) -> None:
        line, path = self.line(), table
        for key in self.keys():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1  # =
        self.value(path)

    def keys(self) -> list[str]:
        """A key, or several with dots between."""
        found = []
        while True:
            self.blank()
            string = STRING.match(self.text, self.at)
            token: Any = string or PLAIN.match(self.text, self.at)
            found.append(_unquoted(token.group()) if string else token.group())
            self.at = token.end()
            self.blank()
            if not self.text.startswith(".", self.at):
                return found[:DEEPEST]  # the line of those is the line of all
            self.at += 1

    def value(self, path: Path) -> None:
        self.blank()
        string = STRING.match(self.text, self.at)
        if string:
            self.at = string.end()
        elif self.text.startswith(("[", "{"), self.at):
            self.several(path, "]" if self.text[self.at] == "[" else "}")
        else:
            self.at = min(
                (i for c in ",]}#\n" if (i := self.text.find(c, self.at)) >= 0),
                default=len(self.text),
            )

    def several(self, path: Path, end: str) -> None:
        """An array, or an inline table."""
        self.at += 1
        number = 0
        while True:
            self.blank()
            if self.text.startswith(end, self.at):
                self.at += 1
                return
            if self.text.startswith(",", self.at):
                self.at += 1
            elif end == "}":
                self.pair(path)
            else:
                self.found[(*path, number)] = self.line()
                self.value((*path, number))
                number += 1

    def blank(self) -> None:
        found = BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1


def _unquoted(key: str) -> str:
    import tomllib

    return next(iter(tomllib.loads(f"{key} = 0")))
