"""MTA: what Log MTA and Amortized MTA share, a tree kept as levels and a slide policy.

Paper   Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient
        Bulk Evictions, 2018, section 4. The steps are in `mta_steps.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from sash.kernel import words
from sash.kernel.answers import Answers
from sash.kernel.compiled import Kernel
from sash.memory import segments
from sash.monoids.monoid import Monoid
from sash.monoids.recipe import whole
from sash.stores import Store
from sash.swag.inputs import WORTH_COMPILING, addresses, check_out, is_numeric, items
from sash.swag.mta_steps import (
    append,
    cell,
    enforce,
    evict_at_once,
    evict_bulk,
    node,
    obey,
    recent,
)
from sash.swag.parts import Part
from sash.swag.pieces import joined
from sash.swag.raising import function_may_raise
from sash.swag.stored import paged
from sash.swag.stored.state import AskedSizes, StoredState
from sash.swag.stored.window import StoredWindow
from sash.swag.window import Use

FOREVER = 1 << 62
PIECE = 1 << 14
FEW = 64

Policy = Callable[[Any, Any], bool]


class MTA(StoredWindow):
    """A window kept as a tree in levels; bulk evictions cost O(log n), as single ones do.

    `policy(total, old)`, of partials, says whether the oldest items, combined into `old`,
    are to be evicted from a window that is `total` in all. After each insertion the most
    that it is true of are evicted, possibly all. It must be monotone: true of some oldest
    items, it is true of fewer. If it is not, some are evicted that it is true of and with
    one more is not. It compiles as the monoid does; of the catalogue's monoids it sees the
    partials of the variant for the inputs, `monoid.of(dtype)`.

    With `store` (a store, or the spec of one) the window is kept there under `name`, and only
    its ends are here: O(log n) memory. If a window of that name is there already, it is
    opened as it was last committed, and `offset` says which input comes next:

    >>> from sash import monoids as m, stores, swag
    >>> store = stores.open("memory:")  # or "lmdb:path", "redis://…"
    >>> w = swag.AMTA(m.Sum(), store=store, name="readings")
    >>> w.insert_many([1, 2, 3]); w.commit()
    3
    >>> again = swag.AMTA(m.Sum(), store=store, name="readings")
    >>> again.offset, again.query()
    (3, 6)

    autocommit  True: the window also commits by itself, whenever that costs little. False:
                only `commit` does; what was evicted since takes room in the store until then.
    page        nodes a record has; `buffer`, how many of a level wait to be written; `cache`,
                how many are read ahead: powers of two, the latter at least four pages.
                128, 512 and 512 of objects; pages of 128 KiB of numbers.
    allow_pickle  True: partials that are neither numbers, text nor collections of them are
                pickled. Reading a pickle can run any code, so allow that only in a store that
                nobody writes to whom you do not trust. False (default): such partials are
                refused, written or read.

    A store that does not answer raises `sash.stores.StoreError`, with the window as it was
    before the call, or before the piece of a batch: `offset` says how far it came. It goes on
    when the store is back. A second owner of the window is a `StoreConflict`, and a record
    that is not what was written is a `sash.stores.DamagedRecord`.
    """

    scratch = 1
    bulk: ClassVar[Callable[..., Any]]  # bulk(q, at, k): evict k items
    enforced: ClassVar[Callable[..., Any]]  # insert(q, at, v), and enforce the policy
    enforce: ClassVar[Callable[..., Any]]  # enforce(q, at): evict what the policy says

    def __init__(
        self,
        monoid: Any,
        policy: Policy | None = None,
        *,
        store: Store | str | None = None,
        name: str | bytes = "window",
        page: int | None = None,
        buffer: int | None = None,
        cache: int | None = None,
        autocommit: bool = True,
        allow_pickle: bool = False,
        compiled: bool | None = None,
    ) -> None:
        if policy is not None and not callable(policy):
            raise TypeError(f"policy must be a function of (total, old), not {policy!r}")
        self.policy = policy
        self._stored: StoredState | None = None
        if store is not None:
            sizes = AskedSizes(page, buffer, cache)
            self._stored = StoredState(store, name, sizes, autocommit, allow_pickle)
        super().__init__(monoid, compiled=compiled)
        if self._stored is not None:
            self._open()

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        super()._adopt(monoid, inputs)
        more: dict[Any, Any] = {evict_at_once: type(self).bulk}
        if self.policy is not None:
            more |= {
                words.policy: as_function(self.policy),
                words.insert: type(self).enforced,
                append: type(self).steps[1],
                enforce: type(self).enforce,
            }
        self._bind(monoid, more, {cell: segments.cell, recent: segments.recent})
        self._bulk = self._plain(type(self).bulk)
        self._query = until_changed(self._query)

    def _new_memory(self) -> Any:
        return self._levels() if self._stored is None else self._paged_memory()

    def _levels(self) -> Any:
        """Room in memory."""
        raise NotImplementedError

    def _evict_one(self) -> None:
        if self._stored is None:
            super()._evict_one()
        elif len(self) == 0:
            raise IndexError(f"evict from an empty {type(self).__name__} window")
        else:
            self._memory.reach(self._at, 1)
            with self._whole():
                self._at = self._evict(self._q, self._at)
        self._memory.release(self._at)

    def evict_many(self, k: int) -> None:
        """Remove the `k` oldest items; IndexError, with nothing changed, if there are fewer.

        O(log n) combines for any `k`; over a store, O(log n) pages in one trip.
        """
        super().evict_many(k)

    def _evict_all(self, k: int) -> None:
        if k > 0:
            if k <= FEW:  # they may go one by one
                self._memory.reach(self._at, k)
            else:
                self._memory.reach(self._at._replace(f=self._at.f + k), 0)
            in_batches = self._stored is None and any(self._kernels.values())
            kernel = self._kernel(evict_bulk, ()) if in_batches and k > FEW else None
            if kernel is None:
                with self._whole():
                    self._at = self._bulk(self._q, self._at, k)
            else:
                self._run(kernel, k)
            self._memory.release(self._at)

    def _insert_one(self, v: Any) -> None:
        """Add an item, then enforce the policy."""
        if self._stored is None:
            super()._insert_one(v)
        else:
            self._make_room(1, 1)
            with self._whole():
                self._at = self._insert(self._q, self._at, v)
        if self.policy is not None:
            self._memory.release(self._at)

    def insert_many(self, xs: Any) -> None:
        """Add each of `xs` in turn, each time enforcing the policy: all of them or, if a function
        raises, none. Over a store, none of the piece that it comes to: `offset` says how far.
        """
        super().insert_many(xs)

    def _insert_all(self, xs: Any) -> None:
        len(self)  # refuses a window that was left half changed
        if self._stored is not None:
            self._in_pieces(xs, self._insert_piece)
            return
        columns = None if self.policy is None else self._columns(xs)
        if columns is None or len(columns[0]) <= max(PIECE, len(self)):
            self._insert_piece(xs, slice(None))
            return
        at, saved = self._at, self._memory.copied()
        try:
            self._in_pieces(columns if len(columns) > 1 else columns[0], self._insert_piece)
        except BaseException:
            self._memory.take(saved)
            self._at = at
            raise

    def _insert_piece(self, xs: Any, _: slice) -> None:
        super()._insert_all(xs)
        if self.policy is not None or self._stored is not None:
            self._memory.release(self._at)

    def _insert_lifted(self, vs: list[Any]) -> None:
        if self._stored is None:
            super()._insert_lifted(vs)
        else:
            for v in vs:
                self._insert_one(v)

    def _insert_compiled(self, kernel: Kernel, columns: tuple[np.ndarray, ...]) -> None:
        if self._stored is None:
            super()._insert_compiled(kernel, columns)
        else:
            self._run(kernel, addresses(columns), len(columns[0]))

    def _may_raise(self) -> bool:
        return super()._may_raise() or function_may_raise(self.policy)

    def slide(self, xs: Any, size: int | None = None, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over what the policy leaves.

        With `size`, over the last `size` items of it at most.
        """
        if size is None and self.policy is None:
            raise ValueError("slide needs a size, or a window with a policy")
        most = FOREVER if size is None else whole(type(self).__name__, "size", size, 1)
        check_out(out)
        with Use(self):
            return self._slide_in_pieces(xs, most, out)

    def _slide_in_pieces(self, xs: Any, most: int, out: np.ndarray | None) -> Any:
        if self._stored is not None and most < len(self):
            self._evict_all(len(self) - most)
        answers: list[Any] = []

        def slide(piece: Any, where: slice) -> None:
            part = None if out is None else out[where]
            answers.append(self._slide(piece, most, part))
            self._memory.release(self._at)

        if self.policy is None and self._stored is None:
            slide(xs, slice(None))
        else:
            self._in_pieces(xs, slide)
        found = joined(answers, out)
        return found.tolist() if isinstance(xs, list) and isinstance(found, np.ndarray) else found

    def obey(self, xs: Any, flags: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """The answers over what the policy leaves after each row, for many keys in turn.

        `flags`, a row each: BEGINS where a key begins, HELD where the policy is not asked, NULL
        where there is no item; `xs` has the items of the others. Gives the answers and which
        numbers of them are null, as `follow` does, and how many items each is of.
        """
        with Use(self):
            return self._obey(xs, flags)

    def _obey(self, xs: Any, flags: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        columns = None if isinstance(xs, list) else self._columns(xs)
        n, sizes = len(flags), np.zeros(len(flags), np.int64)
        self._memory.reserve_ring(self._at, len(self) + n + 1)
        kernel = self._kernel(obey, columns)
        if kernel is None or columns is None:
            answers: list[Any] = [None] * n
            run = self._plain(obey)
            with self._whole():
                self._at = run(self._q, self._at, items(xs), n, flags.tolist(), sizes, answers)
            found: tuple[Any, Any, np.ndarray] = (answers, None, sizes)
        else:
            out = Answers(kernel.answer, n)
            where = flags.ctypes.data, sizes.ctypes.data
            self._run(kernel, addresses(columns), n, *where, out.address)
            found = (*out.arrays(), sizes)
        self._memory.release(self._at)
        return found

    def _make_room_to_slide(self, n: int, most: int) -> None:
        if self._stored is not None:
            goes = self.policy is not None or len(self) + n > most
            self._make_room(n, n if goes else 1)
            return
        self._memory.reserve_ring(self._at, max(most, len(self)) + (self.policy is not None))

    def _in_pieces(self, xs: Any, run: Callable[[Any, slice], None]) -> None:
        """Arrays in pieces, as long as the window is then: room need not be made for all."""
        if isinstance(xs, list) and len(xs) >= WORTH_COMPILING and is_numeric(xs):
            xs = np.array(xs)
        is_table = isinstance(xs, tuple) and is_numeric(xs)
        if not is_table and not isinstance(xs, np.ndarray):
            run(xs, slice(None))
            return
        n, start = len(xs[0]) if is_table else len(xs), 0
        while start < n:
            length = max(PIECE, len(self)) if self._stored is None else self._stored.piece
            where = slice(start, start + length)
            try:
                run(tuple(c[where] for c in xs) if is_table else xs[where], where)
            except paged.TooFar:
                if self._stored is None or length == 1:
                    raise
                self._stored.piece = max(1, length // 8)
                continue
            start = where.stop

    # What is kept, for a person

    @property
    def options(self) -> dict[str, Any]:
        return {"policy": self.policy}

    def _extent(self, level: int) -> tuple[int, int]:
        """The nodes of a level that are in use: from, and up to."""
        raise NotImplementedError

    def _kept_cells(self) -> Iterator[Part]:
        at_node = self._plain(node)
        for level in range(self._at.h + 1):
            for j in range(*self._extent(level)):
                yield Part(f"level {level}", j, at_node(self._q, level, j))

    # Snapshots

    def _state(self) -> dict[str, Any]:
        if self._stored is not None:
            raise TypeError("a window over a store is kept there: commit() it, and open it again")
        return {**super()._state(), "policy": self._policy_digest}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._check_policy(state["policy"])
        super()._set_state(state)


def until_changed(query: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`query`, whose result is kept as long as the window has the same cursors (section 5.2).

    Each change of a window gives it new ones.
    """
    seen: Any = None
    total: Any = None

    def cached(q: Any, at: Any) -> Any:
        nonlocal seen, total
        if at is not seen:
            total, seen = query(q, at), at
        return total

    return cached


def as_function(policy: Policy) -> Policy:
    """A policy that is not a plain function (an object that can be called) as one."""
    return policy if inspect.isfunction(policy) else lambda total, old: policy(total, old)
