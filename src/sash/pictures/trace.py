"""Trace: a monoid whose partials know which rows they are of, and which combines made them.

An algorithm that runs over it is the real one, in plain Python: what it keeps and what it
combines is read off its own partials, so no picture has a second copy of an algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sash.monoids.monoid import Monoid, as_monoid


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A partial, the rows that are combined in it, older ones first, and its number."""

    value: Any
    rows: tuple[int, ...]
    number: int


class Row(NamedTuple):
    """An item as windows are given it: the number of its row, and its value."""

    number: int
    value: Any


class Combine(NamedTuple):
    """Two partials and what came of them: combined, or the older one taken out (inverse)."""

    older: Traced
    younger: Traced
    result: Traced
    is_inverse: bool


@dataclass
class Trace:
    """All partials that were made, in order, and the combines since the last `taken`."""

    monoid: Monoid
    partials: list[Traced] = field(default_factory=list)
    combines: list[Combine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.identity = self.made(self.monoid.identity, ())

    def made(self, value: Any, rows: tuple[int, ...]) -> Traced:
        """A new partial."""
        partial = Traced(value, rows, len(self.partials))
        self.partials.append(partial)
        return partial

    def lift(self, row: Row | Traced) -> Traced:
        """The partial of a row; a partial, of a slice, as it is."""
        if isinstance(row, Traced):
            return row
        return self.made(self.monoid.lift(row.value), (row.number,))

    def combine(self, older: Traced, younger: Traced) -> Traced:
        """The monoid's combine."""
        value = self.monoid.combine(older.value, younger.value)
        return self._logged(older, younger, self.made(value, older.rows + younger.rows), False)

    def inverse(self, total: Traced, old: Traced) -> Traced:
        """The monoid's inverse."""
        assert self.monoid.inverse is not None
        left = tuple(row for row in total.rows if row not in old.rows)
        made = self.made(self.monoid.inverse(total.value, old.value), left)
        return self._logged(total, old, made, True)

    def over(self, monoid: Monoid) -> Monoid:
        """`monoid`, which has the same partials as this trace's, over what is traced here."""
        return Monoid(
            monoid.name, self.identity, self.lift, self.combine, lambda v: monoid.lower(v.value),
            inverse=self.inverse if monoid.inverse is not None else None, dtype=object,
        )  # fmt: skip

    def taken(self) -> list[Combine]:
        """The combines since the last call."""
        found, self.combines = self.combines, []
        return found

    def _logged(self, a: Traced, b: Traced, made: Traced, is_inverse: bool) -> Traced:
        self.combines.append(Combine(a, b, made, is_inverse))
        return made


def traced(monoid: Any) -> tuple[Monoid, Trace]:
    """The monoid over items that are a `Row`, traced, and its trace.

    >>> from sash import monoids as m
    >>> monoid, trace = traced(m.Max())
    >>> both = monoid.combine(monoid.lift(Row(0, 5)), monoid.lift(Row(1, 3)))
    >>> both.value, both.rows, len(trace.taken())
    (5, (0, 1), 1)
    """
    inner = as_monoid(monoid)
    trace = Trace(inner)
    return trace.over(inner), trace
