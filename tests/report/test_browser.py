"""A report in a real browser: no error, no request, the numbers, on a desk, a phone, in print."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sash.report import Figure, Page, Section, Series, Table, Tile, bars, histogram, lines
from sash.report.windows import reaches
from tests.browser import opened, scrolls_sideways, started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    days = [1.3e9 + 86400 * i for i in range(60)]
    series = [
        Series("1 day", days, [float(i % 7) for i in range(60)]),
        Series("7 days", days, [3.0] * 60),
    ]
    spans = {"1 day": 86400.0, "7 days": 604800.0}
    delays = lines(series, x="time", y_label="minutes", spans=spans)
    reach = reaches({"the last 7 days": 604800.0}, {"the last 7 days": "hi"})
    page = Page(
        "A report of 1,234 rows",
        "with all that a report can hold",
        [Tile("rows", "1,234", "98,765 per second")],
        [
            Section(
                "Series",
                [Figure("delays", delays)],
            ),
            Section(
                "Side by side",
                [
                    Figure("late", histogram([0, 5, 10], [7, 3], x_label="minutes")),
                    Figure("speed", bars({"sash": 1.5, "native": 40.0}, text=lambda v: f"{v} s")),
                ],
                columns=2,
            ),
            Section(
                "Plan",
                [
                    Figure("reach", reach),
                    Table(("answer", "algorithm"), [("hi", "TwoStacksLite"), ("n", 42)]),
                ],
            ),
        ],
        "made by a test",
    )
    return page.write(tmp_path_factory.mktemp("report") / "page.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_no_error_and_the_numbers(browser: Any, place: Path, width: int, scheme: str) -> None:
    page, wrong = opened(browser, place, width, color_scheme=scheme)
    seen = page.inner_text("body")
    for text in (
        "A report of 1,234 rows",
        "98,765 per second",
        "1.5 s",
        "40.0 s",
        "TwoStacksLite",
        "42",
    ):
        assert text in seen, text
    assert not scrolls_sideways(page)
    small = page.evaluate(
        """[...document.querySelectorAll("svg text")].filter((t) => t.getClientRects().length)
           .map((t) => t.getBoundingClientRect().height).filter((h) => h && h < 10).length"""
    )
    assert small == 0, "letters that are too small to read"
    assert wrong == []
    page.close()


def test_what_a_line_says_under_the_pointer(browser: Any, place: Path) -> None:
    page, wrong = opened(browser, place, 1200)
    box = page.locator(".wide svg.lines").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    tip = page.locator(".tip:visible").inner_text()
    assert "7 days: 3" in tip
    assert "2011-" in tip
    page.mouse.move(0, 0)
    assert page.locator(".tip:visible").count() == 0
    assert wrong == []
    page.close()


def test_in_print(browser: Any, place: Path, tmp_path: Path) -> None:
    page, wrong = opened(browser, place, 1200, color_scheme="dark")
    page.emulate_media(media="print")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)", "it prints on white"
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert wrong == []
    page.close()
