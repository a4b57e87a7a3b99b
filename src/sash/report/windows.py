"""Pictures of windows: how far each reaches back from a row, and a plan as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sash.report.charts import Plot, both, label
from sash.report.page import Table
from sash.report.scale import DAY, HOUR, MINUTE, Scale

MARKS = {"1 s": 1.0, "1 min": MINUTE, "10 min": 10 * MINUTE, "1 h": HOUR, "6 h": 6 * HOUR,
         "1 d": DAY, "7 d": 7 * DAY, "30 d": 30 * DAY, "1 y": 365 * DAY}  # fmt: skip


def reaches(windows: Mapping[str, float], answers: Mapping[str, str]) -> str:
    """Each window as a bar that ends at the row it belongs to, on a logarithmic clock.

    `windows`: seconds by name; `answers`: what is kept over it, to stand in the bar's row.

    >>> "the last 1 day" in reaches({"the last 1 day": 86400.0}, {})
    True
    """
    longest = max(windows.values(), default=DAY)
    shortest = min(min(windows.values(), default=1.0) / 8, longest / 100)

    def draw(width: int) -> str:
        row, left = 46, 4
        height = row * len(windows) + 34
        back = Scale(shortest, longest * 1.15, width - 10, left, "log")
        floor = height - 24
        body = []
        for name, seconds in MARKS.items():
            if shortest * 3 < seconds <= longest * 1.15:
                x = back.at(seconds)
                body.append(f'<path class="grid" d="M{x:.1f} 4V{floor}"/>')
                body.append(label(x, floor + 16, f"−{name}", "tick", "middle"))
        body.append(f'<path class="mark" d="M{width - 10} 4V{floor}"/>')
        body.append(label(width - 2, floor + 16, "the row", "told", "end"))
        for number, (name, seconds) in enumerate(windows.items()):
            start, y = back.at(seconds), row * number + 8
            body.append(
                f'<rect class="frame c{min(number, 5)}" x="{start:.1f}" y="{y}" '
                f'width="{width - 10 - start:.1f}" height="34" rx="4"/>'
            )
            kept = answers.get(name, "")
            room = int((width - 26 - start) / 6.4)
            body.append(label(start + 8, y + 14, name[:room], "name"))
            said = kept if len(kept) <= room else kept[: max(room - 1, 0)] + "…"
            body.append(label(start + 8, y + 28, said, "tick"))
        return Plot(width, height, back, back).svg(body, "windows, back from a row")

    return both(draw)


def plan_table(plan: dict[str, Any]) -> Table:
    """The plan that `.explain(...).json()` gives, as rows: window, answer, algorithm and why.

    >>> plan = {"frames": [{"frame": "the last 1 hour"}], "outputs": [{"name": "hi", "state": 0}],
    ...     "states": [{"frame": 0, "answers": ["max(x)"], "algorithm": "Kept", "reason": "flat",
    ...     "kind": "combine"}]}
    >>> plan_table(plan).rows
    [('the last 1 hour', 'hi', 'max(x)', 'Kept', 'flat')]
    """
    rows = []
    for output in plan["outputs"]:
        state = plan["states"][output["state"]]
        what = state["answers"][output.get("member", 0)]
        algorithm, why = state["algorithm"] or "–", state["reason"] or f"{state['kind']}, no window"
        frame = plan["frames"][state["frame"]]["frame"]
        rows.append((frame, output["name"], what, algorithm, why))
    return Table(("window", "answer", "aggregation", "algorithm", "why"), rows)
