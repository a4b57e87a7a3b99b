"""The arguments of frames: what is given, as numbers and durations; errors name the argument."""

from __future__ import annotations

import inspect
import math
import re
from datetime import timedelta
from typing import Any, get_args

import numpy as np

from sash.windows.duration import Duration
from sash.windows.frames import Bound, Closed, length

UNBOUNDED = (1 << 63) - 1
"""From here on a number of rows is without bound, as in pyspark.sql.Window."""

PLACE = re.compile(r"(.*?)\s*(preceding|following)", re.IGNORECASE)


def duration_or_number(value: Any, argument: str) -> Bound:
    """A length of time: a duration, or a number where time is a number; at least 0."""
    bound = bound_of(value, 1, argument)
    if bound is None or length(bound) < 0:
        raise ValueError(f"{argument} must be a duration or a number of at least 0, not {value!r}")
    return bound


def whole_number(value: Any, argument: str) -> int:
    """A whole number of rows."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{argument} must be a whole number of rows, not {value!r}")
    return int(value)


def is_unbounded(value: Any, side: int, argument: str) -> bool:
    """Whether a bound is none: None, or as far as Spark's constants or infinity."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    far: int | float = value if isinstance(value, int | float) else value.item()
    if not abs(far) >= UNBOUNDED:
        return False
    if (far > 0) != (side > 0):
        raise ValueError(f"{argument}={value!r} is unbounded on the wrong side")
    return True


def bound_of(value: Any, side: int, argument: str) -> Bound | None:
    """A bound of a range, before the row (side -1) or after it (side 1); None without bound."""
    if isinstance(value, str):
        return _place(value.strip(), side, argument)
    if is_unbounded(value, side, argument):
        return None
    if isinstance(value, timedelta | np.timedelta64 | Duration):
        return Duration.of(value, argument)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{argument} must be a number, a duration or None, not {value!r}")
    if math.isnan(value):
        raise ValueError(f"{argument} is NaN")
    return value if isinstance(value, int | float) else value.item()


def _place(text: str, side: int, argument: str) -> Bound | None:
    if text.lower() == "current row":
        return Duration(0)
    found = PLACE.fullmatch(text)
    if not found:
        return Duration.of(text, argument)
    away, word = found.group(1), found.group(2).lower()
    if away.lower() == "unbounded":
        if (word == "following") != (side > 0):
            raise ValueError(f"{argument}={text!r} is unbounded on the wrong side")
        return None
    number: Bound = int(away) if away.isdigit() else Duration.of(away, argument)
    return -number if word == "preceding" else number


def positive_bound(value: Any, argument: str) -> Bound:
    """A duration, or a number, of more than 0."""
    if value is None:
        raise TypeError(f"{argument} is missing: give a duration such as '30 minutes'")
    bound = bound_of(value, 1, argument)
    if bound is None or length(bound) <= 0:
        raise ValueError(f"{argument} must be positive and finite, not {value!r}")
    return bound


def closed_of(closed: Any) -> Closed:
    """Which ends are included."""
    if closed not in get_args(Closed):
        raise ValueError(f"closed must be one of {', '.join(get_args(Closed))}, not {closed!r}")
    return closed


def check_column(value: Any, must: str) -> None:
    """Raise TypeError for a constant in the place of a column's name or an expression."""
    if value is None or isinstance(value, int | float | complex | bytes | np.generic):
        raise TypeError(f"{must} a column's name or an expression, not {value!r}")


def check_takes(function: Any, count: int, argument: str) -> None:
    """Raise TypeError unless a function takes `count` arguments."""
    if not callable(function):
        raise TypeError(f"{argument} must be a function, not {function!r}")
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        raise TypeError(f"{argument} must take {count} argument{'s' * (count > 1)}") from None
    except ValueError:  # a built-in without a signature
        return
