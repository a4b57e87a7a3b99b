"""Records in this process's memory: for tests, and for windows that need not last.

Cost    get O(1); put O(1), a new key O(n) moves of a pointer; delete O(log n) per range
        and O(1) per record, and O(n) moves of a pointer.   Space the records.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort

from sash.stores.contract import Data, Range, Store, conflict


class Memory(Store):
    """A dict, and its keys in order.

    >>> store = Memory()
    >>> store.put_many([(b"b", b"2"), (b"a", b"1")])
    >>> store.keys(), store.get_many([b"a", b"z"])
    ([b'a', b'b'], [b'1', None])
    """

    waits = False

    def __init__(self) -> None:
        self.name = "memory:"
        self._records: dict[bytes, bytes] = {}
        self._order: list[bytes] = []
        self._lock = threading.Lock()
        self._closed = False

    def flush(self) -> None:
        self._check_open()

    def close(self) -> None:
        self._closed = True
        self._records, self._order = {}, []

    def _get_many(self, keys: list[bytes]) -> list[bytes | None]:
        with self._lock:
            self._check_open()
            return [self._records.get(k) for k in keys]

    def _keys(self, start: bytes, stop: bytes | None, limit: int | None) -> list[bytes]:
        with self._lock:
            self._check_open()
            i, j = self._places(start, stop)
            return self._order[i : j if limit is None else min(j, i + limit)]

    def _commit(
        self,
        puts: list[tuple[bytes, Data]],
        deletes: list[Range],
        expect: dict[bytes, bytes | None],
    ) -> None:
        copies = [(k, bytes(v)) for k, v in puts]  # before anything changes: it may run out
        with self._lock:
            self._check_open()
            for k, v in expect.items():
                if self._records.get(k) != v:
                    raise conflict(self, k)
            for start, stop in deletes:
                i, j = self._places(start, stop)
                for k in self._order[i:j]:
                    del self._records[k]
                del self._order[i:j]
            for k, v in copies:
                if k not in self._records:
                    insort(self._order, k)
                self._records[k] = v

    def _places(self, start: bytes, stop: bytes | None) -> tuple[int, int]:
        order = self._order
        return bisect_left(order, start), len(order) if stop is None else bisect_left(order, stop)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.name} is closed")
