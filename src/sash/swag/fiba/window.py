"""The window: what a user calls, and the choice between plain and compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sash.kernel.answers import Allocate, Answers, new_array
from sash.kernel.words import Windows
from sash.monoids.recipe import whole
from sash.swag.fiba import drivers, times
from sash.swag.fiba.bulks import Bulks, address, count_of
from sash.swag.fiba.ranges import entries, has_entries
from sash.swag.fiba.times import MOST
from sash.swag.fiba.tree import (
    HEIGHT,
    LEFT_LEAF,
    MIN,
    RIGHT_LEAF,
    SKIP,
    TIMES,
    arity,
    is_empty,
    oldest,
    youngest,
)
from sash.swag.inputs import WindowEnds, check_out, items, row_numbers, rows, written
from sash.swag.window import Use, in_use

INTEGERS = (int, np.int64)


class FiBA(Bulks):
    """Out-of-order window: a finger B-tree with bulk insertion and bulk eviction.

    Entries have times: integers, floats, datetime64, or any objects that can be compared.
    Entries of the same time are combined in order of arrival. `min_arity` is the least
    number of children of a node; larger ones take less memory and more combines for an
    entry that comes out of order.

    An operation that raises leaves the window as it was.

    >>> from sash import monoids as m, swag
    >>> t = swag.FiBA(m.Max())
    >>> t.insert(3, 10); t.insert(1, 30); t.insert(2, 20)
    >>> t.query(), t.range_query(2, 3), t.oldest(), t.youngest()
    (30, 20, 1, 3)
    >>> t.bulk_evict(1); t.query()
    20
    """

    def insert(self, time: Any, x: Any) -> None:
        """Insert `x` at `time`, wherever that is. Amortized O(log d), d entries from an end.

        ValueError if the time is null (None, NaN, NaT).
        """
        v = self._lifted(x)
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            t = self._key(time)
            q = self._q
            self._changes += 1
            in_order = is_empty(q) or q.time[youngest(q)] < t
            if in_order and arity(q, q.head[RIGHT_LEAF]) < TIMES * self.min_arity:
                self._steps.append(q, t, v)
            else:
                self._insert_slowly(t, v)
        finally:
            self._is_in_use = False

    def evict(self) -> None:
        """Remove the oldest entry. Amortized O(1). IndexError if there is none."""
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            q = self._q
            if is_empty(q):
                raise IndexError("evict from an empty FiBA window")
            self._changes += 1
            if q.head[HEIGHT] and arity(q, q.head[LEFT_LEAF]) - q.head[SKIP] > q.head[MIN]:
                self._steps.evict(q)
            else:
                self._evict_slowly()
        finally:
            self._is_in_use = False

    def bulk_evict(self, time: Any) -> None:
        """Remove all entries with times up to `time`: amortized O(log m) for m of them.

        >>> from sash import monoids as m, swag
        >>> t = swag.FiBA(m.Sum())
        >>> t.bulk_insert([5, 6, 7], [1, 2, 3]); t.bulk_evict(6); list(t)
        [(7, 3)]
        """
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            quick = self._quick_evict
            if quick is not None and type(time) in INTEGERS and -MOST <= time <= MOST:
                self._changes += 1
                quick(self._memory.address, time)
            else:
                self._evict_upto(time)
        finally:
            self._is_in_use = False

    def bulk_insert(self, times_: Any, xs: Any) -> None:
        """Insert each of `xs` at its time: amortized O(log d + m (1 + log (d / m))).

        Times need not be sorted: they are sorted here, and items of equal times
        keep their order. ValueError, with nothing changed, if there are not as many times
        as items or if a time is null.

        >>> from sash import monoids as m, swag
        >>> t = swag.FiBA(m.Concat())
        >>> t.bulk_insert([2, 1, 2], ["b", "a", "c"]); t.query(), len(t)
        ('abc', 2)
        """
        with Use(self):
            arrays = type(times_) is np.ndarray and type(xs) is np.ndarray
            if not (arrays and self._insert_at_once(times_, xs)):
                self._insert_bulk(times_, xs)

    def _insert_bulk(self, times_: Any, xs: Any) -> None:
        kind, ts = times.many(times_)
        items = xs if hasattr(xs, "__len__") else list(xs)
        n, count = len(ts), count_of(items)
        if n != count:
            raise ValueError(f"{n} times for {count} values: each value needs a time of its own")
        if n == 0:
            return
        columns = self._columns(items)
        fitting = self._admit(kind, ts)
        keys = times.keys_of(self._clock, fitting)
        self._changes += 1
        kernel = self._kernel(drivers.insert_bulk, columns, n)
        if kernel is None or columns is None:
            plain = keys.tolist() if isinstance(keys, np.ndarray) else keys
            self._insert_plain(plain, list(rows(items)))
        else:
            self._insert_compiled(kernel, keys, columns)

    def query(self) -> Any:
        """The answer over all entries; an empty window lowers the identity. 2 combines."""
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            self._steps.ready(self._q)
            if is_empty(self._q):
                return self._nothing()
            return self._monoid.lower(self._steps.query(self._q))
        finally:
            self._is_in_use = False

    def range_query(self, lo: Any, hi: Any) -> Any:
        """The answer over the entries with times from `lo` to `hi`, both included: O(log d).

        d is how far the range reaches into the window, from the nearer end.

        >>> from sash import monoids as m, swag
        >>> t = swag.FiBA(m.Sum())
        >>> t.bulk_insert(range(100), range(100)); t.range_query(10, 12), t.range_query(98.5, 300)
        (33, 99)
        """
        with Use(self):
            return self._query_range(lo, hi)

    def _query_range(self, lo: Any, hi: Any) -> Any:
        first, last = times.key_from(self._clock, lo), times.key_upto(self._clock, hi)
        if first is None or last is None or is_empty(self._q):
            return self._nothing()
        if self._monoid is not self.monoid and not has_entries(self._q, first, last):
            return self._nothing()
        return self._monoid.lower(self._steps.range_query(self._q, first, last))

    def _nothing(self) -> Any:
        """The answer over no entries, of the monoid as it was given: a typed one has a number."""
        return self.monoid.lower(self.monoid.identity)

    def range_queries(self, los: Any, his: Any) -> Any:
        """As range_query, for many ranges at once; compiled where that is worth it.

        >>> from sash import monoids as m, swag
        >>> t = swag.FiBA(m.Sum())
        >>> t.bulk_insert(range(100), range(100)); t.range_queries([10, 98], [12, 300])
        [33, 197]
        """
        if len(los) != len(his):
            raise ValueError(f"{len(los)} lower bounds for {len(his)} upper ones")
        with Use(self):
            answers = self._query_ranges(los, his)
            if answers is not None:
                return answers
            return [self._query_range(lo, hi) for lo, hi in zip(los, his, strict=True)]

    def oldest(self) -> Any:
        """The smallest time. IndexError if there is none."""
        return times.time_of(self._clock, self._q.time[oldest(self._some())])

    def youngest(self) -> Any:
        """The largest time. IndexError if there is none."""
        return times.time_of(self._clock, self._q.time[youngest(self._some())])

    def _some(self) -> Any:
        if is_empty(self._q):
            raise IndexError("an empty FiBA window has no times")
        return self._q

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Each entry as (time, partial), from the oldest to the youngest."""
        changes, clock = self._changes, self._clock
        q = self._q
        for cell in entries(q):
            yield times.time_of(clock, q.time[cell]), q.val[cell]
            if changes != self._changes:
                raise RuntimeError("the window was changed while it was iterated over")

    def follow(
        self,
        xs: Any,
        base: int,
        lo: WindowEnds,
        hi: WindowEnds,
        longest: int,
        allocate: Allocate = new_array,
        shape: int = 0,
    ) -> tuple[Any, Any]:
        with Use(self):
            return self._follow(xs, base, row_numbers(lo), row_numbers(hi), longest, allocate)

    def _follow(
        self, xs: Any, base: int, lo: np.ndarray, hi: np.ndarray, longest: int, allocate: Allocate
    ) -> tuple[Any, Any]:
        columns = None if isinstance(xs, list) else self._columns(xs)
        n, inserted = len(lo), max(0, int(hi.max(initial=0)) - self._reached)
        self._admit(times.INT, ())
        self._changes += 1
        kernel = self._kernel(drivers.follow_bulk, columns, math.inf)
        careful = kernel is None or self._steps.careful
        self._make_room_to_slide(inserted, longest + 1, careful)
        if kernel is None or columns is None:
            answers: list[Any] = [None] * n
            step = self._steps.bind(drivers.follow_bulk)
            windows = Windows(base, n, lo.tolist(), hi.tolist())
            self._reached = self._atomically(step, items(xs), self._reached, windows, answers)
            return answers, None
        assert kernel.answer is not None
        out = Answers(kernel.answer, n, allocate(kernel.answer.layout.array_dtype, n))
        addresses = tuple(map(address, columns))
        windows = Windows(base, n, lo.ctypes.data, hi.ctypes.data)
        self._reached = self._run(kernel, addresses, self._reached, windows, out.address)
        return out.arrays()

    def search(
        self,
        xs: Any,
        base: int,
        lo: np.ndarray,
        hi: np.ndarray,
        allocate: Allocate = new_array,
    ) -> tuple[Any, Any]:
        """As `follow`, for windows in any order, at O(log n) combines each; evicts nothing."""
        end = int(hi.max(initial=0))
        if end > self._reached:
            new = slice(self._reached - base, end - base)
            part = tuple(x[new] for x in xs) if isinstance(xs, tuple) else xs[new]
            self.bulk_insert(np.arange(self._reached, end), part)
            self._reached = end
        n = len(lo)
        with Use(self):
            kernel = self._kernel(drivers.query_ranges, (), math.inf)
            if kernel is None or self._clock != times.INT:
                return [self._query_range(a, b - 1) for a, b in zip(lo.tolist(), hi.tolist())], None
            assert kernel.answer is not None
            first, last = np.ascontiguousarray(lo), np.ascontiguousarray(hi - 1)
            out = Answers(kernel.answer, n, allocate(kernel.answer.layout.array_dtype, n))
            kernel.run(self._memory.address, address(first), address(last), n, out.address)
            return out.arrays()

    @property
    def reached(self) -> int:
        return self._reached

    def slide(self, xs: Any, size: int, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over the last `size` entries.

        Their times are 0, 1, 2, … or, where there are entries already, those that
        follow the youngest. `out`: an array to write numbers to.

        >>> from sash import monoids as m, swag
        >>> swag.FiBA(m.Max()).slide([3, 1, 2, 0], size=2)
        array([3, 3, 2, 2])
        """
        size = whole("FiBA", "size", size, 1)
        check_out(out)
        with Use(self):
            return self._slide(xs, size, out)

    def _slide(self, xs: Any, size: int, out: np.ndarray | None) -> Any:
        columns = self._columns(xs)
        n = len(columns[0]) if columns is not None else len(xs)
        first = self._next_time(n)
        self._changes += 1
        kernel = self._kernel(drivers.slide_bulk, columns, n)
        if kernel is None or columns is None:
            return written(self._slide_plain(list(rows(xs)), size, first), out)
        self._make_room_to_slide(n, size, self._steps.careful)
        answers = Answers(kernel.answer, n, out)
        addresses = tuple(map(address, columns))
        self._run(kernel, addresses, n, size, answers.address, first)
        return answers.result()
