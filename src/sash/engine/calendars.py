"""Calendars at work: times as the numbers of calendar periods, and periods as times.

A period is numbered from that of 1970 on, in the calendar's time zone; so windows of the
calendar are windows over whole numbers, and changes of daylight-saving time are no matter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import numbers
from sash.windows.frames import Calendar

DAY = 86_400_000_000  # microseconds
MONDAY = 3  # days from the Monday before 1970 to its first day, a Thursday


def periods(column: pa.Array, calendar: Calendar) -> np.ndarray:
    """The number of the period that each time is in."""
    local = _local(column, calendar)
    if calendar.months:
        months = numbers(pc.year(local)) * 12 + numbers(pc.month(local)) - 1 - 1970 * 12
        return np.floor_divide(months, calendar.months).astype(np.int64)
    days = np.floor_divide(numbers(local), DAY)
    if calendar.unit == "week":
        days = days + MONDAY
    return np.floor_divide(days, calendar.days).astype(np.int64)


def starts(numbers_of: np.ndarray, calendar: Calendar, kind: pa.DataType) -> pa.Array:
    """When periods begin, as the type of the time column."""
    if calendar.months:
        months = (numbers_of * calendar.months).astype("datetime64[M]")
        days = months.astype("datetime64[D]").astype(np.int64)
    else:
        days = numbers_of * calendar.days - (MONDAY if calendar.unit == "week" else 0)
    local = pa.array(days * DAY).view(pa.timestamp("us"))
    zone = _zone(kind, calendar)
    if zone is not None:  # a midnight that clocks skip is the moment after it
        local = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="latest")
    if pa.types.is_timestamp(kind) and kind.tz is None and zone is not None:
        local = local.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    return local.cast(kind)


def _local(column: pa.Array, calendar: Calendar) -> pa.Array:
    """Times as clocks show them in the calendar's zone."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us"))
    zone = _zone(kind, calendar)
    plain = column.cast(pa.timestamp("us", kind.tz), safe=False)
    if zone is None:
        return plain
    aware = plain.cast(pa.timestamp("us", "UTC")) if kind.tz is None else plain
    return pc.local_timestamp(aware.cast(pa.timestamp("us", zone)))


def _zone(kind: pa.DataType, calendar: Calendar) -> str | None:
    if not pa.types.is_timestamp(kind):
        return None
    return calendar.tz if calendar.tz is not None else kind.tz
