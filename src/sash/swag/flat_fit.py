"""FlatFIT: in-order windows in amortized constant time, and any range that ends at the youngest.

Order   in order.   Needs   associativity.
Cost    combines, of n items: insert 0, evict 0; query 3 on average and n - 1 at most where
        only the whole window is asked for; n - 1 for all n ranges together.
        Space n partials and n pointers (none for the stack), in at most 4 n rows.
Paper   FlatFIT: Accelerated Incremental Sliding-Window Aggregation For Real-Time
        Analytics, 2017, and In-Order Sliding-Window Aggregation in Worst-Case Constant
        Time, 2021, section 7, on resizing.
Legend  f..e is the window; part[i] is the paper's Partials[i] and ahead[i] its
        Pointers[i] - i: part[i] is items i..i + ahead[i] combined.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.answers import Answers
from sash.kernel.words import (
    ANSWER,
    Address,
    InputColumns,
    Int32,
    Int64,
    Memory,
    Outputs,
    Partial,
    Partials,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
    one,
    outlined,
    put,
)
from sash.memory.rings import Rings
from sash.monoids.monoid import Monoid
from sash.monoids.recipe import whole
from sash.swag.in_order import InOrder
from sash.swag.inputs import addresses, as_array, check_out, rows
from sash.swag.parts import Part
from sash.swag.window import Use


class Columns(NamedTuple):
    """The columns: a weighted jump table. Distances stay as they are when it is resized."""

    part: Partials
    ahead: Int32
    cap: Int64
    held: int


class At(NamedTuple):
    """The cursors; e is the paper's currInd, e - 1 its prevInd."""

    f: int
    e: int


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def insert(q: Any, at: At, v: Partial) -> At:
    """Put `v` behind the youngest item, pointing to what will come next."""
    i = at.e & (q.cap[0] - 1)
    put(q.part, i, v)
    q.ahead[i] = 1
    return At(at.f, at.e + 1)


def evict(q: Any, at: At) -> At:
    """Forget the oldest item; no pointer leads back to it."""
    return At(at.f + 1, at.e)


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    return suffix(q, at, at.f)


def suffix(q: Any, at: At, i: int) -> Partial:
    """Items i..e combined. Their path is shortened, except at i, which may be evicted next."""
    if i == at.e:
        return hold(q, ANSWER, one(q))
    mask = q.cap[0] - 1
    j = i + q.ahead[i & mask]
    if j == at.e:
        return hold(q, ANSWER, get(q.part, i & mask))
    k = j + q.ahead[j & mask]
    if k != at.e:
        if k + q.ahead[k & mask] == at.e:  # two positions, as in all slides but the resets
            point(q, j, at.e, get(q.part, k & mask))
        else:
            shorten(q, j, at.e)
    return hold(q, ANSWER, combine(get(q.part, i & mask), get(q.part, j & mask)))


@outlined
def shorten(q: Any, i: int, e: int) -> None:
    """Let all positions on the path from i to e point to e.

    On the way to the youngest the pointers are turned round: they are the stack
    Positions. On the way back each position is combined with all that is younger.
    The inner loops do the same for neighbours, without waiting for the pointer.
    """
    mask = q.cap[0] - 1
    first, back, ahead = i, 0, q.ahead[i & mask]
    while i + ahead != e:
        q.ahead[i & mask] = back
        back = ahead
        i += ahead
        ahead = q.ahead[i & mask]
        while back == 1 and ahead == 1 and i + 1 != e:
            i += 1
            ahead = q.ahead[i & mask]
    v = get(q.part, i & mask)
    while i != first:
        i -= back
        back = q.ahead[i & mask]
        v = point(q, i, e, v)
        while back == 1 and i != first:
            i -= 1
            back = q.ahead[i & mask]
            v = point(q, i, e, v)


def point(q: Any, i: int, e: int, v: Partial) -> Partial:
    """Let i point to e, where v is all from what it pointed to up to e."""
    k = i & (q.cap[0] - 1)
    q.ahead[k] = e - i
    return put(q.part, k, combine(get(q.part, k), v))


def slide_many(
    memory: Memory,
    at: At,
    xs: InputColumns,
    n: int,
    sizes: Address,
    places: Address,
    m: int,
    out: Outputs,
) -> At:
    """Insert items 0 to n - 1; after each, an answer for each of m sizes, the largest first."""
    q = attach(memory)
    last, place = numbers(sizes), numbers(places)
    for i in range(n):
        at = insert(q, at, lift(q, item(xs, i)))
        if at.e - at.f > last[0]:
            at = evict(q, at)
        for k in range(m):
            first = max(at.f, at.e - last[k])
            give(out, i * m + place[k], lower(suffix(q, at, first)))
    return at


class FlatFIT(InOrder):
    """In-order window, amortized constant time, that answers for any number of last items.

    With `size`, inserting into a window of that many items evicts the oldest.

    >>> from sash import monoids as m, swag
    >>> w = swag.FlatFIT(m.Max(), size=4)
    >>> w.insert_many([5, 1, 3, 2, 2])
    >>> w.query(), w.query(last=2)
    (3, 2)
    """

    cursors = At
    columns = Columns
    steps = (start, insert, evict, query, size)
    rewrites = frozenset({"query"})

    def __init__(
        self, monoid: Any, size: int | None = None, *, compiled: bool | None = None
    ) -> None:
        self.size = None if size is None else whole("FlatFIT", "size", size, 1)
        super().__init__(monoid, compiled=compiled)

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        super()._adopt(monoid, inputs)
        self._suffix = self._plain(suffix)

    def _new_memory(self) -> Any:
        return Rings(Columns, self._layout, self._monoid.identity, self._places)

    def _insert_one(self, v: Any) -> None:
        super()._insert_one(v)
        if self.size is not None and len(self) > self.size:
            self._evict_one()

    def _evict_one(self) -> None:
        super()._evict_one()
        self._memory.release(self._at)

    def _insert_all(self, xs: Any) -> None:
        if self.size is None:
            super()._insert_all(xs)
        else:
            super()._insert_all(last(xs, self.size))
            self._evict_all(max(0, len(self) - self.size))

    def _evict_all(self, k: int) -> None:
        """No combine, and O(1) except for giving back room."""
        self._at = At(self._at.f + k, self._at.e)
        self._memory.release(self._at)

    def query(self, last: int | None = None) -> Any:
        """The answer over the `last` items, or over all: 3 combines on average for all."""
        if last is None:
            return super().query()
        with Use(self):
            return self._answer_over(operator.index(last))

    def _answer_over(self, last: int) -> Any:
        if not 0 <= last <= len(self):
            raise ValueError(f"last must be from 0 to {len(self)}, the window's size, not {last}")
        if last == 0:
            return self.monoid.lower(self.monoid.identity)
        try:
            v = self._suffix(self._q, self._at, self._at.e - last)
        except BaseException as problem:
            self._fail("query", problem)
            raise
        return self._monoid.lower(v)

    def slide(self, xs: Any, size: int | None = None, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over the last `size` items."""
        most = self.size if size is None else size
        if most is None:
            raise ValueError("slide needs a size, its own or the window's")
        most = whole("FlatFIT", "size", most, 1)
        if self.size is not None and most > self.size:
            raise ValueError(f"size must be at most {self.size}, the window's, not {most}")
        check_out(out)
        with Use(self):
            answers = self._slide(xs, most, out)
            self._memory.release(self._at)
        return answers

    def slide_many(self, xs: Any, sizes: Sequence[int], out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, an answer over the last k items for each k
        of `sizes`: one row per item. With sizes 1 to n, n - 1 combines per item.

        >>> from sash import monoids as m, swag
        >>> swag.FlatFIT(m.Max()).slide_many([3, 1, 2], sizes=[1, 2])
        array([[3, 3], [1, 3], [2, 2]])
        """
        asked = np.array([operator.index(size) for size in sizes], np.int64)
        most = int(asked.max(initial=0))
        if asked.min(initial=1) < 1 or most < 1 or most > (self.size or most):
            raise ValueError(f"sizes must be at least 1, and at most the window's, not {sizes}")
        check_out(out)
        with Use(self):
            return self._slide_many(xs, asked, most, out)

    def _slide_many(self, xs: Any, asked: np.ndarray, most: int, out: np.ndarray | None) -> Any:
        self._evict_all(max(0, len(self) - most))
        places = np.argsort(-asked, kind="stable")
        columns = self._columns(xs)
        kernel = self._kernel(slide_many, columns)
        if kernel is None or columns is None:
            return self._slide_many_plain(rows(xs), asked.tolist(), places.tolist())
        n, falling = len(columns[0]), asked[places]
        self._memory.reserve_ring(self._at, min(most, len(self) + n) + 1)
        flat = None if out is None else out.reshape(-1)
        answers = Answers(kernel.answer, n * len(asked), flat)
        where = falling.ctypes.data, places.ctypes.data, len(asked)
        self._run(kernel, addresses(columns), n, *where, answers.address)
        return table(answers.result(), len(asked))

    def _slide_many_plain(self, xs: Iterable[Any], sizes: list[int], places: list[int]) -> Any:
        answers: list[Any] = []
        for x in xs:
            self._insert_one(self._lifted(x))
            if len(self) > sizes[places[0]]:
                self._evict_one()
            of = {k: self._answer_over(min(sizes[k], len(self))) for k in places}
            answers += [of[k] for k in range(len(sizes))]
        return table(as_array(answers), len(sizes))

    @property
    def options(self) -> dict[str, Any]:
        return {"size": self.size}

    def _kept_cells(self) -> Iterator[Part]:
        """The partials of the jump table; each is its item and those up to where it points."""
        for i in range(self._at.f, self._at.e):
            yield Part("jumps", i, self._q.part[i & (self._memory.cap - 1)])

    def _make_room_to_slide(self, n: int, most: int) -> None:
        self._memory.reserve_ring(self._at, max(most, len(self)))

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "size": self.size}

    def _set_state(self, state: dict[str, Any]) -> None:
        self.size = None if state["size"] is None else whole("FlatFIT", "size", state["size"], 1)
        super()._set_state(state)

    def check(self) -> None:
        self._check_cursors()

    def _broken(self) -> Iterator[str]:
        f, e = self._at
        if e - f > self._memory.cap:
            yield "the window fits its ring"
            return
        places = np.arange(f, e)
        ends = places + self._memory.columns["ahead"][places & (self._memory.cap - 1)]
        wrong = places[(ends <= places) | (ends > e)]
        if len(wrong):
            yield f"{wrong[0]} points ahead, at most to {e}"


def last(xs: Any, k: int) -> Any:
    """The `k` last items."""
    if is_columns(xs):
        return tuple(column[-k:] for column in xs)
    return xs[-k:] if isinstance(xs, np.ndarray | list | tuple) else list(xs)[-k:]


def table(answers: Any, m: int) -> Any:
    """Answers in rows of m."""
    if isinstance(answers, np.ndarray):
        return answers.reshape(-1, m, *answers.shape[1:])
    return [answers[i : i + m] for i in range(0, len(answers), m)]


def is_columns(xs: Any) -> bool:
    """Whether items are tuples, given as one array a column."""
    return isinstance(xs, tuple) and bool(xs) and isinstance(xs[0], np.ndarray)
