"""StoredWindow: in-order windows that can be kept in a store, page by page.

The algorithm's steps stay as they are. Around them, this class says where nodes lie (by another
meaning of the words for that), what is done when a store does not answer, and how a window is
committed and opened.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sash.kernel import words
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel
from sash.kernel.cursors import checked, entered, plain
from sash.memory import segments
from sash.memory.columns import fitting
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid
from sash.stores.encoding import decode, encode
from sash.swag import snapshot
from sash.swag.in_order import InOrder
from sash.swag.snapshot import SnapshotError
from sash.swag.stored import paged
from sash.swag.stored.ledger import Commit, Flight, Ledger
from sash.swag.stored.state import VERSION, StoredState, described
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
        if self._stored is not None and hasattr(self, "_at"):
            self._stored.begin_again(int(self._at.e))
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

    @property
    def ledger(self) -> Ledger:
        """What the store has of the window; TypeError if the window is in memory."""
        return self._over_a_store("the ledger").ledger

    @property
    def nbytes(self) -> int:
        """The memory of the nodes that are here."""
        return int(self._memory.nbytes)

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
        Flight([(kept.ledger, self.next_commit())]).settle()
        return self.offset

    def next_commit(self) -> Commit:
        """The records that a commit of the window as it is now puts and deletes.

        `swag.Windows` puts those of many windows in the store as one.
        """
        ledger = self.ledger
        ledger.make_way()
        return ledger.commit(self._memory.take(self._at), self._at)

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

    def leave(self, name: str) -> None:
        """Refuse to be used from now on: another object will have this window."""

        def refuse(*_: Any) -> Any:
            raise RuntimeError(f"this window made room for others: ask for {name} again")

        self._insert = self._evict = self._query = self._size = refuse

    def _over_a_store(self, what: str) -> StoredState:
        if self._stored is None:
            raise TypeError(f"{what} is for a window over a store; this one is in memory: store=…")
        return self._stored

    def _kernel(self, driver: Any, columns: Any, monoid: Monoid | None = None) -> Kernel | None:
        if self._stored is not None and self._layout is not None and self._compiled is not False:
            from sash.kernel.callback import fetch

            self._words[segments.fetch] = fetch
        return super()._kernel(driver, columns, monoid)

    def _paged_memory(self) -> paged.PagedMemory:
        """Room for an empty window over a store."""
        return self._over_a_store("paged memory").new_memory(self._nodes)

    @property
    def _nodes(self) -> paged.Nodes:
        return paged.Nodes(
            self.paged_columns, self._layout, self._monoid.identity, self._places,
            type(self).final, self._derive,
        )  # fmt: skip

    def _make_room(self, inserts: int, evicts: int) -> None:
        """Before a batch over a store: room for its insertions, and what its evictions read."""
        self._memory.reserve(self._at, inserts)
        self._memory.reach(self._at, evicts)

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

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        with super()._whole() if self._stored is None else self._undone():
            yield

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

    # Committing and opening

    def _header(self, at: Any) -> tuple[bytes, list[Any]]:
        """What a commit has besides pages, when the cursors are `at`: the header, and the tails."""
        kept = self._over_a_store("a header")
        state = {
            "algorithm": type(self).__name__, "monoid": described(self.monoid),
            "kept": VERSION, "policy": self._policy_digest,
            "inputs": snapshot.inputs_of(self._inputs), "page": self._memory.page,
            "base": kept.base, "at": plain(at), "others": self._memory.save(),
        }  # fmt: skip
        return encode(state, allow_pickle=kept.ledger.allow_pickle), self._memory.tails(at)

    def _open(self) -> None:
        """Take the window that was last committed, if there is one."""
        kept = self._over_a_store("opening")
        kept.ledger.state = self._header
        try:
            if kept.ledger.body:
                self._open_committed(kept)
            elif kept.ledger.known is not None:  # pages were written, and never a commit
                kept.ledger.wipe()
        except BaseException:
            if kept.opened_here:
                kept.store.close()
            raise

    def _open_committed(self, kept: StoredState) -> None:
        ledger = kept.ledger
        with ledger.naming("the header"):
            state = decode(ledger.body, allow_pickle=ledger.allow_pickle)
            self._check_same(state, ledger.name)
            kept.set_page(state["page"])
            self._take(state)
            others = {
                name: fitting(values, self._layout, segments.LEVELS)
                for name, values in state["others"].items()
            }
            if others.keys() != self._memory.save().keys():
                raise ValueError(f"columns {list(others)}")
            kept.base = int(state["base"])
        with ledger.naming("the tails"):
            self._memory.set_tails(self._at, kept.tails(self._nodes, self._at))
        ledger.opened()
        ledger.tails = []
        self._memory.undo(others)
        self._memory.reach(self._at, 1)
        self._mend()

    def _check_same(self, state: dict[str, Any], name: str) -> None:
        """SnapshotError if what is stored is a window of another kind."""
        try:
            if state["monoid"] != described(self.monoid):
                snapshot.compare(state["monoid"], self.monoid)
            if state["algorithm"] != type(self).__name__:
                raise SnapshotError(f"a window of algorithm {state['algorithm']}")
            if state["kept"] != VERSION:
                raise SnapshotError(
                    f"pages of version {state['kept']}; this version of Sash reads {VERSION}"
                )
            self._check_policy(state["policy"])
        except SnapshotError as problem:
            raise SnapshotError(f"{name}: {problem}") from problem

    def _take(self, state: dict[str, Any]) -> None:
        """Cursors, and the types of the inputs, as a header has them."""
        kinds = snapshot.kinds_of(state["inputs"])
        if kinds is not None:
            self._adopt(self.monoid.of(kinds[0] if len(kinds) == 1 else kinds), kinds)
        elif state["page"] != self._memory.page:
            self._memory = self._new_memory()
        self._at = checked(self.cursors, state["at"], self._layout)
        for invariant in self._broken():
            raise ValueError(f"not so: {invariant}")

    def _mend(self) -> None:
        """Set the nodes again that steps change in place, in a window that was just opened."""

    @functools.cached_property
    def _policy_digest(self) -> str | None:
        return None if self.policy is None else fingerprint(self.policy)

    def _check_policy(self, found: str | None) -> None:
        if (found is None) != (self.policy is None):
            has = "no policy" if found is None else "a policy: give restore the same policy="
            raise SnapshotError(f"a snapshot of a window with {has}")
        if found != self._policy_digest:
            raise SnapshotError("a snapshot of a window with another policy: its code differs")
