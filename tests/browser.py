"""A real browser for tests of pages: what it takes to find one, to start it and to watch a page."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300_000  # milliseconds, on a machine that has other work
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    program = os.environ.get("SASH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} on the PATH, nor SASH_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


def opened(browser: Any, place: Path, width: int, **more: Any) -> tuple[Any, list[str]]:
    """A page, and what goes wrong in it: errors, warnings and requests to anywhere."""
    page = browser.new_page(viewport={"width": width, "height": 800}, **more)
    page.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on(
        "request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url)
    )
    page.goto(place.as_uri())
    return page, wrong


def scrolls_sideways(page: Any) -> bool:
    """Whether a page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
