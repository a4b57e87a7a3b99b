"""A TOML file read with care: what is wrong with it is said in one line that says where."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from sash.cli import lines
from sash.cli.errors import WRONG_INPUT, EndError, known

NAMES = {str: "a string", bool: "true or false", int: "a whole number", list: "a list",
         dict: "a table", float: "a number"}  # fmt: skip
MISSING: Any = object()


@dataclass(frozen=True)
class Table:
    """A table of the file, and where it stands. What is not asked for is not known."""

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
            self.wrong(key, f"takes {takes}, not {value!r}")
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
            self.wrong(key, f"no {key} {value!r}; {known(names, value)}")
        return str(value)

    def texts(self, key: str, default: Any = MISSING) -> list[str]:
        """A list of strings; one string is a list of one."""
        value = self.get(key, (str, list), default)
        value = [value] if isinstance(value, str) else list(value)
        for one in value:
            if not isinstance(one, str):
                self.wrong(key, f"takes strings, not {one!r}")
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


def read(path: Path) -> Table:
    """The file as a table; ends where it is not there, or is not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise EndError(f"{path}: there is no such file", WRONG_INPUT) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise EndError(f"{path}: can not be read: {problem}", WRONG_INPUT) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        at = message.rpartition("(at line ")[2].partition(",")[0]
        line = at if at.isdecimal() else str(text.count("\n") + 1)
        raise EndError(
            f"{path}:{line}: not TOML: {message.partition(' (at ')[0]}", WRONG_INPUT
        ) from None
    return Table(str(path), data, lines.lines_of(text))
