"""A live stream in process: one shard, its state in memory or in a store, fed table by table."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from sash.engine.columns import one_array
from sash.engine.order import ticks
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.keys import with_keys
from sash.engine.stream.manifest import NAME, Manifest
from sash.engine.stream.pages import Bytes, BytesPages, MemoryPages, PageStore
from sash.engine.stream.shard import Shard, Step
from sash.engine.stream.stats import Stats
from sash.engine.stream.work import Work
from sash.stores import Store
from sash.stores.encoding import seal, unseal

OFFSET, SCHEMA = b"offset", b"schema"


class Uncommitted(Bytes):
    """Bytes by name in a store, of which those since the last commit are only here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._new: dict[str, Any] = {}
        self._gone: list[str] = []

    def get(self, name: str) -> Any:
        if name in self._new:
            return self._new[name]
        return self._store.get_many([name.encode()])[0]

    def put(self, name: str, data: Any) -> None:
        self._new[name] = data

    def delete(self, name: str) -> None:
        if self._new.pop(name, None) is None:
            self._gone.append(name)

    def commit(self, records: dict[bytes, bytes], expect: bytes | None) -> None:
        """Have the store keep all of it, as one; `expect`: the manifest as it was."""
        puts = [(name.encode(), memoryview(data)) for name, data in self._new.items()]
        gone = [(name.encode(), name.encode() + b"\0") for name in self._gone]
        self._store.commit([*puts, *records.items()], gone, {NAME.encode(): expect})
        self._new, self._gone = {}, []


def kept_schema(store: Store) -> pa.Schema | None:
    """The columns of the stream that a store keeps; it began with them."""
    (found,) = store.get_many([SCHEMA])
    return None if found is None else pa.ipc.read_schema(pa.py_buffer(unseal(found, SCHEMA)))


class LiveStream:
    """A definition at work on tables as they come: `feed`, `advance`, `current`, `commit`."""

    def __init__(self, definition: StreamDefinition, delay: float, store: Store | None) -> None:
        self.definition, self._delay = definition, delay
        self._work = Work(definition)
        self._bytes = None if store is None else Uncommitted(store)
        pages: PageStore = MemoryPages() if self._bytes is None else BytesPages(self._bytes)
        self._known: bytes | None = None
        self._offset: Any = None
        manifest = None
        if store is not None:
            self._known, offset = store.get_many([NAME.encode(), OFFSET])
            manifest = None if self._known is None else Manifest.load(self._known)
            self._offset = None if offset is None else json.loads(bytes(unseal(offset, OFFSET)))
        self._shard = Shard(self._work, pages, manifest)

    @property
    def watermark(self) -> float | None:
        """The time that has passed, in ticks of the time column."""
        return self._shard.manifest.watermark

    @property
    def offset(self) -> Any:
        """The offset of the last commit, to go on from there after a restart."""
        return self._offset

    def feed(self, table: pa.Table) -> Step:
        """Take rows; the watermark is then the youngest time seen less the delay."""
        times = ticks(one_array(table.column(self.definition.time)), self.definition.time)
        mark = self.watermark
        if len(times):
            youngest = times.max().item() - self._delay
            mark = youngest if mark is None else max(mark, youngest)
        query = self.definition.plan.query
        return self._shard.step(with_keys(table.select(self._columns()), query.by), mark)

    def load(self, history: pa.Table, cut: float | None) -> None:
        """Begin with the rows of a table, up to a time (None: the youngest of them)."""
        if cut is None:
            times = ticks(one_array(history.column(self.definition.time)), self.definition.time)
            if not len(times):
                return
            cut = times.max().item()
        rows = with_keys(history.select(self._columns()), self.definition.plan.query.by)
        self._shard.load(rows, cut)

    def _columns(self) -> list[str]:
        definition = self.definition
        return definition.schema.names if definition.gives_rows else definition.needed

    def advance(self, watermark: float) -> Step:
        """Time passes without rows."""
        nothing = self.definition.schema.empty_table().select(self._columns())
        return self._shard.step(with_keys(nothing, self.definition.plan.query.by), watermark)

    def current(self, key: dict[str, Any]) -> dict[str, Any]:
        """The answers of one key now, at the watermark."""
        by = self.definition.plan.query.by
        columns = {
            name: pa.array([key[name]], self.definition.schema.field(name).type) for name in by
        }
        row = with_keys(pa.table(columns) if by else pa.table({"_": [0]}), by)
        return self._shard.current(row)

    def commit(self, offset: Any = None) -> None:
        """Have the store keep the state as it is now, and what was told as the offset."""
        if self._bytes is None:
            return
        manifest = self._shard.manifest.dump()
        records = {
            NAME.encode(): manifest,
            OFFSET: seal(json.dumps(offset).encode(), kind=OFFSET),
            SCHEMA: seal(self.definition.schema.serialize(), kind=SCHEMA),
        }
        self._bytes.commit(records, self._known)
        self._known, self._offset = manifest, offset

    def close(self) -> None:
        """Commit what is new, unless commits are told offsets and this one is not: its rows would
        be in the state, and would come again from the offset before.
        """
        if self._offset is None or self._shard.manifest.dump() == self._known:
            self.commit(self._offset)

    def measured(self, stats: Stats) -> Stats:
        """Figures of a batch, with how much is kept now."""
        return self._shard.measured(stats)
