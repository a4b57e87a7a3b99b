"""A figure of README or of the documentation: what it says, and how a record gives it.

A figure names its input, its record, and the numbers of the record's rows that it is made of; a
page shows the least and the largest of them. Nothing is typed by hand: a figure whose record is
missing says "not measured".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from benchmarks.records import Records, Row
from benchmarks.run import Run
from benchmarks.suites import RUNS

Rows = list[Row]
Numbers = Callable[[list[Row]], list[float]]
Unit = Callable[[list[float]], str]
Better = Literal["higher", "lower"]
NOT_MEASURED = "not measured"


class Unmeasured(LookupError):
    """A record has no row of the kind that a figure asks for."""


@dataclass(frozen=True)
class Figure:
    """A figure: its sentence, in which {option} is a value of the record's command; its record;
    its numbers, from the rows of the record; how they are said; and which are better."""

    name: str
    says: str
    record: str
    numbers: Numbers
    unit: Unit
    better: Better = "higher"

    @property
    def run(self) -> Run:
        return RUNS[self.record]

    @property
    def sentence(self) -> str:
        """What was measured, with its input."""
        return self.run.worded(self.says)

    def text(self, found: Records) -> str:
        """The figure from records, with its unit."""
        if self.record not in found:
            return NOT_MEASURED
        try:
            return self.unit(self.numbers(found[self.record].rows))
        except Unmeasured:
            return NOT_MEASURED


def said(value: float) -> str:
    """A number with about two digits: figures vary by a fifth.

    >>> [said(x) for x in (0.0512, 0.5, 1.386, 5.449, 22.8, 177.9, 1234.5)]
    ['0.051', '0.50', '1.39', '5.4', '23', '180', '1,200']
    """
    if isinstance(value, int):  # counted, not measured
        return f"{value:,}"
    for below, digits in ((0.1, 3), (2, 2), (10, 1), (100, 0)):
        if abs(value) < below:
            return f"{value:.{digits}f}"
    return f"{float(f'{value:.1e}'):,.0f}"


def spread(values: list[float]) -> str:
    """The least and the largest.

    >>> spread([5.8, 3.41, 4.0]), spread([2.0, 2.0])
    ('3.4 to 5.8', '2.0')
    """
    least, largest = said(min(values)), said(max(values))
    return least if least == largest else f"{least} to {largest}"


def faster(than: str) -> Unit:
    """How many times as fast as something else.

    >>> faster("polars")([3.4, 5.8]), faster("polars")([0.84, 1.1])
    ('3.4 to 5.8× faster than polars', '0.84 to 1.10 times as fast as polars')
    """

    def text(values: list[float]) -> str:
        if min(values) >= 1:
            return f"{spread(values)}× faster than {than}"
        return f"{spread(values)} times as fast as {than}"

    return text


def of(unit: str = "") -> Unit:
    """A number with a unit after it.

    >>> of("ms per batch")([5.4])
    '5.4 ms per batch'
    """
    return lambda values: f"{spread(values)} {unit}".rstrip()


def column(name: str, **where: Any) -> Numbers:
    """The numbers of a column, in the rows that have these values.

    >>> column("x", a=(1, 2))([{"a": 1, "x": 5.0}, {"a": 3, "x": 6.0}])
    [5.0]
    """

    def numbers(rows: Rows) -> list[float]:
        chosen = [row[name] for row in rows if _fits(row, where) and row.get(name) is not None]
        return chosen or _unmeasured(name, where)

    return numbers


def _fits(row: Row, where: dict[str, Any]) -> bool:
    wanted = {key: one if isinstance(one, tuple) else (one,) for key, one in where.items()}
    return all(row.get(key.replace("_", " ")) in some for key, some in wanted.items())


def _unmeasured(name: str, where: dict[str, Any]) -> list[float]:
    raise Unmeasured(f"no row has {name!r} with {where}")


def least(*names: str, **where: Any) -> Numbers:
    """Per row, the least of some columns: of another library, the best way to ask."""

    def numbers(rows: Rows) -> list[float]:
        chosen = [
            min(row[name] for name in names if name in row)
            for row in rows
            if _fits(row, where) and any(name in row for name in names)
        ]
        return chosen or _unmeasured(" or ".join(names), where)

    return numbers


def largest(by: str, then: Numbers) -> Numbers:
    """The numbers of the rows in which a column is largest."""
    return lambda rows: then([r for r in rows if r.get(by) == max(q.get(by, 0) for q in rows)])


def inverse(of_: Numbers) -> Numbers:
    """One divided by each number."""
    return lambda rows: [1 / number for number in of_(rows)]


def relative(
    name: str, says: str, record: str, numbers: Numbers, better: Better = "lower"
) -> Figure:
    """A figure without a unit: something relative to something else."""
    return Figure(name, says, record, numbers, of("times"), better)


class Section(NamedTuple):
    """Figures that stand together."""

    title: str
    figures: list[Figure]
    intro: str = ""
