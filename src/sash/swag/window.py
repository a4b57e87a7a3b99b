"""The contract of a window (insert, evict, query) and what in-order windows share."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from sash.kernel import Layout, drivers, words
from sash.kernel.answers import Answers
from sash.kernel.bind import bind_plain
from sash.kernel.cells import Table, as_columns
from sash.kernel.compiled import Kernel, Target, compiled, compiled_or_none
from sash.kernel.cursors import checked, entered, left, places, plain
from sash.kernel.room import Queue, Store
from sash.monoids.monoid import Monoid, as_monoid
from sash.swag import snapshot

WORTH_COMPILING = 512
"""A list of fewer items runs as plain Python, unless compiled=True."""


class Window(ABC):
    """A window over a monoid: what every algorithm can do."""

    def __init__(self, monoid: Any, *, compiled: bool | None = None) -> None:
        """`compiled`: True insists on machine code, False on plain Python, None chooses."""
        self.monoid = as_monoid(monoid)
        self._compiled = compiled
        self._adopt(self.monoid, None)

    @abstractmethod
    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        """Begin with an empty window over `monoid`, typed for `inputs` if they are given."""

    @abstractmethod
    def __len__(self) -> int:
        """How many items are in the window."""

    @abstractmethod
    def query(self) -> Any:
        """The answer over the whole window; an empty one lowers the identity."""

    @abstractmethod
    def follow(
        self,
        xs: Any,
        base: int,
        lo: np.ndarray,
        hi: np.ndarray,
        longest: int,
        room: Callable[[np.dtype, int], np.ndarray] = lambda dtype, n: np.empty(n, dtype),
    ) -> tuple[Any, Any]:
        """The answers over windows of rows lo[i] to hi[i] - 1, both growing, and which numbers
        of them are null: a column for each number of an answer, or None.

        Rows are numbered through all calls; xs[0] is the item of row `base`, and xs has
        every row that no call has reached yet. A window has at most `longest` rows; one
        without rows is left without an answer, and not counted as null. `room` gives an
        array for answers.
        """

    @property
    @abstractmethod
    def reached(self) -> int:
        """The row after the last that `follow` has inserted."""

    @abstractmethod
    def check(self) -> None:
        """Raise AssertionError, with the state, if an invariant is broken."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What a snapshot keeps."""

    @abstractmethod
    def _set_state(self, state: dict[str, Any]) -> None:
        """Take the state that `_state` gave; an error, before any step follows a cursor or a
        link, if these are not what an algorithm keeps."""

    def snapshot(self) -> bytes:
        """The window as bytes; `swag.restore(blob, monoid)` gives it back."""
        return snapshot.write(self, self._state())

    def _require(self, holds: bool, invariant: str) -> None:
        if not holds:
            raise AssertionError(f"{type(self).__name__}: not so: {invariant}\n{self._dump()}")

    def _dump(self) -> str:
        """The state, for a person who looks for what went wrong."""
        return repr(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.monoid.name}, {len(self)} items>"


class InOrder(Window):
    """A first-in-first-out window; the steps of its algorithm are plain functions.

    One item at a time they run as plain Python; `insert_many`, `evict_many` and
    `slide` run them compiled where the monoid's state is made of numbers.
    """

    cursors: ClassVar[type]
    store: ClassVar[type] = Store
    cells_an_item: ClassVar[int] = 1
    scratch: ClassVar[int] = 0  # places of `hold` beyond those of the cursors
    steps: ClassVar[tuple[Callable[..., Any], ...]]  # start, insert, evict, query, size
    following: ClassVar[Callable[..., Any]] = drivers.follow

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        self._monoid, self._inputs = monoid, inputs
        self._layout = Layout.of(monoid.identity, monoid.dtype)
        self._places = places(self.cursors) + self.scratch
        self._room = self._new_room()
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

    def _new_room(self) -> Any:
        return Queue(self._layout, self._monoid.identity, self._places, self.cells_an_item)

    def _dump(self) -> str:
        return f"{self._at}\n{self._room.text(self._at)}"

    @property
    def _q(self) -> Any:
        return self._room.plain

    def __len__(self) -> int:
        return int(self._size(self._at))

    def insert(self, x: Any) -> None:
        """Add `x` as the youngest item."""
        if self._compiled and self._layout is None:
            self._columns([x])
        v = self._monoid.lift(x)
        if not self._checked:
            self._check_shapes(v)
        self._room.reserve(self._at, 1)
        with self._whole():
            self._at = self._insert(self._q, self._at, v)

    def evict(self) -> None:
        """Remove the oldest item; IndexError if there is none."""
        if len(self) == 0:
            raise IndexError(f"evict from an empty {type(self).__name__} window")
        with self._whole():
            self._at = self._evict(self._q, self._at)

    def query(self) -> Any:
        if len(self) == 0:  # of the monoid as it was given: a typed one's identity is a number
            return self.monoid.lower(self.monoid.identity)
        return self._monoid.lower(self._query(self._q, self._at))

    def insert_many(self, xs: Any) -> None:
        """Add each of `xs` in turn."""
        columns = self._columns(xs)
        if columns is not None:  # room first: the kernel is for the kind of cells it gives
            self._room.reserve(self._at, len(columns[0]))
        kernel = self._kernel(drivers.insert_many, columns)
        if kernel is None or columns is None:
            for x in rows(xs):
                self.insert(x)
            return
        self._run(kernel, addresses(columns), len(columns[0]))

    def evict_many(self, k: int) -> None:
        """Remove the `k` oldest items; IndexError, with nothing changed, if there are fewer."""
        if not 0 <= k <= len(self):
            raise IndexError(f"evict {k} items from a window of {len(self)}")
        kernel = self._kernel(drivers.evict_many, ()) if k > 1 else None
        if kernel is None:
            for _ in range(k):
                self.evict()
            return
        self._run(kernel, k)

    def slide(self, xs: Any, size: int, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over the last `size` items.

        A list for a list, an array for an array, masked where an answer is null.
        `out`: an array to write numbers to; fresh memory costs about as much as the work.
        """
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        columns = self._columns(xs)
        n = len(columns[0]) if columns is not None else len(xs)
        if columns is not None:
            self._make_room_to_slide(n, min(size, len(self) + n))
        kernel = self._kernel(drivers.slide, columns)
        if kernel is None or columns is None:
            found = self._slide_plain(list(rows(xs)), size)
            return found if isinstance(xs, list) else as_array(found)
        answers = Answers(kernel.answer, n, out)
        self._run(kernel, addresses(columns), n, size, answers.address)
        return answers.result().tolist() if isinstance(xs, list) else answers.result()

    def follow(
        self,
        xs: Any,
        base: int,
        lo: np.ndarray,
        hi: np.ndarray,
        longest: int,
        room: Callable[[np.dtype, int], np.ndarray] = lambda dtype, n: np.empty(n, dtype),
    ) -> tuple[Any, Any]:
        columns = None if isinstance(xs, list) else self._columns(xs)
        self._room.reserve_ring(self._at, max(longest, len(self)) + 1)
        with self._whole():
            try:
                return self._follow(type(self).following, columns, xs, base, lo, hi, room)
            except OverflowError:  # of partials that are in no window, maybe: one at a time
                return self._follow(drivers.follow, columns, xs, base, lo, hi, room)

    def _follow(
        self, driver: Any, columns: Any, xs: Any, base: int, lo: Any, hi: Any, room: Any
    ) -> tuple[Any, Any]:
        """`follow` by a driver; an error leaves the window as it was, but for items in cells."""
        n = len(lo)
        last = (int(lo[-1]) - self._shift, int(hi[-1]) - self._shift) if n else (0, 0)
        kernel, cells = self._kernel(driver, columns), self._cells_ahead(*last)
        if kernel is None or columns is None:
            answers: list[Any] = [None] * n
            run, bounds = self._plain(driver), (lo.tolist(), hi.tolist())
            self._at, self._shift = run(
                self._q, self._at, self._shift, items(xs), base, n, *bounds, [None] * cells, answers
            )
            return answers, None
        assert kernel.answer is not None
        out = Answers(kernel.answer, n, room(kernel.answer.layout.array_dtype, n))
        if len(self._coming) < cells:
            self._coming = Table(self._layout, cells)
        at, self._shift = kernel.run(
            self._room.memory(), entered(self._at, self._room.held), self._shift,
            addresses(columns), base, n, lo.ctypes.data, hi.ctypes.data, self._coming.address,
            out.address,
        )  # fmt: skip
        self._at = left(at, self._room.held)
        return out.arrays()

    def _cells_ahead(self, lo: int, hi: int) -> int:
        """How many partials `following` keeps of items up to lo and hi, the last row's bounds."""
        return 0

    @property
    def reached(self) -> int:
        return int(self._at.e) + self._shift

    def _make_room_to_slide(self, n: int, most: int) -> None:
        """In a ring, where filling it costs no more than sliding does."""
        if n < len(self):
            self._room.reserve(self._at, n)
        else:
            self._room.reserve_ring(self._at, max(most, len(self)) + 1)

    def _slide_plain(self, xs: Sequence[Any], size: int) -> Any:
        answers = []
        for x in xs:
            while len(self) >= size:
                self.evict()
            self.insert(x)
            answers.append(self.query())
        return answers

    def _columns(self, xs: Any) -> tuple[np.ndarray, ...] | None:
        """`xs` as arrays of numbers if it is to run compiled; types an empty window."""
        if self._compiled is False or not is_numeric(xs):
            return None
        if isinstance(xs, list) and len(xs) < WORTH_COMPILING and self._compiled is None:
            return None
        columns = as_columns(xs)
        if columns is None or len(columns[0]) == 0:
            return None
        kinds = tuple(c.dtype for c in columns)
        if self._layout is None and len(self) == 0:
            typed = self.monoid.of(kinds[0] if len(kinds) == 1 else kinds)
            if typed is not self.monoid:
                self._adopt(typed, kinds)
        return columns if self._layout is not None else None

    def _kernel(self, driver: Any, columns: Any) -> Kernel | None:
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
        key = driver, inputs, self._room.chunked
        if key not in self._kernels:
            target = Target(
                self._monoid, self._layout, self._words, self.cursors, self.store,
                self._room.chunked, inputs, self._places,
            )  # fmt: skip
            make = compiled if self._compiled else compiled_or_none
            self._kernels[key] = make(driver, target)
        return self._kernels[key]

    def _run(self, kernel: Kernel, *arguments: Any) -> None:
        at = entered(self._at, self._room.held)
        with self._whole():
            self._at = left(kernel.run(self._room.memory(), at, *arguments), self._room.held)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """An error in the middle of a step may leave cells of it behind: then say so for good."""
        try:
            yield
        except Exception as problem:
            reason = (
                f"this {type(self).__name__} window was left half changed by {problem!r}: "
                "make it anew, or restore a snapshot"
            )

            def refuse(*_: Any) -> Any:
                raise RuntimeError(reason)

            self._insert = self._evict = self._query = self._size = refuse
            raise

    def _check_shapes(self, v: Any) -> None:
        assert self._layout is not None
        self._layout.check(v, f"lift of monoid {self.monoid.name!r}")
        both = self._monoid.combine(self._monoid.identity, v)
        self._layout.check(both, f"combine of monoid {self.monoid.name!r}")
        self._checked = True

    def _state(self) -> dict[str, Any]:
        len(self)  # refuses a window that was left half changed
        inputs = snapshot.inputs_of(self._inputs)
        return {"inputs": inputs, "at": plain(self._at), "room": self._room.dump(self._at)}

    def _set_state(self, state: dict[str, Any]) -> None:
        kinds = snapshot.kinds_of(state["inputs"])
        if kinds is not None:
            self._adopt(self.monoid.of(kinds[0] if len(kinds) == 1 else kinds), kinds)
        at = checked(self.cursors, state["at"], self._layout)
        self._room.load(at, state["room"])
        self._at = at
        for invariant in self._broken():
            raise ValueError(f"not so: {invariant}")

    def _broken(self) -> Iterator[str]:
        """Which invariants of cursors and links do not hold: those that keep steps inside the
        cells. No combines; that cursors are in order is checked already."""
        return iter(())

    def _check_cursors(self) -> None:
        """The part of `check` that needs no combines."""
        try:
            checked(self.cursors, plain(self._at), None)
        except ValueError as problem:
            self._require(False, str(problem))
        for invariant in self._broken():
            self._require(False, invariant)


def is_numeric(xs: Any) -> bool:
    """Whether `xs` is an array, a tuple of arrays, or a list of numbers of one type."""
    if isinstance(xs, np.ndarray):
        return xs.dtype.kind in "biuf"
    if isinstance(xs, tuple):
        return bool(xs) and all(isinstance(x, np.ndarray) and is_numeric(x) for x in xs)
    if isinstance(xs, list):
        return len(set(map(type, xs))) == 1 and type(xs[0]) in (int, float, bool)
    return False


def rows(xs: Any) -> Iterable[Any]:
    """The items of `xs` as plain Python values; a tuple of arrays gives tuples."""
    if isinstance(xs, tuple) and xs and isinstance(xs[0], np.ndarray):
        return zip(*(x.tolist() for x in xs), strict=True)
    return xs.tolist() if isinstance(xs, np.ndarray) else xs


def items(xs: Any) -> list[Any]:
    """The items of `xs` by number, as plain Python values."""
    return xs if isinstance(xs, list) else list(rows(xs))


def addresses(columns: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Where each column lies."""
    return tuple(c.ctypes.data for c in columns)


def as_array(answers: list[Any]) -> Any:
    """A NumPy array where all answers are numbers of one type, else the list."""
    return np.array(answers) if is_numeric(answers) else answers


def fold(window: Any, cells: Iterable[int]) -> Any:
    """The partials in `cells`, combined from older to younger."""
    total = window._monoid.identity
    for i in cells:
        total = window._monoid.combine(total, window._q.part[i])
    return total


def agree(a: Any, b: Any) -> bool:
    """Whether two partials are equal, floats to a rounding error."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))
    return bool(np.all(a == b))
