"""The ledger of a window over a store: what is there, and what is on its way there.

    header   a number and an owner, both new with each commit; then, as JSON, what the window
             is, its cursors and its offset as last committed
    tails    of each level the nodes that are in no page yet, as last committed
    pages    under ``numbers(level, page)``

A commit has the pages that were written since, tails, header, and the ranges of pages that
were evicted: all or nothing. Pages also go ahead of a commit, with a header that differs in
its number only; they lie beyond what the committed cursors say, so nobody reads them before
that. Every commit expects the header as this ledger last wrote it, so a second owner of the
window is refused before it changes anything.

A commit is done by a thread of the store's, or at once where it waits for nothing: a thread
that only computes takes from this one as much as it gives. One is under way at a time; until
it has returned, its pages are read from here, and if it fails it is kept and tried again first.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sash.kernel.layout import Layout
from sash.kernel.segments import LEVELS, Place
from sash.stores import Space, Store, StoreConflict, StoreError, numbers
from sash.stores.contract import Range

HEADER, TAILS = b"header", b"tails"
SHARE = 8  # a commit's tails are written once for so many times as many bytes of pages
_STAMP = struct.Struct(">Q16s")

_threads: WeakKeyDictionary[Store, ThreadPoolExecutor] = WeakKeyDictionary()


def thread_of(store: Store) -> ThreadPoolExecutor:
    """The thread that writes to a store, for all its windows."""
    root = store
    while isinstance(root, Space):
        root = root.store
    if root not in _threads:
        _threads[root] = ThreadPoolExecutor(1, "sash-store")
    return _threads[root]


@dataclass
class Commit:
    """What one window puts and deletes at once."""

    header: bytes  # empty where nothing is left of the window
    tails: bytes | None = None
    pages: dict[Place, Any] = field(default_factory=dict)
    deletes: list[Range] = field(default_factory=list)

    def own(self) -> None:
        """Copy pages that may be parts of a tail, before it goes on."""
        self.pages = {place: values.copy() for place, values in self.pages.items()}

    def puts(self) -> list[tuple[bytes, Any]]:
        records = [(numbers(*place), encode(values)) for place, values in self.pages.items()]
        if self.tails is not None:
            records.append((TAILS, self.tails))
        return [*records, (HEADER, self.header)] if self.header else records


class Flight:
    """Commits of one or several windows on their way to the store, as one."""

    def __init__(self, parts: list[tuple[Ledger, Commit]]) -> None:
        self.parts = parts
        for ledger, _ in parts:
            ledger.flight = self
        self._future: Future[None] | None = None

    def start(self) -> None:
        """Go, without an error: `settle` has that."""
        space = self.parts[0][0].space
        if space.waits:
            self.own()
            self._future = thread_of(space).submit(self._put)
        else:
            with contextlib.suppress(StoreError):
                self.settle()

    def settle(self) -> None:
        """Return when it is done; raise what stands in the way, and stay to be tried again."""
        done, self._future = self._future, None
        try:
            if done is None:
                self._put()
            else:
                done.result()
        except BaseException as problem:
            if done is None or not isinstance(problem, StoreError):
                self.own()
                raise
            self._put()
        for ledger, commit in self.parts:
            ledger.known, ledger.flight = commit.header or None, None

    def own(self) -> None:
        """Keep what it has, whatever becomes of the tails."""
        for _, commit in self.parts:
            commit.own()

    def _put(self) -> None:
        puts, deletes, expect = [], [], {}
        for ledger, commit in self.parts:
            space = ledger.space
            puts += [(space.key(k), v) for k, v in commit.puts()]
            deletes += [(space.key(a), space.end if b is None else space.key(b))
                        for a, b in commit.deletes]  # fmt: skip
            expect[space.key(HEADER)] = ledger.known
        store = self.parts[0][0].space.store
        try:
            store.commit(puts, deletes, expect)
        except StoreConflict:  # unless an earlier try got through, whose answer was lost
            headers = [commit.header or None for _, commit in self.parts]
            if store.get_many(list(expect)) != headers:
                raise


class Ledger:
    """One window's part of a store. `pages_read` and `trips` count what was read."""

    def __init__(self, store: Store, name: bytes, autocommit: bool) -> None:
        self.space = store.space(name)
        self.autocommit = autocommit
        self.layout: Layout | None = None
        self.bits = 0  # a page has 1 << bits nodes
        self.state: Callable[[Any], tuple[bytes, list[Any]]]  # of the window, at a time
        self.flight: Flight | None = None
        self.pages_read = self.trips = 0
        self._owner, self._number = os.urandom(16), 0
        self._gone: dict[int, int] = {}  # the first page of each level that may be there
        self._ahead = self._size = 0  # bytes of pages ahead of a commit, and of its tails
        self._stale: list[Range] = []
        self.body = b""
        self.tails: list[tuple[int, bytes]] = []
        found, tails = self.space.get_many([HEADER, TAILS])
        self.known = found
        if found is not None:
            (self._number, _), self.body = _STAMP.unpack_from(found), found[_STAMP.size :]
            self.tails = [] if tails is None else pickle.loads(tails)

    @property
    def name(self) -> str:
        """The store and the window in it, for a person."""
        return self.space.name

    def opened(self) -> None:
        """Pages past the tails were written ahead of a commit that never came: they go."""
        bases = range(0, len(self.tails), self.bits)
        firsts = ((k, self.tails[k][0] >> self.bits) for k in bases)
        self._stale = [(numbers(k, first), numbers(k + 1)) for k, first in firsts]
        self._stale.append((numbers(len(self.tails)), numbers(LEVELS)))

    def wipe(self) -> None:
        """Begin anew: the next commit deletes all pages."""
        self._gone, self._stale = {}, [(numbers(0), numbers(LEVELS))]

    # What the room asks for

    def read(self, wanted: list[Place]) -> list[Any]:
        """Pages, those on their way from here, the others from the store in one trip."""
        found = {place: self._flying(place) for place in wanted}
        missing = [place for place, values in found.items() if values is None]
        if missing:
            blobs = self.space.get_many([numbers(*place) for place in missing])
            self.pages_read += len(missing)
            self.trips += 1
            for place, blob in zip(missing, blobs, strict=True):
                if blob is None:
                    raise StoreError(
                        self.name, f"page {place[1]} of level {place[0]} of the window is not there"
                    )
                found[place] = decode(blob, self.layout)
        return [found[place] for place in wanted]

    def prepare(self) -> None:
        """What is under way has arrived, or its error is raised."""
        if self.flight is not None:
            self.flight.settle()

    def write(self, found: dict[Place, Any], at: Any) -> None:
        """Pages that left the tails: ahead, or with a commit when that costs little."""
        self._ahead += sum(getattr(values, "nbytes", 8 * len(values)) for values in found.values())
        if self.autocommit and self._ahead >= SHARE * self._size:
            Flight([(self, self.commit(found, at))]).start()
        else:
            Flight([(self, self.stamped(Commit(b"", pages=found)))]).start()

    def commit(self, found: dict[Place, Any], at: Any) -> Commit:
        """A commit of the window as it is; `found` are pages that just left the tails."""
        try:
            state, tails = self.state(at)
            blob = pickle.dumps([(young, bytes(encode(run))) for young, run in tails])
        except BaseException:  # a partial that does not pickle: the pages are kept
            Flight([(self, self.stamped(Commit(b"", pages=found)))]).own()
            raise
        self.body = state
        deletes: list[Range] = []
        for level in range(0, len(tails), self.bits):  # those that have pages
            first, gone = at.f >> level >> self.bits, self._gone.get(level, 0)
            if first > gone:
                deletes.append((numbers(level, gone), numbers(level, first)))
                self._gone[level] = first
        self._ahead, self._size = 0, len(blob)
        return self.stamped(Commit(b"", blob, found, deletes))

    def ending(self) -> Commit:
        """A commit after which nothing of the window is there."""
        self.prepare()
        self.body, self._gone, self._stale = b"", {}, []
        return Commit(b"", deletes=[(b"", None)])

    def stamped(self, commit: Commit) -> Commit:
        """With a header of its own; what is stale goes with the first."""
        self._number += 1
        commit.header = _STAMP.pack(self._number, self._owner) + self.body
        commit.deletes, self._stale = self._stale + commit.deletes, []
        return commit

    def _flying(self, place: Place) -> Any:
        if self.flight is None:
            return None
        return next((c.pages.get(place) for ledger, c in self.flight.parts if ledger is self), None)


def encode(values: Any) -> bytes | memoryview:
    """A run of nodes as bytes: an array's own, not copied, or objects pickled."""
    if isinstance(values, np.ndarray):
        return values.view(np.uint8).reshape(-1).data if len(values) else b""
    return pickle.dumps(values)


def decode(blob: bytes, layout: Layout | None) -> Any:
    """What `encode` gave; an array is not copied."""
    if layout is None:
        return pickle.loads(blob)
    if layout.length is None:
        return np.frombuffer(blob, layout.array_dtype)
    return np.frombuffer(blob, layout.dtype).reshape(-1, layout.length)
