"""The state of an in-order window: its cursors, its cells, its steps plain and compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from sash.kernel import Layout, drivers, words
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel, Target, compiled, compiled_or_none
from sash.kernel.cursors import checked, entered, left, places, plain
from sash.memory.columns import Table
from sash.memory.queue import Columns, Queue
from sash.monoids.monoid import Monoid
from sash.swag import snapshot
from sash.swag.inputs import WORTH_COMPILING, check_null, columns_of, has_nulls, is_numeric
from sash.swag.parts import Part, cursors_of
from sash.swag.raising import may_raise
from sash.swag.window import Use, Window


class InOrderState(Window):
    """The attributes of an algorithm, and the memory that its steps run on."""

    cursors: ClassVar[type]
    columns: ClassVar[type] = Columns
    cells_an_item: ClassVar[int] = 1
    scratch: ClassVar[int] = 0  # places of `hold` beyond those of the cursors
    steps: ClassVar[tuple[Callable[..., Any], ...]]  # start, insert, evict, query, size
    rewrites: ClassVar[frozenset[str]] = frozenset({"evict"})
    """The steps that change cells which are in use, so that an error in one breaks the window."""
    following: ClassVar[Callable[..., Any]] = drivers.follow
    lists: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """For `parts`, where cells are a queue: a list's name, its first cursor, the one after it."""

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        self._monoid, self._inputs = monoid, inputs
        self._layout = Layout.of(monoid.identity, monoid.dtype)
        self._places = places(self.cursors) + self.scratch
        self._memory = self._new_memory()
        start, insert, evict, query, size = self.steps
        self._words = {
            words.start: start, words.insert: insert, words.evict: evict, words.query: query,
            words.size: size,
        }  # fmt: skip
        self._plain = bind_plain(monoid, self._words)
        self._insert, self._evict = self._plain(insert), self._plain(evict)
        self._query, self._size = self._plain(query), self._plain(size)
        self._at = self._plain(start)(self._q)
        self._checked = self._layout is None
        self._kernels: dict[Any, Kernel | None] = {}
        self._shift = 0  # the row number of item 0, for `follow`
        self._coming = Table(self._layout, 0)

    def _new_memory(self) -> Any:
        return Queue(self._layout, self._monoid.identity, self._places, self.cells_an_item)

    def _dump(self) -> str:
        return f"{self._at}\n{self._memory.text(self._at)}"

    @property
    def _q(self) -> Any:
        return self._memory.plain

    def __len__(self) -> int:
        return int(self._size(self._at))

    def _lifted(self, x: Any) -> Any:
        if x is None:
            check_null(self.monoid, self._monoid)
        v = self._monoid.lift(x)
        if not self._checked:
            self._check_shapes(v)
        return v

    def _check_shapes(self, v: Any) -> None:
        assert self._layout is not None
        self._layout.check(v, f"lift of monoid {self.monoid.name!r}")
        both = self._monoid.combine(self._monoid.identity, v)
        self._layout.check(both, f"combine of monoid {self.monoid.name!r}")
        self._checked = True

    # Compiled code

    def _columns(self, xs: Any) -> tuple[np.ndarray, ...] | None:
        """`xs` as arrays of numbers if it is to run compiled; types an empty window."""
        if self._compiled is False or not is_numeric(xs) or has_nulls(xs):
            return None
        if isinstance(xs, list) and len(xs) < WORTH_COMPILING and self._compiled is None:
            return None
        columns = columns_of(xs)
        if columns is None or len(columns[0]) == 0:
            return None
        kinds = tuple(c.dtype for c in columns)
        if self._layout is None and len(self) == 0:
            typed = self.monoid.of(kinds[0] if len(kinds) == 1 else kinds)
            if typed is not self.monoid:
                self._adopt(typed, kinds)
        return columns if self._layout is not None else None

    def _kernel(self, driver: Any, columns: Any, monoid: Monoid | None = None) -> Kernel | None:
        """A driver, compiled for the window's monoid, or for one that lowers otherwise."""
        if self._compiled is False:
            return None
        if self._layout is None or columns is None:
            if self._compiled:
                raise TypeError(
                    f"compiled=True, but the state of {self.monoid!r} or its input is not made "
                    "of numbers"
                )
            return None
        inputs = tuple(c.dtype for c in columns)
        monoid = self._monoid if monoid is None else monoid
        key = driver, monoid.digest, inputs, self._memory.chunked
        if key not in self._kernels:
            target = Target(
                monoid, self._layout, self._words, self.cursors, self.columns,
                self._memory.chunked, inputs, self._places,
            )  # fmt: skip
            make = compiled if self._compiled else compiled_or_none
            self._kernels[key] = make(driver, target)
        return self._kernels[key]

    def _may_raise(self) -> bool:
        """Whether compiled steps may raise."""
        return may_raise(self._monoid)

    def _run(self, kernel: Kernel, *arguments: Any) -> None:
        try:
            self._enter(kernel, *arguments)
        except BaseException as problem:
            self._refuse(problem)
            raise

    def _enter(self, kernel: Kernel, *arguments: Any) -> None:
        held = self._memory.held
        at = kernel.run(self._memory.memory(), entered(self._at, held), *arguments)
        self._at = left(at, held)

    # Errors in the middle of a step

    @contextlib.contextmanager
    def _all_or_nothing(self, k: int) -> Iterator[None]:
        """Undo the changes of k insertions if they fail; room for them is there already."""
        saved = self._saved(k)
        at = self._at
        try:
            yield
        except BaseException:
            self._at = at
            self._restore(k, saved)
            raise

    def _saved(self, k: int) -> Any:
        """The cells in use that k insertions change, for `_restore`."""

    def _restore(self, k: int, saved: Any) -> None:
        """Undo what k insertions did to cells; the cursors are as they were."""

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """An error in the middle of a step may leave cells of it behind: then say so for good."""
        try:
            yield
        except BaseException as problem:
            self._refuse(problem)
            raise

    def _fail(self, step: str, problem: BaseException) -> None:
        """A step raised: if it changes cells in place, refuse all further calls."""
        if step in self.rewrites:
            self._refuse(problem)

    def _stop(self, problem: BaseException) -> None:
        """A batch raised after some of its steps: refuse all further calls."""
        self._refuse(problem)

    def _refuse(self, problem: BaseException) -> None:
        reason = (
            f"this {type(self).__name__} window was left half changed by {problem!r}: "
            "make a new one, or restore a snapshot"
        )

        def refuse(*_: Any) -> Any:
            raise RuntimeError(reason)

        self._insert = self._evict = self._query = self._size = refuse

    # What is kept, for a person

    def parts(self) -> list[Part]:
        with Use(self):
            return [*self._kept_cells(), *cursors_of(self._at)]

    def _kept_cells(self) -> Iterator[Part]:
        """The cells that are in use; of several cells of an item, the first has the item."""
        an_item, part = self.cells_an_item, self._q.part
        for name, first, stop in self.lists:
            for i in range(getattr(self._at, first), getattr(self._at, stop)):
                if an_item > 1:
                    yield Part("items", i, part[i * an_item])
                yield Part(name, i, part[(i + 1) * an_item - 1])

    # Snapshots and checks

    def _state(self) -> dict[str, Any]:
        len(self)  # refuses a window that was left half changed
        inputs = snapshot.inputs_of(self._inputs)
        return {"inputs": inputs, "at": plain(self._at), "room": self._memory.dump(self._at)}

    def _set_state(self, state: dict[str, Any]) -> None:
        kinds = snapshot.kinds_of(state["inputs"])
        if kinds is not None:
            self._adopt(self.monoid.of(kinds[0] if len(kinds) == 1 else kinds), kinds)
        at = checked(self.cursors, state["at"], self._layout)
        self._memory.load(at, state["room"])
        self._at = at
        for invariant in self._broken():
            raise ValueError(f"not so: {invariant}")

    def _broken(self) -> Iterator[str]:
        """Which invariants of cursors and links do not hold: those that keep steps inside the
        cells. No combines; that cursors are in order is checked already."""
        return iter(())

    def _fold_cells(self, cells: Iterable[int]) -> Any:
        """The partials in `cells`, combined from older to younger."""
        total = self._monoid.identity
        for i in cells:
            total = self._monoid.combine(total, self._q.part[i])
        return total

    def _check_cursors(self) -> None:
        """The part of `check` that needs no combines."""
        try:
            checked(self.cursors, plain(self._at), None)
        except ValueError as problem:
            self._require(False, str(problem))
        for invariant in self._broken():
            self._require(False, invariant)
