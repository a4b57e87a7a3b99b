"""Records of suites: statements, queries and what they must give; two formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Record:
    """A statement or a query of a suite, the line it begins at, and what must come of it.

    `rows`: the values of each row as text; None where an error must come. `digest`: the values'
    number and MD5 in their place. `order`: whether rows come in the order of the file.
    """

    line: int
    sql: str
    is_query: bool
    rows: list[list[str]] | None = None
    values: list[str] | None = None
    digest: str | None = None
    order: Literal["nosort", "rowsort", "valuesort"] = "nosort"
    skipped: str = ""


@dataclass
class Outcome:
    """The outcome of a record: passed, failed or not taken, and why."""

    file: Path
    record: Record
    result: Literal["passed", "failed", "not taken"]
    reason: str = ""


@dataclass
class _Block:
    line: int
    lines: list[str] = field(default_factory=list)


CONTROL = ("loop", "foreach", "endloop", "concurrentloop", "mode", "require", "load", "restart",
           "skipif", "onlyif", "halt", "hash-threshold", "set", "unzip", "tags")  # fmt: skip
HASHED = re.compile(r"(\d+ values hashing to [0-9a-f]{32})")


def logic_records(text: str) -> Iterator[Record]:
    """The records of a sqllogictest file, as SQLite and DuckDB write them."""
    depth, skip = 0, ""
    for block in _blocks(text):
        head = block.lines[0].split()
        while head and head[0] in CONTROL:
            depth += (head[0] in ("loop", "foreach", "concurrentloop")) - (head[0] == "endloop")
            skip = f"{head[0]} {head[1]}" if head[0] in ("skipif", "onlyif", "mode") else skip
            block.lines.pop(0)
            block.line += 1
            head = block.lines[0].split() if block.lines else []
        if not head or head[0] not in ("statement", "query"):
            continue
        why = "it is in a loop" if depth else skip
        skip = skip if skip.startswith("mode") and "unskip" not in skip else ""
        yield _logic(block, head, why)


def _blocks(text: str) -> Iterator[_Block]:
    """Runs of lines between empty ones, without comments."""
    block = _Block(0)
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip() and not line.startswith("#"):
            block.line = block.line or number
            block.lines.append(line.rstrip("\r"))
        elif not line.strip() and block.lines:
            yield block
            block = _Block(0)


def _logic(block: _Block, head: list[str], why: str) -> Record:
    body = block.lines[1:]
    place = body.index("----") if "----" in body else len(body)
    sql = "\n".join(body[:place]).strip().rstrip(";")
    if head[0] == "statement" or head[1:2] == ["error"]:
        return Record(block.line, sql, False, skipped=why or ("error" if "error" in head else ""))
    order = next((w for w in head if w in ("rowsort", "valuesort")), "nosort")
    given, width = body[place + 1 :], len(head[1]) if len(head) > 1 else 1
    hashed = HASHED.fullmatch(given[0].strip()) if given else None
    if hashed:
        return Record(block.line, sql, True, digest=hashed[1], order=order, skipped=why)  # type: ignore[arg-type]
    if order != "valuesort" and all(line.count("\t") == width - 1 for line in given):
        rows = [line.split("\t") for line in given]
        return Record(block.line, sql, True, rows, order=order, skipped=why)  # type: ignore[arg-type]
    return Record(block.line, sql, True, values=given, order=order, skipped=why)  # type: ignore[arg-type]


QUERY = re.compile(r"^-- !query$", re.MULTILINE)


def golden_records(text: str) -> Iterator[Record]:
    """The records of one of Spark's golden files."""
    line = 1 + text.partition("-- !query")[0].count("\n")
    for part in QUERY.split(text)[1:]:
        sql, _, rest = part.partition("\n-- !query schema\n")
        schema, _, output = rest.partition("\n-- !query output\n")
        sql, output = sql.strip().rstrip(";"), output.strip("\n")
        is_query = re.match(r"(--.*\n)*\s*(select|with|from|\()", sql, re.IGNORECASE) is not None
        failed = schema.strip() == "struct<>" and bool(output.strip())
        rows = [row.split("\t") for row in output.splitlines()]
        ordered = re.search(r"\border\s+by\b(?![^()]*\))", sql, re.IGNORECASE) is not None
        yield Record(line, sql, is_query, rows, order="nosort" if ordered else "rowsort",
                     skipped="it must be an error" if failed else "")  # fmt: skip
        line += part.count("\n")
