"""Values to serve: the current value of every key of a stream, in Redis or LMDB.

    stream with emit="update"  →  Sink  →  store  →  Reader(url).get(user=7)

A sink keeps what comes out of a stream, batch by batch, and a reader gives the value of a key.
Readers see whole batches only: a record has the value of the batch that is committed and that of
the batch that is being written, and one record, written last, says which batch is committed. A
batch that comes again is left out by its number. Keys whose windows are empty are deleted: a
reader gives the same answers for a key that is not there.

>>> import pyarrow as pa, sash
>>> from sash import functions as sf, serve, stores
>>> store = stores.open("memory:")          # "redis://127.0.0.1:6379/0", "lmdb:folder"
>>> live = sash.stream("user", time="t", emit="update").agg(
...     n=sf.count().over(sash.range_between(-10, 0)))
>>> sink, reader = serve.Sink(store), serve.Reader(store)
>>> sink(live.feed(pa.table({"user": [7, 8, 7], "t": [1, 2, 3]})), 0)
True
>>> reader.get(user=7), reader.get(user=9), reader.watermark
({'n': 2}, {'n': 0}, 3)
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from sash import stores
from sash.engine.columns import answers_as, one_array
from sash.engine.order import ticks
from sash.engine.stream.served import METADATA
from sash.stores.encoding import decode, encode, seal, unseal

COMMIT, DEFINITION, GONE, VALUE = b"commit", b"define", b"gone", b"value"
AT_A_TIME = 2048
"""Keys that are written, and for whose old values the store is asked, at a time."""

LONG_KEY = 200
"""Bytes of a key from which on its record is named by a hash."""

_HEAD = struct.Struct("<qqI")  # the batches of both versions; the length of the younger one
NEVER = -1

Batch = Any
"""A pyarrow Table, or a Spark DataFrame in `foreachBatch`."""


class ServingError(ValueError):
    """Values that are not there, or that are of another definition than is asked for."""


class Definition(NamedTuple):
    """What values are of: the columns of keys, time and outputs, and a name for all of it."""

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
    data = encode(plain)
    if len(data) > LONG_KEY:
        return b"h" + hashlib.blake2b(data, digest_size=32).digest()
    return b"k" + data


class Version(NamedTuple):
    """What a key has from a batch on: values from moments on, encoded; nothing: it is gone."""

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
        known = _commit_of(commit)
        if sealed is not None:
            self._check(_definition_of(sealed), Definition.of(description, pa.schema([])))
        if number <= known.batch:
            return False
        table = batch if isinstance(batch, pa.Table) else batch.toArrow()
        table = table.replace_schema_metadata()
        if sealed is None:
            described = description, table.schema.serialize().to_pybytes()
            sealed = seal(encode(described), kind=DEFINITION)
        definition = _definition_of(sealed)
        table = table.cast(definition.schema)  # a session's time zone may have become another one
        expect = {COMMIT: commit}
        self._sweep(expect)
        gone = self._write(definition, table, number, known, expect)
        times = ticks(one_array(table.column(definition.time)), definition.time)
        mark = times.min().item() if len(times) else known.watermark
        puts = [(COMMIT, _sealed_commit(Commit(number, mark, definition.fingerprint)))]
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
                f"{self._space.name} has values of another definition ({_words(known)}), not of "
                f"{_words(new)}: give another name, or clear() this one"
            )

    def clear(self) -> None:
        """Delete all values and what they are of, so that another definition can begin."""
        self._space.delete_range()

    def close(self) -> None:
        """Let go of the store."""
        if self._owns:
            self._store.close()


class Reader:
    """Reads the values that a sink keeps: `Reader("redis://…").get(user=7)`.

    `expects`: the fingerprint of the definition that values must be of (`fingerprint(out)`). A
    reader goes on while batches are written, and is told if the definition becomes another one.
    """

    def __init__(
        self, url: str | stores.Store, name: str = "values", *, expects: str | None = None
    ) -> None:
        self._store = stores.open(url) if isinstance(url, str) else url
        self._owns = isinstance(url, str)
        self._space = self._store.space(name.encode())
        self._expects = expects
        self._definition: Definition | None = None

    def get(self, now: Any = None, **key: Any) -> dict[str, Any]:
        """The value of a key, as of the watermark, or as of a moment `now` that is not before it
        and no further ahead than the stream's `lead`; over the rows up to the watermark.

        One trip to the store.
        """
        return self.get_many([key], now)[0]

    def get_many(self, keys: Iterable[Any], now: Any = None) -> list[dict[str, Any]]:
        """The values of keys, all of one batch: of dictionaries, or of plain values where there
        is one key column. One trip to the store."""
        definition = self._known()
        one = definition.by[0] if len(definition.by) == 1 else None
        each = [k if one is None or isinstance(k, Mapping) else {one: k} for k in keys]
        names = [definition.key(key) for key in each]
        commit, *records = self._space.get_many([COMMIT, *names])
        known = self._checked(commit, definition)
        at = self._moment(definition, known, now)
        found = []
        for record in records:
            steps = visible(record, known.batch).data
            values = definition.nothing if not steps else _at(decode(steps), at)
            found.append(definition.answers(values))
        return found

    def _moment(self, definition: Definition, known: Commit, now: Any) -> float:
        assert known.watermark is not None
        if now is None:
            return known.watermark
        at, end = definition.tick(now), known.watermark + definition.lead
        if not known.watermark <= at <= end:
            first, last = (definition.moment(tick) for tick in (known.watermark, end))
            raise ServingError(
                f"now: values are served from {first} to {last}, and {now} is not among these: "
                "give the stream a longer lead=, or leave out now"
            )
        return at

    def _known(self) -> Definition:
        if self._definition is None:
            (sealed,) = self._space.get_many([DEFINITION])
            if sealed is None:
                raise ServingError(f"{self._space.name} has no values: no batch was written yet")
            self._definition = _definition_of(sealed)
        return self._definition

    def _checked(self, record: bytes | None, definition: Definition) -> Commit:
        known = _commit_of(record)
        expected = self._expects or definition.fingerprint
        if known.fingerprint != expected or known.watermark is None:
            raise ServingError(
                f"{self._space.name} has values of {_words(definition)} with the fingerprint "
                f"{known.fingerprint or 'none'}, not {expected}: the definition is another one; "
                "open a reader on the values of yours"
            )
        return known

    def _commit(self) -> Commit:
        return self._checked(self._space.get_many([COMMIT])[0], self._known())

    @property
    def watermark(self) -> Any:
        """The time as of which values are."""
        return self._known().moment(self._commit().watermark or 0)

    @property
    def batch(self) -> int:
        """The number of the last batch that is committed."""
        return self._commit().batch

    @property
    def fingerprint(self) -> str:
        """The name of the definition that values are of."""
        return self._known().fingerprint

    def close(self) -> None:
        """Let go of the store."""
        if self._owns:
            self._store.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()


class Commit(NamedTuple):
    """The last batch of which all is written, and the time as of which values are."""

    batch: int = NEVER
    watermark: float | None = None
    fingerprint: str = ""


def fingerprint(values: Any) -> str:
    """The fingerprint of the definition that a table or a DataFrame of values is of."""
    return str(json.loads(_description(values))["fingerprint"])


def _commit_of(record: bytes | None) -> Commit:
    return Commit() if record is None else Commit(*decode(unseal(record, COMMIT)))


def _sealed_commit(commit: Commit) -> bytes:
    return seal(encode(tuple(commit)), kind=COMMIT)


def _definition_of(sealed: bytes) -> Definition:
    description, schema = decode(unseal(sealed, DEFINITION))
    return Definition.of(description, pa.ipc.read_schema(pa.py_buffer(schema)))


def _description(values: Batch) -> str:
    """What travels with a table of values."""
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
            steps.sort(key=_first)
    return found


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    if not names:
        return iter([()] * table.num_rows)
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def _first(pair: Any) -> Any:
    return pair[0]


def _at(steps: Sequence[Any], moment: float) -> Any:
    """The value at a moment."""
    return steps[max(0, bisect_right(steps, moment, key=_first) - 1)][1]


def _words(definition: Definition) -> str:
    return f"{', '.join(definition.outputs)} by {', '.join(definition.by) or 'no key'}"
