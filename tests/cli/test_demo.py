"""The demo's runs in batches; `tests/ground` runs all of it, with the stream."""

import os
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from sash.cli import demo, demo_runs
from sash.cli.call import Outcome
from sash.cli.errors import EndError


def test_runs_in_process_and_on_spark_have_the_same_answers(tmp_path: Path, spark: Any) -> None:
    pipeline = demo.prepare(tmp_path / "demo", 2000)
    outcome = demo_runs.in_process(pipeline, demo.LOCAL)
    answers = parquet.read_table(tmp_path / "demo" / demo.LOCAL)
    names = [*pipeline.aggregations]
    assert len(answers) == outcome.rows == 2000
    assert {*names} <= {*answers.column_names}
    assert not (tmp_path / "demo" / demo.FEATURES).exists()  # which is Spark's to write
    assert demo_runs.batch(pipeline, spark).rows == 2000
    framed = demo_runs.writing_to(pipeline, demo.FRAMES)
    assert demo_runs.native(framed, spark).rows == 2000
    whole, frames = (
        parquet.read_table(tmp_path / "demo" / name) for name in (demo.FEATURES, demo.FRAMES)
    )
    assert demo.differing(whole, answers, names) == dict.fromkeys(names, 0)
    native = [*demo_runs.NATIVE]
    assert demo.differing(whole, frames, native) == dict.fromkeys(native, 0)


def test_a_run_that_fails_says_why_in_one_line(tmp_path: Path) -> None:
    pipeline = demo.prepare(tmp_path / "demo", 100)
    (tmp_path / "demo" / demo.FEATURES).mkdir()
    with pytest.raises(EndError, match=r"^sash run --engine local: .*features is there already.*$"):
        demo_runs.in_process(pipeline, demo.LOCAL)


def test_a_first_run_has_an_empty_cache_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "/some/where"):
        monkeypatch.delenv(demo_runs.CACHE, raising=False)
        if before is not None:
            monkeypatch.setenv(demo_runs.CACHE, before)
        with demo_runs.empty_cache():
            folder = Path(os.environ[demo_runs.CACHE])
            assert list(folder.iterdir()) == []
        assert not folder.exists()
        assert os.environ.get(demo_runs.CACHE) == before


def test_an_answer_that_differs_is_counted_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = demo.prepare(tmp_path / "demo", 100)
    table = parquet.read_table(tmp_path / "demo" / "flights")
    equal, frames = dict.fromkeys(pipeline.aggregations, 0), dict.fromkeys(demo_runs.NATIVE, 0)
    runs = [Outcome(100, seconds) for seconds in (0.5, 1.5, 2.6, 3.0)]
    for local, status in ((equal, 0), ({**equal, "n_day": 7}, 1)):
        found = demo.Findings(table, table, *runs, demo.Wrong(local, frames, equal))
        assert demo.tell(found, tmp_path, tmp_path / "report.html", 9.0) == status
        out = capsys.readouterr().out
        assert f"Spark with in process: {7 * status} of 1,200 answers differ" in out
        assert "5.2× as fast as Spark's own frames: 12 answers; a new Python" in out
        assert "1.7× as fast as Spark's own frames: 12 answers; first job" in out
