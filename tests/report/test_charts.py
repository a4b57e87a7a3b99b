"""Charts: well formed, to scale, and they say the numbers."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.report import Page, Section, Series, Table, bands, bars, histogram, lines
from sash.report.scale import Scale, fitted, round_step, seconds, short
from sash.report.text_bands import runs_of
from sash.report.windows import plan_table, reaches

finite = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-6)


def drawings(html: str) -> list[ElementTree.Element]:
    """Every SVG in a piece of HTML, parsed: it must be well formed."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_a_fitted_range_holds_all_values(values: list[float], zero: bool) -> None:
    lo, hi = fitted(values, zero)
    slack = 1e-9 * max(abs(lo), abs(hi))
    assert lo - slack <= min(values) <= max(values) <= hi + slack
    assert lo < hi


@given(finite, st.floats(1e-3, 1e9), st.integers(2, 8))
def test_ticks_are_round_few_and_within(lo: float, size: float, count: int) -> None:
    hi = lo + size
    if hi <= lo or size < abs(lo) * 1e-6:
        return
    ticks = Scale(lo, hi, 0, 1).ticks(count)
    slack = 1e-6 * size + 1e-9 * abs(lo)
    assert all(lo - slack <= tick <= hi + slack for tick in ticks)
    assert len(ticks) <= count + 2


@given(st.floats(1e-9, 1e12))
def test_a_step_is_round_and_not_below(least: float) -> None:
    step = round_step(least)
    assert step >= least * (1 - 1e-8)
    first = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(first - round_) for round_ in (1, 2, 2.5, 5, 10)) < 1e-6


def test_ticks_of_times() -> None:
    year = Scale(1356998400, 1388534400, 0, 700, "time")  # 2013
    ticks = year.ticks(6)
    assert [year.text(t, ticks) for t in ticks] == [
        "Jan 2013", "Mar", "May", "Jul", "Sep", "Nov", "Jan 2014",
    ]  # fmt: skip
    hour = Scale(0, 3600, 0, 700, "time")
    assert [hour.text(t, hour.ticks(4)) for t in hour.ticks(4)][:3] == ["00:00", "00:15", "00:30"]


def test_numbers_as_people_read_them() -> None:
    numbers = (0, 5, 999.4, 1234, 9999, 1e5, 2.5e6, 1e10, 1e-4, -1500, math.nan)
    assert [short(x) for x in numbers] == [
        "0", "5", "999", "1,234", "9,999", "100 k", "2.5 M", "10 G", "0.0001", "-1,500", "–",
    ]  # fmt: skip
    assert [seconds(s) for s in (0, 2e-9, 1.5e-6, 0.25, 1, 90, 600, 10_800, 200_000)] == [
        "0 s", "2 ns", "1.5 µs", "250 ms", "1 s", "90 s", "10 min", "3 h", "2.31 d",
    ]  # fmt: skip


def test_a_line_is_to_scale() -> None:
    svg = drawings(lines([Series("a", [0, 5, 10], [0.0, 50.0, 100.0])]))[0]
    (line,) = [e for e in svg.iter() if e.get("class") == "line c0"]
    points = [tuple(map(float, p.split(","))) for p in str(line.get("points")).split()]
    assert points[1][0] == pytest.approx((points[0][0] + points[2][0]) / 2, abs=0.1)
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.1)
    assert points[2][1] < points[0][1], "larger values are higher up"


def test_steps_hold_each_value_until_the_next() -> None:
    svg = drawings(lines([Series("n", [0, 1, 2], [1.0, 3.0, 2.0], style="steps")], zero=True))[0]
    (line,) = [e for e in svg.iter() if e.get("class") == "line c0 steps"]
    points = [tuple(map(float, p.split(","))) for p in str(line.get("points")).split()]
    assert len(points) == 5
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(points)), "only right angles"
    said = [e.get("data-said") for e in svg.iter() if e.get("data-said")]
    assert said == ["0=1|1=3|2=2"]


def test_points_are_not_joined() -> None:
    svg = drawings(lines([Series("n", range(40), [1.0] * 40, style="points")]))[0]
    assert len([e for e in svg.iter() if e.tag == "circle"]) == 40
    assert [e.get("class") for e in svg.iter() if e.tag == "polyline"] == ["line c0 points"]


def test_ticks_of_whole_numbers_are_whole() -> None:
    svg = drawings(lines([Series("n", [0, 1, 2], [0.0, 1.0, 2.0])], zero=True))[0]
    ticks = [e.text for e in svg.iter() if e.get("class") == "tick"]
    assert ticks == ["0", "1", "2", "0", "1", "2"]
    halves = drawings(lines([Series("n", [0, 1], [0.0, 0.5])]))[0]
    assert "0.2" in [e.text for e in halves.iter() if e.get("class") == "tick"]


def test_charts_on_one_scale() -> None:
    """The same value is at the same height in both, whatever else they hold."""
    heights = []
    for most in (2.0, 9.0):
        chart = lines([Series("a", [3, 4], [1.0, most])], x_range=(0, 10), y_range=(0, 10))
        svg = drawings(chart)[0]
        (line,) = [e for e in svg.iter() if e.tag == "polyline"]
        heights.append(str(line.get("points")).split()[0])
    assert heights[0] == heights[1]


def test_text_over_time_is_bands() -> None:
    xs, values = [0.0, 1.0, 2.0, 3.0, 4.0, 9.0], ["a", "a", None, "b", "a", "a"]
    assert runs_of(xs, values, 10.0) == [(0.0, 2.0, "a"), (3.0, 4.0, "b"), (4.0, 10.0, "a")]
    svg = drawings(bands(xs, values, x_range=(0.0, 10.0)))[0]
    widths = [float(str(e.get("width"))) for e in svg.iter() if e.tag == "rect"]
    assert widths[2] / widths[0] == pytest.approx(3, rel=0.05)
    colours = [e.get("class") for e in svg.iter() if e.tag == "rect"]
    assert colours == ["band c0", "band c1", "band c0"]
    assert runs_of([], [], 1.0) == []
    assert len(drawings(bands([], []))) == 2


def test_a_gap_splits_a_line_and_a_lone_point_is_a_dot() -> None:
    ys = [1.0, 2.0, None, 4.0, math.nan, 6.0, 7.0]
    svg = drawings(lines([Series("a", range(7), ys)], x="time"))[0]
    assert len([e for e in svg.iter() if e.tag == "polyline"]) == 3
    assert len([e for e in svg.iter() if e.tag == "circle"]) == 1


def test_bars_of_a_histogram_are_as_high_as_their_counts() -> None:
    svg = drawings(histogram([0, 1, 2, 3], [10, 5, 0]))[0]
    heights = [float(str(e.get("height"))) for e in svg.iter() if e.tag == "rect"]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[2] == 0


def test_windows_are_drawn_to_scale_below_the_line() -> None:
    """A window of a tenth of the axis is a tenth of its length."""
    chart = lines([Series("w", [0, 100], [1.0, 2.0])], x="time", spans={"w": 10.0})
    svg = drawings(chart)[0]
    (span,) = [e for e in svg.iter() if e.get("class") == "span c0"]
    start, end = map(float, re.match(r"M(\S+) .*H([\d.]+)m", str(span.get("d"))).groups())  # type: ignore[union-attr]
    (line,) = [e for e in svg.iter() if e.get("class") == "line c0"]
    xs = [float(p.split(",")[0]) for p in str(line.get("points")).split()]
    assert end - start == pytest.approx((xs[1] - xs[0]) / 10, abs=0.5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda name: lines([Series(name, [1], [1.0]), Series("b", [1], [2.0])], y_label=name),
        lambda name: bars({name: 1.0}),
        lambda name: histogram([0, 1], [1], x_label=name, mark=(0.5, name)),
        lambda name: reaches({name: 3600.0}, {name: name}),
        lambda name: bands([0, 100], [name, name]),
    ],
)
def test_names_are_escaped(draw: Callable[[str], str]) -> None:
    html = draw('<b>&"x"')
    assert drawings(html)
    assert "<b>" not in html


@pytest.mark.parametrize("chart", [lines([]), bars({"none": 0.0}), histogram([0, 1], [0])])
def test_nothing_to_draw_is_drawn(chart: str) -> None:
    assert len(drawings(chart)) == 2


def test_a_page_is_one_file_without_a_network() -> None:
    page = Page("T", "<lead>", [], [Section("S", [Table(("a",), [(1,), ("<x>",)])])]).html()
    assert not re.search(r"https?://|@import|src=|href=\"(?!data:)", page)
    assert "&lt;lead&gt;" in page
    assert "&lt;x&gt;" in page


def test_the_plan_as_a_table() -> None:
    import pyarrow as pa

    import sash
    from sash import functions as sf

    table = pa.table({"k": [1], "t": [1], "x": [1.0]})
    frame = sash.range_between(-5, 0)
    plan = sash.windowed(table, by="k", time="t").explain(
        hi=sf.max("x").over(frame),
        n=sf.count().over(frame),
        w=sf.argmax("x", "t").over(sash.rows(3)),
    )
    rows = plan_table(plan.json()).rows
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("hi", "max(x)", "TwoStacksLite"),
        ("n", "count()", "–"),
        ("w", "argmax(x, t)", "Recalc"),
    ]
    assert rows[2][0] == "the last 3 rows"
