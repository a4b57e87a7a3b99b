"""Durations, as Spark, SQL, pandas and polars users write them, in whole nanoseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
    "w": 7 * 86_400 * 1_000_000_000,
}
"""Nanoseconds of each unit; a day is 24 hours, whatever the clocks do."""

NAMES = {
    "ns": ("nanosecond", "nanoseconds", "nano", "nanos", "n"),
    "us": ("microsecond", "microseconds", "micro", "micros", "µs", "μs", "u"),
    "ms": ("millisecond", "milliseconds", "milli", "millis", "l"),
    "s": ("second", "seconds", "sec", "secs"),
    "min": ("minute", "minutes", "mins", "m", "t"),
    "h": ("hour", "hours", "hr", "hrs"),
    "d": ("day", "days"),
    "w": ("week", "weeks"),
}
KNOWN = {name: unit for unit, names in NAMES.items() for name in (unit, *names)}

CALENDAR = {
    "mo", "mon", "mons", "month", "months", "q", "quarter", "quarters",
    "y", "yr", "yrs", "year", "years",
}  # fmt: skip

NUMBER = r"[+-]?\s*(?:\d+(?:\.\d*)?|\.\d+)"
PART = re.compile(rf"\s*({NUMBER})\s*([^\W\d_]+)\s*,?")
CLOCK = re.compile(r"([+-]?)(?:(\d+)\s+(?:days?\s+)?)?(\d+):(\d+)(?::(\d+(?:\.\d*)?))?")
ISO = re.compile(
    r"([+-]?)P(?:([\d.]+)W)?(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?"
)
SQL_FIELD = re.compile(r"'([^']*)'\s*(\w+)(?:\s+TO\s+(\w+))?", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time in whole nanoseconds.

    >>> Duration.of("1 minute 30 seconds").ns
    90000000000
    >>> print(Duration.of("90 min"))
    1 hour 30 minutes
    """

    ns: int

    @staticmethod
    def of(thing: Any, argument: str = "duration") -> Duration:
        """A string, timedelta, NumPy timedelta64 or pandas Timedelta as a Duration.

        `argument` is what errors call it.

        >>> Duration.of("INTERVAL 1 HOUR") == Duration.of("1h") == Duration.of("PT1H")
        True
        """
        if isinstance(thing, Duration):
            return thing
        if isinstance(thing, str):
            return Duration(_whole(_parse(thing, argument), thing, argument))
        if isinstance(thing, np.timedelta64):
            return Duration(_of_numpy(thing, argument))
        if isinstance(thing, timedelta):
            # pandas' Timedelta is a timedelta that keeps nanoseconds beside
            beside = getattr(thing, "nanoseconds", 0)
            seconds = thing.days * 86_400 + thing.seconds
            return Duration((seconds * 1_000_000 + thing.microseconds) * 1_000 + beside)
        if isinstance(thing, int | float | np.number):
            raise TypeError(f"{argument}={thing!r} has no unit: write {str(thing) + ' s'!r}")
        raise TypeError(
            f"{argument} must be a duration such as '90 s', '1 hour' or a timedelta, not {thing!r}"
        )

    def __neg__(self) -> Duration:
        return Duration(-self.ns)

    def __bool__(self) -> bool:
        return self.ns != 0

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"

    def __str__(self) -> str:
        left, parts = abs(self.ns), []
        for unit, size in sorted(UNITS.items(), key=lambda pair: -pair[1]):
            if unit == "w":
                continue
            count, left = divmod(left, size)
            if count:
                name = NAMES[unit][0] if len(unit) == 1 or unit == "min" else unit
                plural = "s" if count > 1 and name != unit else ""
                parts.append(f"{count} {name}{plural}")
        return ("-" if self.ns < 0 else "") + (" ".join(parts) or "0 s")


def positive(thing: Any, argument: str) -> Duration:
    """A Duration that is more than nothing; ValueError names `argument` otherwise."""
    duration = Duration.of(thing, argument)
    if duration.ns <= 0:
        raise ValueError(f"{argument} must be longer than nothing, not {thing!r}")
    return duration


def _parse(text: str, argument: str) -> Fraction:
    body = text.strip()
    if body.lower().startswith("interval"):
        body = _sql(body[len("interval") :].strip())
    for pattern, read in ((CLOCK, _clock), (ISO, _iso)):
        found = pattern.fullmatch(body)
        if found and any(found.groups()[1:]):
            return read(*found.groups())
    if re.fullmatch(r"[+-]?P[\d.]+[YM].*", body):
        _unit("years", text, argument)
    total, at = Fraction(0), 0
    while at < len(body) and (part := PART.match(body, at)):
        number, unit = part.groups()
        if total < 0 and number[0] not in "+-":  # Spark and pandas read this differently
            raise ValueError(f"{argument}={text!r}: give each number its own sign")
        total += Fraction(number.replace(" ", "")) * _unit(unit, text, argument)
        at = part.end()
    if at != len(body) or not body:
        clock = CLOCK.fullmatch(body, at)  # "1 days 02:03:04", as pandas prints it
        if not clock:
            _not_read(text, body[at:].strip(), argument)
        total += _clock(*clock.groups())
    return total


def _unit(name: str, text: str, argument: str) -> int:
    if name == "M" or name.lower() in CALENDAR:  # pandas' M is a month; m is a minute
        raise ValueError(
            f"{argument}={text!r}: months, quarters and years differ in length, so a window of "
            "one is not a duration; give days, such as '30 days' or '365 days'"
        )
    if name not in KNOWN and name.lower() not in KNOWN:
        known = ", ".join(f"{unit} ({NAMES[unit][1]})" for unit in UNITS)
        raise ValueError(f"{argument}={text!r}: unknown unit {name!r}; known are {known}")
    return UNITS[KNOWN.get(name) or KNOWN[name.lower()]]


def _not_read(text: str, rest: str, argument: str) -> NoReturn:
    if rest[:1].isalpha():
        _unit(re.split(r"[\W\d_]", rest)[0], text, argument)  # an unknown unit is named first
        raise ValueError(f"{argument}={text!r}: a number is missing before {rest!r}")
    raise ValueError(
        f"{argument}={text!r} is not a duration such as '90 s', '1 hour 30 minutes', '7d' or "
        "'INTERVAL 1 HOUR'"
        + (f": a unit is missing after {rest!r}" if re.fullmatch(NUMBER, rest) else "")
    )


def _sql(body: str) -> str:
    """'1' HOUR as 1 HOUR, '1 02:03:04' DAY TO SECOND as 1 02:03:04."""

    def field(found: re.Match[str]) -> str:
        value, unit, last = found.groups()
        if last is None:
            return f"{value} {unit}"
        if unit.upper() == "MINUTE":
            return f"0:{value}"
        return value if ":" in value else f"{value.replace(' ', ' days ')} hours"

    body = body.strip()
    if re.fullmatch(r"'[^']*'", body):
        return body[1:-1]
    return SQL_FIELD.sub(field, body)


def _clock(sign: str, days: Any, hours: str, minutes: str, seconds: Any) -> Fraction:
    total = (int(days or 0) * 24 + int(hours)) * 3600 + int(minutes) * 60 + Fraction(seconds or 0)
    return (-1 if sign == "-" else 1) * total * UNITS["s"]


def _iso(sign: str, *fields: Any) -> Fraction:
    pairs = zip(fields, ("w", "d", "h", "min", "s"), strict=True)
    total = sum((Fraction(n) * UNITS[unit] for n, unit in pairs if n), Fraction(0))
    return -total if sign == "-" else total


def _whole(ns: Fraction, text: str, argument: str) -> int:
    if ns.denominator != 1:
        raise ValueError(f"{argument}={text!r} is not a whole number of nanoseconds")
    return ns.numerator


def _of_numpy(thing: np.timedelta64, argument: str) -> int:
    unit, count = np.datetime_data(thing.dtype)
    if np.isnat(thing):
        raise ValueError(f"{argument} is NaT")
    if unit == "generic":
        raise TypeError(f"{argument}={thing!r} has no unit")
    steps = int(thing.astype(np.int64)) * count
    if unit in ("Y", "M"):
        _unit("months", str(thing), argument)
    if unit in ("ps", "fs", "as"):
        finer = {"ps": 1_000, "fs": 1_000_000, "as": 1_000_000_000}[unit]
        return _whole(Fraction(steps, finer), str(thing), argument)
    return steps * UNITS[{"m": "min", "D": "d", "W": "w"}.get(unit, unit)]
