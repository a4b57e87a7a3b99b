"""Figures: each comes from its record, and README and the documentation from nothing else."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import measure, pages, records, rst, run
from benchmarks.figures import FIGURES, README, SECTIONS, figure
from benchmarks.figures.figure import NOT_MEASURED
from benchmarks.suites import RUNS, SUITES
from tests.figures import shapes

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> records.Records:
    """Records of all runs, with made-up numbers."""
    out = tmp_path_factory.mktemp("results")
    shapes.write(out)
    return records.full(out)


def test_readme_and_documentation_are_what_the_records_give() -> None:
    wrong = stale(records.full(RESULTS), ROOT / "docs")
    assert wrong == [], "run `sash bench --pages --docs docs`"


def stale(found: records.Records, docs: Path) -> list[str]:
    """The files that are not what the records give."""
    made = pages.pages(found, docs)
    return [
        path.name for path, text in made.items() if not path.exists() or path.read_text() != text
    ]


def test_a_figure_typed_by_hand_is_found(tmp_path: Path, found: records.Records) -> None:
    docs, readme = tmp_path / "docs", tmp_path / "README.md"
    readme.write_text(f"# Sash\n{pages.BEGIN}\n{pages.END}\nThe end.\n")
    pages.write(found, docs)
    assert stale(found, docs) == []
    readme.write_text(readme.read_text().replace("9.5×", "9.9×"))
    figures = docs / "figures.rst"
    figures.write_text(figures.read_text().replace("180× faster than pandas", "190× faster"))
    assert stale(found, docs) == ["README.md", "figures.rst"]
    pages.write(found, docs)
    assert stale(found, docs) == []
    assert readme.read_text().endswith("\nThe end.\n")


def test_each_figure_has_a_record_a_run_and_a_sentence() -> None:
    assert len(FIGURES) == sum(len(section.figures) for section in SECTIONS)
    for each in FIGURES.values():
        assert each.record in RUNS, each.name
        assert not re.search(r"[{}]", each.sentence), each.name


def test_each_figure_can_be_computed(found: records.Records) -> None:
    unmeasured = [n for n, f in FIGURES.items() if f.text(found) == NOT_MEASURED]
    assert unmeasured == []
    for path, text in pages.pages(found, ROOT / "docs").items():
        assert text.count(NOT_MEASURED) == (path.name == "figures.rst"), path  # in its introduction


def test_each_figure_changes_with_its_record(tmp_path: Path, found: records.Records) -> None:
    """None is typed: with other numbers in the records, every figure is another one."""
    shapes.write(tmp_path, {name: [scaled(row) for row in rows]
                            for name, rows in shapes.all_rows().items()})  # fmt: skip
    other = records.full(tmp_path)
    assert [n for n, f in FIGURES.items() if f.text(found) == f.text(other)] == []


def scaled(row: dict[str, Any]) -> dict[str, Any]:
    """The measured numbers, which are floats, tripled."""
    measured = {name: 3 * value for name, value in row.items() if type(value) in (float,)}
    counted = {"is": 60} if row.get("is") == 20 else {}
    return {**row, **measured, **counted}


def test_without_a_record_a_figure_is_not_measured(tmp_path: Path) -> None:
    shapes.write(tmp_path, {"rollfun": shapes.all_rows()["rollfun"][:1]})
    some = records.full(tmp_path)
    texts = {name: figure.text(some) for name, figure in FIGURES.items()}
    assert {n for n, t in texts.items() if t != NOT_MEASURED} == {
        "rollfun-mean-polars", "rollfun-mean-pandas", "rollfun-duckdb",
    }  # fmt: skip
    table = pages.readme_table(some)
    assert table.count(NOT_MEASURED) == len(README)


def test_a_record_of_another_command_gives_no_figures(tmp_path: Path) -> None:
    shapes.write(tmp_path, {"sql": shapes.all_rows()["sql"]})
    path = tmp_path / "sql.json"
    record = json.loads(path.read_text())
    assert set(records.full(tmp_path)) == {"sql"}
    path.write_text(json.dumps({**record, "command": "python -m benchmarks.sql --rows 10"}))
    assert records.full(tmp_path) == {}


def test_what_is_missing_is_said_with_its_command(found: records.Records) -> None:
    some = {name: record for name, record in found.items() if name != "asof_large"}
    assert records.lines_of_missing(some) == [
        "missing: asof_large: sash bench asof, of which python -m benchmarks.asof "
        "--events 100000000 --spine 100000 --keys 1000000 --ways sash limit"
    ]
    assert records.lines_of_missing(found) == []


def test_readme_has_the_table() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count(pages.BEGIN) == text.count(pages.END) == 1
    table = text.partition(pages.BEGIN)[2].partition(pages.END)[0]
    sentences = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if "|" in line]
    assert len(sentences[2:]) == len(README)


def test_every_record_is_of_one_run() -> None:
    commands = [run.command for runs in SUITES.values() for run in runs]
    assert len(commands) == len({*commands}) == len(RUNS)
    quick = [run.quick for run in RUNS.values()]
    assert len(quick) == len({*quick})
    assert not {*quick} & {run.full for run in RUNS.values()}


@pytest.mark.parametrize("module", [run, figure, measure, rst], ids=lambda each: each.__name__)
def test_examples_run(module: ModuleType) -> None:
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_records_of_other_arguments_do_not_replace_one_another() -> None:
    name = measure.file_of
    asof = "python -m benchmarks.asof --events 100000000 --spine 100000"
    assert name("asof", RUNS["asof"].command) == "asof"
    assert name("asof", RUNS["asof_large"].command) == "asof_large"
    assert name("asof", RUNS["asof_large"].quick_command) == "asof_large--quick"
    assert name("asof", asof) == "asof--events-100000000-spine-100000"
    files = [name(run.record, each) for run in RUNS.values()
             for each in (run.command, run.quick_command, f"{run.command} --repeat 9")]  # fmt: skip
    assert len(files) == len({*files})
