"""Bulks: how many items at once are inserted and slid over, plain or compiled."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.kernel.answers import Answers
from sash.kernel.compiled import Kernel
from sash.swag.fiba import drivers, times
from sash.swag.fiba.nodes import block_size
from sash.swag.fiba.state import TreeState
from sash.swag.fiba.tree import (
    EPOCH,
    HEIGHT,
    NEED,
    NEED_KIDS,
    TIMES,
    TREELETS,
    USED,
    USED_KIDS,
    is_empty,
    oldest,
    youngest,
)
from sash.swag.inputs import as_array, check_null

LEAST_PART, MOST_PART = 1 << 10, 1 << 13  # items; larger bulks go in parts
WORTH = 512  # items, in one bulk or in many, from which on it is worth it to compile
AS_MUCH = 8  # a plain bulk evict takes as long as inserting this many items
SINGLY = 10  # but for who calls one at a time, compiling is a longer wait


class Bulks(TreeState):
    """A tree that takes many items at once."""

    def _kernel(self, driver: Any, columns: Any, n: float) -> Kernel | None:
        """The compiled driver, or None where it is to run as plain Python.

        It is compiled once there were WORTH items, or if that is asked for.
        """
        if self._compiled is False:
            return None
        if self._layout is None or columns is None or self._clock == times.OBJECT:
            if self._compiled:
                raise TypeError(
                    f"compiled=True, but the state of {self.monoid!r}, its input or its times "
                    "are not made of numbers"
                )
            return None
        inputs = tuple(c.dtype for c in columns)
        if (driver, inputs) in self._steps.kernels:
            return self._steps.kernels[driver, inputs]
        self._work += n
        if self._compiled is None and self._work < WORTH:
            return None
        return self._steps.compile(driver, inputs, self._compiled)

    def _single(self, driver: Any) -> Kernel | None:
        """The compiled driver for a single operation that changes several nodes, if any."""
        if self._layout is None or self._clock == times.OBJECT:
            return None
        return self._kernel(driver, (), 1 / SINGLY)

    def _insert_slowly(self, t: Any, v: Any) -> None:
        """Insert one entry out of order, or where a node is full."""
        kernel = self._single(drivers.insert_staged)
        if kernel is None:
            self._atomically(self._steps.insert, t, v)
            return
        self._q.new_time[0] = t
        self._q.new_val[0] = v
        while self._run(kernel) != drivers.DONE:
            self._enlarge_as_needed()

    def _evict_slowly(self) -> None:
        """Evict the oldest entry where that is not a matter of one node."""
        kernel = self._single(drivers.evict_bulk)
        if kernel is None:
            self._atomically(self._steps.evict)
            return
        self._make_room()
        self._run(kernel, self._q.time[oldest(self._q)])

    def _evict_upto(self, time: Any) -> None:
        """Evict all entries up to a time of any kind."""
        t = times.key_upto(self._clock, time)
        if t is None or is_empty(self._q):
            return
        self._changes += 1
        kernel = self._kernel(drivers.evict_bulk, (), AS_MUCH)
        if kernel is None:
            self._atomically(self._steps.bulk_evict, t)
            return
        if self._steps.careful:
            self._make_room()
        elif self._clock == times.INT:  # what follows is a single call, until times change
            self._quick_evict = kernel.run
        self._run(kernel, t)

    def _insert_at_once(self, ts: np.ndarray, xs: np.ndarray) -> bool:
        """Insert a bulk that needs no preparation at all; whether it was one.

        The general way takes 7 µs to look at its arguments, as long as inserting 1,000.
        """
        n, (dtype, run) = len(ts), self._quick_insert
        if (
            xs.dtype is not dtype
            or ts.dtype is not times.INT64
            or ts.shape != xs.shape
            or not 0 < n <= self._memory.head[TREELETS]
            or not (ts.flags.c_contiguous and xs.flags.c_contiguous)
        ):
            return False
        self._changes += 1
        return bool(run(self._memory.address, address(ts), (address(xs),), n) == drivers.DONE)

    def _run(self, kernel: Kernel, *arguments: Any) -> Any:
        """Enter compiled code; if the monoid's functions can fail there, it can be undone."""
        if not self._steps.careful:
            return kernel.run(self._memory.address, *arguments)
        self._begin()
        try:
            return kernel.run(self._memory.address, *arguments)
        except BaseException:
            self._steps.undo(self._memory.plain)
            raise
        finally:
            self._memory.head[EPOCH] = 0

    def _insert_compiled(
        self, kernel: Kernel, keys: np.ndarray, columns: tuple[np.ndarray, ...]
    ) -> None:
        n, start = len(keys), 0
        if n > LEAST_PART and bool((keys[1:] < keys[:-1]).any()):
            keys, columns = in_order(keys, columns)
        while start < n:  # in one go if it may fail, so that it can be undone
            end = n if self._steps.careful else min(start + self._part(), n)
            self._insert_part(kernel, keys[start:end], tuple(c[start:end] for c in columns))
            start = end
        self._memory.shrink_treelets(self._part())
        if len(columns) == 1 and self._clock == times.INT and not self._steps.careful:
            self._quick_insert = columns[0].dtype, kernel.run

    def _part(self) -> int:
        """How many items have treelets that take little room beside the tree."""
        return max(LEAST_PART, min(MOST_PART, self._memory.head[USED] // 5))

    def _insert_part(
        self, kernel: Kernel, keys: np.ndarray, columns: tuple[np.ndarray, ...]
    ) -> None:
        n = len(keys)
        self._memory.enlarge_treelets(n)
        while True:
            code = self._run(kernel, address(keys), tuple(map(address, columns)), n)
            if code == drivers.DONE:
                return
            if code == drivers.UNSORTED:
                keys, columns = in_order(keys, columns)
            else:
                self._enlarge_as_needed()

    def _enlarge_as_needed(self) -> None:
        head = self._memory.head
        self._memory.enlarge(head[USED] + head[NEED], head[USED_KIDS] + head[NEED_KIDS])

    def _insert_plain(self, keys: list[Any], items: list[Any]) -> None:
        self._check_items(items)
        step = self._steps.bind(drivers.insert_bulk)
        self._memory.enlarge_treelets(len(keys))
        try:
            while True:
                code = self._atomically(step, keys, items, len(keys))
                if code == drivers.DONE:
                    return
                if code == drivers.UNSORTED:
                    order = sorted(range(len(keys)), key=keys.__getitem__)
                    keys, items = [keys[i] for i in order], [items[i] for i in order]
                else:
                    self._enlarge_as_needed()
        finally:
            self._memory.shrink_treelets(self._part())

    def _check_items(self, items: list[Any]) -> None:
        """TypeError if the state is not made for such items."""
        if items:
            self._lifted(items[0])
        if any(x is None for x in items):
            check_null(self.monoid, self._monoid)

    def _query_ranges(self, los: Any, his: Any) -> Any:
        """The answers for ranges whose bounds are of the tree's own kind, compiled; else None."""
        found = [times.many(bounds) for bounds in (los, his)]
        if any(kind != self._clock for kind, _ in found):
            return None
        n = len(found[0][1])
        kernel = self._kernel(drivers.query_ranges, (), AS_MUCH * n)
        if kernel is None or n == 0:
            return None
        first, last = (np.ascontiguousarray(times.keys_of(kind, ts)) for kind, ts in found)
        answers = Answers(kernel.answer, n)
        kernel.run(self._memory.address, address(first), address(last), n, answers.address)
        return answers.result()

    def _next_time(self, n: int) -> int:
        """The key of the first of n items that follow in order."""
        if is_empty(self._q):
            self._admit(times.INT, ())
            return 0
        if self._clock in (times.FLOAT, times.OBJECT):
            raise ValueError(
                f"slide numbers its items after the youngest time, but times here are "
                f"{self._clock}, {times.time_of(self._clock, self._q.time[youngest(self._q)])!r}; "
                "use insert, evict and query"
            )
        first = int(self._q.time[youngest(self._q)]) + 1
        if first + n > times.MOST:
            raise ValueError(f"no room for {n} times after {first - 1}: they are 64-bit integers")
        return first

    def _make_room_to_slide(self, n: int, limit: int, careful: bool) -> None:
        """Rows for all nodes that are in the window at the same time; what goes is reused."""
        head = self._memory.head
        full = (TIMES - 1) * self.min_arity
        count = min(n, limit)
        levels = head[HEIGHT] + 3 + math.ceil(math.log(count + 1, full))
        kids = count // full // full * 2 + 2 * levels
        nodes = count // full + kids + block_size(head[USED_KIDS] + kids)
        if careful:
            nodes += head[USED]
            kids += head[USED_KIDS]
        self._memory.enlarge(head[USED] + nodes, head[USED_KIDS] + kids)

    def _slide_plain(self, items: list[Any], limit: int, first: int) -> Any:
        self._check_items(items)
        self._make_room_to_slide(len(items), limit, careful=True)
        answers: list[Any] = [None] * len(items)
        step = self._steps.bind(drivers.slide_bulk)
        self._atomically(step, items, len(items), limit, answers, first)
        return answers if self._layout is None else as_array(answers)


def in_order(
    keys: np.ndarray, columns: Sequence[np.ndarray]
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Sorted by time; what has the same time keeps its order."""
    order = np.argsort(keys, kind="stable")
    return keys[order], tuple(column[order] for column in columns)


_from_buffer, _addressof = ctypes.c_char.from_buffer, ctypes.addressof


def address(array: np.ndarray) -> int:
    """Where an array that is not empty lies; `array.ctypes` takes three times as long."""
    try:
        return _addressof(_from_buffer(array))  # type: ignore[arg-type]
    except TypeError:  # it must not be written to
        return int(array.ctypes.data)


def count_of(xs: Any) -> int:
    """How many items: of a tuple of arrays, as many as one of them has."""
    columns = isinstance(xs, tuple) and bool(xs) and isinstance(xs[0], np.ndarray)
    return len(xs[0]) if columns else len(xs)
