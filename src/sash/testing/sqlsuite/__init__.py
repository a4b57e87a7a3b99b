"""Public SQL suites against `sash.sql`: `python -m sash.testing.sqlsuite FOLDER`.

It takes sqllogictest files (`*.test`, `*.slt`) and Spark's golden files (`*.sql.out`), runs the
queries that have windows, and says which passed, which failed and which Sash does not take, with
the reason. Statements without windows, which make the tables, are run by DuckDB or Spark.
"""

from sash.testing.sqlsuite.records import Outcome, Record
from sash.testing.sqlsuite.run import run_file, run_folder

__all__ = ["Outcome", "Record", "run_file", "run_folder"]
