"""Suites from the grammar: sqllogictest files by DuckDB, golden files by Spark, as live oracles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sash.testing.sqlsuite.values import written
from tests.sql.grammar import sample, statements

KINDS = {
    pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP", pa.decimal128(9, 2): "DECIMAL(9, 2)",
}  # fmt: skip


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if kind in ("BIGINT", "BOOLEAN", "DECIMAL(9, 2)"):
        return written(value)
    text = f"'{written(value) if value != '' else ''}'"
    return text if kind == "VARCHAR" else f"CAST({text} AS {kind})"


def _rows(table: pa.Table, stamp: str) -> tuple[dict[str, str], list[str]]:
    """The columns and their types, and the rows as lists of literals."""
    kinds = {f.name: KINDS[f.type].replace("TIMESTAMP", stamp) for f in table.schema}
    rows = [
        f"({', '.join(_literal(value, kinds[name]) for name, value in row.items())})"
        for row in table.to_pylist()
    ]
    return kinds, rows


def write_logic(file: Path, count: int, seed: int, rows: int = 40) -> None:
    """A sqllogictest file of so many statements, with DuckDB's answers."""
    kinds, literals = _rows(sample(rows, seed), "TIMESTAMP")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
    setup = [f"CREATE TABLE rows ({columns})", f"INSERT INTO rows VALUES {', '.join(literals)}"]
    text = "".join(f"statement ok\n{statement}\n\n" for statement in setup)
    with duckdb.connect() as connection:
        for statement in setup:
            connection.execute(statement)
        for query in statements(count, seed):
            found = connection.sql(query).fetchall()
            width = len(found[0]) if found else 1
            lines = "\n".join("\t".join(map(written, row)) for row in found)
            text += f"query {'I' * width}\n{query}\n----\n{lines}\n\n"
    file.write_text(text)


def write_golden(file: Path, count: int, seed: int, session: Any, rows: int = 40) -> None:
    """A golden file of so many statements, with Spark's answers."""
    kinds, literals = _rows(sample(rows, seed), "TIMESTAMP_NTZ")
    kinds = {name: kind.replace("VARCHAR", "STRING") for name, kind in kinds.items()}
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds.items())
    view = (
        f"CREATE OR REPLACE TEMPORARY VIEW rows AS SELECT {casts} FROM VALUES "
        f"{', '.join(literals)} AS rows({', '.join(kinds)})"
    )
    session.sql(view)
    text = f"-- Automatically generated\n-- !query\n{view}\n-- !query schema\nstruct<>\n"
    text += "-- !query output\n\n\n\n"
    for query in statements(count, seed, duckdb=False):
        found = session.sql(query)
        lines = "\n".join("\t".join(map(written, row)) for row in found.collect())
        kind = found.schema.simpleString()
        text += f"-- !query\n{query}\n-- !query schema\n{kind}\n-- !query output\n{lines}\n\n\n"
    file.write_text(text)
