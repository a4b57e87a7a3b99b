"""The documentation: its examples run, and it builds without a warning or a request."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SLOW = {DOCS / "coming-from" / "spark.rst"}  # it starts Spark
PAGES = [
    pytest.param(
        page,
        id=str(page.relative_to(DOCS).with_suffix("")),
        marks=[pytest.mark.slow] if page in SLOW else [],
    )
    for page in sorted(DOCS.rglob("*.rst"))
    if ">>>" in page.read_text() and "_build" not in page.parts
]
CUT_CODE = """[...document.querySelectorAll("pre")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"""
"""A script: the blocks of code that are wider than their page."""
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: Path) -> None:
    ran = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS)
    assert ran.attempted > 0
    assert ran.failed == 0


CHARTED = sorted(page for page in DOCS.rglob("*.rst") if ".. chart::" in page.read_text())


@pytest.mark.parametrize("page", CHARTED, ids=lambda page: page.stem)
def test_charts_are_drawn_from_the_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "_ext")
    charts = importlib.import_module("charts")
    text = page.read_text()
    found = charts.charts_of(text)
    assert len(found) == text.count(".. chart::")
    for chart in found:
        assert chart.count("<svg") == 2
        assert "NaN" not in chart


def test_every_page_of_the_cookbook_has_a_chart() -> None:
    pages = {page for page in (DOCS / "cookbook").glob("*.rst") if page.stem != "index"}
    assert pages <= set(CHARTED)


def test_every_function_has_an_example() -> None:
    import sash
    from sash import functions as sf
    from sash import monoids, serve, stores, swag, testing
    from sash.as_of import AsOf
    from sash.plan.aggregation import Aggregation
    from sash.streams import Live, Stream
    from sash.tables import Windowed

    frames = ("calendar", "delta", "groups_between", "lifetime", "policy", "range_between", "rows",
              "rows_between", "session", "sliding", "tumbling", "until", "windowed", "stream",
              "features", "show")  # fmt: skip
    asked = [getattr(sf, name) for name in sf.__all__ if name != "TIME"]
    asked += [getattr(sash, name) for name in frames]
    asked += [Aggregation.over, Aggregation.where, Aggregation.by, Windowed.every, Windowed.at]
    asked += [AsOf.agg, Stream.every, Live, serve.Sink, serve.Reader, serve.fingerprint]
    asked += [stores.open, stores.numbers, stores.after, testing.check_laws, testing.counting]
    asked += [getattr(monoids, name) for name in monoids.__all__ if name != "CATALOGUE"]
    asked += [swag.FlatFAT, swag.restore, *swag.ALGORITHMS.values()]
    assert [each.__name__ for each in asked if ">>>" not in (each.__doc__ or "")] == []


def test_the_example_of_a_pipeline_file_loads(tmp_path: Path) -> None:
    from sash.cli import pipeline_file

    text = (DOCS / "pipelines.rst").read_text()
    block = re.search(r"code-block:: toml\n\n((?:   .*\n|\n)+)", text)
    assert block is not None
    file = tmp_path / "payments.toml"
    file.write_text(re.sub(r"^   ", "", block.group(1), flags=re.MULTILINE))
    (tmp_path / "my_module.py").write_text(
        "from sash import monoids\n\nmy_monoid = monoids.Max()\n"
    )
    assert len(pipeline_file.load(file).aggregations) == 5


def test_the_example_of_features_agrees_in_all_three_ways(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "card_fraud.py"), "--payments", "2000"]
    command += ["--cards", "50", "--store", f"lmdb:{tmp_path / 'values'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("are those of the training set") == 2
    assert "are those of a batch" in done.stdout


def test_every_algorithm_has_a_page() -> None:
    from sash.swag.registry import ALGORITHMS

    pages = {p.stem for p in (DOCS / "algorithms").glob("*.rst")}
    assert {*ALGORITHMS, "FlatFAT"} <= pages


@pytest.mark.slow
def test_it_builds_offline(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'<(script|img|link)[^>]+(src|href)="https?:', text), page
    picture = (tmp_path / "algorithms" / "DABALite.html").read_text()
    assert "insert 3, evict 2, query 1" in picture
    assert picture.count("<svg viewBox") == 4
    sizes = ((1200, "light"), (1200, "dark"), (370, "light"), (370, "dark"))
    with browser.started() as chromium:
        for width, scheme in sizes:
            for path in sorted(tmp_path.rglob("*.html")):
                if "_modules" in path.parts:
                    continue
                page, wrong = browser.opened(chromium, path, width, color_scheme=scheme)
                assert not browser.scrolls_sideways(page), (path, width)
                assert wrong == [], (path, width)
                if path == tmp_path / "index.html":
                    assert page.locator("svg.sash-window").is_visible()
                    assert width == 370 or page.evaluate(CUT_CODE) == []
                if path.parent.name == "coming-from":
                    names = page.locator(".side-by-side > *").first.locator("xpath=../*").all()
                    left = [round(each.bounding_box()["x"]) for each in names]
                    assert (left[0] == left[1]) == (width == 370), "one column on a phone, else two"
                page.close()
        for place in ("pictures.html", "algorithms/FiBA.html", "algorithms/DABALite.html"):
            for width, scheme in sizes[::3]:
                page, wrong = browser.opened(chromium, tmp_path / place, width, color_scheme=scheme)
                for frame in page.locator("iframe").all():
                    frame.scroll_into_view_if_needed()
                    frame.content_frame.locator("[data-go='1']").click()
                    assert frame.content_frame.locator(".count").inner_text().startswith("2 /")
                assert page.locator("iframe").count() >= 1
                assert not browser.scrolls_sideways(page)
                assert wrong == [], (place, width)
                page.close()
