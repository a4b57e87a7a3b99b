"""The command: `python -m sash.testing.sqlsuite --help`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sash.testing.sqlsuite.records import Outcome
from sash.testing.sqlsuite.run import run_folder


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sash.testing.sqlsuite",
        description="Run the window queries of sqllogictest and Spark golden files.",
        epilog="Exit code 1 if a query failed.",
    )
    parser.add_argument("folder", type=Path, help="where *.test, *.slt and *.sql.out files are")
    parser.add_argument("--dialect", choices=("duckdb", "postgres"), default="duckdb",
                        help="of the sqllogictest files")  # fmt: skip
    parser.add_argument("--spark", action="store_true", help="start Spark, for golden files")
    parser.add_argument("--most", type=int, default=20, help="failures to show (default: 20)")
    found = parser.parse_args(given)
    if not found.folder.is_dir():
        parser.error(f"there is no folder {found.folder}")
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Run the suites of a folder and say what came of them."""
    options = arguments(given)
    session: Any = None
    if options.spark:
        import sash.spark

        session = sash.spark.session("sqlsuite", "local[2]")
    try:
        found = list(run_folder(options.folder, options.dialect, session))
    finally:
        if session is not None:
            session.stop()
    print(report(found, options.most))
    return int(any(one.result == "failed" for one in found))


def report(found: list[Outcome], most: int) -> str:
    """Counts by file, the reasons, and the first failures."""
    files = dict.fromkeys(one.file for one in found)
    lines = [f"{file}: {_counts([one for one in found if one.file == file])}" for file in files]
    failed = [one for one in found if one.result == "failed"]
    for one in failed[:most]:
        lines.append(f"failed  {one.file}:{one.record.line}: {one.reason}")
        lines.append(f"        {' '.join(one.record.sql.split())}")
    reasons = Counter(one.reason for one in found if one.result == "not taken")
    lines += [f"not taken, {count}: {reason}" for reason, count in reasons.most_common()]
    return "\n".join([*lines, f"all: {_counts(found)}"])


def _counts(found: list[Outcome]) -> str:
    counts = Counter(one.result for one in found)
    return ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "not taken"))


if __name__ == "__main__":
    sys.exit(main())
