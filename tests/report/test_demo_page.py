"""The demo's page in a real browser: no error, and the numbers that its rows have.

The answers are computed in process, which is the same definition, so no Spark is needed.
"""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import sash
from sash.cli import demo, demo_report, on_spark
from tests.browser import opened, scrolls_sideways
from tests.report.test_browser import browser

__all__ = ["browser"]  # the fixture


def findings(out: Path, rows: int | None) -> tuple[demo.Findings, Any]:
    pipeline = demo.prepare(out, rows)
    table = parquet.read_table(out / "flights")
    windowed = sash.windowed(table, by=list(pipeline.keys), time=pipeline.time)
    answers = windowed.agg(**pipeline.aggregations)
    plan = windowed.explain(**pipeline.aggregations)
    batches = [
        {"batchId": i, "numInputRows": 1000, "durationMs": {"triggerExecution": 500 + 100 * i}}
        for i in range(4)
    ]
    stream = on_spark.Outcome(len(answers) - 100, 4.25, batches=batches)
    batch = on_spark.Outcome(len(answers), 1.5, plan)
    here = on_spark.Outcome(len(answers), 0.5)
    none, equal = dict.fromkeys(demo.NATIVE, 0), dict.fromkeys(pipeline.aggregations, 0)
    theirs = on_spark.Outcome(len(answers), 2.6)
    wrong = demo.Wrong({**equal, "n_day": 7}, none, equal)
    return demo.Findings(table, answers, here, batch, theirs, stream, wrong), pipeline


@pytest.mark.parametrize("width", [1200, 360])
def test_no_error_and_the_numbers(browser: Any, tmp_path: Path, width: int) -> None:
    found, pipeline = findings(tmp_path / "demo", 4000)
    place = demo_report.page(found, pipeline).write(tmp_path / "report.html")
    page, wrong = opened(browser, place, width)
    seen = page.inner_text("body")
    largest = max(found.answers["n_day"].to_pylist())
    for text in (
        "4,000 flights from New York",
        "48 k",  # windows
        "5.2×",  # 2.6 s of Spark's frames, 0.5 s in process
        "cores; 1.7× on Spark",  # 1.5 s
        "of 36,000 answers",
        "all but 7",
        "7 differ",
        "Where the most delayed flight went",
        "500 ms",
        "1.5 s",
        "2.6 s",
        "4.25 s",
        "100 rows wait for the watermark",
        f"{largest:,} at most",
        "Newark (EWR), airline",
        "Longest run of late departures",
        "TwoStacksLite",
        "0 differ",
    ):
        assert text in seen, text
    assert not scrolls_sideways(page)
    assert wrong == []
    page.close()


def test_it_is_small_enough_to_send(tmp_path: Path) -> None:
    found, pipeline = findings(tmp_path / "demo", 4000)
    assert len(demo_report.page(found, pipeline).html()) < 600_000
