"""The ledger of a window over a store: what is there, and what is on its way there.

    header   a number and an owner, both new with each commit; then, as plain data, what the
             window is, its cursors and its offset as last committed
    tails    of each level the nodes that are in no page yet, as last committed
    pages    under ``numbers(level, page)``

Each record is sealed (`sash.stores.encoding`): a damaged one is a `DamagedRecord`. Nodes that
are numbers are arrays of them, others are plain data; what is neither is pickled only where
the window allows it.

A commit has the pages that were written since, tails, header, and the ranges of pages that
were evicted: all or nothing. Pages also go ahead of a commit, with a header that differs in
its number only; they lie beyond what the committed cursors say, so nobody reads them before
that. Every commit expects the header as this ledger last wrote it, so a second owner of the
window is refused before it changes anything.

A commit is done by a thread of the store's, or at once where it waits for nothing: a thread
that only computes takes from this one as much as it gives. One is under way at a time; until
it has returned, its pages are read from here, and if it fails it is kept and tried again first.
Such a store has a second thread, which reads the pages that evictions will need next.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.memory.columns import fitting
from sash.memory.segments import LEVELS, Place
from sash.stores import (
    DamagedRecord,
    DamagedState,
    PickledRecord,
    PickledState,
    Store,
    StoreConflict,
    StoreError,
    StoreFull,
    numbers,
)
from sash.stores.contract import Range
from sash.stores.encoding import REMEDY, decode, encode, seal, unseal
from sash.swag.snapshot import SnapshotError
from sash.swag.stored.read_ahead import ReadAhead
from sash.swag.stored.threads import thread_of

HEADER, TAILS, PAGE = b"header", b"tails", b"page"  # keys, and kinds of records
SHARE = 8  # tails are written once per this many times their bytes of pages
_STAMP = struct.Struct(">Q16s")
STAMP = _STAMP.size


@dataclass
class Commit:
    """The records that one window puts and deletes at once."""

    header: bytes  # empty where nothing is left of the window
    tails: bytes | None = None
    pages: dict[Place, Any] = field(default_factory=dict)
    deletes: list[Range] = field(default_factory=list)

    def own(self) -> None:
        """Copy pages that may be parts of a tail, before it goes on."""
        self.pages = {place: values.copy() for place, values in self.pages.items()}

    def puts(self, allow_pickle: bool) -> list[tuple[bytes, Any]]:
        """The records, sealed."""
        pages = self.pages.items()
        records = [(numbers(*place), page_of(nodes, allow_pickle)) for place, nodes in pages]
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
            self._future = thread_of(space, "write").submit(self._put)
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

    def dissolve(self) -> None:
        """A full store took nothing of it: it becomes a part of each ledger's next commit."""
        for ledger, commit in self.parts:
            ledger.keep(commit)

    def own(self) -> None:
        """Keep what it has, whatever becomes of the tails."""
        for _, commit in self.parts:
            commit.own()

    def _put(self) -> None:
        puts, deletes, expect = [], [], {}
        for ledger, commit in self.parts:
            space = ledger.space
            puts += [(space.key(k), v) for k, v in commit.puts(ledger.allow_pickle)]
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
    """One window's part of a store.

    `pages_read` counts the pages that came from the store, `trips` the times that the window
    itself went there for some: those that were read ahead it does not wait for.
    """

    def __init__(
        self, store: Store, name: bytes, autocommit: bool, allow_pickle: bool = False
    ) -> None:
        self.space = store.space(name)
        self.autocommit, self.allow_pickle = autocommit, allow_pickle
        self.layout: Layout | None = None
        self.bits = 0  # a page has 1 << bits nodes
        self.state: Callable[[Any], tuple[bytes, list[Any]]]  # of the window, at a time
        self.flight: Flight | None = None
        self.pages_read = self.trips = 0
        self._reader = ReadAhead(self.space)
        self._owner, self._number = os.urandom(16), 0
        self._gone: dict[int, int] = {}  # the first page of each level that may be there
        self._ahead = self._size = 0  # bytes of pages ahead of a commit, and of its tails
        self._stale: list[Range] = []
        self._refused: dict[Place, Any] = {}  # pages that a full store did not take
        self.is_behind = False  # whether a full store refused something that is not there yet
        self.body = b""
        self.tails: list[tuple[int, Any]] = []
        found, tails = self.space.get_many([HEADER, TAILS])
        self.known = found
        if found is not None:
            with self.naming("the header"):
                header = unseal(found, HEADER)
                (self._number, _), self.body = _STAMP.unpack_from(header), bytes(header[STAMP:])
        if tails is not None:
            with self.naming("the tails"):
                self.tails = decode(unseal(tails, TAILS), allow_pickle=allow_pickle)

    @property
    def name(self) -> str:
        """The store and the window in it, for a person."""
        return self.space.name

    @contextlib.contextmanager
    def naming(self, what: str) -> Iterator[None]:
        """Errors of what was read, with the store's name and what it is."""
        try:
            yield
        except PickledState as problem:
            raise PickledRecord(self.name, f"{what} of the window: {problem}") from problem
        except DamagedState as problem:
            raise DamagedRecord(self.name, f"{what} of the window: {problem}") from problem
        except (ValueError, TypeError, LookupError, struct.error) as problem:
            if isinstance(problem, StoreError | SnapshotError):
                raise
            text = f"{what} of the window cannot be read: {problem!r}; {REMEDY}"
            raise DamagedRecord(self.name, text) from problem

    def opened(self) -> None:
        """Pages past the tails were written ahead of a commit that never came: they go."""
        bases = range(0, len(self.tails), self.bits)
        firsts = ((k, self.tails[k][0] >> self.bits) for k in bases)
        self._stale = [(numbers(k, first), numbers(k + 1)) for k, first in firsts]
        self._stale.append((numbers(len(self.tails)), numbers(LEVELS)))

    def wipe(self) -> None:
        """Begin again: the next commit deletes all pages."""
        self._reader.start([])
        self._gone, self._stale, self._refused = {}, [(numbers(0), numbers(LEVELS))], {}

    # What the room asks for

    def read(self, wanted: list[Place]) -> list[Any]:
        """Pages, those on their way from here, the others from the store in one trip."""
        found = {place: self._flying(place) for place in wanted}
        missing = [place for place, values in found.items() if values is None]
        for place, record in self._records(missing).items():
            if record is None:
                raise StoreError(
                    self.name, f"page {place[1]} of level {place[0]} of the window is not there"
                )
            with self.naming(f"page {place[1]} of level {place[0]}"):
                found[place] = nodes_of(record, self.layout, 1 << self.bits, self.allow_pickle)
        return [found[place] for place in wanted]

    def _records(self, places: list[Place]) -> dict[Place, bytes | None]:
        """Pages as the store has them: those that were read ahead, the others in one trip."""
        records: dict[Place, bytes | None] = {**self._reader.take(places)}
        missing = [place for place in places if place not in records]
        if missing:
            self.trips += 1
            read = self.space.get_many([numbers(*place) for place in missing])
            records.update(zip(missing, read, strict=True))
        self.pages_read += len(places)
        return records

    def read_ahead(self, wanted: list[Place]) -> None:
        """Begin to read the pages that will be asked for next, where the store waits."""
        if self.space.waits:
            self._reader.start([place for place in wanted if self._flying(place) is None])

    def prepare(self) -> None:
        """Wait for the commit that is under way, or raise its error."""
        if self.flight is not None:
            self.flight.settle()

    def make_way(self) -> None:
        """Before a commit, as `prepare`; but what a full store refused becomes a part of the
        commit, less what was evicted since, so that evictions make room."""
        try:
            self.prepare()
        except StoreFull:
            assert self.flight is not None
            self.flight.dissolve()

    def keep(self, commit: Commit) -> None:
        """Put refused records in the next commit."""
        self._refused |= commit.pages
        self._stale = commit.deletes + self._stale
        self.flight, self.is_behind = None, True

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
            runs = [(young, packed(run)) for young, run in tails]
            blob = seal(encode(runs, allow_pickle=self.allow_pickle), kind=TAILS)
        except BaseException:  # a partial that is not plain, or does not pickle: pages are kept
            Flight([(self, self.stamped(Commit(b"", pages=found)))]).own()
            raise
        self.body = state
        pages = self._refused.items()
        self._refused = {p: v for p, v in pages if p[1] >= at.f >> p[0] >> self.bits}
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
        self.make_way()
        self.body, self._gone, self._stale, self._refused = b"", {}, [], {}
        self.is_behind = False
        return Commit(b"", deletes=[(b"", None)])

    def stamped(self, commit: Commit) -> Commit:
        """With a header of its own; what is stale or was refused goes with the first."""
        self._number += 1
        commit.header = seal(_STAMP.pack(self._number, self._owner) + self.body, kind=HEADER)
        commit.deletes, self._stale = self._stale + commit.deletes, []
        commit.pages, self._refused = self._refused | commit.pages, {}
        self.is_behind = False
        return commit

    def _flying(self, place: Place) -> Any:
        if self.flight is None:
            return self._refused.get(place)
        return next((c.pages.get(place) for ledger, c in self.flight.parts if ledger is self), None)


def packed(nodes: Any) -> Any:
    """A run of nodes as plain data: an array's bytes, not copied, or a list as it is."""
    if isinstance(nodes, np.ndarray):
        return bytes(nodes.view(np.uint8).reshape(-1).data) if len(nodes) else b""
    return nodes


def unpacked(data: Any, layout: Layout | None, count: int) -> Any:
    """The `count` nodes that `packed` gave, not copied; ValueError if they cannot be those."""
    if layout is None:
        return fitting(data, None, count)
    dtype = layout.array_dtype
    return fitting(np.frombuffer(data, dtype.base).reshape(-1, *dtype.shape), layout, count)


def page_of(nodes: Any, allow_pickle: bool) -> bytes:
    """A page as a record: an array's bytes, sealed, or a list as plain data, sealed."""
    if isinstance(nodes, np.ndarray):
        return seal(nodes.view(np.uint8), kind=PAGE)
    return seal(encode(nodes, allow_pickle=allow_pickle), kind=PAGE)


def nodes_of(record: bytes, layout: Layout | None, count: int, allow_pickle: bool) -> Any:
    """The nodes of a page."""
    data: Any = unseal(record, PAGE)
    return unpacked(data if layout else decode(data, allow_pickle=allow_pickle), layout, count)
