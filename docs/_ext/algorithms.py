"""Directives that make an algorithm's page from its file: its card, when it is chosen, pictures.

Pictures are of the algorithm at work: it slides over items with a monoid that notes what it
combines, and what it noted is drawn.
"""

from __future__ import annotations

import inspect
import re
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from pictures import framed

from sash import monoids as m
from sash import swag
from sash.pictures import Picture, show
from sash.pictures.trace import Row, traced
from sash.plan.choose import Need, choose
from sash.report.charts import Plot, both, label
from sash.report.scale import Scale

FIELDS = ("Order", "Needs", "Cost", "Space", "Paper", "Legend")
WINDOW, STEPS = 16, 48
NEEDS = {
    "one window, rows in order": Need(m.Max(), items=1000),
    "one window, where no single row may take long": Need(m.Max(), items=1000, latency="worst"),
    "an exact aggregation with an inverse, such as a sum of integers": Need(
        m.Sum().of("int64"), items=1000
    ),
    "a window of 3 rows": Need(m.Max(), items=3),
    "a policy that says which rows leave": Need(m.Max(), items=1000, policy=True),
}


def card(module: Any) -> tuple[str, dict[str, str]]:
    """The first line of a file's docstring, and the fields of its card."""
    head, _, rest = inspect.getdoc(module).partition("\n\n")
    rest = rest.partition("\n\n")[0]
    words = "|".join(FIELDS)
    parts = re.split(rf"(?:^|(?<=\.)\s+)({words})\s\s+", rest, flags=re.MULTILINE)
    values = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        values[name] = " ".join(text.split())
    if "Space" not in values and " Space " in values.get("Cost", ""):
        values["Cost"], _, values["Space"] = values["Cost"].partition(" Space ")
    return " ".join(head.split()), values


def combined(name: str) -> list[tuple[int, int, int]]:
    """Of each combine its step, and the oldest and the youngest row of its result.

    The algorithm slides over STEPS items in a window of WINDOW.
    """
    monoid, trace = traced(m.Count())
    found: list[tuple[int, int, int]] = []

    def note(step: int) -> None:
        for each in trace.taken():
            rows = each.result.rows
            if rows and each.older.rows and each.younger.rows:
                found.append((step, min(rows), max(rows)))

    if name == "FlatFAT":
        tree = swag.FlatFAT(monoid, [Row(i, i) for i in range(WINDOW)])
        note(0)
        for step in range(1, WINDOW + 1):
            tree.update([step - 1], [Row(step - 1, step - 1)])
            note(step)
        return found
    more = {"min_arity": 2} if name == "FiBA" else {}  # small nodes, so that there is a tree
    window: Any = getattr(swag, name)(monoid, **more, compiled=False)
    for step in range(STEPS):
        _slide(window, name, step)
        note(step)
    return found


def _slide(window: Any, name: str, step: int) -> None:
    if name == "FiBA":  # out of order: of four rows the third comes first
        order = (2, 0, 3, 1)
        place = step // 4 * 4 + order[step % 4]
        window.insert(place, Row(place, place))
        if step >= WINDOW:
            window.evict()
    else:
        if step >= WINDOW:
            window.evict()
        window.insert(Row(step, step))
    window.query()


def drawing(name: str) -> str:
    """What is combined: a bar from the oldest to the youngest row of it, a line a step."""
    noted = combined(name)
    steps = max(step for step, _, _ in noted) + 1
    last = max(hi for _, _, hi in noted)

    def draw(width: int) -> str:
        high = 7
        x = Scale(0, last + 1, 34, width - 6)
        y = Scale(0, steps, 22, 22 + steps * high)
        body = [label(34, 12, "rows, older to younger →", "axis-name")]
        body += [label(28, y.at(s) + 6, str(s), "tick", "end") for s in range(0, steps, 8)]
        for step in range(0, steps, 8):
            body.append(f'<path class="grid" d="M34 {y.at(step):.1f}H{width - 6}"/>')
        for step, lo, hi in noted:
            longest = (hi - lo) / WINDOW
            colour = 0 if longest < 0.34 else 2 if longest < 0.75 else 1
            body.append(
                f'<rect class="bar c{colour}" x="{x.at(lo):.1f}" y="{y.at(step) + 1:.1f}" '
                f'width="{max(x.at(hi + 1) - x.at(lo) - 1, 1):.1f}" height="{high - 2}" '
                f'opacity=".55"><title>step {step}: rows {lo} to {hi}</title></rect>'
            )
        return Plot(width, int(22 + steps * high + 8), x, y).svg(body, f"what {name} combines")

    return both(draw)


def costs(name: str) -> str:
    """How many combines each step took, as bars."""
    noted = combined(name)
    steps = max(step for step, _, _ in noted) + 1
    counts = [sum(s == step for s, _, _ in noted) for step in range(steps)]
    most = max(counts)

    def draw(width: int) -> str:
        x, y = Scale(0, steps, 34, width - 6), Scale(0, most, 90, 20)
        body = [label(34, 12, "combines a step", "axis-name")]
        for tick in {0, most}:
            body.append(f'<path class="grid" d="M34 {y.at(tick):.1f}H{width - 6}"/>')
            body.append(label(28, y.at(tick) + 4, str(tick), "tick", "end"))
        for step, count in enumerate(counts):
            wide = x.at(1) - x.at(0) - 1
            body.append(
                f'<rect class="bar c0" x="{x.at(step):.1f}" y="{y.at(count):.1f}" '
                f'width="{wide:.1f}" height="{90 - y.at(count):.1f}">'
                f"<title>step {step}: {count}</title></rect>"
            )
        return Plot(width, 96, x, y).svg(body, f"combines of {name}")

    return both(draw)


def figure(title: str, chart: str) -> nodes.raw:
    html = f'<figure class="sash"><figcaption>{escape(title)}</figcaption>{chart}</figure>'
    return nodes.raw("", html, format="html")


def moved(name: str) -> Picture:
    """The algorithm at work, to step through."""
    if name == "FiBA":
        values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3]
        times = [0, 2, 1, 5, 4, 8, 3, 7, 6, 11, 9, 10, 15, 12, 13, 17, 16, 14]
        return show(swag.FiBA(m.Max(), min_arity=2), values, times=times, size=12)
    monoid = m.Sum() if name == "SubtractOnEvict" else m.Max()
    return show(getattr(swag, name)(monoid), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7], size=6)


def module_of(name: str) -> Any:
    return inspect.getmodule(getattr(swag, name)) if name != "FiBA" else swag.fiba


class Algorithm(Directive):
    """`.. algorithm:: DABALite`: the card, when it is chosen, and the pictures."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        head, fields = card(module_of(name))
        rows = "".join(
            f"<dt>{field}</dt><dd>{escape(fields[field])}</dd>"
            for field in FIELDS
            if field in fields
        )
        found: list[nodes.Node] = [
            nodes.paragraph("", "", nodes.strong("", head)),
            nodes.raw("", f'<dl class="card">{rows}</dl>', format="html"),
        ]
        return [*found, *self.chosen(name), *self.pictures(name)]

    def chosen(self, name: str) -> list[nodes.Node]:
        items = []
        for need, asked in NEEDS.items():
            choice = choose(asked)
            if choice.algorithm == name:
                items.append(nodes.list_item("", nodes.paragraph("", f"{need}: {choice.reason}.")))
        if items:
            return [nodes.rubric("", "When it is chosen"), nodes.bullet_list("", *items)]
        text = (
            f"Not by itself: another does the same at less cost. Take it by name, as swag.{name}."
        )
        return [nodes.rubric("", "When it is chosen"), nodes.paragraph("", text)]

    def pictures(self, name: str) -> list[nodes.Node]:
        what = (
            f"What it combines: {WINDOW} leaves, then each of them written again"
            if name == "FlatFAT"
            else f"What it combines, step by step: a window of {WINDOW} rows"
        )
        if name == "FiBA":
            what += ", rows out of order, nodes of 2 to 4"
        moving = [] if name == "FlatFAT" else [nodes.rubric("", "See it move"), framed(moved(name))]
        return [
            *moving,
            nodes.rubric("", "Its picture"),
            figure(what, drawing(name)),
            figure("What each step costs", costs(name)),
            nodes.paragraph(
                "", "Drawn from a run: each bar is one call of combine, from the oldest to the "
                "youngest row in its result; long ones in orange."
            ),
        ]  # fmt: skip


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("algorithm", Algorithm)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
