"""A window that is kept in a store: its memory here, its ledger there, and how it is opened.

Where partials are objects a page has 128 nodes, a tail buffers 512 and a head caches 512,
refilled when fewer than 256 are ahead: the paper's sizes, of the lowest of the levels that
pages stand for. Numbers fill pages of 128 KiB, because a record of 1 KiB costs a third of
that (decision 9); a tail and a head have four pages, and a batch is done in pieces of four.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash import stores
from sash.kernel.cursors import MOST, plain
from sash.kernel.layout import Layout
from sash.memory.columns import fitting
from sash.memory.rings import power_of_two
from sash.memory.segments import LEVELS
from sash.monoids.monoid import Monoid
from sash.stores.encoding import decode, encode
from sash.swag import snapshot
from sash.swag.stored.ledger import Flight, Ledger, unpacked
from sash.swag.stored.paged import PagedMemory

if TYPE_CHECKING:
    from sash.swag.mta import MTA

VERSION = 2  # of pages and tails
OBJECTS_A_PAGE = 128
PAGE_BYTES = 1 << 17
MANY_MISSES = 256


class StoredState:
    """The state of a window over a store, besides its steps."""

    def __init__(
        self,
        window: MTA,
        store: stores.Store | str,
        name: str | bytes,
        page: int | None,
        buffer: int | None,
        cache: int | None,
        autocommit: bool,
        allow_pickle: bool,
    ) -> None:
        self._window = window
        self.opened_here = isinstance(store, str)
        self.store = stores.open(store) if isinstance(store, str) else store
        if not isinstance(self.store, stores.Store):
            raise TypeError(f"store must be a store or the spec of one, not {store!r}")
        self._asked = self._sizes = page, buffer, cache
        for what, size in (("page", page), ("buffer", buffer), ("cache", cache)):
            if size is not None:
                check_size(what, size)
        text = name.encode() if isinstance(name, str) else name
        self.ledger = Ledger(self.store, text, autocommit, allow_pickle)
        self.ledger.state = self._state
        self.base = 0  # the offset of item 0
        self.piece = self.most = 1

    def begin_anew(self) -> None:
        """The window, which is empty, counts its items from 0 again; their type may change."""
        if hasattr(self._window, "_at") and self._window._at.e > 0:
            self.base += self._window._at.e
            self._sizes = self._asked  # a page was what it was for the old type
            self.ledger.wipe()

    def new_memory(self) -> PagedMemory:
        """Room for an empty window."""
        window, (page, buffer, cache) = self._window, self._sizes
        page = page or nodes_a_page(window._layout)
        self.ledger.layout, self.ledger.bits = window._layout, page.bit_length() - 1
        self.piece = self.most = max(512, 4 * page)
        return PagedMemory(
            window.paged_columns, window._layout, window._monoid.identity, window._places,
            type(window).final, self.ledger, window._derive, page,
            max(4 * page, buffer or 0), max(4 * page, cache or 0),
        )  # fmt: skip

    def make_room(self, inserts: int, evicts: int) -> None:
        """Before a batch: room for its insertions, and what its evictions read."""
        window = self._window
        window._memory.reserve(window._at, inserts)
        window._memory.reach(window._at, evicts)

    def adapt(self, misses: int) -> None:
        """A batch that asked for much that was not here is followed by a shorter one."""
        if misses > MANY_MISSES:
            self.piece = max(64, self.piece // 4)
        else:
            self.piece = min(self.most, 2 * self.piece)

    # Committing and opening

    def commit(self) -> None:
        """The window as it is now, in the store when this returns."""
        Flight([(self.ledger, self.next_commit())]).settle()

    def next_commit(self) -> Any:
        at = self._window._at
        self.ledger.make_way()
        return self.ledger.commit(self._window._memory.take(at), at)

    def ending(self) -> Any:
        """A commit that leaves nothing in the store; the window here is empty."""
        return self.ledger.ending()

    def _state(self, at: Any) -> tuple[bytes, list[Any]]:
        window = self._window
        state = {
            "algorithm": type(window).__name__, "monoid": described(window.monoid),
            "kept": VERSION, "policy": window._policy_digest,
            "inputs": snapshot.inputs_of(window._inputs), "page": window._memory.page,
            "base": self.base, "at": plain(at), "others": window._memory.save(),
        }  # fmt: skip
        body = encode(state, allow_pickle=self.ledger.allow_pickle)
        return body, window._memory.tails(at)

    def open(self) -> None:
        """Take the window that was last committed, if there is one."""
        try:
            self._open()
        except BaseException:
            if self.opened_here:
                self.store.close()
            raise

    def _open(self) -> None:
        ledger, window = self.ledger, self._window
        if not ledger.body:
            if ledger.known is not None:  # pages were written, and never a commit
                ledger.wipe()
            return
        with ledger.naming("the header"):
            state = decode(ledger.body, allow_pickle=ledger.allow_pickle)
            self._check_same(state)
            check_size("page", state["page"])
            self._sizes = state["page"], *self._sizes[1:]
            window._take(state, anew=state["page"] != window._memory.page)
            others = {n: fitting(v, window._layout, LEVELS) for n, v in state["others"].items()}
            if others.keys() != window._memory.save().keys():
                raise ValueError(f"columns {list(others)}")
            self.base = int(state["base"])
        with ledger.naming("the tails"):
            window._memory.set_tails(window._at, self._tails())
        ledger.opened()
        ledger.tails = []
        window._memory.undo(others)
        window._memory.reach(window._at, 1)
        window._mend()

    def _check_same(self, state: dict[str, Any]) -> None:
        """SnapshotError if what is stored is a window of another kind."""
        window = self._window
        try:
            if state["monoid"] != described(window.monoid):
                snapshot.compare(state["monoid"], window.monoid)
            if state["algorithm"] != type(window).__name__:
                raise snapshot.SnapshotError(f"a window of algorithm {state['algorithm']}")
            if state["kept"] != VERSION:
                raise snapshot.SnapshotError(
                    f"pages of version {state['kept']}; this version of Sash reads {VERSION}"
                )
            window._check_policy(state["policy"])
        except snapshot.SnapshotError as problem:
            raise snapshot.SnapshotError(f"{self.ledger.name}: {problem}") from problem

    def _tails(self) -> list[tuple[int, Any]]:
        """The tails as nodes; ValueError if they cannot be those of the cursors."""
        window, tails = self._window, self.ledger.tails
        if len(tails) % window._memory.bits or len(tails) > LEVELS:
            raise ValueError(f"{len(tails)} levels")
        found = []
        for level, (young, data) in enumerate(tails):
            if type(young) is not int or not 0 <= young < MOST:
                raise ValueError(f"level {level} from node {young!r} on")
            count = max(0, type(window).final(window._at, level) - young)
            found.append((young, unpacked(data, window._layout, count)))
        return found

    def close(self) -> None:
        self.ledger.prepare()
        if self.opened_here:
            self.store.close()


_described: dict[int, tuple[Monoid, dict[str, Any]]] = {}


def described(monoid: Monoid) -> dict[str, Any]:
    """The description of a monoid in a header; found once, as many windows may have the same."""
    known = _described.get(id(monoid))
    if known is None or known[0] is not monoid:
        if len(_described) >= 64:
            _described.clear()
        known = _described[id(monoid)] = monoid, snapshot.describe(monoid)
    return known[1]


def check_size(what: str, size: Any) -> None:
    """ValueError unless it is a power of two that a page may have."""
    if type(size) is not int or size < 16 or size & (size - 1):
        raise ValueError(f"{what} must be a power of two, 16 at least, not {size!r}")


def nodes_a_page(layout: Layout | None) -> int:
    """How many nodes a page has, if the user does not say."""
    if layout is None:
        return OBJECTS_A_PAGE
    return max(OBJECTS_A_PAGE, power_of_two(PAGE_BYTES // layout.width + 1) // 2)
