"""Many windows in one store, one per key, of which as many are here as memory allows.

Cost    a key whose window is here: O(1). One that is not: a trip to the store, and now and
        then a commit of all windows that changed, when the least used make room.
Space   here `memory` bytes at most, and the window in use; in the store each window's nodes.
        A window that is empty at a commit leaves nothing there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from sash import stores
from sash.monoids.monoid import as_monoid
from sash.stores import after
from sash.stores.encoding import decode, encode
from sash.swag.mta import MTA
from sash.swag.snapshot import SnapshotError, describe
from sash.swag.stored.ledger import HEADER, Commit, Flight, Ledger

Key = str | bytes | int
AROUND = 16 << 10  # bytes that a window has besides its nodes


class Mark(NamedTuple):
    """How far a window is: it changes with every insertion and eviction."""

    offset: int
    size: int


class Windows:
    """The windows of all keys: `windows[key]` is one, made if it is not there.

    They are committed together, as one: all that is in the store belongs to one `offset`,
    the number of items that all windows were given (or the argument of `commit(offset=…)`, and
    the items since). This also holds when some windows have to make room. A window that made
    room refuses to be used; ask for it again.

    >>> from sash import monoids as m, stores, swag
    >>> store = stores.open("memory:")
    >>> seen = swag.Windows(swag.AMTA, m.Count(), store=store, memory=1 << 20)
    >>> for user in ["ann", "bob", "ann"]:
    ...     seen[user].insert(user)
    >>> seen.commit()
    3
    >>> again = swag.Windows(swag.AMTA, m.Count(), store=store)
    >>> again.offset, list(again), again["ann"].query()
    (3, ['ann', 'bob'], 2)
    """

    def __init__(
        self,
        algorithm: type[MTA],
        monoid: Any,
        policy: Any = None,
        *,
        store: stores.Store,
        name: str = "windows",
        memory: int = 64 << 20,
        **options: Any,
    ) -> None:
        """`options` are those of the algorithm: page, buffer, cache, allow_pickle, compiled."""
        self._algorithm, self._monoid, self._policy = algorithm, monoid, policy
        self._options = options
        self._space = store.space(name.encode())
        self._memory = memory
        self._here: OrderedDict[Key, MTA] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._total = 0  # of sizes
        self._committed: dict[Key, Mark] = {}
        self._last: Key | None = None
        self._ledger = Ledger(self._space, b"", autocommit=False)
        self._what = {"algorithm": algorithm.__name__, "monoid": describe(as_monoid(monoid))}
        self._base = self._open()

    @property
    def offset(self) -> int:
        """How many items all windows were given, or what a commit said, and those since."""
        return self._base + sum(self._new_items(key) for key in self._here)

    @property
    def resident(self) -> int:
        """How many windows are here."""
        return len(self._here)

    @property
    def nbytes(self) -> int:
        """The memory of those that are here."""
        self._measure()
        return self._total

    def __getitem__(self, key: Key) -> Any:
        window = self._here.get(key)
        if window is None:
            window = self._algorithm(
                self._monoid, self._policy, store=self._space, name=_name(key), autocommit=False,
                **self._options,
            )  # fmt: skip
            self._here[key] = window
            self._committed[key] = _mark(window)
        self._here.move_to_end(key)
        self._measure()
        self._last = key
        self._measure()
        if self._total > self._memory:
            self._make_room()
        return window

    def __contains__(self, key: Key) -> bool:
        if key in self._here:
            return len(self._here[key]) > 0
        return self._space.space(_name(key)).get_many([HEADER]) != [None]

    def __iter__(self) -> Iterator[Key]:
        """The keys that have items, in the order of their names."""
        keys = {_name(key) for key, window in self._here.items() if len(window)}
        gone = {_name(key) for key, window in self._here.items() if not len(window)}
        start: bytes | None = b"\1"
        while start is not None and (found := self._space.keys(start, limit=1)):
            stem = found[0][: 1 + found[0][0]]
            keys.add(stem[1:])
            start = after(stem)
        return map(_key, sorted(keys - gone))

    def commit(self, offset: int | None = None) -> int:
        """Have the store keep all windows as they are now, as one; gives the offset."""
        for window in self._here.values():  # first what may fail, then what changes something
            window.ledger.make_way()
        self._ledger.make_way()
        self._base = self.offset if offset is None else offset
        parts = []
        for key, window in self._here.items():
            if self._is_new(key):
                ledger = window.ledger
                parts.append((ledger, window.next_commit() if len(window) else ledger.ending()))
                self._committed[key] = _mark(window)
        self._ledger.body = encode({**self._what, "offset": self._base})
        Flight([*parts, (self._ledger, self._ledger.stamped(Commit(b"")))]).settle()
        return self._base

    def _open(self) -> int:
        if not self._ledger.body:
            return 0
        with self._ledger.naming("the header"):
            state = decode(self._ledger.body)
            for what, wanted in self._what.items():
                if state[what] != wanted:
                    raise SnapshotError(
                        f"{self._space.name}: windows of {what} {state[what]}, not of {wanted}"
                    )
            return int(state["offset"])

    def _new_items(self, key: Key) -> int:
        return self._here[key].offset - self._committed[key].offset

    def _is_new(self, key: Key) -> bool:
        """Whether the store does not have a window as it is, and it is not on its way there."""
        window = self._here[key]
        return window.ledger.is_behind or _mark(window) != self._committed[key]

    def _measure(self) -> None:
        """The window that was in use last may have grown."""
        key = self._last
        if key is not None and key in self._here:
            size = self._here[key].nbytes + AROUND
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size

    def _make_room(self) -> None:
        """Drop the least used, down to three quarters; first commit, if one of them changed."""
        total, leaving = self._total, []
        for key in list(self._here)[:-1]:
            if total <= self._memory * 3 // 4:
                break
            total -= self._sizes[key]
            leaving.append(key)
        if any(map(self._is_new, leaving)):
            self.commit()
        for key in leaving:
            self._here[key].ledger.prepare()
            self._here.pop(key).leave(f"windows[{key!r}]")
            self._total -= self._sizes.pop(key)
            del self._committed[key]


def _mark(window: MTA) -> Mark:
    return Mark(window.offset, len(window))


def _name(key: Key) -> bytes:
    """A key as the name of a space; names sort as keys of one type do."""
    if isinstance(key, str):
        return b"s" + key.encode()
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, int):
        return b"i" + (key + (1 << 63)).to_bytes(8, "big")
    raise TypeError(f"a key is a str, bytes or an int, not {type(key).__name__}: {key!r}")


def _key(name: bytes) -> Key:
    kind, rest = name[:1], name[1:]
    if kind == b"i":
        return int.from_bytes(rest, "big") - (1 << 63)
    return rest.decode() if kind == b"s" else rest
