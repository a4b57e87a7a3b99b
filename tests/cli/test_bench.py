"""`sash bench`: runs benchmarks as they are, writes JSON, a report and the documentation's page."""

import json
from pathlib import Path

import pytest

from sash.cli import main
from sash.cli.bench import SUITES
from sash.cli.bench_report import figures, page, rst


def test_small_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "performance.rst"
    out = ["--out", str(tmp_path), "--docs", str(docs)]
    assert main(["bench", "--quick", "--only", "latency", *out]) == 0
    rows = json.loads((tmp_path / "bench.json").read_text())["swag_latency"]["rows"]
    assert rows[0]["algorithm"] == "DABALite"
    report = (tmp_path / "bench.html").read_text()
    assert "DABALite" in report
    assert f"{rows[0]['p50']:,.4g}" in report
    assert "Performance\n===========" in docs.read_text()
    assert f"report: {tmp_path}/bench.html" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_benchmark_runs_small(name: str, tmp_path: Path) -> None:
    assert main(["bench", "--quick", "--only", name, "--out", str(tmp_path)]) == 0
    assert len(list(tmp_path.glob("*.json"))) >= 2


def test_an_unknown_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "swga"]) == 2
    assert capsys.readouterr().err.endswith("did you mean swag?\n")


def test_no_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--pages", "--out", str(tmp_path)]) == 1
    assert "holds no results" in capsys.readouterr().err


MACHINE = {"processor": "a processor", "cores": 2, "python": "3.11", "date": "2026-11-15"}
RESULTS = {
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
    "something_new": [{"figure": 7, "none": None}],
}


def test_each_kind_of_result_has_its_chart() -> None:
    assert {name: len(list(figures(name, rows))) for name, rows in RESULTS.items()} == {
        "swag_static": 1, "spark_batch_one": 1, "tables_compare_regular": 1, "something_new": 0,
    }  # fmt: skip


def test_the_pages_say_the_figures_the_machine_and_the_date() -> None:
    found = {name: {"machine": MACHINE, "rows": rows} for name, rows in RESULTS.items()}
    html, text = page(found).html(), rst(found)
    for said in ("a processor", "2026-11-15", "400.2", "87.5", "1.5 s", "90 s"):
        assert said in html, said
    for said in ("2 cores of an a processor", "2026-11-15", "TwoStacksLite", "87.5", "1.5 s"):
        assert said in text, said
