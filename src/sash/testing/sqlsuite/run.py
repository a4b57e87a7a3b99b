"""Suites at work: tables by DuckDB or Spark, windows by Sash, answers compared with the file's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from sash.sql.dialects import parse
from sash.sql.errors import SqlError
from sash.sql.run import explain, sql
from sash.testing.sqlsuite.records import Outcome, Record, golden_records, logic_records
from sash.testing.sqlsuite.values import difference


class Database(Protocol):
    """Where the statements of a file run."""

    dialect: str

    def execute(self, statement: str) -> None:
        """Run a statement that makes or fills a table."""

    def table(self, name: str) -> pa.Table | None:
        """A table by its name; None where there is none."""


class DuckDB:
    """A database in memory, for sqllogictest files."""

    def __init__(self, dialect: str) -> None:
        import duckdb

        self.dialect, self._connection = dialect, duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")

    def execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def table(self, name: str) -> pa.Table | None:
        import duckdb

        try:
            return self._connection.sql(f'SELECT * FROM "{name}"').to_arrow_table()
        except duckdb.Error:
            return None


class SparkTables:
    """A Spark session, for Spark's golden files."""

    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, statement: str) -> None:
        self._session.sql(statement)

    def table(self, name: str) -> pa.Table | None:
        if not self._session.catalog.tableExists(name):
            return None
        return self._session.table(name).toArrow()


def run_folder(folder: Path, dialect: str = "duckdb", session: Any = None) -> Iterator[Outcome]:
    """The outcomes of the records of all files in a folder and below."""
    for file in sorted(p for p in folder.rglob("*") if p.suffix in (".test", ".slt", ".out")):
        yield from run_file(file, dialect, session)


def run_file(file: Path, dialect: str = "duckdb", session: Any = None) -> Iterator[Outcome]:
    """The outcomes of the queries of a file. `session`: Spark, for golden files."""
    text = file.read_text(encoding="utf-8")
    golden = file.suffix == ".out"
    records = list(golden_records(text) if golden else logic_records(text))
    if golden and session is None:
        reason = "golden files need Spark: add --spark"
        yield from (Outcome(file, r, "not taken", reason) for r in records if r.is_query)
        return
    database: Database = SparkTables(session) if golden else DuckDB(dialect)
    for record in records:
        if record.is_query:
            yield _outcome(file, record, database)
        elif not record.skipped:
            try:
                database.execute(record.sql)
            except Exception as problem:
                yield Outcome(file, record, "not taken", f"a statement: {_line(problem)}")


def _outcome(file: Path, record: Record, database: Database) -> Outcome:
    if record.skipped:
        return Outcome(file, record, "not taken", record.skipped)
    try:
        tree = parse(record.sql, database.dialect)
    except SqlError as problem:
        return Outcome(file, record, "not taken", _line(problem))
    if not any(w.args.get("over") for w in tree.find_all(exp.Window)):
        return Outcome(file, record, "not taken", "it has no windows")
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    plain = [t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
    names = {table.name for table in plain} - own
    tables = {name: database.table(name) for name in sorted(names)}
    missing = [name for name, table in tables.items() if table is None]
    if missing:
        return Outcome(file, record, "not taken", f"no table {missing[0]}")
    return _compared(file, record, database.dialect, tables)


def _compared(file: Path, record: Record, dialect: str, tables: dict[str, Any]) -> Outcome:
    try:
        steps = explain(record.sql, dialect=dialect, **tables).steps
        if not any(step.engine == "Sash" for step in steps):
            return Outcome(file, record, "not taken", "; ".join(s.why for s in steps if s.why))
        found = sql(record.sql, dialect=dialect, **tables)
    except SqlError as problem:
        return Outcome(file, record, "not taken", _line(problem))
    except Exception as problem:
        return Outcome(file, record, "failed", f"{type(problem).__name__}: {_line(problem)}")
    rows = [list(row) for row in zip(*(column.to_pylist() for column in found.columns))]
    wrong = difference(record, rows)
    return Outcome(file, record, "failed" if wrong else "passed", wrong)


def _line(problem: BaseException) -> str:
    lines = str(problem).splitlines()
    return lines[0] if lines else type(problem).__name__
