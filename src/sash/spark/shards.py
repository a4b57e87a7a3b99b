"""Shards: rows packed by the hash of their keys, so that one call handles many keys.

A call per key costs a third of a millisecond and more, so keys share shards: a batch's rows
travel as one block of Arrow bytes per shard and task. Where rows may be combined as they come, each
task sends the slices of its rows instead of rows. How many shards there are is fixed for
a stream, and does not depend on how many partitions Spark has: they spread evenly over
any power of two of them up to their own number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.columns import one_array
from sash.engine.order import ticks
from sash.engine.stream.keys import mixed, with_keys
from sash.engine.stream.pages import KEY, StateError, from_bytes, to_bytes

PACKED = pa.schema([pa.field("shard", pa.int32()), pa.field("rows", pa.binary())])
ROWS = 1 << 20
"""Rows that are packed at a time."""

CODEC = "lz4"
"""How blocks and pages are compressed. Python and Spark exchange them through sockets, and Spark
copies them several times: a megabyte takes 4 ms, of which compressing takes 0.4."""

AFTER = b"after"
"""In the metadata of slices: the time in ticks after which all their rows are."""

Batches = Iterator[pa.RecordBatch]


def shard_ids(shards: int) -> list[int]:
    """For each of `shards` partitions the smallest number that Spark puts there.

    >>> sorted(murmur3(i) % 4 for i in shard_ids(4))
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < shards:
        found.setdefault(murmur3(candidate) % shards, candidate)
        candidate += 1
    return [found[place] for place in range(shards)]


def murmur3(number: int) -> int:
    """Spark's hash of an int, which chooses the partition; as an int of 32 bits with a sign.

    >>> murmur3(1)
    -559580957
    """
    mask = 0xFFFFFFFF

    def turned(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & mask

    k = (number & mask) * 0xCC9E2D51 & mask
    k = turned(k, 15) * 0x1B873593 & mask
    h = turned(42 ^ k, 13) * 5 + 0xE6546B64 & mask
    h ^= 4
    h = (h ^ (h >> 16)) * 0x85EBCA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


class Slicing(NamedTuple):
    """How rows become slices before they are sent: a definition as bytes, the rows' columns, and
    whether local files are used."""

    definition: bytes
    schema: pa.Schema
    cache: bool


@dataclass(frozen=True)
class Packing:
    """How rows of `names`, the first of them a key's number and its proof, go to shards and back.
    `own`: the key whose values are their own numbers, which Spark then does not send."""

    names: tuple[str, ...]
    ids: tuple[int, ...]
    slicing: Slicing | None = None
    own: str | None = None

    @property
    def sent(self) -> tuple[str, ...]:
        """The columns that Spark sends."""
        return self.names if self.own is None else self.names[2:]

    def numbered(self, rows: pa.Table) -> pa.Table:
        """Rows with the numbers of their keys."""
        return rows if self.own is None else with_keys(rows, [self.own]).select(self.names)

    def places(self, rows: pa.Table) -> np.ndarray:
        """Which of the shards each row goes to."""
        found = np.asarray(rows.column(KEY))
        if self.own is not None:  # hashes are spread already
            found = mixed(found.view(np.uint64))
        return (found % len(self.ids)).astype(np.uint16)

    def pack(self) -> Callable[[Batches], Batches]:
        """The function for mapInArrow, from rows to blocks; each shard gets at least one."""
        packing = self

        def sash(batches: Batches) -> Batches:
            from sash.spark.shards import packed

            return packed(packing, batches)

        return sash


def packed(packing: Packing, batches: Batches) -> Batches:
    """A task's rows in blocks, a shard each; an empty one for a shard that has none."""
    waiting, count, missing = [], 0, set(packing.ids)
    slicer = None if packing.slicing is None else Slicer(packing.slicing)
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch.rename_columns(list(packing.sent)))
            count += batch.num_rows
        if count >= ROWS:
            yield from _blocks(packing, slicer, waiting, missing)
            waiting, count = [], 0
    if waiting:
        yield from _blocks(packing, slicer, waiting, missing)
    if missing:
        yield _batch(sorted(missing), pa.array([b""] * len(missing), pa.binary()))


class Slicer:
    """Makes slices of rows that are not late, where they are fewer."""

    def __init__(self, slicing: Slicing) -> None:
        from sash.engine.stream.slices import Slices
        from sash.spark.marks import marks_of
        from sash.spark.processor import work_of

        definition = work_of(slicing.definition).definition
        self._slices, self._time = Slices(definition), definition.time
        self._schema = slicing.schema
        self._mark = marks_of(slicing.definition, slicing.cache).before()

    def of(self, rows: pa.Table) -> list[pa.Table]:
        """Rows that stay rows, and slices of the others."""
        if self._mark is None:
            return [rows]
        rows = rows.cast(self._schema)
        late = ticks(one_array(rows.column(self._time)), self._time) <= self._mark
        kept = []
        if late.any():
            kept, rows = [rows.filter(pa.array(late))], rows.filter(pa.array(~late))
        made = self._slices.of_any_order(rows) if rows.num_rows else None
        if made is None:
            return [*kept, rows]
        return [*kept, made.replace_schema_metadata({AFTER: json.dumps(self._mark)})]


def _blocks(
    packing: Packing, slicer: Slicer | None, batches: list[pa.RecordBatch], missing: set[int]
) -> Batches:
    table = packing.numbered(pa.Table.from_batches(batches).combine_chunks())
    for part in [table] if slicer is None else slicer.of(table):
        if not part.num_rows:
            continue
        place = packing.places(part)
        part = part.take(np.argsort(place, kind="stable"))
        counts = np.bincount(place, minlength=len(packing.ids))
        start = 0
        for shard, count in zip(packing.ids, counts.tolist(), strict=True):
            if count:
                yield _batch([shard], _one(to_bytes(part.slice(start, count), CODEC)))
                missing.discard(shard)
            start += count


def _one(block: pa.Buffer) -> pa.Array:
    """An array of one value, which is not copied."""
    ends = pa.py_buffer(np.array([0, block.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, block])


def _batch(shards: list[int], blocks: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([pa.array(shards, pa.int32()), blocks], schema=PACKED)


def is_sliced(block: pa.Table) -> bool:
    """Whether a block has slices instead of rows."""
    return AFTER in (block.schema.metadata or {})


def sliced_after(blocks: Sequence[pa.Table], mark: float | None) -> pa.Table | None:
    """The slices of all blocks; StateError where they may have rows that a watermark had passed."""
    for block in blocks:
        if mark is not None and json.loads(block.schema.metadata[AFTER]) < mark:
            raise StateError(
                "rows were combined that may be late, as a task knew another watermark than its "
                "shard: start the stream again from its checkpoint, which sends rows as they are"
            )
    return pa.concat_tables(blocks).replace_schema_metadata(None) if blocks else None


def unpacked(batches: Batches) -> Batches:
    """Rows from blocks; the first column of a batch has them."""
    for batch in batches:
        for block in batch.column(0):
            data = block.as_buffer()
            if data is not None and data.size:
                yield from from_bytes(data).to_batches()
