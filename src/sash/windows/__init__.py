"""Which rows are in: frames, slide policies, durations."""

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

__all__ = [
    "Closed", "Delta", "Duration", "Frame", "Lifetime", "Policy", "Range", "Rows", "Session",
    "Sliding", "Tumbling", "Until", "as_frame", "delta", "lifetime", "policy", "range_between",
    "rows", "rows_between", "session", "sliding", "tumbling", "until",
]  # fmt: skip
