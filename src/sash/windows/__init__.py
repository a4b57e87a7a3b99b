"""Which rows are in: frames, slide policies, durations."""

from sash.windows.bounds import bounds
from sash.windows.define import (
    as_frame,
    delta,
    groups_between,
    lifetime,
    policy,
    range_between,
    rows,
    rows_between,
    session,
    shaped,
    sliding,
    tumbling,
    until,
)
from sash.windows.duration import Duration
from sash.windows.frames import (
    Closed,
    Delta,
    Frame,
    Groups,
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
    "Closed", "Delta", "Duration", "Frame", "Groups", "Lifetime", "NotMonotone", "Policy",
    "Range", "Rows", "Session", "Sliding", "Tumbling", "Until", "as_frame", "bounds", "delta",
    "groups_between", "lifetime", "not_monotone", "policy", "range_between", "rows",
    "rows_between", "session", "shaped", "sliding", "tumbling", "until",
]  # fmt: skip
