"""The arguments that streams in process and on Spark have in common, and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from sash.plan.choose import Latency
from sash.plan.definition import Query
from sash.plan.kept import Emit
from sash.plan.plan import Options
from sash.windows.arguments import duration_or_number

Late = Literal["count", "side"]


@dataclass(frozen=True)
class StreamOptions:
    """When answers come out, what becomes of late rows, how a stream begins, and how it is planned.

    `idle`: for how long a key that has no rows is remembered, where time alone does not say.
    `lead`: with emit="update", how far ahead of the watermark values are given too. `history`:
    earlier rows, from which a new stream's state is built, up to `cut`.
    """

    emit: Emit = "final"
    late: Late = "count"
    idle: Any = None
    lead: Any = 0
    history: Any = None
    cut: Any = None
    latency: Latency = "average"
    algorithm: str | None = None

    def __post_init__(self) -> None:
        for name, kinds in (("emit", Emit), ("late", Late)):
            given, known = getattr(self, name), get_args(kinds)
            if given not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {given!r}")
        if self.emit == "update" and self.late == "side":
            raise ValueError("late='side' gives rows, and emit='update' values: use late='count'")
        if self.lead and self.emit != "update":
            raise ValueError("lead gives values ahead of time: use it with emit='update'")
        if self.cut is not None and self.history is None:
            raise TypeError("cut is the time up to which rows are the history's: give history= too")
        duration_or_number(self.lead, "lead")  # raises what is wrong with it

    def check(self, query: Query) -> None:
        """Raise ValueError where a definition and these have no meaning together."""
        if query.every is not None and self.emit != "final":
            raise ValueError("every gives a window once, when it is complete: use emit='final'")

    @property
    def planning(self) -> Options:
        """Decisions that the user makes instead of the planner."""
        idle = None if self.idle is None else duration_or_number(self.idle, "idle")
        lead = duration_or_number(self.lead, "lead")
        return Options(self.latency, self.algorithm, "stream", self.emit, idle, lead)
