"""A page: a title, a few numbers, sections with figures, tables and text; one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from sash.report.files import write_whole


@dataclass(frozen=True)
class Tile:
    """A number worth a glance: what it is, the number, and a remark."""

    name: str
    value: str
    remark: str = ""

    def html(self) -> str:
        remark = f"<small>{escape(self.remark)}</small>" if self.remark else ""
        return (
            f'<div class="tile"><span>{escape(self.name)}</span>'
            f"<b>{escape(self.value)}</b>{remark}</div>"
        )


@dataclass(frozen=True)
class Table:
    """Rows of cells; numbers are set to the right. With `folded`, it opens on a click."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    folded: str = ""

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.head)
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows)
        table = (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )
        if not self.folded:
            return table
        return f"<details><summary>{escape(self.folded)}</summary>{table}</details>"


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,}" if isinstance(value, int) and number else str(value)
    if isinstance(value, float):
        text = f"{value:,.4g}"
    numeric = number or (text[:1].isdigit() and not text[-1:].isalpha()) or text == "–"
    style = ' class="n"' if numeric else ' class="long"' if len(text) > 40 else ""
    return f"<td{style}>{escape(text)}</td>"


@dataclass(frozen=True)
class Figure:
    """A chart with what it is, and a sentence on what to see in it."""

    title: str
    chart: str
    note: str = ""

    def html(self) -> str:
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return (
            f"<figure><figcaption><h3>{escape(self.title)}</h3>{note}</figcaption>"
            f"{self.chart}</figure>"
        )


@dataclass(frozen=True)
class Text:
    """Lines that stay as they are, to be opened by a click on `title`."""

    title: str
    text: str

    def html(self) -> str:
        summary = f"<summary>{escape(self.title)}</summary>"
        return f"<details>{summary}<pre>{escape(self.text)}</pre></details>"


Part = Figure | Table | Text


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, and what is under it; `columns`: how many figures are side by side."""

    title: str
    parts: Sequence[Part]
    lead: str = ""
    columns: int = 1

    def html(self) -> str:
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        body = "".join(part.html() for part in self.parts)
        least = {2: 25, 3: 18}.get(self.columns, 0)
        style = f' class="columns" style="--least: {least}rem"' if least else ""
        return f"<section><h2>{escape(self.title)}</h2>{lead}<div{style}>{body}</div></section>"


@dataclass(frozen=True)
class Page:
    """A whole report.

    >>> page = Page("Flights", "rolling delays", [Tile("rows", "12")], [Section("Plan", [])])
    >>> "http" in page.html(), "<h1>Flights</h1>" in page.html()
    (False, True)
    """

    title: str
    lead: str = ""
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = field(default_factory=list)
    foot: str = ""
    refresh: int = 0  # seconds after which a browser reads it again

    def html(self) -> str:
        tiles = "".join(tile.html() for tile in self.tiles)
        again = f'<meta http-equiv="refresh" content="{self.refresh}">' if self.refresh else ""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'{again}<link rel="icon" href="data:,">'
            f"<title>{escape(self.title)}</title><style>{_asset('charts.css')}{_asset('page.css')}</style></head>"
            f"<body><main><header><h1>{escape(self.title)}</h1>"
            f'<p class="lead">{escape(self.lead)}</p>'
            f'<div class="tiles">{tiles}</div></header>'
            + "".join(section.html() for section in self.sections)
            + f"<footer>{escape(self.foot)}</footer></main>"
            f"<script>{_asset('page.js')}</script></body></html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; returns where it is."""
        return write_whole(path, self.html())


@cache
def _asset(name: str) -> str:
    return (files("sash.report") / name).read_text(encoding="utf-8")
