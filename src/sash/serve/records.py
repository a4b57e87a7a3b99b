"""The records that a sink writes and a reader reads: a definition, a commit, and a record per key.

A record has two versions: that of the committed batch, and that of the one being written.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from sash.engine.columns import answers_as
from sash.engine.order import ticks
from sash.stores.columnar import encoded, tuples
from sash.stores.encoding import decode, encode, seal, unseal

COMMIT, DEFINITION, GONE, VALUE = b"commit", b"define", b"gone", b"value"
LONG_KEY = 200
"""Bytes of a key from which on its record is named by a hash."""

_HEAD = struct.Struct("<qqI")  # the batches of both versions; the length of the younger one
NEVER = -1


class ServingError(ValueError):
    """Values that are not there, or that are of another definition than is asked for."""


class Definition(NamedTuple):
    """A definition of values: the columns of keys, time and outputs, and a name for all of it."""

    by: tuple[str, ...]
    time: str
    outputs: tuple[str, ...]
    lead: float
    nothing: tuple[Any, ...]
    fingerprint: str
    schema: pa.Schema

    @staticmethod
    def of(description: str, schema: pa.Schema) -> Definition:
        found = json.loads(description)
        nothing = decode(base64.b64decode(found["nothing"]))
        names = tuple(found["by"]), found["time"], tuple(found["outputs"])
        return Definition(*names, found["lead"], nothing, found["fingerprint"], schema)

    def key(self, value: Mapping[str, Any]) -> bytes:
        """The name of the record of a key."""
        if value.keys() != set(self.by):
            given = ", ".join(map(str, value)) or "none"
            raise TypeError(f"the keys are {', '.join(self.by) or 'none'}, not {given}")
        parts = []
        for name in self.by:
            kind = self.schema.field(name).type
            try:
                parts.append(pa.scalar(value[name], kind).as_py())
            except (pa.ArrowException, TypeError, OverflowError) as problem:
                raise TypeError(f"{name}: {value[name]!r} is no {kind}: {problem}") from None
        return key_name(parts)

    def answers(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.outputs, values, strict=True))

    def moment(self, tick: float) -> Any:
        """Ticks as a time of the stream."""
        kind = self.schema.field(self.time).type
        return answers_as(pa.array([tick]).to_numpy(), None, kind)[0].as_py()

    def tick(self, moment: Any) -> float:
        """A time in ticks."""
        kind = self.schema.field(self.time).type
        try:
            return ticks(pa.array([moment], kind), "now")[0].item()
        except (pa.ArrowException, TypeError) as problem:
            raise TypeError(f"now: {moment!r} is no {kind}: {problem}") from None


def key_name(parts: Sequence[Any]) -> bytes:
    """The name of a key's record; -0.0 is 0.0, and all NaN are one."""
    plain = tuple((x + 0.0 if x == x else "nan") if isinstance(x, float) else x for x in parts)
    return _name(encode(plain))


def key_names(columns: Sequence[pa.Array], rows: int) -> list[bytes]:
    """The names of the records of keys, given in columns."""
    if any(pa.types.is_floating(column.type) for column in columns):
        values = zip(*(column.to_pylist() for column in columns), strict=True)
        return [key_name(parts) for parts in values]
    return [_name(data) for data in tuples([encoded(c) for c in columns], rows)]


def _name(data: bytes) -> bytes:
    if len(data) > LONG_KEY:
        return b"h" + hashlib.blake2b(data, digest_size=32).digest()
    return b"k" + data


class Version(NamedTuple):
    """The record of a key from a batch on: values from moments on, encoded; nothing: it is gone."""

    batch: int
    data: bytes


NO_VERSION = Version(NEVER, b"")


def packed(young: Version, old: Version) -> bytes:
    """A record of two versions."""
    head = _HEAD.pack(young.batch, old.batch, len(young.data))
    return seal(head + young.data + old.data, kind=VALUE)


def visible(record: Any, committed: int) -> Version:
    """The version that a reader sees once a batch is committed."""
    if record is None:
        return NO_VERSION
    data = unseal(record, VALUE)
    young, old, length = _HEAD.unpack_from(data)
    first = _HEAD.size
    if young <= committed:
        return Version(young, bytes(data[first : first + length]))
    return Version(old, bytes(data[first + length :])) if old <= committed else NO_VERSION


class Commit(NamedTuple):
    """The last batch of which all is written, and the time as of which values are."""

    batch: int = NEVER
    watermark: float | None = None
    fingerprint: str = ""


def commit_of(record: bytes | None) -> Commit:
    return Commit() if record is None else Commit(*decode(unseal(record, COMMIT)))


def sealed_commit(commit: Commit) -> bytes:
    return seal(encode(tuple(commit)), kind=COMMIT)


def definition_of(sealed: bytes) -> Definition:
    description, schema = decode(unseal(sealed, DEFINITION))
    return Definition.of(description, pa.ipc.read_schema(pa.py_buffer(schema)))


def words(definition: Definition) -> str:
    return f"{', '.join(definition.outputs)} by {', '.join(definition.by) or 'no key'}"
