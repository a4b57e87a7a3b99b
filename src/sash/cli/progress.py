"""Progress: one line per stage, a bar where its length is known; in a log, a line every 10 s."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

CELLS = "▏▎▍▌▋▊▉█"
WIDTH = 24


def bar(share: float, width: int = WIDTH) -> str:
    """A bar of `width` letters.

    >>> bar(0.5, 4), bar(0.3, 4)
    ('██  ', '█▎  ')
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (CELLS[rest - 1] if rest else "")).ljust(width)


class Stage:
    """A stage that is under way: set `done`, `total` and `note` as it goes."""

    def __init__(self, name: str, total: float | None, out: TextIO) -> None:
        self.name, self.total, self.done, self.note = name, total, 0.0, ""
        self.out, self.live = out, out.isatty()
        self.started = self.shown = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Stage:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        took = time.monotonic() - self.started
        if self.live:
            self.out.write("\r\033[K")
        if kind is None:
            note = f": {self.note}" if self.note else ""
            self.out.write(f"  {self.name}{note} ({took:.1f} s)\n")
        self.out.flush()

    def _show(self) -> None:
        """While it takes longer than a second: the bar, or in a log a line now and then."""
        wait = 1.0 if self.live else 10.0
        while not self._ended.wait(wait):
            wait = 0.2 if self.live else 10.0
            text = self.text()
            if self.live:  # over the last one, so it must not wrap
                text = "\r\033[K" + text[: shutil.get_terminal_size().columns - 1]
            self.out.write(text if self.live else text + "\n")
            self.out.flush()

    def text(self) -> str:
        """The line as it is now."""
        took = time.monotonic() - self.started
        parts = [f"  {self.name}"]
        if self.total:
            share = self.done / self.total
            parts.append(f"{bar(share)} {share:4.0%}")
        if self.note:
            parts.append(self.note)
        return f"{' '.join(parts)} {took:.0f} s"


@contextmanager
def stage(name: str, total: float | None = None, out: TextIO | None = None) -> Iterator[Stage]:
    """A stage of a command, shown on standard error.

    >>> import io
    >>> said = io.StringIO()
    >>> with stage("reading", out=said) as s:
    ...     s.note = "12 rows"
    >>> said.getvalue()
    '  reading: 12 rows (0.0 s)\\n'
    """
    with Stage(name, total, out or sys.stderr) as running:
        yield running


@contextmanager
def watched(running: Stage, ask: Callable[[], None], every: float = 0.3) -> Iterator[None]:
    """Call `ask`, which sets how far the stage is, now and then while the body runs."""
    ended = threading.Event()

    def loop() -> None:
        while not ended.wait(every):
            try:
                ask()
            except Exception:  # the job may be over; the bar is not worth an error
                return

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
