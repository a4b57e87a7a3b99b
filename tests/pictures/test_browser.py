"""Pictures in a real browser: every algorithm, every step, on a desk and on a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash import swag
from sash.pictures import Picture
from tests.browser import opened, scrolls_sideways, started

VALUES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]


STEP_THROUGH = """(steps) => Array.from({ length: steps }, () => {
  const text = (where) => document.querySelector(where).textContent;
  const count = (what) => document.querySelectorAll(what).length;
  const seen = [text(".count"), text(".call"), count(".bracket"), count(".row.inside")];
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  return seen;
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as browser:
        yield browser


def of_algorithm(name: str) -> Picture:
    options = {"min_arity": 2} if name == "FiBA" else {}
    monoid = m.Sum() if name == "SubtractOnEvict" else m.Max()
    return sash.show(swag.ALGORITHMS[name](monoid, **options), VALUES, size=5)


@pytest.mark.parametrize("name", swag.ALGORITHMS)
def test_every_step_of_every_algorithm(browser: Any, tmp_path: Path, name: str) -> None:
    picture = of_algorithm(name)
    steps = picture.recordings[0].steps
    scheme = "dark" if len(name) % 2 else "light"
    page, wrong = opened(browser, picture.save(tmp_path / "p.html"), 1100, color_scheme=scheme)
    seen = page.evaluate(STEP_THROUGH, len(steps))
    assert seen == [
        [f"{number + 1} / {len(steps)}", step.call, len(step.combines), len(step.window)]
        for number, step in enumerate(steps)
    ]
    assert not scrolls_sideways(page)
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_function("document.querySelector('.stage svg').viewBox.baseVal.width < 360")
    assert not scrolls_sideways(page)
    assert page.locator(".row.inside").count() == len(steps[-1].window)
    assert "answer 8" in page.inner_text("body") or name == "SubtractOnEvict"
    assert wrong == []
    page.close()


def test_keys_buttons_the_chart_and_swipes(browser: Any, tmp_path: Path) -> None:
    place = of_algorithm("DABALite").save(tmp_path / "p.html")
    page, wrong = opened(browser, place, 360, has_touch=True)
    at = lambda: page.inner_text(".count").partition(" ")[0]  # noqa: E731
    page.keyboard.press("ArrowDown")
    assert (at(), page.inner_text(".answer")) == ("2", "answer 3")
    page.keyboard.press("End")
    assert at() == "31"
    page.keyboard.press("Home")
    page.click("[data-go='1']")
    page.click("[data-go='1']")
    page.click("[data-go='-1']")
    assert at() == "2"
    page.locator(".cost g").nth(9).click()
    assert at() == "10"
    box = page.locator(".stage svg").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.up()
    assert at() == "11"
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.count').textContent.startsWith('12')")
    page.keyboard.press(" ")
    page.click("summary")
    assert "combines: insert 3, evict 2, query 1" in page.inner_text("pre")
    small = page.evaluate(
        """[...document.querySelectorAll("svg text")].filter((t) => t.textContent)
           .map((t) => t.getBoundingClientRect().height).filter((h) => h && h < 10).length"""
    )
    assert small == 0, "letters that are too small to read"
    assert wrong == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_step_as_svg(browser: Any, tmp_path: Path, scheme: str) -> None:
    """The file looks the same without the page's styles."""
    place = of_algorithm("DABALite").save(tmp_path / "p.html")
    page, wrong = opened(browser, place, 900, color_scheme=scheme)
    page.keyboard.press("End")
    page.wait_for_function("document.getAnimations().length === 0")
    with page.expect_download() as saved:
        page.keyboard.press("s")
    assert saved.value.suggested_filename == "step-31.svg"
    file = tmp_path / "step.svg"
    saved.value.save_as(file)
    text = file.read_text()
    assert "DABALite of Max: query(), answer 8" in text
    assert "var(" not in text
    assert "class=" not in text
    look = """() => [...document.querySelectorAll("svg g > rect, svg g > text")].map((one) => {
      const seen = getComputedStyle(one), box = one.getBoundingClientRect();
      return [seen.fontSize, Math.round(box.width), one.textContent];
    })"""
    inside = page.evaluate(look.replace("svg g", ".stage svg g"))
    alone = browser.new_page()
    alone.goto(file.as_uri())
    assert alone.evaluate(look) == inside
    paper = alone.evaluate("getComputedStyle(document.querySelector('rect')).fill")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 20, 24)"}[scheme]
    with page.expect_download():
        page.click("[data-svg]")
    alone.close()
    assert wrong == []
    page.close()


def test_the_tree_frames_and_slices(browser: Any, tmp_path: Path) -> None:
    tree = sash.show(swag.FiBA(m.Sum(), min_arity=2))
    tree.bulk_insert(range(0, 40, 4), range(10))
    tree.insert(13, 70)
    tree.bulk_evict(15)
    page, wrong = opened(browser, tree.save(tmp_path / "tree.html"), 1100)
    assert page.locator(".node").count() == len(tree.recordings[0].steps[0].tree)
    page.keyboard.press("ArrowRight")
    assert page.locator(".node.changed").count() >= 1
    page.keyboard.press("ArrowRight")
    assert page.locator(".row.inside").count() == 6
    table = pa.table({"t": list(range(0, 60, 2)), "x": [k * 7 % 10 for k in range(30)]})
    windowed = sash.windowed(table, time="t")
    frames = sash.show(
        windowed, a=sf.max("x").over(sash.range_between(-9, 0)), b=sf.count().over(sash.rows(4))
    )
    page.goto(frames.save(tmp_path / "frames.html").as_uri())
    assert page.locator(".dot").count() == 30
    page.locator("nav button").nth(1).click()
    assert "b over the last 4 rows" in page.inner_text("h1")
    over = sash.range_between(-12, 0)
    slices = sash.show(windowed.every(6), a=sf.sum("x").over(over))
    page.goto(slices.save(tmp_path / "slices.html").as_uri())
    page.keyboard.press("End")
    assert "slices" in page.inner_text(".stage")
    assert not scrolls_sideways(page)
    assert wrong == []
    page.close()


def test_in_a_frame_of_a_dark_page(browser: Any, tmp_path: Path) -> None:
    place = tmp_path / "notebook.html"
    inner = of_algorithm("TwoStacks")._repr_html_()
    place.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="background: #111">{inner}</body>'
    )
    page, wrong = opened(browser, place, 900, color_scheme="light")
    frame = page.frames[1]
    frame.wait_for_selector(".row.inside")
    paper = frame.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(20, 20, 24)", "it is dark as the page around it is"
    heights = frame.evaluate("[frameElement.clientHeight, document.documentElement.scrollHeight]")
    assert abs(heights[0] - heights[1]) < 8, "the frame is as high as the picture"
    assert wrong == []
    page.close()
