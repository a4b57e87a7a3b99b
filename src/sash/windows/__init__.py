"""Which rows are in: frames, slide policies, durations."""

from sash.windows.bounds import bounds
from sash.windows.define import (
    as_frame,
    delta,
    lifetime,
    policy,
    range_between,
    rows,
    rows_between,
    session,
    sliding,
    tumbling,
    until,
)
from sash.windows.duration import Duration
from sash.windows.frames import (
    Closed,
    Delta,
    Frame,
    Lifetime,
    Policy,
    Range,
    Rows,
    Session,
    Sliding,
    Tumbling,
    Until,
)
from sash.windows.policies import NotMonotone, not_monotone

__all__ = [
    "Closed", "Delta", "Duration", "Frame", "Lifetime", "NotMonotone", "Policy", "Range", "Rows",
    "Session", "Sliding", "Tumbling", "Until", "as_frame", "bounds", "delta", "lifetime",
    "not_monotone", "policy", "range_between", "rows", "rows_between", "session", "sliding",
    "tumbling", "until",
]  # fmt: skip
