"""Periodic windows: what `every` asks for, windows of several sizes and slides in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sash.plan.about import about
from sash.windows import Closed, Frame, Range, Rows, Sliding, sliding
from sash.windows.define import sliding_calendar
from sash.windows.frames import Calendar, SlidingRows, length

if TYPE_CHECKING:
    from sash.plan.aggregation import Aggregation

Kind = Sliding | SlidingRows
"""Windows of one size and slide, by time or by rows."""

F = TypeVar("F")

WINDOW = ("window_start", "window_end")
KIND = "window"
"""The column that names a row's window, where there are windows of several kinds."""


@dataclass(frozen=True)
class Periodic:
    """One answer per key and window, instead of one per row: windows of these kinds.

    `changes`: only of windows whose answers differ from those of the window before.
    """

    kinds: tuple[Kind, ...]
    changes: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say which window a row of answers is of."""
        return WINDOW if len(self.kinds) == 1 else (KIND, *WINDOW)

    @property
    def by_rows(self) -> bool:
        """Whether windows follow each other by a number of rows."""
        return any(isinstance(kind, SlidingRows) for kind in self.kinds)

    @property
    def fills(self) -> bool:
        """Whether windows without rows come out, from a key's first to its last."""
        return any(isinstance(kind, Sliding) and kind.fill for kind in self.kinds)

    @property
    def unfilled(self) -> Periodic:
        """The same windows, but only those that have rows."""
        return replace(self, kinds=tuple(unfilled(kind) for kind in self.kinds))

    def __str__(self) -> str:
        text = "; ".join(map(str, self.kinds)) + ", those without rows too" * self.fills
        return text + ", where answers change" * self.changes


def unfilled(frame: F) -> F:
    """A frame whose windows all have rows."""
    return replace(frame, fill=False) if isinstance(frame, Sliding) else frame


@dataclass(frozen=True)
class Every:
    """The arguments of `every`: the slide, or None where each frame has its own."""

    slide: Any = None
    offset: Any = 0
    closed: Closed = "left"
    fill: bool = False
    changes: bool = False

    def of(self, aggregations: dict[str, Aggregation]) -> tuple[Periodic, dict[str, Aggregation]]:
        """The windows of a call, and its aggregations over them."""
        kinds = {}
        for name, a in aggregations.items():
            with about("output", name):
                kinds[name] = self._filled(name, a.frame)
        over = {name: replace(a, frame=kinds[name]) for name, a in aggregations.items()}
        return Periodic(tuple(dict.fromkeys(kinds.values())), self.changes), over

    def _filled(self, name: str, frame: Frame | None) -> Kind:
        if frame is not None and (frame.exclude or frame.most or not frame.peers):
            raise ValueError(f"{name}: with every, a window has no row of its own: {frame}")
        kind = self._kind(name, frame)
        if isinstance(kind, Sliding):
            return replace(kind, fill=self.fill)
        if self.fill:
            raise ValueError(f"{name}: windows by rows always have rows: fill has no meaning")
        return kind

    def _kind(self, name: str, frame: Frame | None) -> Kind:
        if isinstance(frame, Sliding):
            return Sliding(frame.size, frame.slide, frame.offset, frame.closed)
        if self.slide is None:
            raise ValueError(
                f'{name}: every has no slide: give it one, as in .every("1 minute"), or give the '
                'frame its own, as in .over(sash.sliding("1 hour", "1 minute"))'
            )
        if isinstance(self.slide, Rows):
            return self._by_rows(name, frame)
        if isinstance(self.slide, Calendar):
            if self.closed != "left" or self.offset:
                raise ValueError(f"{name}: periods of a calendar have no offset, closed left")
            made = sliding_calendar(frame, self.slide)
            if self.changes and made.size != 1:
                raise ValueError(f'{name}: emit="changes" takes windows of one calendar period')
            return made
        if (
            not isinstance(frame, Range)
            or frame.preceding is None
            or frame.following is None
            or length(frame.following)
        ):
            raise ValueError(
                f'{name}: with every, .over(…) takes a duration, as in .over("1 hour"), not {frame}'
            )
        closed = self.closed if frame.closed == "both" else frame.closed
        try:
            return sliding(frame.preceding, self.slide, self.offset, closed)
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{name}: {problem}") from None

    def _by_rows(self, name: str, frame: Frame | None) -> SlidingRows:
        """Windows of the last n rows, where the slide is `sash.rows(m)`."""
        size, slide = (
            f.preceding + 1
            if isinstance(f, Rows) and f == Rows(f.preceding, 0) and f.preceding is not None
            else None
            for f in (frame, self.slide)
        )
        if slide is None or size is None:
            raise ValueError(
                f"{name}: a slide in rows: .over(…) takes rows too, as in .over(sash.rows(50)) "
                f"and .every(sash.rows(10)), not {frame}"
            )
        if slide > size:
            raise ValueError(
                f"{name}: a slide of {slide} rows is larger than windows of {size}: rows between "
                "windows would be lost"
            )
        return SlidingRows(size, slide)
