"""`sash run --stream --watch`: a stream's figures in the terminal, on a page, for Prometheus."""

import io
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from sash.cli import main, metrics, pipeline_file
from sash.cli.latest import Latest, latest
from sash.cli.watch import Batch, Figures, Watch, told
from sash.cli.watch_page import page
from tests import browser
from tests.cli.conftest import SASH, rows

Change = Callable[..., Path]


def batches(count: int) -> list[Batch]:
    return [
        Batch(k, 1000.0 + 2 * k, 0.5, 100, 90, k % 2, 3, 100 * k, 5000 * k, 40,
              None if k == 0 else 86400.0 + k, 90000.0 + k)
        for k in range(count)
    ]  # fmt: skip


def figures(file: Path, count: int = 10) -> Figures:
    made = Figures(pipeline_file.load(file))
    for batch in batches(count):
        made.add(batch)
    return made


def test_totals_rates_and_how_far_the_watermark_is_behind(home: Path) -> None:
    made = figures(home / "good.toml", 400)
    assert len(made.batches) == 300
    assert made.totals == (400, 40_000, 36_000, 200, 200.0)
    assert made.rows_per_second == 200
    assert made.batches_per_second == pytest.approx(20 / 38.5)
    assert made.behind == 3600


def test_the_state_is_that_of_the_last_batch_also_without_rows(home: Path) -> None:
    made = figures(home / "good.toml")
    made.add(Batch(10, 1020.0, 0.1, 0, 50, 0, 0, 950, 47000, 0, None, None))
    made.add(Batch(11, 1022.0, 0.1))
    assert 'sash_state_rows{pipeline="good"} 950' in metrics.text(made)
    assert any("950 rows" in line for line in told(made))
    assert (made.last.number, made.state.number) == (9, 10)


def test_in_a_terminal(home: Path) -> None:
    made = figures(home / "good.toml")
    made.latest = Latest(("user", "n"), [[1, 3], [2, 5]])
    text = "\n".join(told(made))
    for part in (
        "good: 10 batches, 1,000 rows in, 900 out, 5 late",
        "200, 0.54 batches/s",
        "500 ms per batch",
        "900 rows, 45 kB, 3 keys",
        "watermark  1970-01-02 00:00:09, 60 min behind the newest row",
        "latest     user 1, n 3",
    ):
        assert part in text, (part, text)


def test_in_a_log_each_batch_is_a_line_once(home: Path) -> None:
    out = io.StringIO()
    watch = Watch(pipeline_file.load(home / "good.toml"), terminal=True, out=out)
    for batch in batches(3):
        watch.figures.add(batch)
        watch.show()
    watch.show()
    watch.finish()
    lines = out.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["  batch 0", "  batch 1", "  batch 2"]
    assert "100 rows in, 90 out, 1 late; 500 ms, 200 rows/s" in lines[1]


def test_nothing_is_shown_unless_it_is_asked_for(home: Path) -> None:
    out = io.StringIO()
    watch = Watch(pipeline_file.load(home / "good.toml"), out=out)
    watch.figures.add(batches(1)[0])
    watch.show()
    watch.finish()
    assert out.getvalue() == ""


def test_for_prometheus(home: Path) -> None:
    made = figures(home / "good.toml")
    text = metrics.write(made, home / "sash.prom").read_text()
    form = re.compile(r'(sash_[a-z_]+)\{pipeline="good"\} (\S+)')
    values = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = form.fullmatch(line)
            assert match, line
            values[match.group(1)] = float(match.group(2))
    assert values["sash_rows_in_total"] == 1000
    assert values["sash_rows_late_total"] == 5
    assert values["sash_watermark_seconds"] == 86409
    assert values["sash_state_rows"] == 900
    assert text.count("# TYPE") == text.count("# HELP") == len(values)
    assert "watermark_seconds" not in metrics.text(figures(home / "good.toml", 1)), "not known yet"


def test_the_page_in_a_browser(home: Path) -> None:
    made = figures(home / "good.toml")
    made.latest = Latest(("user", "n"), [[1, 3]])
    live, done = (page(made, ended).write(home / f"{ended}.html") for ended in (False, True))
    assert 'http-equiv="refresh"' in live.read_text()
    assert 'http-equiv="refresh"' not in done.read_text()
    with browser.started() as chromium:
        for width, scheme in ((1200, "light"), (360, "dark")):
            opened, wrong = browser.opened(chromium, done, width, color_scheme=scheme)
            seen = opened.inner_text("body")
            for text in (
                "00:00:09", "60 min behind the newest row", "1,000 rows in all", "Latest values",
                "Seconds per batch against the windows' size",
            ):  # fmt: skip
                assert text in seen, text
            assert not browser.scrolls_sideways(opened)
            assert wrong == []
            opened.close()


def test_the_latest_values_are_of_committed_parts(home: Path) -> None:
    loaded = pipeline_file.load(home / "good.toml")
    assert latest(loaded) == Latest(("user", "ts", "n", "hi", "who", "fifty", "mine"), [])
    (home / "out" / "_spark_metadata").mkdir(parents=True)
    entries = []
    for number in range(2):
        table = rows(30).slice(15 * number, 15)
        for name in ("n", "hi", "who", "fifty", "mine"):
            table = table.append_column(name, table["amount"])
        parquet.write_table(table, home / "out" / f"part-{number}.parquet")
        os.utime(home / "out" / f"part-{number}.parquet", (1e9 + number, 1e9 + number))
        entries.append(f'{{"path":"file:///x/out/part-{number}.parquet","action":"add"}}')
    (home / "out" / "part-9.parquet").write_text("half written")
    (home / "out" / "_spark_metadata" / "0").write_text("\n".join(["v1", *entries]) + "\n")
    found = latest(loaded)
    assert [row[0] for row in found.rows] == [2, 1, 0]
    assert found.rows[0][1] == "2024-01-01 03:23:00"


def test_they_are_for_streams(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--watch"], ["--page", "p.html"], ["--metrics", "m.prom"]):
        assert main(["run", *option, str(home / "good.toml")]) == 2
        assert f"{option[0]} is for streams: add --stream" in capsys.readouterr().err


@pytest.mark.slow
def test_a_stream_on_spark(changed: Change, home: Path) -> None:
    (home / "rows").mkdir()
    for number in range(3):
        parquet.write_table(rows().slice(100 * number, 100), home / "rows" / f"{number}.parquet")
    late = home / "rows" / "late.parquet"
    parquet.write_table(rows().slice(0, 2), late)
    for number, file in enumerate((*(home / "rows").glob("[0-9]*"), late)):
        os.utime(file, (1e9 + number, 1e9 + number))
    more = "\n[stream]\nfiles_per_batch = 1\n\n[spark]"
    file = changed(("rows.parquet", "rows"), ("\n[spark]", more))
    asked = ["run", "--stream", "--watch", "--page", "live.html", "--metrics", "sash.prom"]
    done = subprocess.run([*SASH, *asked, file.name], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "batch 0: 100 rows in" in done.stderr
    seen = (home / "live.html").read_text()
    assert "It has ended." in seen
    assert "302 rows in all" in seen
    figures = (home / "sash.prom").read_text()
    assert 'sash_rows_in_total{pipeline="changed"} 302' in figures
    assert re.search(r"sash_rows_late_total\{.*\} [1-9]", figures)
