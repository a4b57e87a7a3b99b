"""An experiment of a paper: what is measured, how it is drawn, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")


class Size(StrEnum):
    """How large an experiment is run."""

    TINY = "tiny"  # a second or two: to see that it works
    QUICK = "quick"  # smaller than in the paper, all papers in half an hour
    FULL = "full"  # as in the paper

    def pick(self, tiny: T, quick: T, full: T) -> T:
        """One of three values.

        >>> Size.QUICK.pick(1 << 6, 1 << 14, 1 << 22)
        16384
        """
        return {Size.TINY: tiny, Size.QUICK: quick, Size.FULL: full}[self]


class Point(NamedTuple):
    """A measured value: its place on the x axis (a number or a name), its line, the value."""

    x: float | str
    series: str
    y: float


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, and its scale; an axis of names is drawn as bars."""

    name: str
    scale: Literal["log", "linear", "names"] = "log"


class Data:
    """The points of an experiment, by series.

    >>> data = Data([Point(2, "a", 5.0), Point(1, "a", 4.0), Point(1, "b", 7.0)])
    >>> data.names, data["a"]
    (['a', 'b'], {1: 4.0, 2: 5.0})
    """

    def __init__(self, points: Iterable[Point]) -> None:
        self.points = list(points)
        self.names = list(dict.fromkeys(point.series for point in self.points))

    def __getitem__(self, series: str) -> dict[Any, float]:
        """The values of a series by x, in order of x (names in the order of measuring)."""
        found = {point.x: point.y for point in self.points if point.series == series}
        named = any(isinstance(x, str) for x in found)
        return found if named else dict(sorted(found.items()))


class Check(NamedTuple):
    """A claim of the paper, what was measured of it, and whether the claim holds; if not, why."""

    claim: str
    measured: str
    holds: bool
    why: str = ""  # a sentence, shown where the claim does not hold


class Reported(NamedTuple):
    """A number that the paper gives, as it stands there, and the same of our data."""

    what: str
    paper: str
    ours: Callable[[Data], str]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper."""

    name: str  # in the command and in the names of files: "fig9"
    figure: str  # in the paper: "Figure 9"
    title: str
    x: Axis
    y: Axis
    competitors: tuple[str, ...]
    measure: Callable[[Size], Iterator[Point]]
    input: Callable[[Size], str]  # what was run on: sizes, aggregation, items
    checks: Callable[[Data], list[Check]]
    reported: tuple[Reported, ...] = ()
    passes: int = 3  # a quick run measures all points so many times, in turns

    @property
    def best(self) -> Callable[[float, float], float] | None:
        """Which value of two passes counts: the larger rate, the lesser time. None for values
        that are not times, such as counts and bytes."""
        if "per second" in self.y.name:
            return max
        return min if "seconds" in self.y.name else None


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments."""

    name: str  # in the command: "ra"
    title: str
    year: int
    experiments: tuple[Experiment, ...]
