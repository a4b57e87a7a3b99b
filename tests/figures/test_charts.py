"""The pages of records: charts that fit the columns, with the command, the machine and the date."""

from __future__ import annotations

from typing import Any

from benchmarks.charts import figures, page, rst
from benchmarks.records import Record
from benchmarks.suites import RUNS

MACHINE = {"processor": "a processor", "cores": 2, "python": "3.11", "date": "2026-11-15"}
ROWS: dict[str, list[dict[str, Any]]] = {
    "swag_static": [
        {"algorithm": a, "monoid": "sum", "size": size, "rate": rate}
        for a, rate in (("DABALite", 200.5), ("TwoStacksLite", 400.25))
        for size in (1024, 4096)
    ],
    "spark_batch_one": [
        {"asked": "max", "sash": 1.5, "native": 90.0, "native / sash": 60.0, "native rows": 10}
    ],
    "tables_compare_regular": [
        {"aggregation": "max", "window": 1000, "sash": 87.5, "polars": 34.5}
    ],
    "serving": [{"figure": 7, "none": None}],
}


def test_each_kind_of_result_has_its_chart() -> None:
    assert {name: len(list(figures(rows))) for name, rows in ROWS.items()} == {
        "swag_static": 1, "spark_batch_one": 1, "tables_compare_regular": 1, "serving": 0,
    }  # fmt: skip


def test_the_pages_say_the_figures_the_command_the_machine_and_the_date() -> None:
    found = {
        name: Record(name, rows, RUNS[name].command, "abc1234", MACHINE)
        for name, rows in ROWS.items()
    }
    html, text = page(found).html(), rst(found)
    for said in ("a processor", "2026-11-15", "400.2", "87.5", "1.5 s", "90 s"):
        assert said in html, said
    where = "2026-11-15 on 2 cores (a processor), Python 3.11, version abc1234"
    for said in (where, "TwoStacksLite", "87.5", "1.5 s", RUNS["swag_static"].command):
        assert said in text, said
