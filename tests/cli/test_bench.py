"""`sash bench`: runs benchmarks as they are, records them, and writes a report."""

import json
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.__main__ import options_of, run_all
from benchmarks.figures import FIGURES
from benchmarks.figures.figure import NOT_MEASURED
from benchmarks.run import Run
from benchmarks.suites import RUNS, SUITES
from sash.cli import main


def test_a_quick_run_is_recorded_and_drawn(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "latency", "--quick", "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "swag_latency--quick.json").read_text())
    assert record["command"] == RUNS["swag_latency"].quick_command
    assert record["full"] is False
    assert {"processor", "cores", "python", "date"} <= {*record["machine"]}
    assert "version" in record
    assert record["rows"][0]["algorithm"] == "DABALite"
    report = (tmp_path / "bench.html").read_text()
    assert f"{record['rows'][0]['p50']:,.4g}" in report
    assert f"report: {tmp_path}/bench.html" in capfd.readouterr().out
    assert records.full(tmp_path) == {}  # figures are of full sizes only


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_benchmark_runs_small(name: str, tmp_path: Path) -> None:
    assert main(["bench", name, "--quick", "--out", str(tmp_path)]) == 0
    found = records.quick(tmp_path)
    for run in SUITES[name]:
        if "papers" not in run.record:
            assert computed(run.record, found) or run.record in NO_FIGURES, run.record


NO_FIGURES = {"ranges", "demo", "streaming_every"}
"""Runs that only have charts, or whose figures name batches of a size that no small run has."""


def computed(record: str, found: records.Records) -> list[str]:
    """The figures that a record gives; with small sizes, some have no rows."""
    texts = {n: f.text(found) for n, f in FIGURES.items() if f.record == record}
    return [name for name, text in texts.items() if text != NOT_MEASURED]


def test_an_unknown_benchmark(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "swga"]) == 2
    assert capfd.readouterr().err.endswith("did you mean swag?\n")


def test_no_records(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--pages", "--out", str(tmp_path)]) == 1
    assert "holds no records" in capfd.readouterr().err


def test_a_benchmark_that_fails_is_named_and_the_others_run(tmp_path: Path) -> None:
    latency = RUNS["swag_latency"]
    runs = [Run("none", "None", "none --full", "none --quick"), latency]
    failed = run_all(runs, options_of(["--quick", "--out", str(tmp_path)]))
    assert len(failed) == 1
    assert failed[0].startswith("benchmarks.none --quick failed: ")
    assert failed[0].endswith("No module named benchmarks.none")
    assert [file.name for file in tmp_path.glob("*.json")] == ["swag_latency--quick.json"]
