"""Pages: the rows of a stream's windows as immutable runs of bytes, and the list of them.

A page has rows that came together, sorted by the hash of their key and by time; it is
written once and deleted once, so whoever has a copy of a page by its name has the page.
The list is all that changes, and it is written last. Columns that no window reads lie in a
page of their own, the rest, which goes as soon as all of the page's rows have been answered.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array

FORMAT = 1
KEY = "_sash"
"""The column with the hash of a row's keys."""

LIST = "list"
ROWS, SLICES = "rows", "slices"
"""What a page has: rows as they came, or partials of complete slices."""

PAGE_BYTES = 4 << 20
"""A page of more is cut, so that no single one is slow to read."""


class Bytes(Protocol):
    """Where pages are kept; what is put is there when the batch is committed, or never."""

    def get(self, name: str) -> Any: ...
    def put(self, name: str, data: Any) -> None: ...
    def delete(self, name: str) -> None: ...


@dataclass(frozen=True)
class Page:
    """A page: its name, its rows, the times it spans, its bytes and those of its rest."""

    name: str
    rows: int
    oldest: float
    youngest: float
    size: int
    rest: int = 0
    kind: str = ROWS


@dataclass
class Listing:
    """The list of pages, in the order in which they came, and what they are good for."""

    definition: dict[str, Any]
    watermark: float | None = None
    kept: int = 0  # rows that were left when rows were last swept
    pages: list[Page] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(page.rows for page in self.pages)

    @property
    def size(self) -> int:
        return sum(page.size + page.rest for page in self.pages)

    def dump(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()

    @staticmethod
    def load(data: Any) -> Listing:
        found = json.loads(bytes(data))
        if found.pop("format") != FORMAT:
            raise StateError(
                "the state is of another version of Sash: finish the stream with that one, or "
                "start from a new checkpoint"
            )
        pages = [Page(**page) for page in found.pop("pages")]
        return Listing(**found, pages=pages)


class StateError(ValueError):
    """State that does not fit what is asked of it."""


class Pages:
    """Pages by their names, opened once."""

    def __init__(self, store: Bytes, key: str, time: str) -> None:
        self._store, self._key, self._time = store, key, time
        self._open: dict[str, pa.Table] = {}
        self.written = 0

    def add(
        self, table: pa.Table, rest: pa.Table | None = None, keep_rest: bool = False,
        kind: str = ROWS,
    ) -> list[Page]:  # fmt: skip
        """Write rows sorted by key's hash and time, in pages of bounded size."""
        found = []
        bytes_a_row = max(1, table.nbytes // max(1, table.num_rows))
        step = max(1024, PAGE_BYTES // bytes_a_row)
        for start in range(0, table.num_rows, step):
            part = table.slice(start, step).combine_chunks()
            name = uuid.uuid4().hex
            size, rest_size = self._put(name, part), 0
            if rest is not None:
                other = rest.slice(start, step)
                rest_size = self._put(rest_of(name), other) if keep_rest else 0
                self._open[rest_of(name)] = other
            times = numbers(one_array(part.column(self._time)))
            ends = times.min().item(), times.max().item()
            found.append(Page(name, part.num_rows, *ends, size, rest_size, kind))
        return found

    def _put(self, name: str, table: pa.Table) -> int:
        data = to_bytes(table)
        self._store.put(name, data)
        self._open[name] = table
        self.written += data.size
        return int(data.size)

    def table(self, name: str) -> pa.Table:
        """A page's rows."""
        if name not in self._open:
            self._open[name] = from_bytes(self._store.get(name))
        return self._open[name]

    def keys(self, page: Page) -> np.ndarray:
        """The hashes of a page's keys, sorted."""
        return numbers(one_array(self.table(page.name).column(self._key)))

    def times(self, page: Page) -> np.ndarray:
        """The times of a page's rows."""
        return numbers(one_array(self.table(page.name).column(self._time)))

    def drop(self, page: Page) -> None:
        """Delete a page and its rest."""
        self.drop_rest(page)
        self._store.delete(page.name)
        self._open.pop(page.name, None)

    def drop_rest(self, page: Page) -> None:
        """Delete a page's rest."""
        if page.rest:
            self._store.delete(rest_of(page.name))
        self._open.pop(rest_of(page.name), None)


def rest_of(name: str) -> str:
    """The name of a page's rest."""
    return f"{name}-rest"


def to_bytes(table: pa.Table) -> pa.Buffer:
    """A table in Arrow's own format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_bytes(data: Any) -> pa.Table:
    """The table that `to_bytes` wrote; not copied."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def places_of(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the wanted hashes are among sorted ones; in O(the smaller × log of the larger)."""
    if len(wanted) > len(keys):
        at = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
        return np.flatnonzero(wanted[at] == keys)
    first = np.searchsorted(keys, wanted, "left")
    counts = np.searchsorted(keys, wanted, "right") - first
    shift = np.cumsum(counts) - counts
    return np.repeat(first - shift, counts) + np.arange(int(counts.sum()))


def runs(flags: Iterator[bool], length: int) -> int | None:
    """The first place of `length` flags in a row that are all set."""
    seen = 0
    for i, flag in enumerate(flags):
        seen = seen + 1 if flag else 0
        if seen == length:
            return i + 1 - length
    return None
