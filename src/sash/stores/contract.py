"""The interface of every store; see the package for the contract in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self, TypeAlias

from sash.stores.errors import StoreConflict
from sash.stores.keys import after

Data: TypeAlias = bytes | bytearray | memoryview
Range: TypeAlias = tuple[bytes, bytes | None]  # from, included; to, not included, None: the end
Expect: TypeAlias = Mapping[bytes, bytes | None]  # None: no such record

MAX_KEY = 511  # bytes; LMDB's limit, and so everyone's
MAX_VALUE = 512 << 20  # bytes; Redis's limit, and so everyone's
MAX_NAME = 255  # bytes of a space's name: its length is one byte


class Store(ABC):
    """Records, bytes to bytes, ordered by key; changed by commits that are whole or nothing.

    A store is used from any number of threads. `name` is what errors call it.
    """

    name: str
    waits = True
    """Whether a commit waits for a disk or a network, so that a thread of its own pays."""

    def get_many(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """The values at `keys`, None where there is no record, from one moment.

        One trip to the store, O(log n) per key.
        """
        asked = [_key(self, k) for k in keys]
        return self._get_many(asked) if asked else []

    def keys(
        self, start: bytes = b"", stop: bytes | None = None, limit: int | None = None
    ) -> list[bytes]:
        """The keys k with start <= k < stop, in order, the first `limit` of them.

        O(log n + what it returns).
        """
        if limit is not None and limit < 0:
            raise ValueError(f"{self.name}: limit is the most keys to return, not {limit}")
        start, stop = _range(self, (start, stop))
        if limit == 0 or (stop is not None and start >= stop):
            return []
        return self._keys(start, stop, limit)

    def commit(
        self,
        puts: Iterable[tuple[bytes, Data]] = (),
        deletes: Iterable[Range] = (),
        expect: Expect | None = None,
    ) -> None:
        """Delete ranges, then put records: all of it or, when it raises, nothing.

        With `expect`, only if each of its keys has the value given there (None: no
        record); else `StoreConflict`. The last of several puts to a key wins. A process
        killed at any point leaves the store before or after the commit. One trip to
        the store, O(log n) per record put or deleted.
        """
        records = [(_key(self, k), _value(self, k, v)) for k, v in puts]
        gone = [_range(self, r) for r in deletes]
        gone = [(a, b) for a, b in gone if b is None or a < b]
        expected = {
            _key(self, k): None if v is None else bytes(_value(self, k, v))
            for k, v in (expect or {}).items()
        }
        if records or gone or expected:
            self._commit(records, gone, expected)

    def put_many(self, records: Iterable[tuple[bytes, Data]]) -> None:
        """Put records, all or none: a commit of them."""
        self.commit(puts=records)

    def delete_range(self, start: bytes = b"", stop: bytes | None = None) -> None:
        """Delete the records with start <= key < stop, all or none: a commit of it."""
        self.commit(deletes=[(start, stop)])

    def space(self, name: bytes) -> Space:
        """The part of this store that belongs to `name`; no other space shares a key with it."""
        return Space(self, name)

    @abstractmethod
    def flush(self) -> None:
        """Return when what was committed is as safe as this store can make it."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections. A second call does nothing."""

    @abstractmethod
    def _get_many(self, keys: list[bytes]) -> list[bytes | None]: ...

    @abstractmethod
    def _keys(self, start: bytes, stop: bytes | None, limit: int | None) -> list[bytes]: ...

    @abstractmethod
    def _commit(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Space(Store):
    """The records of one name in a store: the same contract, with a prefix to every key.

    The prefix is the name after a byte with its length, so no space's keys begin as
    another's do. A commit over several spaces is one of the store's, with `key`.
    Closing a space leaves the store open.
    """

    def __init__(self, store: Store, name: bytes) -> None:
        if not isinstance(name, bytes):
            raise TypeError(f"{store.name}: a space's name is bytes, not {type(name).__name__}")
        if len(name) > MAX_NAME:
            raise ValueError(
                f"{store.name}: a space's name has up to {MAX_NAME} bytes, not {len(name)}; "
                "number the names, or hash them"
            )
        self.store = store
        self.waits = store.waits
        self.name = f"{store.name} (space {name!r})"
        self.prefix = bytes([len(name)]) + name
        self.end = after(self.prefix)

    def key(self, key: bytes) -> bytes:
        """The store's own key for the space's `key`, for a commit over several spaces."""
        return self.prefix + key

    def flush(self) -> None:
        self.store.flush()

    def close(self) -> None:
        pass

    def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
        return self.store.get_many([self.prefix + k for k in keys])

    def _keys(self, start: bytes, stop: bytes | None, limit: int | None) -> list[bytes]:
        skip = len(self.prefix)
        start, stop = self._range((start, stop))
        return [k[skip:] for k in self.store.keys(start, stop, limit)]

    def _commit(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> None:
        self.store.commit(
            [(self.prefix + k, v) for k, v in puts],
            [self._range(r) for r in deletes],
            {self.prefix + k: v for k, v in expect.items()},
        )

    def _range(self, r: Range) -> Range:
        start, stop = r
        return self.prefix + start, self.end if stop is None else self.prefix + stop


def conflict(store: Store, key: bytes) -> StoreConflict:
    """The error of a commit that expected something else at `key`."""
    return StoreConflict(
        store.name,
        f"the record at {key!r} is not what this commit expected: another writer was here; "
        "nothing was written; open the window again to go on from what is stored",
    )


def _key(store: Store, key: bytes) -> bytes:
    if not isinstance(key, bytes):
        raise TypeError(f"{store.name}: a key is bytes, not {type(key).__name__}")
    if not 0 < len(key) <= MAX_KEY:
        raise ValueError(f"{store.name}: a key has 1 to {MAX_KEY} bytes, not {len(key)}")
    return key


def _value(store: Store, key: bytes, value: Data) -> Data:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"{store.name}: the value at {key!r} is bytes, not {type(value).__name__}")
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    if size > MAX_VALUE:
        raise ValueError(
            f"{store.name}: the value at {key!r} has {size} bytes, more than {MAX_VALUE}"
        )
    if isinstance(value, memoryview) and (
        value.format != "B" or value.ndim != 1 or not value.c_contiguous
    ):
        return bytes(value)  # as its bytes are in order, whatever its shape
    return value


def _range(store: Store, r: Range) -> Range:
    start, stop = r
    if not isinstance(start, bytes) or not (stop is None or isinstance(stop, bytes)):
        raise TypeError(f"{store.name}: a range is from bytes to bytes or None, not {r!r}")
    return start, stop
