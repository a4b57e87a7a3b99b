"""The sink: values of a stream into a store, batch by batch, all of a batch or nothing."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from sash import stores
from sash.engine.columns import one_array
from sash.engine.order import ticks
from sash.engine.stream.served import METADATA
from sash.serve.records import (
    COMMIT,
    DEFINITION,
    GONE,
    Commit,
    Definition,
    ServingError,
    Version,
    commit_of,
    definition_of,
    key_names,
    packed,
    sealed_commit,
    visible,
    words,
)
from sash.stores.columnar import encoded, tuples
from sash.stores.encoding import decode, encode, seal, unseal
from sash.stores.plain import tuple_head

AT_A_TIME = 4096
"""Keys that are written, and for whose old values the store is asked, at a time."""

Batch = Any
"""A pyarrow Table, or a Spark DataFrame in `foreachBatch`."""


class Sink:
    """Keeps the values that come out of a stream with emit="update", batch by batch.

    `url`: "redis://…", "lmdb:folder", or a store; `name`: of the values in it. One sink at a time
    writes under a name: a second one is told. Call it with what a batch has given and the
    batch's number, which only grows; it is also what `foreachBatch` of a Spark stream takes.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf, serve, stores
    >>> live = sash.stream("user", time="t", emit="update").agg(
    ...     n=sf.count().over(sash.range_between(-10, 0)))
    >>> sink = serve.Sink(stores.open("memory:"))
    >>> values = live.feed(pa.table({"user": [7, 7], "t": [1, 3]}))
    >>> sink(values, 0), sink(values, 0)
    (True, False)
    """

    def __init__(self, url: str | stores.Store, name: str = "values") -> None:
        self._store = stores.open(url) if isinstance(url, str) else url
        self._owns = isinstance(url, str)
        self._space = self._store.space(name.encode())

    def __call__(self, batch: Batch, number: int) -> bool:
        """Keep a batch's values, all or none; False if a batch of this number or a later one
        is there already."""
        description = _description(batch)
        commit, sealed = self._space.get_many([COMMIT, DEFINITION])
        known = commit_of(commit)
        if sealed is not None:
            self._check(definition_of(sealed), Definition.of(description, pa.schema([])))
        if number <= known.batch:
            return False
        table = batch if isinstance(batch, pa.Table) else batch.toArrow()
        table = table.replace_schema_metadata()
        if sealed is None:
            described = description, table.schema.serialize().to_pybytes()
            sealed = seal(encode(described), kind=DEFINITION)
        definition = definition_of(sealed)
        table = table.cast(definition.schema)  # a session's time zone may have become another one
        expect = {COMMIT: commit}
        self._sweep(expect)
        gone = self._write(definition, table, number, known, expect)
        times = ticks(one_array(table.column(definition.time)), definition.time)
        mark = times.min().item() if len(times) else known.watermark
        puts = [(COMMIT, sealed_commit(Commit(number, mark, definition.fingerprint)))]
        puts += [(GONE, seal(encode(gone), kind=GONE)), (DEFINITION, sealed)]
        self._space.commit(puts, expect=expect)
        self._sweep({COMMIT: puts[0][1]})
        return True

    def _write(
        self, definition: Definition, table: pa.Table, number: int, known: Commit,
        expect: dict[bytes, bytes | None],
    ) -> list[bytes]:  # fmt: skip
        """Write the values of keys beside those that readers see; the keys that are to go."""
        gone: list[bytes] = []
        values = iter(_values(definition, table).items())
        with ThreadPoolExecutor(1) as writer:  # writes a part while the next one is made
            written: Future[None] | None = None
            while part := dict(islice(values, AT_A_TIME)):
                olds = self._space.get_many(part)
                gone += [key for key, data in part.items() if not data]
                puts = [
                    (key, packed(Version(number, data), visible(old, known.batch)))
                    for (key, data), old in zip(part.items(), olds, strict=True)
                ]
                if written is not None:
                    written.result()
                written = writer.submit(self._space.commit, puts, expect=expect)
            if written is not None:
                written.result()
        return gone

    def _sweep(self, expect: dict[bytes, bytes | None]) -> None:
        """Delete the keys that the committed batch says are gone."""
        (found,) = self._space.get_many([GONE])
        if found is None:
            return
        keys = decode(unseal(found, GONE))
        for start in range(0, len(keys), AT_A_TIME):
            part = keys[start : start + AT_A_TIME]
            self._space.commit(deletes=[(k, k + b"\0") for k in part], expect=expect)
        self._space.commit(deletes=[(GONE, GONE + b"\0")], expect=expect)

    def _check(self, known: Definition, new: Definition) -> None:
        if known.fingerprint != new.fingerprint:
            raise ServingError(
                f"{self._space.name} has values of another definition ({words(known)}), not of "
                f"{words(new)}: give another name, or clear() this one"
            )

    def clear(self) -> None:
        """Delete all values and what they are of, so that another definition can begin."""
        self._space.delete_range()

    def close(self) -> None:
        """Let go of the store."""
        if self._owns:
            self._store.close()


def fingerprint(values: Any) -> str:
    """The fingerprint of the definition that a table or a DataFrame of values is of.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf, serve
    >>> def of(size):
    ...     count = sf.count().over(sash.range_between(-size, 0))
    ...     live = sash.stream("user", time="t", emit="update").agg(n=count)
    ...     return serve.fingerprint(live.feed(pa.table({"user": [7], "t": [1]})))
    >>> of(10) == of(10), of(10) == of(20)
    (True, False)
    """
    return str(json.loads(_description(values))["fingerprint"])


def _description(values: Batch) -> str:
    """The metadata of a table of values."""
    found = None
    if isinstance(values, pa.Table):
        found = (values.schema.metadata or {}).get(METADATA.encode(), b"").decode()
    elif hasattr(values, "toArrow"):
        found = values.schema.fields[0].metadata.get(METADATA)
    if not found:
        raise TypeError(
            "a sink takes what a stream with emit='update' gives: a pyarrow table of "
            f"sash.stream, or a batch of a streaming DataFrame, not {type(values)!r} of other rows"
        )
    return found


PAIR = tuple_head(2)


def _values(definition: Definition, table: pa.Table) -> dict[bytes, bytes]:
    """For each key its values from moments on, encoded; nothing for a key that is to go."""
    n, nothing = table.num_rows, encode(definition.nothing)
    columns = {name: one_array(table.column(name)) for name in table.column_names}
    names = key_names([columns[name] for name in definition.by], n)
    times = ticks(columns[definition.time], definition.time)
    values = tuples([encoded(columns[name]) for name in definition.outputs], n)
    rows = list(zip(names, encoded(pa.array(times)), values, strict=True))
    found = {name: _steps([(time, value)], nothing) for name, time, value in rows}
    if len(found) == n:
        return found
    several: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for row in np.argsort(times, kind="stable").tolist():
        name, time, value = rows[row]
        several.setdefault(name, []).append((time, value))
    return {name: _steps(steps, nothing) for name, steps in several.items()}


def _steps(steps: list[tuple[bytes, bytes]], nothing: bytes) -> bytes:
    """What `encode` gives for a tuple of pairs, each a moment and the values from it on; nothing
    where these are those of a key without rows."""
    if len(steps) == 1 and steps[0][1] == nothing:
        return b""
    return tuple_head(len(steps)) + b"".join([PAIR + time + value for time, value in steps])
