"""A periodic query: an aggregation over the last `size`, asked every `slide`.

Everything in a plan is counted in *ticks*: rows, for queries by count; units of the
time column (nanoseconds, if sizes are durations), for queries by time. A query
*fires* at tick f, and answers for the rows at ticks f - reach to f - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from sash.monoids.monoid import Monoid, as_monoid
from sash.windows import Duration, Sliding
from sash.windows.define import sliding
from sash.windows.frames import Closed


@dataclass(frozen=True)
class Periodic:
    """Windows of `size` ticks, one every `slide` ticks.

    By time a window is [start, start + size), starts at offset + k * slide, as Spark's
    window(); `closed` as in pandas. By count a query fires after every `slide` rows and
    answers for the last `size` of them, or for all while there are fewer.
    """

    size: int
    slide: int
    by: Literal["count", "time"] = "count"
    offset: int = 0
    closed: Closed = "left"
    in_ns: bool = False  # whether ticks are nanoseconds, for texts

    def __post_init__(self) -> None:
        if self.by not in ("count", "time"):
            raise ValueError(f"by must be 'count' or 'time', not {self.by!r}")
        if self.closed not in get_args(Closed):
            raise ValueError(
                f"closed must be one of {', '.join(get_args(Closed))}, not {self.closed!r}"
            )
        if self.by == "count" and (self.offset, self.closed) != (0, "left"):
            raise ValueError("offset and closed are for queries by time")
        for name in ("size", "slide", "offset"):
            ticks = getattr(self, name)
            if isinstance(ticks, bool) or not isinstance(ticks, int):
                raise TypeError(f"{name} must be a whole number of ticks, not {ticks!r}")
            if ticks < 1 and name != "offset":
                raise ValueError(f"{name} must be at least 1, not {ticks}")
        if self.slide > self.size:
            raise ValueError(
                f"slide={self.slide} is larger than size={self.size}: rows between windows "
                "would be lost"
            )
        if self.reach < 1:
            raise ValueError(f"size={self.size} closed at neither end has no tick in it")

    @property
    def reach(self) -> int:
        """How many ticks a window has."""
        return self.size + (self.closed == "both") - (self.closed == "neither")

    @property
    def fires(self) -> int:
        """A window fires at every tick that is this modulo the slide."""
        if self.by == "count":
            return 0
        return (self.offset + self.size + self._after) % self.slide

    @property
    def begins(self) -> int:
        """A window begins at every tick that is this modulo the slide."""
        return (self.fires - self.reach) % self.slide

    @property
    def _after(self) -> int:
        """By how many ticks the firing comes after the window's end: 1 if that is included."""
        return int(self.closed in ("both", "right"))

    def bounds(self, fired: Any) -> tuple[Any, Any]:
        """The start and the end, as the user knows them, of the window that fired then."""
        end = fired - self._after
        return end - self.size, end

    def __str__(self) -> str:
        unit = " rows" if self.by == "count" else ""
        return f"{self.size}{unit} every {self.slide}{unit}"


@dataclass(frozen=True)
class Query:
    """A monoid over periodic windows."""

    monoid: Monoid
    window: Periodic
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name + ': ' if self.name else ''}{self.monoid.name} of {self.window}"


def by_count(monoid: Any, size: int, slide: int = 1, name: str = "") -> Query:
    """The last `size` rows, after every `slide` rows.

    >>> from sash import monoids as m
    >>> print(by_count(m.Max(), size=6, slide=2))
    Max of 6 rows every 2 rows
    """
    return Query(as_monoid(monoid), Periodic(size, slide), name)


def by_time(
    monoid: Any,
    size: Any,
    slide: Any = None,
    offset: Any = 0,
    closed: Closed = "left",
    name: str = "",
) -> Query:
    """Windows of `size` every `slide`: durations, over times in nanoseconds, or numbers.

    >>> from sash import monoids as m
    >>> by_time(m.Max(), "24 hours", "1 minute").window.slide
    60000000000
    """
    frame = sliding(size, size if slide is None else slide, offset, closed)
    return Query(as_monoid(monoid), of_frame(frame), name)


def of_frame(frame: Sliding, tick: int = 1) -> Periodic:
    """The windows of a Sliding or Tumbling frame; `tick`: nanoseconds of a tick of the times."""
    ticks = {}
    for argument in ("size", "slide", "offset"):
        length = getattr(frame, argument)
        ns = length.ns if isinstance(length, Duration) else length
        whole, rest = divmod(ns, tick if isinstance(length, Duration) else 1)
        if rest:
            raise ValueError(
                f"{argument}={length} is not a whole number of ticks"
                + (f" of {Duration(tick)}" if isinstance(length, Duration) else "")
            )
        ticks[argument] = int(whole)
    in_ns = tick == 1 and isinstance(frame.size, Duration)
    return Periodic(by="time", closed=frame.closed, in_ns=in_ns, **ticks)
