"""Frames: which rows are in the window of a row.

Rows of one key are sorted by time; rows of equal time are *peers*. Frames by time
include the current row's peers, as SQL's RANGE does, so that an answer does not
depend on the order of ties; frames by count or by content end at the row itself.
`tests/windows/oracle.py` has each definition as a few lines of brute force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sash.windows.duration import Duration

Closed = Literal["both", "left", "right", "neither"]
By = Literal["count", "time", "content", "own"]
Exclude = Literal["current row", "group", "ties"]
Bound = Duration | int | float
"""How far a frame reaches: a Duration where time is a time, a number where it is one."""


WITHOUT: dict[Exclude, str] = {
    "current row": "the row itself",
    "group": "the row and its peers",
    "ties": "the row's peers",
}


@dataclass(frozen=True, repr=False)
class Frame:
    """The properties of all frames.

    `exclude`: without the row itself, without it and its peers ("group"), or without its
    peers alone ("ties"). `most`: of the rows that are in, at most this many, the youngest.
    `peers`: whether a frame that ends at the row's time has the row's peers after it.
    """

    by: ClassVar[By]
    exclude: Exclude | None = field(default=None, kw_only=True)
    most: int | None = field(default=None, kw_only=True)
    peers: bool = field(default=True, kw_only=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        text = self._text()
        text += f", at most {self.most} rows" if self.most is not None else ""
        text += "" if self.peers else ", up to the row itself"
        return text if self.exclude is None else f"{text}, without {WITHOUT[self.exclude]}"

    def _text(self) -> str:
        """The frame in words, without what holds for all frames."""
        return type(self).__name__

    @property
    def needs_following(self) -> bool:
        """Whether rows after the current one, peers aside, can be in its window."""
        return False

    @property
    def needs_duration(self) -> bool | None:
        """True: the time column must be a time; False: a number; None: either."""
        return None

    def pieces(self, ties: bool = False) -> int:
        """How many runs of rows are left of a window, at most, where `exclude` cuts some out.

        Rows after those that are left out are there only where a window goes on after them.
        `ties`: further columns of order tell rows of one time apart, so those are not all peers.
        """
        kept = 1 + (self.exclude == "ties")  # the rows before, and the row itself
        to_peers = self.by == "time" and self.peers
        some_peers = self.exclude == "current row" or (ties and not isinstance(self, Groups))
        goes_on = self.needs_following or (to_peers and some_peers)
        return 1 if self.exclude is None else kept + goes_on

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the frame itself reads, apart from the time."""
        return ()


@dataclass(frozen=True, repr=False)
class Rows(Frame):
    """From `preceding` rows before the current one to `following` rows after it.

    None is without bound. A negative number is on the other side: Rows(-1, 3) is
    the next three rows.
    """

    preceding: int | None
    following: int | None
    by = "count"

    @property
    def needs_following(self) -> bool:
        return self.following is None or self.following > 0

    def _text(self) -> str:
        if self.following == 0 and self.preceding is not None:
            return f"the last {self.preceding + 1} rows" if self.preceding else "the row itself"
        return f"rows from {_place(self.preceding, -1)} to {_place(self.following, 1)}"


@dataclass(frozen=True, repr=False)
class OwnBounds(Frame):
    """Bounds of each row's own, from two columns: rows, or steps of time, from the row on.

    `start` and `end` name columns, both included; negative numbers precede. The windows of
    neighbouring rows may lie anywhere, so each is searched for.
    """

    unit: Literal["rows", "time"]
    start: str
    end: str
    by = "own"

    @property
    def needs_following(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        return self.start, self.end

    def _text(self) -> str:
        return f"{self.unit} from {self.start} to {self.end}, of each row's own"


@dataclass(frozen=True, repr=False)
class Range(Frame):
    """Rows whose time is from t - `preceding` to t + `following`, t the row's own.

    None is without bound. `closed` says which ends are included: with "right",
    (t - preceding, t + following]. A negative bound is on the other side of t.
    `told`: whether the user said `closed`, which as-of windows have another default for.
    """

    preceding: Bound | None
    following: Bound | None
    closed: Closed = "both"
    told: bool = field(default=False, kw_only=True, repr=False, compare=False)
    by = "time"

    @property
    def needs_following(self) -> bool:
        return self.following is None or length(self.following) > 0

    @property
    def needs_duration(self) -> bool | None:
        given = [b for b in (self.preceding, self.following) if b is not None and length(b)]
        return isinstance(given[0], Duration) if given else None

    def _text(self) -> str:
        ends = "" if self.closed == "both" else f", closed {self.closed}"
        if (
            self.following is not None
            and length(self.following) == 0
            and self.preceding is not None
        ):
            return f"the last {self.preceding}{ends}"
        return f"times from {_place(self.preceding, -1)} to {_place(self.following, 1)}{ends}"


@dataclass(frozen=True, repr=False)
class Groups(Frame):
    """From `preceding` groups of peers before the current row's to `following` after it.

    Rows of equal time are a group. None is without bound; a negative number is on the
    other side.
    """

    preceding: int | None
    following: int | None
    by = "time"

    @property
    def needs_following(self) -> bool:
        return self.following is None or self.following > 0

    def _text(self) -> str:
        return f"groups from {_place(self.preceding, -1)} to {_place(self.following, 1)}"


@dataclass(frozen=True, repr=False)
class Session(Frame):
    """From the start of the current row's session up to the row and its peers.

    A session ends where the next row is more than `gap` later; rows exactly `gap`
    apart are in the same session, as in Spark's session_window. Seen from outside
    (`every`), a session is from its first time to its last time + gap.
    """

    gap: Bound
    by = "time"

    @property
    def needs_duration(self) -> bool | None:
        return isinstance(self.gap, Duration)

    def _text(self) -> str:
        return f"the session so far, gap {self.gap}"


@dataclass(frozen=True, repr=False)
class Delta(Frame):
    """Up to the current row, without the oldest rows whose `column` is more than d away.

    As a row comes, rows are evicted from the oldest on while their `column` differs
    from the newest row's by more than `d`; the first that does not stops it. So the
    window of row i starts at s(i), the first j >= s(i - 1) with |a[i] - a[j]| <= d.
    Where the column only grows, all rows of the window are within d of the newest.
    NaN is away from everything: a row with it is alone. A null is an error.
    """

    column: str
    d: Bound
    by = "content"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def _text(self) -> str:
        return f"{self.column} within {self.d} of the newest"


@dataclass(frozen=True, repr=False)
class Until(Frame):
    """Up to the current row, from just after the last earlier row that ended a window.

    A row for which `predicate(value)` is true ends the window that it is in; it
    belongs to that window, and the next row starts another. `value` is what the
    aggregation takes, or that of `column`; without a predicate, `column` is true
    or false itself.
    """

    predicate: Callable[[Any], bool] | None
    column: str | None = None
    by = "content"

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    def _text(self) -> str:
        what = "" if self.column is None else str(self.column)
        if self.predicate is not None:
            name = getattr(self.predicate, "__name__", "predicate")
            what = f"{name}({what})" if what else name
        return f"the rows since {what} was true"


@dataclass(frozen=True, repr=False)
class Policy(Frame):
    """Up to the current row, without the oldest rows that `function` says to evict.

    As a row comes it is inserted; `total` is then the whole window's partial. The
    longest run of oldest rows, combined into `old`, for which function(total, old)
    is true is evicted, possibly all. `total` stays what it was while that is decided.
    The function must be monotone: true of a run, it is true of every shorter one;
    then it is found by search in O(log n). If it is not, the run is some run for
    which it is true and for which one row more is false; which one depends on the
    algorithm. `sash.windows.not_monotone` looks for a counterexample.

    The partials are those of the aggregation, or of the monoid `of`, which is kept
    beside it: to keep the sum of a window at most 10 and ask for its maximum.
    """

    function: Callable[[Any, Any], bool]
    of: Any = None
    by = "content"

    def _text(self) -> str:
        name = getattr(self.function, "__name__", "policy")
        return f"policy {name}" + (f" of {getattr(self.of, 'name', self.of)}" if self.of else "")


MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}
LONGEST = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
"""Days that a period has at most, clocks aside."""


@dataclass(frozen=True, repr=False)
class Calendar(Frame):
    """The calendar period that the current row is in, so far: up to the row and its peers.

    `count` days, weeks (from Monday on), months, quarters or years, in the time zone `tz`.
    Without one, clocks are those of the time column's own zone. A column without a zone is
    taken for UTC where `tz` is given, and for what clocks showed where it is not.
    """

    count: int
    unit: str
    tz: str | None = None
    by = "time"

    @property
    def needs_duration(self) -> bool | None:
        return True

    @property
    def months(self) -> int:
        """Months of a period; 0 where it is made of days."""
        return self.count * MONTHS.get(self.unit, 0)

    @property
    def days(self) -> int:
        """Days of a period; 0 where it is made of months."""
        return self.count * DAYS.get(self.unit, 0)

    @property
    def longest(self) -> Duration:
        """A length that no period exceeds: clocks may be put back in it."""
        return Duration((self.count * LONGEST[self.unit] + 1) * 86_400_000_000_000)

    @property
    def size(self) -> str:
        """The length in words."""
        return f"{self.count} calendar {self.unit}s" if self.count > 1 else f"calendar {self.unit}"

    def _text(self) -> str:
        return f"the {self.size} so far" + (f", in {self.tz}" if self.tz else "")


@dataclass(frozen=True, repr=False)
class Sliding(Frame):
    """Windows of `size`, one every `slide`, the edges at offset + k * slide.

    Seen from outside (`every`) each is from its start to its start + size, which
    ends are included says `closed`: [start, end) by default, as Spark's window().
    Seen from a row, its window is the first to end of those that have the row, so
    far: up to the row and its peers.
    """

    size: Bound
    slide: Bound
    offset: Bound
    closed: Closed = "left"
    fill: bool = field(default=False, kw_only=True)  # windows without rows come out
    by = "time"

    @property
    def needs_duration(self) -> bool | None:
        return isinstance(self.size, Duration)

    def _text(self) -> str:
        text = f"{self.size} every {self.slide}"
        text += f", offset {self.offset}" if length(self.offset) else ""
        return text + (f", closed {self.closed}" if self.closed != "left" else "")


@dataclass(frozen=True, repr=False)
class Tumbling(Sliding):
    """Windows of `size`, one after the other: Sliding with slide = size."""

    def _text(self) -> str:
        return super()._text().replace(f"{self.size} every", "each", 1)


@dataclass(frozen=True, repr=False)
class SlidingCalendar(Sliding):
    """Windows of `size` periods of a calendar, one for each period."""

    calendar: Calendar = field(kw_only=True)

    @property
    def needs_duration(self) -> bool | None:
        return True

    def _text(self) -> str:
        whole = self.calendar.size if self.size == 1 else f"{self.size} times {self.calendar.size}"
        zone = f", in {self.calendar.tz}" if self.calendar.tz else ""
        return f"each {whole}{zone}" if self.size == 1 else f"{whole}, every one of them{zone}"


@dataclass(frozen=True, repr=False)
class SlidingRows(Frame):
    """Windows of the last `size` rows of a key, one every `slide` rows: for `every` alone.

    The first ends with row `slide` of its key; windows that end before there are `size` rows
    have those that there are. Rows after the last whole slide are in no window of their own.
    """

    size: int
    slide: int
    by = "count"

    def _text(self) -> str:
        return f"{self.size} rows every {self.slide} rows"


@dataclass(frozen=True, repr=False)
class Lifetime(Frame):
    """All rows up to the current one and its peers; nothing is ever evicted."""

    by = "time"

    def _text(self) -> str:
        return "all rows so far"


def length(bound: Bound) -> int | float:
    """A bound as a number; a Duration in nanoseconds."""
    return bound.ns if isinstance(bound, Duration) else bound


def _place(bound: Bound | None, side: int) -> str:
    if bound is None:
        return "the first" if side < 0 else "the last"
    if length(bound) == 0:
        return "the current row"
    after = (length(bound) > 0) == (side > 0)
    away = bound if length(bound) > 0 else -bound
    return f"{away} {'after' if after else 'before'}"
