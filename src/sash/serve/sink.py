"""The sink: values of a stream into a store, batch by batch, all of a batch or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

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
    key_name,
    packed,
    sealed_commit,
    visible,
    words,
)
from sash.stores.encoding import decode, encode, seal, unseal

AT_A_TIME = 2048
"""Keys that are written, and for whose old values the store is asked, at a time."""

Batch = Any
"""A pyarrow Table, or a Spark DataFrame in `foreachBatch`."""


class Sink:
    """Keeps the values that come out of a stream with emit="update", batch by batch.

    `url`: "redis://…", "lmdb:folder", or a store; `name`: of the values in it. One sink at a time
    writes under a name: a second one is told. Call it with what a batch has given and the
    batch's number, which only grows; it is also what `foreachBatch` of a Spark stream takes.
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
        values = iter(_steps(definition, table).items())
        while part := list(islice(values, AT_A_TIME)):
            olds = self._space.get_many([key for key, _ in part])
            puts = []
            for (key, steps), old in zip(part, olds, strict=True):
                left = len(steps) > 1 or steps[0][1] != definition.nothing
                if not left:
                    gone.append(key)
                young = Version(number, encode(tuple(steps)) if left else b"")
                puts.append((key, packed(young, visible(old, known.batch))))
            self._space.commit(puts, expect=expect)
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
    """The fingerprint of the definition that a table or a DataFrame of values is of."""
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


def _steps(definition: Definition, table: pa.Table) -> dict[bytes, list[Any]]:
    """For each key its values from moments on, in order."""
    found: dict[bytes, list[Any]] = {}
    times = ticks(one_array(table.column(definition.time)), definition.time).tolist()
    for key, time, values in zip(
        _rows(table, definition.by), times, _rows(table, definition.outputs), strict=True
    ):
        found.setdefault(key_name(key), []).append((time, values))
    for steps in found.values():
        if len(steps) > 1:
            steps.sort(key=lambda step: step[0])
    return found


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    if not names:
        return iter([()] * table.num_rows)
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)
