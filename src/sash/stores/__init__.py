"""Where state lives: bytes in, bytes out, in memory, LMDB or Redis behind one contract.

    store = stores.open("lmdb:windows")     # "memory:", "redis://127.0.0.1:6379/0"
    store.get_many(keys)                    # values, None where there is none; one trip
    store.keys(start, stop, limit)          # in order
    store.commit(puts, deletes, expect)     # ranges deleted, then records put: all or nothing
    store.put_many(records)                 # a commit of puts only
    store.delete_range(start, stop)         # a commit of one range only
    store.flush(); store.close()

The contract, for all stores:

Records     A key is 1 to 511 bytes, a value 0 bytes to 512 MiB. Keys are ordered as bytes.
            A range has its start and not its stop; a stop of None is the end.
Commits     `expect` is checked, then `deletes`, then `puts`: whole or, when it raises,
            nothing, also when the process or the server is killed in the middle. A
            commit that has returned is seen by every reader from then on.
Threads     Any number; readers do not wait for a commit. `get_many` and `keys` each
            see one moment, never half a commit.
Writers     Any number; commits come one after another. `expect` keeps two owners of
            one window apart: expect the header as you last wrote it, and the second
            owner's next commit is a `StoreConflict`.
Lasting     Committed is: survives this process (LMDB), or as the server is set up
            (Redis: appendonly). `flush` makes it survive the machine, where it can.
Errors      `StoreError` and its kinds name the store. After `StoreUnavailable` the
            commit is there whole or not at all. To go on, commit it again: without
            `expect` that gives the same records; with it, a `StoreConflict` then may
            mean that the first try got through, which the header tells.

A window keeps its pages under ``numbers(level, page)`` in its own `space`, and its header,
with the input offset, beside them. One commit has the new pages, the range of those that
were evicted, and the header; so whatever is in the store belongs to one offset. Several
windows commit as one through `Space.key`:

>>> from sash import stores
>>> store = stores.open("memory:")
>>> a, b = store.space(b"a"), store.space(b"b")
>>> a.put_many([(stores.numbers(0, page), b"...") for page in range(4)])
>>> a.commit(
...     puts=[(stores.numbers(0, 4), b"..."), (b"header", b"offset 5")],
...     deletes=[(stores.numbers(0, 0), stores.numbers(0, 3))],
...     expect={b"header": None},
... )
>>> len(a.keys(stores.numbers(0), stores.numbers(1))), a.get_many([b"header"]), b.keys()
(2, [b'offset 5'], [])
>>> store.commit([(a.key(b"header"), b"offset 6"), (b.key(b"header"), b"offset 6")])
"""

from sash.stores.contract import MAX_KEY, MAX_NAME, MAX_VALUE, Space, Store
from sash.stores.errors import (
    DamagedRecord,
    DamagedState,
    NotAStore,
    PickledRecord,
    PickledState,
    StoreConflict,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from sash.stores.keys import after, numbers
from sash.stores.registry import KINDS, open

__all__ = [
    "KINDS",
    "MAX_KEY",
    "MAX_NAME",
    "MAX_VALUE",
    "DamagedRecord",
    "DamagedState",
    "NotAStore",
    "PickledRecord",
    "PickledState",
    "Space",
    "Store",
    "StoreConflict",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "after",
    "numbers",
    "open",
]
