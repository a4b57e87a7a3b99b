"""The threads of a store that waits: one that writes and one that reads, for all its windows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal
from weakref import WeakKeyDictionary

from sash.stores import Space, Store

Work = Literal["write", "read"]

_threads: WeakKeyDictionary[Store, dict[Work, ThreadPoolExecutor]] = WeakKeyDictionary()


def thread_of(store: Store, work: Work) -> ThreadPoolExecutor:
    """The thread that writes to a store, or the one that reads from it."""
    root = store
    while isinstance(root, Space):
        root = root.store
    threads = _threads.setdefault(root, {})
    if work not in threads:
        threads[work] = ThreadPoolExecutor(1, f"sash-store-{work}")
    return threads[work]
