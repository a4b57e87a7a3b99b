"""Scales: from values to places on a drawing, with ticks at round values, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

Kind = Literal["linear", "log", "time"]

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
CLOCK = (1, 5, 15, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR,
         12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY)  # fmt: skip
MONTH = 30.4 * DAY


@dataclass(frozen=True)
class Scale:
    """Values from `lo` to `hi` on places from `start` to `end`; times are seconds since 1970.

    >>> Scale(0, 10, 100, 200).at(5)
    150.0
    >>> Scale(0, 10, 0, 1).ticks(5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> Scale(0, 2, 0, 1, whole=True).ticks(4)
    [0.0, 1.0, 2.0]
    """

    lo: float
    hi: float
    start: float
    end: float
    kind: Kind = "linear"
    whole: bool = False  # ticks are whole numbers

    def at(self, value: float) -> float:
        """The place of a value."""
        lo, hi = self.lo, self.hi
        if self.kind == "log":
            lo, hi, value = math.log10(lo), math.log10(hi), math.log10(max(value, self.lo))
        share = (value - lo) / (hi - lo) if hi > lo else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """About `count` round values within the scale."""
        if self.kind == "log":
            return _decades(self.lo, self.hi, count)
        if self.kind == "time":
            return _moments(self.lo, self.hi, count)
        step = round_step((self.hi - self.lo) / max(count, 1))
        if self.whole:
            step = max(1.0, math.ceil(step))
        first = math.ceil(self.lo / step - 1e-9)
        last = math.floor(self.hi / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def text(self, value: float, among: list[float]) -> str:
        """A tick's text; of times, as much as tells it from the other ticks."""
        if self.kind == "time":
            return _moment_text(value, among)
        return short(value)


def fitted(values: Iterable[float], zero: bool = False) -> tuple[float, float]:
    """The least and the largest value, moved out to round ones.

    >>> fitted([3, 97], zero=True)
    (0.0, 100.0)
    >>> fitted([-7, 118])
    (-10.0, 120.0)
    """
    finite = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    lo, hi = min(finite), max(finite)
    if zero:
        lo, hi = min(lo, 0.0), max(hi, 0.0)
    if lo == hi:
        lo, hi = (lo - 1.0, hi + 1.0) if lo else (0.0, 1.0)
    step = round_step((hi - lo) / 20)  # finer than ticks, so that little is left empty
    return math.floor(lo / step + 1e-9) * step, math.ceil(hi / step - 1e-9) * step


def round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `least`.

    >>> round_step(23), round_step(0.004)
    (25.0, 0.005)
    """
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def _decades(lo: float, hi: float, count: int) -> list[float]:
    first, last = math.floor(math.log10(lo) + 1e-9), math.ceil(math.log10(hi) - 1e-9)
    every = max(1, math.ceil((last - first) / max(count, 1)))
    found = [10.0**e for e in range(first, last + 1, every) if lo * 0.999 <= 10.0**e <= hi * 1.001]
    if len(found) >= 2:
        return found
    return [
        m * 10.0**e for e in range(first, last + 1) for m in (1, 2, 5) if lo <= m * 10.0**e <= hi
    ]


def _moments(lo: float, hi: float, count: int) -> list[float]:
    least = (hi - lo) / max(count, 1)
    if least > 14 * DAY:
        return _months(lo, hi, max(1, math.ceil(least / MONTH - 0.3)))
    step = next((s for s in CLOCK if s >= least), 14 * DAY)
    return [i * step for i in range(math.ceil(lo / step), math.floor(hi / step) + 1)]


def _months(lo: float, hi: float, every: int) -> list[float]:
    every = next((n for n in (1, 2, 3, 4, 6, 12) if n >= every), 12 * math.ceil(every / 12))
    found: list[float] = []
    first = moment(lo)
    number = first.year * 12 + first.month - 1
    number -= number % every
    while True:
        start = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC).timestamp()
        if start > hi:
            return found
        if start >= lo:
            found.append(start)
        number += every


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a time."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def _moment_text(value: float, among: list[float]) -> str:
    at = moment(value)
    alone = 30 * DAY if at.day == 1 else DAY
    step = min((b - a for a, b in pairwise(among)), default=alone)
    if step >= 360 * DAY:
        return f"{at:%Y}"
    if step >= 27 * DAY:
        return f"{at:%b %Y}" if at.month == 1 or value == among[0] else f"{at:%b}"
    if step >= DAY:
        return f"{at.day} {at:%b}"
    return f"{at:%H:%M}" if step >= MINUTE else f"{at:%H:%M:%S}"


def short(value: float | None) -> str:
    """A number as people read it: three digits that count, thousands by k, M, G.

    >>> short(1234567), short(0.0235), short(42.0), short(12_400)
    ('1.23 M', '0.0235', '42', '12.4 k')
    """
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if size >= limit:
            return _digits(value / (1e3 if unit == " k" else limit)) + unit
    return f"{value:,.0f}" if size >= 1000 else _digits(value)


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(value: float) -> str:
    """A time span in its own unit.

    >>> seconds(0.0123), seconds(75), seconds(7200)
    ('12.3 ms', '75 s', '2 h')
    """
    for limit, unit in ((2 * DAY, "d"), (2 * HOUR, "h"), (2 * MINUTE, "min"), (1.0, "s")):
        if abs(value) >= limit:
            return f"{_digits(value / {'d': DAY, 'h': HOUR, 'min': MINUTE, 's': 1.0}[unit])} {unit}"
    for size, unit in ((1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= size:
            return f"{_digits(value / size)} {unit}"
    return "0 s" if value == 0 else f"{_digits(value / 1e-9)} ns"
