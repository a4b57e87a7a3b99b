"""StoredWindow: in-order windows that can be kept in a store, page by page.

The algorithm's steps stay as they are; what is here is around them: where nodes lie (another
meaning of its words for that), what is done when a store does not answer, and committing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sash.kernel import words
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel
from sash.kernel.cursors import checked, entered
from sash.memory import segments
from sash.monoids.monoid import Monoid
from sash.swag import snapshot
from sash.swag.in_order import InOrder
from sash.swag.stored import paged
from sash.swag.stored.state import StoredState
from sash.swag.window import Use

LARGE_PAGE = 10  # levels; below it plain Python is as good, unless kernels are there


class StoredWindow(InOrder):
    """A window in memory or, if `_stored` is set before it begins, over a store."""

    paged_columns: ClassVar[type]  # those whose levels are in pages
    edits: ClassVar[bool] = False  # whether steps change nodes that were there before
    final: ClassVar[Any]  # final(at, level): below it, nodes of a level do not change
    policy: Any
    _stored: StoredState | None

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        if self._stored is not None:
            self._stored.begin_anew()
        super()._adopt(monoid, inputs)

    def _bind(self, monoid: Monoid, more: Mapping[Any, Any], where: Mapping[Any, Any]) -> None:
        """Take `more` words and, over a store, those that say where nodes lie."""
        if self._stored is None and not more:
            return
        self._words = {
            **{w: f for w, f in more.items() if w is words.policy},
            **self._words,
            **more,
        }
        plain = self._words
        if self._stored is not None:
            self.columns = type(self).paged_columns  # type: ignore[misc]
            fetch = {segments.fetch: lambda q, level, j: self._memory.fetch(level, j)}
            plain = self._words = {**fetch, **where, **self._words}
            if self.edits:
                plain = {words.put: lambda part, i, v: self._memory.put(part, i, v), **self._words}
        self._plain = bind_plain(monoid, plain)
        self._insert = self._plain(self._words[words.insert])
        self._evict = self._plain(self._words[words.evict])
        self._query = self._plain(self._words[words.query])

    @property
    def offset(self) -> int:
        """How many items were inserted, or `commit(offset=…)` and those since then.

        Of a window that was opened again: which input comes next.
        """
        return int(self._at.e) + (0 if self._stored is None else self._stored.base)

    def commit(self, offset: int | None = None) -> int:
        """Have the store keep the window as it is now; gives its offset.

        All of it or, when it raises, nothing: then the last commit still stands, this one
        is tried again before anything else is written, and the window here is as it was.
        `offset` says where in the input the window is, and is counted on from there.
        """
        with Use(self):
            return self._commit(offset)

    def _commit(self, offset: int | None = None) -> int:
        kept = self._over_a_store("commit")
        len(self)  # refuses a window that made room for others
        if offset is not None:
            kept.base = offset - int(self._at.e)
        kept.commit()
        return self.offset

    def close(self) -> None:
        """Commit, if the window does so by itself, and let go of a store that it opened."""
        with Use(self):
            kept = self._over_a_store("close")
            if kept.ledger.autocommit:
                self._commit()
            kept.close()

    def check(self) -> None:
        if self._stored is not None:
            self._memory.reach(self._at, 1)
        try:
            self._check()
        finally:
            if self._stored is not None:  # it read all that is in the store
                self._memory.forget()

    def _check(self) -> None:
        raise NotImplementedError

    def _leave(self, name: str) -> None:
        """Refuse to be used from now on: another object will have this window."""

        def refuse(*_: Any) -> Any:
            raise RuntimeError(f"this window made room for others: ask for {name} again")

        self._insert = self._evict = self._query = self._size = refuse

    def _over_a_store(self, what: str) -> StoredState:
        if self._stored is None:
            raise TypeError(f"{what} is for a window over a store; this one is in memory: store=…")
        return self._stored

    def _kernel(self, driver: Any, columns: Any) -> Kernel | None:
        if self._stored is not None and self._layout is not None and self._compiled is not False:
            from sash.kernel.callback import fetch

            self._words[segments.fetch] = fetch
        return super()._kernel(driver, columns)

    def _derive(self, room: segments.Segments, at: Any, level: int, n: int, first: int) -> None:
        """Combine the levels above a page, compiled where a page of numbers is large."""
        kernel = self._kernel(paged.derive, ()) if self._kernels or n >= LARGE_PAGE else None
        if kernel is None:
            self._plain(paged.derive)(room.plain, at, level, n, first)
        else:
            kernel.run(room.memory(), entered(at, room.held), level, n, first)

    def _run(self, kernel: Kernel, *arguments: Any) -> None:
        if self._stored is None:
            super()._run(kernel, *arguments)
            return
        self._memory.fixed, self._memory.misses = True, 0
        try:
            with self._undone():
                self._enter(kernel, *arguments)
        finally:
            self._memory.fixed = False
        self._stored.adapt(self._memory.misses)

    def _stop(self, problem: BaseException) -> None:
        if self._stored is None:  # else the step that raised was undone, and `offset` says how far
            super()._stop(problem)

    def _whole(self) -> contextlib._GeneratorContextManager[None]:
        return super()._whole() if self._stored is None else self._undone()

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """Undo a call that fails, in the store or in the monoid; it may be tried again."""
        at, saved = self._at, self._memory.save(type(self).edits)
        problem: BaseException | None = None
        try:
            yield
        except BaseException as error:
            problem = self._memory.problem or error
        problem = problem or self._memory.problem
        if problem is not None:
            self._at = at
            self._memory.undo(saved)
            raise problem

    def _mend(self) -> None:
        """Set the nodes again that steps change in place, in a window that was just opened."""

    def _take(self, state: dict[str, Any], anew: bool) -> None:
        """Cursors, and the types of the inputs, as a header has them; `anew`: in a new room."""
        kinds = snapshot.kinds_of(state["inputs"])
        if kinds is not None:
            self._adopt(self.monoid.of(kinds[0] if len(kinds) == 1 else kinds), kinds)
        elif anew:
            self._memory = self._new_memory()
        self._at = checked(self.cursors, state["at"], self._layout)
        for invariant in self._broken():
            raise ValueError(f"not so: {invariant}")
