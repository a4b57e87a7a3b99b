"""Where a window is kept in a store: its ledger, the sizes of its pages, its offset.

Where partials are objects a page has 128 nodes, a tail buffers 512 and a head caches 512,
refilled when fewer than 256 are ahead: the paper's sizes, of the lowest of the levels that
pages stand for. Numbers fill pages of 128 KiB, because a record of 1 KiB costs a third of
that (decision 9); a tail and a head have four pages, and a batch is done in pieces of four.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash import stores
from sash.kernel.cursors import MOST
from sash.kernel.layout import Layout
from sash.memory.rings import power_of_two
from sash.memory.segments import LEVELS
from sash.monoids.monoid import Monoid
from sash.swag import snapshot
from sash.swag.stored.ledger import Ledger, unpacked
from sash.swag.stored.paged import Nodes, PagedMemory, Sizes

VERSION = 2  # of pages and tails
OBJECTS_A_PAGE = 128
PAGE_BYTES = 1 << 17
MANY_MISSES = 256


class AskedSizes(NamedTuple):
    """The sizes that the user gives; None leaves them to `StoredState`."""

    page: int | None
    buffer: int | None
    cache: int | None


class StoredState:
    """A window's place in a store; the window itself is a `StoredWindow`."""

    def __init__(
        self,
        store: stores.Store | str,
        name: str | bytes,
        sizes: AskedSizes,
        autocommit: bool,
        allow_pickle: bool,
    ) -> None:
        self.opened_here = isinstance(store, str)
        self.store = stores.open(store) if isinstance(store, str) else store
        if not isinstance(self.store, stores.Store):
            raise TypeError(f"store must be a store or the spec of one, not {store!r}")
        self._asked = self._sizes = sizes
        for what, size in zip(sizes._fields, sizes, strict=True):
            if size is not None:
                check_size(what, size)
        text = name.encode() if isinstance(name, str) else name
        self.ledger = Ledger(self.store, text, autocommit, allow_pickle)
        self.base = 0  # the offset of item 0
        self.piece = self.most = 1

    def begin_again(self, items: int) -> None:
        """The window, empty after so many items, counts from 0 again; their type may change."""
        if items > 0:
            self.base += items
            self._sizes = self._asked  # a page was what it was for the old type
            self.ledger.wipe()

    def new_memory(self, nodes: Nodes) -> PagedMemory:
        """Room for an empty window."""
        asked = self._sizes
        page = asked.page or nodes_a_page(nodes.layout)
        self.ledger.layout, self.ledger.bits = nodes.layout, page.bit_length() - 1
        self.piece = self.most = max(512, 4 * page)
        sizes = Sizes(page, max(4 * page, asked.buffer or 0), max(4 * page, asked.cache or 0))
        return PagedMemory(nodes, self.ledger, sizes)

    def adapt(self, misses: int) -> None:
        """A batch that asked for much that was not here is followed by a shorter one."""
        if misses > MANY_MISSES:
            self.piece = max(64, self.piece // 4)
        else:
            self.piece = min(self.most, 2 * self.piece)

    def set_page(self, page: Any) -> None:
        """Have pages of the size that was found in the store."""
        check_size("page", page)
        self._sizes = self._sizes._replace(page=page)

    def tails(self, nodes: Nodes, at: Any) -> list[tuple[int, Any]]:
        """The tails as nodes; ValueError if they cannot be those of the cursors."""
        tails = self.ledger.tails
        if len(tails) % self.ledger.bits or len(tails) > LEVELS:
            raise ValueError(f"{len(tails)} levels")
        found = []
        for level, (young, data) in enumerate(tails):
            if type(young) is not int or not 0 <= young < MOST:
                raise ValueError(f"level {level} from node {young!r} on")
            count = max(0, nodes.final(at, level) - young)
            found.append((young, unpacked(data, nodes.layout, count)))
        return found

    def close(self) -> None:
        """Wait for what is on its way, and let go of a store that was opened here."""
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
