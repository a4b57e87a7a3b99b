"""Oracle: windows as lists of items, recalculated at every query.

They have the methods of the windows they stand for, so `replay` drives either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sash.monoids.monoid import as_monoid


class Oracle:
    """An in-order window as a list.

    >>> from sash import monoids as m
    >>> w = Oracle(m.Concat())
    >>> w.insert_many("abc"); w.evict(); w.query()
    'bc'
    """

    def __init__(self, monoid: Any) -> None:
        self.monoid = as_monoid(monoid)
        self.items: list[Any] = []

    def __len__(self) -> int:
        return len(self.items)

    def insert(self, x: Any) -> None:
        """Add `x` as the youngest item."""
        self.items.append(x)

    def evict(self) -> None:
        """Remove the oldest item; IndexError if there is none."""
        del self.items[0]

    def insert_many(self, xs: Iterable[Any]) -> None:
        """Add each of `xs` in turn."""
        self.items.extend(xs)

    def evict_many(self, k: int) -> None:
        """Remove the `k` oldest items; IndexError if there are fewer."""
        if k > len(self.items):
            raise IndexError(f"evict {k} items from a window of {len(self.items)}")
        del self.items[:k]

    def query(self) -> Any:
        """The answer over all items."""
        return answer(self.monoid, self.items)

    def slide(self, xs: Iterable[Any], size: int) -> list[Any]:
        """Insert each of `xs`; after each, the answer over the last `size` items."""
        answers = []
        for x in xs:
            self.items = [*self.items, x][-size:]
            answers.append(self.query())
        return answers


class TimedOracle:
    """An out-of-order window as a list by time; items of one time in order of arrival.

    Items of one time are one entry: they count once and are evicted together.

    >>> from sash import monoids as m
    >>> w = TimedOracle(m.Concat())
    >>> w.insert(2, "c"); w.insert(1, "a"); w.insert(1, "b"); w.query(), len(w)
    ('abc', 2)
    """

    def __init__(self, monoid: Any) -> None:
        self.monoid = as_monoid(monoid)
        self.entries: dict[Any, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Each time with its partial, the oldest first."""
        for time in sorted(self.entries):
            yield time, fold(self.monoid, self.entries[time])

    def insert(self, time: Any, x: Any) -> None:
        """Add `x` at `time`, after the items that are there."""
        self.entries.setdefault(time, []).append(x)

    def evict(self) -> None:
        """Remove the oldest entry; IndexError if there is none."""
        if not self.entries:
            raise IndexError("evict from an empty window")
        del self.entries[min(self.entries)]

    def bulk_insert(self, times: Iterable[Any], xs: Iterable[Any]) -> None:
        """Add each of `xs` at its time."""
        for time, x in zip(times, xs, strict=True):
            self.insert(time, x)

    def bulk_evict(self, time: Any) -> None:
        """Remove all entries up to and at `time`."""
        self.entries = {t: xs for t, xs in self.entries.items() if t > time}

    def query(self) -> Any:
        """The answer over all items."""
        return self.range_query(None, None)

    def range_query(self, lo: Any, hi: Any) -> Any:
        """The answer over the items from time `lo` to `hi`, both included."""
        times = [t for t in sorted(self.entries) if (lo is None or lo <= t <= hi)]
        return answer(self.monoid, [x for t in times for x in self.entries[t]])

    def oldest(self) -> Any:
        """The least time; IndexError if there is none."""
        return sorted(self.entries)[0]

    def youngest(self) -> Any:
        """The greatest time; IndexError if there is none."""
        return sorted(self.entries)[-1]


def fold(monoid: Any, items: Iterable[Any]) -> Any:
    """The partial of `items`, combined from older to younger."""
    total = monoid.identity
    for x in items:
        total = monoid.combine(total, monoid.lift(x))
    return total


def answer(monoid: Any, items: Iterable[Any]) -> Any:
    """The answer of a window of `items`."""
    return monoid.lower(fold(monoid, items))


def replay(window: Any, operations: Iterable[Sequence[Any]]) -> list[Any]:
    """Do `operations`, each (method, *arguments), in turn; what each gave, and the length.

    >>> from sash import monoids as m
    >>> replay(Oracle(m.Sum()), [("insert", 3), ("insert_many", [1, 2]), ("query",)])
    [(None, 1), (None, 3), (6, 3)]
    """
    return [(getattr(window, method)(*given), len(window)) for method, *given in operations]
