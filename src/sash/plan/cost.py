"""What a plan costs, in combines: counted where that is quick, estimated elsewhere.

How many combines a plan takes does not depend on the values, so a plain run over a
monoid that counts tells exactly. A row at every tick is the worst for sharing: the more
rows in a slice, the more is done only once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sash.monoids.monoid import Monoid
from sash.plan.choose import Choice, Cost
from sash.plan.query import Periodic
from sash.plan.run import Runner
from sash.plan.shared import SharedPlan
from sash.swag.registry import ALGORITHMS
from sash.swag.window import InOrder

MOST_UNITS = 256
"""Counted where no window is longer than this, in the longest unit that divides all."""


def combines(plan: SharedPlan, choice: Choice, invertible: bool, tick: int = 1) -> float:
    """Combines and inverses a row, about, where there is a row every `tick` ticks."""
    plan = replace(plan, windows=without_ends(plan.windows))
    own = unit(plan.windows)
    rows = own // tick  # in a unit; all but one of them are combined into it first
    quick = max(window.reach for window in plan.windows) // own <= MOST_UNITS
    if quick and issubclass(ALGORITHMS[choice.algorithm], InOrder):
        return (counted(plan, choice.algorithm, invertible) + rows - 1) / rows
    return estimated(replace(plan, windows=in_units(plan.windows, tick)), choice.cost)


def least_alone(window: Periodic, tick: int = 1) -> float:
    """Combines a row that windows take alone, whatever the algorithm: rows into a slice that
    is as long as a slide, and one for the answer where a window has more than one."""
    slide = window.slide / tick
    return max(0.0, 1 - 1 / slide) + (1 / slide if window.reach > window.slide else 0.0)


def estimated(plan: SharedPlan, cost: Cost) -> float:
    """Combines a tick, where each has a row."""
    slices, fired = plan.slices_a_tick, plan.firings_a_tick
    live = fired if plan.technique == "cutty" else 0.0
    return (1 - slices) + slices * cost.item + fired * cost.answer + live


def counted(plan: SharedPlan, algorithm: str, invertible: bool) -> float:
    """Combines and inverses a unit, where each has a row, once the first windows are full."""
    small = replace(plan, windows=in_units(plan.windows, unit(plan.windows)))
    done = 0

    def combine(a: Any, b: Any) -> Any:
        nonlocal done
        done += 1
        return 0

    inverse = combine if invertible else None
    monoid = Monoid("counting", 0, int, combine, inverse=inverse, dtype=object)
    runner = Runner(small, monoid, algorithm, compiled=False)
    n = 4 * max(window.reach for window in small.windows)
    by_time = small.windows[0].by == "time"
    runner.feed(range(n) if by_time else None, [0] * n)
    before = done
    runner.feed(range(n, 3 * n) if by_time else None, [0] * 2 * n)
    return (done - before) / (2 * n)


def unit(windows: Sequence[Periodic]) -> int:
    """The longest unit that divides all that a plan for `windows` cuts, ends aside."""
    return math.gcd(*(n for w in without_ends(windows) for n in (w.slide, w.reach, w.fires)))


def without_ends(windows: Sequence[Periodic]) -> tuple[Periodic, ...]:
    """The windows all closed on the left: which ends are in does not change what they cost."""
    return tuple(replace(window, closed="left") for window in windows)


def in_units(windows: Sequence[Periodic], tick: int) -> tuple[Periodic, ...]:
    """The windows in ticks that are as long as `tick` of theirs."""
    return tuple(
        replace(
            window, size=window.reach // tick, slide=window.slide // tick,
            offset=(window.fires - window.reach) // tick if window.by == "time" else 0,
        )
        for window in windows
    )  # fmt: skip
