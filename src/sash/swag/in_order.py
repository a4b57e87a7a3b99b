"""In-order windows: what first-in-first-out algorithms share around their steps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.kernel import drivers
from sash.kernel.answers import Allocate, Answers, new_array
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel
from sash.kernel.cursors import entered, left
from sash.memory.columns import Table
from sash.monoids.recipe import whole
from sash.swag.coming import Further
from sash.swag.in_order_state import InOrderState
from sash.swag.inputs import (
    Asked,
    WindowEnds,
    addresses,
    as_array,
    check_out,
    items,
    rows,
    written,
)
from sash.swag.window import Use, in_use


class InOrder(InOrderState):
    """A first-in-first-out window; the steps of its algorithm are plain functions.

    One item at a time they run as plain Python; `insert_many`, `evict_many` and
    `slide` run them compiled where the monoid's state is made of numbers.

    A function of the monoid that raises leaves the window as it was before `insert_many`. In
    another call it may leave a step half done; the window then refuses to be used.

    >>> from sash import monoids as m, swag
    >>> window = swag.DABALite(m.Max())
    >>> window.insert(3)
    >>> window.insert_many([9, 1, 4])
    >>> window.query(), len(window)
    (9, 4)
    >>> window.evict_many(2)
    >>> window.query(), window.slide([0, 2, 1], 3)
    (4, [4, 4, 2])
    """

    # One item at a time

    def insert(self, x: Any) -> None:
        """Add `x` as the youngest item."""
        if self._compiled and self._layout is None:
            with Use(self):
                self._columns([x])
        v = self._lifted(x)
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            self._insert_one(v)
        finally:
            self._is_in_use = False

    def evict(self) -> None:
        """Remove the oldest item; IndexError if there is none."""
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            self._evict_one()
        finally:
            self._is_in_use = False

    def query(self) -> Any:
        if self._is_in_use:
            raise in_use(self)
        self._is_in_use = True
        try:
            return self._answer()
        finally:
            self._is_in_use = False

    def _insert_one(self, v: Any) -> None:
        room = self._memory
        room.reserve(self._at, 1)
        try:
            self._at = self._insert(room.plain, self._at, v)
        except BaseException as problem:
            self._fail("insert", problem)
            raise

    def _evict_one(self) -> None:
        if len(self) == 0:
            raise IndexError(f"evict from an empty {type(self).__name__} window")
        try:
            self._at = self._evict(self._q, self._at)
        except BaseException as problem:
            self._fail("evict", problem)
            raise

    def _answer(self) -> Any:
        if len(self) == 0:  # of the monoid as it was given: a typed one's identity is a number
            return self.monoid.lower(self.monoid.identity)
        try:
            v = self._query(self._q, self._at)
        except BaseException as problem:
            self._fail("query", problem)
            raise
        return self._monoid.lower(v)

    # Many at once

    def insert_many(self, xs: Any) -> None:
        """Add each of `xs` in turn: all of them or, if a function of the monoid raises, none.

        Masked items of an array are null: they are items, and the monoid's `lift` gets None.
        """
        with Use(self):
            self._insert_all(xs)

    def evict_many(self, k: int) -> None:
        """Remove the `k` oldest items; IndexError, with nothing changed, if there are fewer."""
        with Use(self):
            self._evict_all(self._count_of_items(k))

    def slide(self, xs: Any, size: int, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over the last `size` items.

        A list for a list, an array for an array, masked where an answer is null.
        `out`: an array to write numbers to; fresh memory costs about as much as the work.
        """
        size = whole(type(self).__name__, "size", size, 1)
        check_out(out)
        with Use(self):
            return self._slide(xs, size, out)

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
            return self._follow(xs, Asked(base, lo, hi, longest, shape), allocate)

    def _insert_all(self, xs: Any) -> None:
        columns = self._columns(xs)
        if columns is not None:  # room first: the kernel is for the kind of cells it gives
            self._memory.reserve(self._at, len(columns[0]))
        kernel = self._kernel(drivers.insert_many, columns)
        if kernel is None or columns is None:
            self._insert_lifted([self._lifted(x) for x in rows(xs)])
        else:
            self._insert_compiled(kernel, columns)

    def _insert_lifted(self, vs: list[Any]) -> None:
        self._memory.reserve(self._at, len(vs))
        with self._all_or_nothing(len(vs)):
            q, at, insert = self._q, self._at, self._insert
            for v in vs:
                at = insert(q, at, v)
            self._at = at

    def _insert_compiled(self, kernel: Kernel, columns: tuple[np.ndarray, ...]) -> None:
        n = len(columns[0])
        if self._may_raise():
            with self._all_or_nothing(n):
                self._enter(kernel, addresses(columns), n)
        else:
            self._run(kernel, addresses(columns), n)

    def _count_of_items(self, k: int) -> int:
        k = operator.index(k)
        if not 0 <= k <= len(self):
            raise IndexError(f"evict {k} items from a window of {len(self)}")
        return k

    def _evict_all(self, k: int) -> None:
        kernel = self._kernel(drivers.evict_many, ()) if k > 1 else None
        if kernel is None:
            for _ in range(k):
                self._evict_one()
        else:
            self._run(kernel, k)

    def _slide(self, xs: Any, size: int, out: np.ndarray | None) -> Any:
        columns = self._columns(xs)
        n = len(columns[0]) if columns is not None else len(xs)
        if columns is not None:
            self._make_room_to_slide(n, min(size, len(self) + n))
        kernel = self._kernel(drivers.slide, columns)
        if kernel is None or columns is None:
            found = self._slide_plain(items(xs), size)
            return found if isinstance(xs, list) else written(as_array(found), out)
        answers = Answers(kernel.answer, n, out)
        self._run(kernel, addresses(columns), n, size, answers.address)
        return answers.result().tolist() if isinstance(xs, list) else answers.result()

    def _slide_plain(self, xs: Sequence[Any], size: int) -> list[Any]:
        answers = []
        try:
            for x in xs:
                while len(self) >= size:
                    self._evict_one()
                self._insert_one(self._lifted(x))
                answers.append(self._answer())
        except BaseException as problem:
            self._stop(problem)
            raise
        return answers

    def _make_room_to_slide(self, n: int, most: int) -> None:
        """In a ring, where filling it costs no more than sliding does."""
        if n < len(self):
            self._memory.reserve(self._at, n)
        else:
            self._memory.reserve_ring(self._at, max(most, len(self)) + 1)

    def _follow(self, xs: Any, asked: Asked, allocate: Allocate) -> tuple[Any, Any]:
        columns = None if isinstance(xs, list) else self._columns(xs)
        self._memory.reserve_ring(self._at, self._room(asked.longest))
        driver = type(self).following
        if columns is None and not self.rewrites:  # its totals are of more than a window, and
            driver = drivers.follow  # objects such as lists grow with them
        with self._whole():
            try:
                return self._follow_by(driver, columns, xs, asked, allocate)
            except OverflowError:  # possibly of partials that are in no window: one at a time
                if self.rewrites:
                    raise
                return self._follow_by(drivers.follow, columns, xs, asked, allocate)

    def _follow_by(
        self,
        driver: Any,
        columns: Any,
        xs: Any,
        asked: Asked,
        allocate: Allocate,
        further: Further | None = None,
    ) -> tuple[Any, Any]:
        lo, hi, n = asked.lo, asked.hi, len(asked.lo)
        last = (int(lo[-1]) - self._shift, int(hi[-1]) - self._shift) if n else (0, 0)
        monoid = self._monoid if further is None else further.monoid
        kernel = self._kernel(driver, columns, monoid)
        cells = self._cells_ahead(*last, asked.longest)
        if kernel is None or columns is None:
            answers: list[Any] = [None] * n
            run = self._plain if further is None else bind_plain(monoid, self._words)
            more: tuple[Any, ...] = () if further is None else (further.plain(),)
            self._at, self._shift = run(driver)(
                self._q, self._at, self._shift, items(xs), asked.plain(), [None] * cells, *more,
                answers,
            )  # fmt: skip
            return answers, None
        assert kernel.answer is not None
        out = Answers(kernel.answer, n, allocate(kernel.answer.layout.array_dtype, n))
        if len(self._coming) < cells:
            self._coming = Table(self._layout, cells)
        more = () if further is None else (further.compiled(),)
        at, self._shift = kernel.run(
            self._memory.memory(), entered(self._at, self._memory.held), self._shift,
            addresses(columns), asked.compiled(), self._coming.address, *more, out.address,
        )  # fmt: skip
        self._at = left(at, self._memory.held)
        return out.arrays()

    def _room(self, longest: int) -> int:
        """How many cells `following` needs for windows of up to so many items."""
        return max(longest, len(self)) + 1

    def _cells_ahead(self, lo: int, hi: int, longest: int) -> int:
        """How many partials `following` keeps of items up to lo and hi, the last row's bounds."""
        return 0

    @property
    def reached(self) -> int:
        return int(self._at.e) + self._shift
