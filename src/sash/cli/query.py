"""`sash sql "SELECT …" file.parquet`: a query over files, in this process."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

import sash
from sash.cli import files, local_files
from sash.cli.call import asked
from sash.cli.checked import Table
from sash.cli.errors import WRONG_INPUT, EndError
from sash.cli.in_process import shown
from sash.cli.pipeline import Source

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", "": "parquet"}
"""The formats by the ending of a file's name; a directory is one of Parquet files."""


def run(query: str, given: list[str], options: Namespace) -> None:
    """Show what a query gives, write it to a file, or say what would run."""
    out = options.out
    if out is not None:
        _check_out(out, options.replace)
    tables = _tables(given)
    if options.explain:
        print(asked(lambda: sash.sql.explain(query, dialect=options.dialect, **tables)))
        return
    found = asked(lambda: sash.sql(query, dialect=options.dialect, **tables))
    if out is None:
        print(shown(found))
        return
    asked(lambda: _write(found, out))
    print(f"{len(found):,} rows to {out}")


def _tables(given: list[str]) -> dict[str, pa.Table]:
    """The files as tables: by NAME=, or by their own names; the first is `t` as well."""
    tables: dict[str, pa.Table] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        path = Path(rest if equals else text)
        name = name if equals else path.stem
        if name in tables:
            raise EndError(f"sql: two tables {name!r}; name one, as in b={path}", WRONG_INPUT)
        tables[name] = _read(path)
    tables.setdefault("t", next(iter(tables.values())))
    return tables


def _read(path: Path) -> pa.Table:
    if path.suffix not in FORMATS:
        known = ", ".join(filter(None, FORMATS))
        raise EndError(f"sql: {path}: files end with {known}", WRONG_INPUT)
    table = Table("sql", {}, {})
    source = Source(table, FORMATS[path.suffix], path, None, {}, {}, None)
    if not path.exists():
        raise EndError(f"sql: there is no file {path}", WRONG_INPUT)
    files.check_there(source)
    return local_files.read(source)


def _check_out(out: Path, replace: bool) -> None:
    if out.suffix not in (".parquet", ".csv"):
        raise EndError(f"sql: --out {out}: give a name with .parquet or .csv", WRONG_INPUT)
    if out.exists() and not replace:
        raise EndError(
            f"sql: {out} is there already; choose another, or add --replace", WRONG_INPUT
        )
    if not out.absolute().parent.is_dir():
        raise EndError(f"sql: there is no directory {out.parent}", WRONG_INPUT)


def _write(found: pa.Table, out: Path) -> None:
    """Write a file, whole or not at all."""
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        if out.suffix == ".parquet":
            parquet.write_table(found, unfinished)
        else:
            csv.write_csv(found, unfinished)
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
