"""Picture: recordings as one HTML file that needs no server and no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from sash.pictures.recording import Recorder, Recording


class Picture:
    """A window that moves: a notebook shows it, `save` writes it as a file.

    Further calls of a picture of one window, `picture.insert(…)`, are recorded too.
    """

    def __init__(self, recordings: Sequence[Recording], recorder: Recorder | None = None) -> None:
        self.recordings, self._recorder = list(recordings), recorder

    def html(self) -> str:
        """The whole page."""
        title = escape(self.recordings[0].title)
        data = json.dumps([r.json() for r in self.recordings], ensure_ascii=False)
        data = data.replace("</", "<\\/")  # so that no text of a value ends the script
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_asset('picture.css')}</style></head><body>"
            '<main id="picture"><noscript>This picture moves by a script, which is in the file '
            "itself: allow it to run.</noscript></main>"
            f'<script type="application/json" id="recordings">{data}</script>'
            f"<script>{_script()}</script></body></html>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page as one file; gives its path.

        The page saves the step that it shows as SVG, with the key `s` or a button.
        """
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"save: {target.name}: a picture is a page, so its name ends with .html; "
                "the page itself saves steps as SVG, with the key s"
            )
        target.write_text(self.html(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """In a frame of its own, so that neither page's styles reach the other."""
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.recordings[0].title, quote=True)}" '
            'style="width: 100%; height: 640px; border: 0" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        steps = sum(len(recording.steps) for recording in self.recordings)
        return f"<picture of {self.recordings[0].title}, {steps} steps: .save('window.html')>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._recorder is None:
            raise AttributeError(f"a picture has no {name!r}")
        return getattr(self._recorder, name)


def _script() -> str:
    return "\n".join(map(_asset, ("layout.js", "draw.js", "export.js", "picture.js")))


@cache
def _asset(name: str) -> str:
    return (files("sash.pictures") / name).read_text(encoding="utf-8")
