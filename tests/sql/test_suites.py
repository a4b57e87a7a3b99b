"""The runner of public suites, over files that the grammar writes with a live oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sash.testing.sqlsuite import run_folder
from sash.testing.sqlsuite.__main__ import main
from tests.sql.suites import write_golden, write_logic

BY_HAND = """
# a table
statement ok
CREATE TABLE t AS SELECT * FROM (VALUES (1, 10, 'a'), (2, 20, NULL), (3, 5, '')) v(i, x, s)

query II rowsort
SELECT i, sum(x) OVER (ORDER BY i) FROM t
----
3\t35
1\t10
2\t30

query I
SELECT first_value(s) OVER (ORDER BY i ROWS CURRENT ROW) FROM t ORDER BY i
----
a
NULL
(empty)

query II nosort
SELECT i, max(x) OVER (ORDER BY i) FROM t ORDER BY i
----
1
10
2
20
3
20

query I rowsort
SELECT count(*) OVER () FROM t
----
3 values hashing to 7318d9f8a201910df998831e0bfafd6b

query I
SELECT sum(x) OVER (ORDER BY i) FROM t ORDER BY i
----
10
30
36

query I
SELECT sum(x) FROM t
----
35

query I
SELECT list(x) OVER (ORDER BY i) FROM unknown
----
1

loop i 0 3

query I
SELECT sum(x + ${i}) OVER () FROM t

endloop
"""


def test_both_formats_of_results_and_all_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "by_hand.test").write_text(BY_HAND)
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "all: 4 passed, 1 failed, 3 not taken" in said
    assert "row 3: ['35'], not ['36']" in said
    for reason in ("it has no windows", "no table unknown", "it is in a loop"):
        assert f"not taken, 1: {reason}" in said


def counted(folder: Path, **options: object) -> Counter[str]:
    found = list(run_folder(folder, **options))  # type: ignore[arg-type]
    wrong = [(one.record.sql, one.reason) for one in found if one.result == "failed"]
    assert not wrong, wrong[0]
    return Counter(one.result for one in found)


def test_a_logic_file_of_the_grammar_passes(tmp_path: Path) -> None:
    write_logic(tmp_path / "windows.test", 8, seed=11)
    assert counted(tmp_path) == {"passed": 8}


@pytest.mark.slow
def test_hundreds_of_statements_pass(tmp_path: Path) -> None:
    for seed in range(21, 27):
        write_logic(tmp_path / f"windows{seed}.test", 60, seed)
    assert counted(tmp_path) == {"passed": 360}


@pytest.mark.slow
def test_golden_files_of_the_grammar_pass(tmp_path: Path) -> None:
    import sash.spark

    session = sash.spark.session("golden", "local[2]", **{"spark.sql.shuffle.partitions": 1})
    try:
        for seed in (31, 32):
            write_golden(tmp_path / f"windows{seed}.sql.out", 60, seed, session)
        assert counted(tmp_path, session=session) == {"passed": 120}
    finally:
        session.stop()


def test_golden_files_need_spark(tmp_path: Path) -> None:
    text = "-- !query\nSELECT 1\n-- !query schema\nstruct<1:int>\n-- !query output\n1\n"
    (tmp_path / "one.sql.out").write_text(text)
    [one] = run_folder(tmp_path)
    assert (one.result, one.reason) == ("not taken", "golden files need Spark: add --spark")
