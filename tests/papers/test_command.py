"""The command of the papers: an experiment run, recorded, and drawn; the checks of shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.papers import record
from benchmarks.papers.__main__ import main, records_of
from benchmarks.papers.catalogue import PAPERS
from benchmarks.papers.experiment import Axis, Data, Experiment, Paper, Point, Size
from benchmarks.papers.flatfit import counted
from benchmarks.papers.page import summary
from benchmarks.papers.shapes import crossing, is_ahead, is_flat, is_power, log_fit
from benchmarks.papers.workloads import oscillation
from sash import monoids as m
from sash import swag


def test_an_experiment_is_run_recorded_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["flatfit", "--only", "fig8", "--size", "tiny", "--out", str(tmp_path)])
    place = tmp_path / "papers" / "tiny"
    record = json.loads((place / "flatfit-fig8.json").read_text())
    assert {"machine", "command", "input", "seconds", "rows"} <= {*record}
    page = (place / "flatfit.html").read_text()
    assert "Holds: FlatFIT makes at most 3 operations a slide" in page
    assert "1 of 5" in page  # experiments
    found = summary(PAPERS["flatfit"], records_of(PAPERS["flatfit"], tmp_path, [Size.TINY]))
    assert [row["figure"] for row in found] == ["Figure 8"]
    assert not (tmp_path / "papers.json").exists()  # it is of a run of all papers
    assert f"page: {place}/flatfit.html" in capsys.readouterr().out


def test_the_documentation_is_made_of_records_that_are_there(tmp_path: Path) -> None:
    main(["flatfit", "--only", "fig8", "--size", "tiny", "--out", str(tmp_path)])
    (tmp_path / "papers" / "tiny").rename(tmp_path / "papers" / "quick")
    docs = tmp_path / "docs"
    main(["--pages", "--out", str(tmp_path), "--docs", str(docs)])
    assert sorted(path.name for path in docs.iterdir()) == ["flatfit.rst", "index.rst"]
    said = "claims hold; 1 of 5 experiments were run, all smaller"
    assert said in (docs / "index.rst").read_text()
    assert "Figure 8: operations per slide" in (docs / "flatfit.rst").read_text()


def test_an_unknown_paper_or_experiment_is_refused(tmp_path: Path) -> None:
    for arguments in (["rx"], ["ra", "--only", "fig99"]):
        with pytest.raises(SystemExit):
            main([*arguments, "--out", str(tmp_path)])


def lines(**series: Any) -> Data:
    """Points at x = 1, 2, 4, …"""
    return Data(Point(1 << k, name, y) for name, ys in series.items() for k, y in enumerate(ys))


def test_shapes_are_computed_from_the_data() -> None:
    data = lines(flat=[5, 6, 5.5], up=[1, 2, 4], down=[4, 1, 0.25])
    assert is_flat(data, "flat").holds
    assert not is_flat(data, "up").holds
    assert is_power(data, "down", -2).holds
    assert not is_power(data, "down", -1).holds
    assert is_ahead(data, "flat", "up").holds
    assert not is_ahead(data, "up", "down").holds
    assert is_ahead(data, "up", "down", 4).holds
    assert crossing(data, "up", "down") == 2
    assert crossing(data, "up", "flat") is None
    assert log_fit({2: 3.0, 4: 5.0, 8: 7.0}) == (1.0, 2.0, 0.0)


def test_operations_are_those_of_flatfits_table_1() -> None:
    data = Data(counted(Size.TINY))
    for n in (2, 4, 8, 16):
        assert data["Naive"][n] == n  # the paper's n - 1, and one with the identity
        assert data["FlatFIT"][n] == 3 * (n - 1) / (n + 1)


@pytest.mark.parametrize("n", [16, 64])
def test_an_oscillating_window_forces_the_capacity_to_double_and_halve(n: int) -> None:
    window, capacities, end = swag.Reactive(m.Count()), [], n + 1
    window.insert_many([1] * end)
    begin = 0
    for lo, hi in zip(*(bounds.tolist() for bounds in oscillation(n, 4 * n))):
        for _ in range(lo - begin):
            window.evict()
            capacities.append(window._at.capacity)
        window.insert_many([1] * (hi - end))
        begin, end = lo, hi
        capacities.append(window._at.capacity)
        assert window.query() == hi - lo
    assert {*capacities} == {n, 2 * n}
    assert np.count_nonzero(np.diff(capacities)) >= 2 * (4 * n // (n // 2 + 2)) - 1


def test_a_quick_run_keeps_the_best_of_several_passes(tmp_path: Path) -> None:
    values = iter([5.0, 3.0, 9.0, 4.0, 1.0, 8.0])

    def measure(size: Size) -> Iterator[Point]:
        yield Point(1, "a", next(values))
        yield Point(2, "a", next(values))

    axes = Axis("items"), Axis("million items per second")
    fastest = Experiment("one", "Figure 1", "t", *axes, ("a",), measure, str, lambda data: [])
    paper = Paper("some", "Some paper", 2026, (fastest,))
    record.run([(paper, fastest)], Size.QUICK, tmp_path)
    found = record.read(tmp_path, paper, fastest, [Size.QUICK])
    assert found is not None
    assert found.data["a"] == {1: 9.0, 2: 8.0}
    assert found.input == "quick; best of 3 passes"


@pytest.mark.parametrize("name", PAPERS)
def test_what_does_not_hold_has_a_reason(name: str) -> None:
    """Of the recorded runs, which the documentation shows."""
    paper, results = PAPERS[name], Path(record.__file__).parents[1] / "results"
    for experiment in paper.experiments:
        found = record.read(results, paper, experiment, [Size.FULL, Size.QUICK])
        assert found is not None, experiment.name
        for check in experiment.checks(found.data):
            assert check.holds or check.why.endswith("."), check


def test_values_that_differ_by_noise_are_equal() -> None:
    near = [Point(x, "a", y) for x, y in enumerate((0.99, 1.05, 1.1))]
    even = [Point(x, "b", 1.0) for x in range(3)]
    assert not is_ahead(Data(near + even), "a", "b").holds
    assert is_ahead(Data(near + even), "a", "b", noise=0.02).holds
    assert not is_ahead(Data(near + even), "b", "a", noise=0.02).holds
    assert not is_ahead(Data(near + even), "a", "b", noise=0.005).holds
    assert not is_ahead(Data(even), "b", "b", noise=0.02).holds
