"""A TOML file read with care: what is wrong with it is said in one line that says where."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NoReturn

from sash.cli import lines
from sash.cli.errors import WRONG_INPUT, EndError, known, short

NAMES = {str: "a string", bool: "true or false", int: "a whole number", list: "a list",
         dict: "a table", float: "a number", datetime: "a time", date: "a date"}  # fmt: skip
MISSING: Any = object()


@dataclass(frozen=True)
class Table:
    """A table of the file, and where it stands. `asked` has the keys that were looked up."""

    file: str
    data: Mapping[str, Any]
    places: Mapping[lines.Path, int]
    path: lines.Path = ()
    asked: set[str] = field(default_factory=set)

    def wrong(self, key: str | None, problem: str) -> NoReturn:
        """End with the file, the line of `key`, and what is wrong there."""
        raise EndError(f"{self.place(key)}: {self.name(key)}{problem}", WRONG_INPUT)

    def place(self, key: str | None = None) -> str:
        """`file:line` of a key, or of the table."""
        path = self.path if key is None else (*self.path, key)
        while path and path not in self.places:
            path = path[:-1]
        return f"{self.file}:{self.places.get(path, 1)}"

    def name(self, key: str | None) -> str:
        path = self.path if key is None else (*self.path, key)
        return f"{'.'.join(map(str, path))}: " if path else ""

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = MISSING) -> Any:
        """A value of a kind; ends where it is missing or of another."""
        self.asked.add(key)
        if key not in self.data:
            if default is MISSING:
                self.wrong(None, f"{key!r} is missing")
            return default
        value = self.data[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            takes = " or ".join(NAMES[k] for k in kinds)
            self.wrong(key, f"takes {takes}, not {short(value)}")
        return value

    def text(self, key: str, default: Any = MISSING) -> Any:
        """A string that is not empty."""
        value = self.get(key, str, default)
        if isinstance(value, str) and key in self.data and not value.strip():
            self.wrong(key, "is empty")
        return value

    def choice(self, key: str, names: Iterable[str], default: Any = MISSING) -> str:
        """One of the known values."""
        value = self.get(key, str, default)
        names = list(names)
        if value not in names:
            self.wrong(key, f"no {key} {short(value)}; {known(names, value)}")
        return str(value)

    def texts(self, key: str, default: Any = MISSING) -> list[str]:
        """A list of strings; one string is a list of one."""
        value = self.get(key, (str, list), default)
        value = [value] if isinstance(value, str) else list(value)
        for one in value:
            if not isinstance(one, str):
                self.wrong(key, f"takes strings, not {short(one)}")
        return value

    def table(self, key: str, default: Any = MISSING) -> Table:
        """A table within the table."""
        data = self.get(key, dict, default)
        return Table(self.file, data, self.places, (*self.path, key))

    def tables(self) -> Iterator[tuple[str, Table]]:
        """All tables within the table, by name."""
        for key in self.data:
            yield key, self.table(key)

    def end(self) -> None:
        """End if there is a key that nobody asked for."""
        for key in self.data:
            if key not in self.asked:
                self.wrong(key, f"no such key; {known(sorted(self.asked), key)}")


LONG = re.compile(r"\d[\d_]{1000}")
"""Python reads no whole number of more than 4,300 digits: its time is quadratic in their count."""


def read(path: Path) -> Table:
    """The file as a table; ends where it is not there, or is not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise EndError(f"{path}: there is no such file", WRONG_INPUT) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise EndError(f"{path}: cannot be read: {problem}", WRONG_INPUT) from None
    _check_text(path, text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        at = message.rpartition("(at line ")[2].partition(",")[0]
        line = int(at) if at.isdecimal() else text.count("\n") + 1
        raise EndError(
            f"{path}:{line}: not TOML: {message.partition(' (at ')[0]}", WRONG_INPUT
        ) from None
    root = Table(str(path), data, lines.lines_of(text))
    _check_values(root)
    return root


def _check_text(path: Path, text: str) -> None:
    """End at what parsers of TOML and of numbers fail on with errors of their own."""
    deep = lines.too_deep(text)
    if deep is not None:
        raise EndError(
            f"{path}:{deep}: brackets are nested more than {lines.DEEPEST} deep", WRONG_INPUT
        )
    number = LONG.search(text)
    if number is not None:
        line = text.count("\n", 0, number.start()) + 1
        raise EndError(f"{path}:{line}: a number has more than 1,000 digits", WRONG_INPUT)


def _check_values(root: Table) -> None:
    """End at numbers of more than 64 bits, as TOML demands, and at keys with too many dots."""
    left: list[tuple[lines.Path, Any]] = [((), root.data)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left.extend(((*path, key), one) for key, one in value.items())
        if isinstance(value, list):
            left.extend(((*path, place), one) for place, one in enumerate(value))
        if len(path) > lines.DEEPEST:
            root.wrong(str(path[0]), f"tables are nested more than {lines.DEEPEST} deep")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            table = Table(root.file, {}, root.places, path)
            table.wrong(None, f"a whole number must fit in 64 bits, not {short(value)}")
