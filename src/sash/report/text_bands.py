"""Bands for answers that are text, over time: a band is as long as an answer stays the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from sash.report.charts import COLOURS, Plot, Range, both, label
from sash.report.scale import Kind, Scale

HIGH = 26


def bands(
    xs: Sequence[float],
    values: Sequence[str | None],
    *,
    x: Kind = "linear",
    x_range: Range | None = None,
    colours: Sequence[str] = (),
) -> str:
    """A band from where an answer begins to where another one does; null leaves a gap.

    `colours`: the answers that have a colour of their own, for charts beside each other; by
    default those that stay longest. All others share the last colour.

    >>> svg = bands([0, 1, 2, 3], ["ORD", "ORD", "LAX", "LAX"])
    >>> svg.count("<rect"), ">ORD<" in svg
    (4, True)
    """
    ends = x_range or ((xs[0], xs[-1]) if len(xs) else (0.0, 1.0))
    runs = runs_of(xs, values, ends[1])
    named = list(colours or commonest(runs))

    def draw(width: int) -> str:
        scale = Scale(*ends, 8, width - 8, x)
        plot = Plot(width, HIGH + 30, scale, Scale(0, 1, HIGH + 4, 4))
        body = []
        for start, end, value in runs:
            left, right = scale.at(start), scale.at(end)
            colour = named.index(value) if value in named else COLOURS - 1
            body.append(
                f'<rect class="band c{colour}" x="{left:.1f}" y="4" rx="3" '
                f'width="{max(right - left - 1, 1):.1f}" height="{HIGH}">'
                f"<title>{escape(value)}</title></rect>"
            )
            if len(value) * 7 + 8 < right - left:
                body.append(label((left + right) / 2, HIGH - 5, value, "name", "middle"))
        body += plot.bottom(scale.ticks(max(4, width // 110)))
        return plot.svg(body, "answers over time")

    return legend(named) + both(draw)


def runs_of(
    xs: Sequence[float], values: Sequence[str | None], end: float
) -> list[tuple[float, float, str]]:
    """Stretches of one answer: from, to, and the answer; the last one reaches to `end`."""
    found: list[tuple[float, float, str]] = []
    start, last = 0.0, None
    for at, value in zip(xs, values):
        if value != last:
            if last is not None:
                found.append((start, at, last))
            start, last = at, value
    if last is not None:
        found.append((start, max(end, start), last))
    return found


def commonest(runs: Sequence[tuple[float, float, str]]) -> list[str]:
    """The answers that stay longest, as many as have a colour of their own."""
    lengths: Counter[str] = Counter()
    for start, end, value in runs:
        lengths[value] += end - start  # type: ignore[assignment]
    return [value for value, _ in lengths.most_common(COLOURS - 1)]


def legend(names: Sequence[str]) -> str:
    """Which colour is which answer."""
    items = "".join(
        f'<span><i class="band c{number}"></i>{escape(name)}</span>'
        for number, name in enumerate(names)
    )
    return f'<p class="legend">{items}</p>'
