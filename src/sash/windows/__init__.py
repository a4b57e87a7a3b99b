"""Which rows are in: frames, slide policies, durations."""

from sash.windows.bounds import bounds
from sash.windows.define import (
    as_frame,
    calendar,
    delta,
    groups_between,
    lifetime,
    policy,
    range_between,
    rows,
    rows_between,
    session,
    sliding,
    sliding_calendar,
    tumbling,
    until,
)
from sash.windows.duration import Duration
from sash.windows.frames import (
    Calendar,
    Closed,
    Delta,
    Frame,
    Groups,
    Lifetime,
    OwnBounds,
    Policy,
    Range,
    Rows,
    Session,
    Sliding,
    SlidingCalendar,
    Tumbling,
    Until,
)
from sash.windows.policies import NotMonotone, not_monotone
from sash.windows.shapes import shaped

__all__ = [
    "Calendar", "Closed", "Delta", "Duration", "Frame", "Groups", "Lifetime", "NotMonotone",
    "OwnBounds", "Policy", "Range", "Rows", "Session", "Sliding", "SlidingCalendar", "Tumbling",
    "Until",
    "as_frame", "bounds", "calendar", "delta", "groups_between", "lifetime", "not_monotone",
    "policy", "range_between", "rows", "rows_between", "session", "shaped", "sliding",
    "sliding_calendar", "tumbling", "until",
]  # fmt: skip
