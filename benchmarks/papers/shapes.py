"""Checks of a figure's shape, each computed from the data: flat, growing, ahead, crossing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

from benchmarks.papers.experiment import Check, Data
from sash.report.scale import short

FLAT = 2.0  # a line whose largest value is less than so many times its smallest is flat


def spread(values: dict[float, float]) -> float:
    """The largest value by the smallest."""
    return max(values.values()) / min(values.values())


def slope(values: dict[float, float]) -> float:
    """The exponent p of the power law y ~ x^p that fits best.

    >>> round(slope({1: 3, 10: 300, 100: 30000}), 6)
    2.0
    """
    xs = [math.log(x) for x in values]
    ys = [math.log(y) for y in values.values()]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / across


def log_fit(values: dict[float, float]) -> tuple[float, float, float]:
    """a and b of the best fit y = a + b log2 x, and how far a value is off it at most, relatively.

    >>> log_fit({2: 3.0, 4: 5.0, 8: 7.0})
    (1.0, 2.0, 0.0)
    """
    xs, ys = [math.log2(x) for x in values], list(values.values())
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    b = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
    b /= sum((x - x_mean) ** 2 for x in xs)
    a = y_mean - b * x_mean
    return a, b, max(abs(y / (a + b * x) - 1) for x, y in zip(xs, ys))


def explained(checks: Iterable[Check], why: str) -> list[Check]:
    """Checks with the reason that is known for those that do not hold."""
    return [check._replace(why=why) for check in checks]


def is_flat(data: Data, series: str, most: float = FLAT) -> Check:
    """A line does not depend on x."""
    found = spread(data[series])
    return Check(f"{series} is flat", f"largest / smallest = {found:.2f}", found < most)


def is_power(data: Data, series: str, power: float, within: float = 0.25) -> Check:
    """A line grows (or falls) as x^power."""
    found = slope(data[series])
    claim = f"{series} goes as x^{power:g}"
    return Check(claim, f"best fit x^{found:.2f}", abs(found - power) <= within)


def is_ahead(
    data: Data, winner: str, loser: str, at: float | str | None = None, noise: float = 0.0
) -> Check:
    """A series has larger values than another: at `at`, or at all x that both have.

    With `noise`, values that differ by less are equal: the winner is above at half of the places
    at least, and below at none.
    """
    mine, other = data[winner], data[loser]
    places = [x for x in mine if x in other and (at is None or x == at)]
    ratios = [mine[x] / other[x] for x in places]
    said = f"{winner} / {loser} = {short(min(ratios))}"
    if len(ratios) > 1:
        said += f" to {short(max(ratios))}"
    said += f", {noise:.0%} counts as equal" if noise and min(ratios) <= 1 + noise else ""
    place = at if isinstance(at, str) else short(at)
    where = "" if at is None else f" at {place}"
    holds = min(ratios) > 1 - noise and median(ratios) > 1 + noise
    return Check(f"{winner} is above {loser}{where}", said, holds)


def from_on(data: Data, x: float) -> Data:
    """The points at x and beyond; all where there are none."""
    return Data([p for p in data.points if float(p.x) >= x] or data.points)


def with_start(check: Check, data: Data, riser: str, other: str) -> Check:
    """A check that also says from which x on `riser` stays above `other`."""
    start = crossing(data, riser, other)
    said = "not at the largest" if start is None else f"from {short(start)} on"
    return check._replace(measured=f"{check.measured}; {said}")


def crossing(data: Data, riser: str, other: str) -> float | None:
    """The least x from which on `riser` stays above `other`; None if there is no such x.

    >>> from benchmarks.papers.experiment import Point
    >>> rows = [Point(x, "a", x) for x in (1, 2, 3)] + [Point(x, "b", 2) for x in (1, 2, 3)]
    >>> crossing(Data(rows), "a", "b")
    3
    """
    mine, others = data[riser], data[other]
    last = None
    for x in sorted(set(mine) & set(others), reverse=True):
        if mine[x] <= others[x]:
            break
        last = x
    return last
