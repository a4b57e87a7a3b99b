"""Charts: lines, histograms and bars, as SVG drawn for a wide page and for a phone.

A chart is drawn twice, so that letters have the same size on both; the page shows the one
that fits. Costs a few kilobytes each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

from sash.report.scale import Kind, Scale, fitted, moment, short

WIDE, NARROW = 720, 350
COLOURS = 6  # as many as page.css has; any further series gets the last one
Draw = Callable[[int], str]
Text = Callable[[float], str]


Style = Literal["line", "steps", "points"]
"""How values are joined: by a line, by steps, where each holds until the next, or not at all."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line: its name and its points, in order of x; None and NaN leave a gap."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    quiet: bool = False  # drawn behind the others
    style: Style = "line"


def both(draw: Draw) -> str:
    """The chart for a wide page and for a phone."""
    return f'<div class="wide">{draw(WIDE)}</div><div class="narrow">{draw(NARROW)}</div>'


@dataclass(frozen=True)
class Plot:
    """The frame of a chart: its two scales and what is drawn round them."""

    width: int
    height: int
    x: Scale
    y: Scale

    def svg(self, body: list[str], what: str, extra: str = "") -> str:
        parts = "".join(body)
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(what, quote=True)}" {extra}>{parts}</svg>'
        )

    def grid(self, x_label: str, y_label: str) -> list[str]:
        """Lines at the round values of y, marks at those of x, and what they are."""
        drawn = [label(0, 10, y_label, "axis-name")] if y_label else []
        ticks = self.y.ticks(4)
        for tick in ticks:
            said, place = self.y.text(tick, ticks), self.y.at(tick)
            line = f"M{_n(self.x.start)} {_n(place)}H{_n(self.x.end)}"
            drawn.append(f'<path class="grid" d="{line}"/>')
            drawn.append(label(self.x.start - 6, place + 4, said, "tick", "end"))
        drawn += self.bottom(self.x.ticks(max(4, self.width // 110)), x_label)
        return drawn

    def bottom(self, ticks: list[float], name: str = "") -> list[str]:
        """The x axis: its line, its ticks and its name."""
        floor = self.y.start
        drawn = [f'<path class="axis" d="M{_n(self.x.start)} {_n(floor)}H{_n(self.x.end)}"/>']
        for tick in ticks:
            place = self.x.at(tick)
            drawn.append(f'<path class="axis" d="M{_n(place)} {_n(floor)}v4"/>')
            anchor = "end" if place > self.x.end - 14 else "middle"
            drawn.append(label(place, floor + 17, self.x.text(tick, ticks), "tick", anchor))
        if name:
            drawn.append(label(self.x.end, floor + 33, name, "axis-name", "end"))
        return drawn


def lines(
    series: Sequence[Series],
    *,
    x: Kind = "linear",
    y: Kind = "linear",
    x_label: str = "",
    y_label: str = "",
    spans: Mapping[str, float] | None = None,
    zero: bool = False,
    x_range: Range | None = None,
    y_range: Range | None = None,
    height: int = 260,
) -> str:
    """A line for each series. `spans`: lengths on the x axis, drawn to scale below it, each in
    the colour of the series of that name: how long the windows are.

    `x_range` and `y_range`: the ends of the scales, for charts beside each other that are to be
    compared; by default those of the values. Where all values are whole, ticks are too.

    >>> svg = lines([Series("a", [0, 1, 2], [3.0, None, 5.0])], y_label="delay")
    >>> svg.count("<svg"), "delay" in svg
    (2, True)
    """
    xs = [v for s in series for v in s.xs]
    ys = [v for s in series for v in s.ys if v is not None and (y != "log" or v > 0)]
    x_ends = x_range or ((min(xs), max(xs)) if xs else (0.0, 1.0))
    y_ends = y_range or (_log_range(ys) if y == "log" else fitted(ys, zero))
    whole_x, whole_y = (x == "linear" and _are_whole(xs)), (y == "linear" and _are_whole(ys))
    spans = spans or {}

    def draw(width: int) -> str:
        below = (26 + 18 * len(spans)) if spans else 38 if x_label else 22
        left = 14 + 6.6 * max(len(t) for t in _tick_texts(y_ends, y))
        plot = Plot(
            width,
            height + below,
            Scale(*x_ends, left, width - 8, x, whole_x),
            Scale(*y_ends, height, 22, y, whole_y),
        )
        body = plot.grid("" if spans else x_label, y_label)
        for number, one in enumerate(series):
            body += _line(one, number, plot)
        body += _spans(spans, [s.name for s in series], plot)
        body.append('<g class="cursor"></g>')
        hover = (
            f'data-left="{_n(left)}" data-right="{width - 8}" data-top="22" data-floor="{height}"'
        )
        return plot.svg(body, y_label or "chart", hover + ' class="lines"')

    legend = _legend([s.name for s in series]) if len(series) > 1 else ""
    return legend + both(draw)


def _line(series: Series, number: int, plot: Plot) -> list[str]:
    """The pieces of a line between its gaps; a point that stands alone is a dot."""
    pieces: list[list[tuple[float, float, float, float]]] = [[]]
    for x, y in zip(series.xs, series.ys):
        if y is None or not math.isfinite(y) or (plot.y.kind == "log" and y <= 0):
            pieces.append([])
        else:
            pieces[-1].append((plot.x.at(x), plot.y.at(y), x, y))
    drawn = []
    for piece in pieces:
        if not piece:
            continue
        corners = [(px, py) for px, py, _, _ in piece]
        if series.style == "steps":
            corners = _steps(corners)
        places = " ".join(f"{_n(px)},{_n(py)}" for px, py in corners)
        told = ""
        if plot.width == WIDE:
            said = "|".join(f"{_said(x, plot.x.kind)}={short(y)}" for _, _, x, y in piece)
            told = f' data-said="{escape(said, quote=True)}"'
        name, style = escape(series.name, quote=True), f"line c{_colour(number)}"
        style += " quiet" * series.quiet + f" {series.style}" * (series.style != "line")
        drawn.append(f'<polyline class="{style}" data-name="{name}"{told} points="{places}"/>')
        is_few = len(series.xs) <= 12 and plot.x.kind != "time" and series.style == "line"
        if len(piece) == 1 or is_few or series.style == "points":
            drawn += [
                f'<circle class="dot c{_colour(number)}" cx="{_n(px)}" cy="{_n(py)}" r="3"/>'
                for px, py, _, _ in piece
            ]
    return drawn


def _steps(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Each value held until the next one."""
    found = corners[:1]
    for (_, before), (x, y) in pairwise(corners):
        found += [(x, before), (x, y)]
    return found


def _are_whole(values: Sequence[float]) -> bool:
    return all(math.isfinite(v) and float(v).is_integer() for v in values)


def _spans(spans: Mapping[str, float], names: list[str], plot: Plot) -> list[str]:
    drawn = []
    for row, (name, length) in enumerate(spans.items()):
        y = plot.y.start + 34 + 18 * row
        end = plot.x.end
        start = max(plot.x.start, end - max(2.0, plot.x.at(plot.x.lo + length) - plot.x.start))
        colour = _colour(names.index(name)) if name in names else 0
        drawn.append(
            f'<path class="span c{colour}" d="M{_n(start)} {_n(y - 4)}v8m0 -4H{_n(end)}m0 -4v8"/>'
        )
        anchor, place = ("end", start - 6) if start > plot.x.start + 90 else ("start", start + 6)
        offset = 4 if anchor == "end" else -5
        drawn.append(label(place, y + offset, f"window: {name}", "tick", anchor))
    return drawn


def histogram(
    edges: Sequence[float],
    counts: Sequence[float],
    *,
    x: Kind = "linear",
    x_label: str = "",
    y_label: str = "rows",
    mark: tuple[float, str] | None = None,
    height: int = 190,
) -> str:
    """Bars over bins, `edges` one more than `counts`; `mark` is a place with its name.

    >>> histogram([0, 1, 2], [5, 3]).count("<rect")
    4
    """
    y_range = fitted(counts, zero=True)

    def draw(width: int) -> str:
        left = 14 + 6.6 * max(len(t) for t in _tick_texts(y_range, "linear"))
        plot = Plot(
            width,
            height + (38 if x_label else 22),
            Scale(edges[0], edges[-1], left, width - 8, x),
            Scale(*y_range, height, 22),
        )
        body = plot.grid(x_label, y_label)
        for lo, hi, n in zip(edges, edges[1:], counts):
            start, end, top = plot.x.at(lo), plot.x.at(hi), plot.y.at(n)
            wide, high = max(end - start - 1, 0.6), plot.y.start - top
            body.append(
                f'<rect class="bar c0" x="{_n(start + 0.5)}" y="{_n(top)}" width="{_n(wide)}" '
                f'height="{_n(high)}"><title>{short(lo)} to {short(hi)}: {n:,.0f}</title></rect>'
            )
        if mark:
            body += _mark(mark, plot)
        return plot.svg(body, f"{y_label} by {x_label}")

    return both(draw)


def _mark(mark: tuple[float, str], plot: Plot) -> list[str]:
    place = plot.x.at(mark[0])
    anchor, shift = ("end", -5) if place > plot.width * 0.6 else ("start", 5)
    return [
        f'<path class="mark" d="M{_n(place)} {_n(plot.y.start)}V18"/>',
        label(place + shift, 28, mark[1], "told", anchor),
    ]


def bars(
    values: Mapping[str, float],
    *,
    text: Text = short,
    x: Kind = "linear",
    colours: Mapping[str, int] | None = None,
) -> str:
    """One bar per name, the longest at full width, each with its value beside it.

    >>> "2.5 s" in bars({"sash": 2.5, "native": 10.0}, text=lambda v: f"{v} s")
    True
    """
    most = max(values.values(), default=1.0) or 1.0
    least = min((v for v in values.values() if v > 0), default=1.0)
    domain = (least / 2, most) if x == "log" else (0.0, most)

    def draw(width: int) -> str:
        room = 8 + 7 * max(len(text(v)) for v in values.values())
        scale = Scale(*domain, 0, width - room, x)
        body = []
        for row, (name, value) in enumerate(values.items()):
            y, colour = 38 * row, (colours or {}).get(name, 0)
            long = max(scale.at(value), 1.5) if value > 0 else 1.5
            body.append(label(0, y + 11, name, "name"))
            body.append(
                f'<rect class="bar c{colour}" x="0" y="{y + 16}" width="{_n(long)}" height="12" '
                f'rx="2"/>'
            )
            body.append(label(long + 6, y + 26, text(value), "value"))
        plot = Plot(width, 38 * len(values), scale, scale)
        return plot.svg(body, ", ".join(values))

    return both(draw)


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<span><i class="c{_colour(n)}"></i>{escape(name)}</span>' for n, name in enumerate(names)
    )
    return f'<p class="legend">{items}</p>'


def _log_range(values: list[float]) -> tuple[float, float]:
    if not values:
        return 1.0, 10.0
    lo, hi = min(values), max(values)
    lo = 10.0 ** math.floor(math.log10(lo))
    return lo, max(10.0 ** math.ceil(math.log10(hi) - 1e-9), lo * 10)


def _tick_texts(domain: tuple[float, float], kind: Kind) -> list[str]:
    return [short(t) for t in Scale(*domain, 0, 1, kind).ticks(4)] or [""]


def _said(x: float, kind: Kind) -> str:
    return f"{moment(x):%Y-%m-%d %H:%M}" if kind == "time" else short(x)


def _colour(number: int) -> int:
    return min(number, COLOURS - 1)


def _n(value: float) -> str:
    """A place, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def label(x: float, y: float, said: str, style: str, anchor: str = "start") -> str:
    """A text in the chart, in one of page.css's styles."""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{style}" x="{_n(x)}" y="{_n(y)}"{at}>{escape(said)}</text>'
