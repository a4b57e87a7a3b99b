"""Pages: the tables that a stream keeps, written once, read often, deleted once.

A page never changes and has a name of its own, so a copy of it may be cached anywhere; its
checksum, which the manifest knows, proves that a copy is the page. What is cached in this
process is the table itself.
"""

from __future__ import annotations

import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

KEY, CHECK = "_sash", "_check"
"""The columns with a row's key as a number, and with a second hash that proves it."""


class Page(NamedTuple):
    """A page as the manifest knows it: its name, rows, bytes and checksum."""

    name: str
    rows: int
    size: int
    check: int


class PageStore(Protocol):
    """Where pages live; what is put is there when the batch is committed, or never."""

    def get(self, page: Page) -> pa.Table: ...
    def put(self, name: str, table: pa.Table) -> Page: ...
    def delete(self, page: Page) -> None: ...


class Bytes(Protocol):
    """Where bytes live, by name."""

    def get(self, name: str) -> Any: ...
    def put(self, name: str, data: Any) -> None: ...
    def delete(self, name: str) -> None: ...


class MemoryPages:
    """Pages in this process, as the tables that they are."""

    def __init__(self) -> None:
        self._tables: dict[str, pa.Table] = {}

    def get(self, page: Page) -> pa.Table:
        return self._tables[page.name]

    def put(self, name: str, table: pa.Table) -> Page:
        self._tables[name] = table
        return Page(name, table.num_rows, table.nbytes, 0)

    def delete(self, page: Page) -> None:
        self._tables.pop(page.name, None)

    def __len__(self) -> int:
        return len(self._tables)


class StateError(ValueError):
    """State that does not fit what is asked of it, or that is damaged."""


class BytesPages:
    """Pages as bytes in Arrow's own format, checked against the manifest as they are read."""

    def __init__(self, store: Bytes) -> None:
        self._store = store

    def get(self, page: Page) -> pa.Table:
        data = self._store.get(page.name)
        if data is None or not fits(page, data):
            what = "missing" if data is None else "damaged"
            raise StateError(
                f"page {page.name} of the stream's state is {what}: "
                "go back to a copy of the state, or start from a new checkpoint"
            )
        return from_bytes(data)

    def put(self, name: str, table: pa.Table) -> Page:
        data = to_bytes(table)
        self._store.put(name, data)
        return Page(name, table.num_rows, data.size, zlib.crc32(data))

    def delete(self, page: Page) -> None:
        self._store.delete(page.name)


def fits(page: Page, data: Any) -> bool:
    """Whether bytes are the page that the manifest knows."""
    return memoryview(data).nbytes == page.size and zlib.crc32(data) == page.check


def to_bytes(table: pa.Table, codec: str | None = None) -> pa.Buffer:
    """A table in Arrow's own format; `codec`: by which its columns are compressed, if any."""
    sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_bytes(data: Any) -> pa.Table:
    """The table that `to_bytes` wrote; not copied, unless it is compressed."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


@dataclass
class Cost:
    """The cost of a batch: rows and partials read and combined, bytes written; and how many keys
    were forgotten because they were idle. A block of rows counts as a row."""

    keys: int = 0
    rows_read: int = 0
    partials_read: int = 0
    bytes_read: int = 0
    combined: int = 0
    bytes_written: int = 0
    forgotten: int = 0


@dataclass
class Pages:
    """Pages by name, opened once, with a count of what is read and written."""

    store: PageStore
    cost: Cost = field(default_factory=Cost)
    keep: int = 256  # tables that stay open
    _open: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    _read: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    _added: dict[str, Page] = field(default_factory=dict)
    _dropped: list[Page] = field(default_factory=list)

    def add(self, table: pa.Table) -> Page:
        """Write a page."""
        page = self.store.put(uuid.uuid4().hex, table.combine_chunks())
        self.cost.bytes_written += page.size
        self._added[page.name] = page
        self.opened(page, table)
        return page

    def opened(self, page: Page, table: pa.Table) -> None:
        """Keep a page's table at hand."""
        self._open[page.name] = table
        if len(self._open) > self.keep:
            self._open.popitem(last=False)

    def table(self, page: Page) -> pa.Table:
        """The rows of a page."""
        found = self._open.get(page.name)
        if found is None:
            found = self.store.get(page)
            self.opened(page, found)
        return found

    def read(self, page: Page, read: Callable[[pa.Table], Any]) -> Any:
        """The result of `read` for a page's table, computed once."""
        found = self._read.get(page.name)
        if found is None:
            found = self._read[page.name] = read(self.table(page))
            if len(self._read) > self.keep:
                self._read.popitem(last=False)
        return found

    def drop(self, *pages: Page | None) -> None:
        """Delete pages; one that was there before the batch only when the batch is done."""
        for page in pages:
            if page is None:
                continue
            if self._added.pop(page.name, None) is None:
                self._dropped.append(page)
            else:
                self._delete(page)

    def done(self) -> None:
        """The batch is done: what it dropped goes."""
        for page in self._dropped:
            self._delete(page)
        self._dropped, self._added = [], {}

    def undo(self) -> None:
        """The batch is taken back: what it added goes, what it dropped stays."""
        for page in self._added.values():
            self._delete(page)
        self._dropped, self._added = [], {}

    def _delete(self, page: Page) -> None:
        self.store.delete(page)
        self._open.pop(page.name, None)
        self._read.pop(page.name, None)
