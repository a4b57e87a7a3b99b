"""A stream's history on Spark: the state of each shard, built in a batch, as its first pages.

    history → rows that still matter → rows to shards → a shard's state, built at once → pages

The pages go into Spark's state store with the stream's first micro-batch (`initialState` of
transformWithState). Only state is sent there, not the whole history: the rows that windows by time
still reach and, for other windows, what each key keeps.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, TimestampType

from sash.engine.columns import one_array
from sash.engine.order import ticks
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.manifest import NAME
from sash.engine.stream.pages import BytesPages, from_bytes
from sash.engine.stream.shard import Shard
from sash.engine.stream.work import Work
from sash.plan.about import About, concerning
from sash.plan.checks import UnknownColumn
from sash.spark.names import quoted
from sash.spark.types import arrow_schema

PAGES = "shard int, name string, page binary"
ARROW = pa.schema([("shard", pa.int32()), ("name", pa.string()), ("page", pa.binary())])


def fitted(history: Any, stream: DataFrame) -> DataFrame:
    """A history with the columns of the stream, of their types and in their order."""
    if not isinstance(history, DataFrame) or history.isStreaming:
        kind = "a streaming DataFrame" if isinstance(history, DataFrame) else type(history)
        raise TypeError(f"history must be a batch DataFrame, not {kind}")
    known = {name.lower() for name in history.columns}
    for name in stream.columns:
        if name.lower() not in known:
            problem = UnknownColumn(
                f"the history has no column {name!r}, which the stream has: add it there, null "
                "if need be, or leave it out of the stream",
                name,
            )
            raise concerning(problem, About("history", name))
    return history.select(*(_as(field) for field in stream.schema.fields))


def _as(field: StructField) -> Column:
    return F.col(quoted(field.name)).cast(field.dataType).alias(field.name)


def cut_of(history: DataFrame, time: str, cut: Any) -> float | None:
    """The time up to which rows are the history's, in ticks; None where it has no rows.

    The youngest time of the history is found by a job. A cut without a zone is in the session's.
    """
    if isinstance(cut, datetime) and cut.tzinfo is None:
        cut = cut.isoformat(sep=" ")
    if cut is None:
        asked = history.select(F.max(F.col(quoted(time))).alias("cut"))
    else:
        kind = history.schema[time].dataType
        asked = history.sparkSession.range(1).select(F.lit(cut).cast(kind).alias("cut"))
    try:
        found = one_array(asked.toArrow().column("cut"))
    except Exception as problem:
        if cut is None:
            raise
        wrong = TypeError(f"cut: {cut!r} is no time of {time!r}: {problem}")
        raise concerning(wrong, About("cut", time)) from None
    if found.null_count:
        if cut is not None:
            wrong = TypeError(f"cut: {cut!r} is no time of {time!r}")
            raise concerning(wrong, About("cut", time))
        return None
    return ticks(found.cast(arrow_schema(asked).field("cut").type), "cut")[0].item()


def that_matters(history: DataFrame, definition: StreamDefinition, cut: float) -> DataFrame:
    """Without rows that no window reaches any more, where the source can skip them."""
    time, least = F.col(quoted(definition.time)), definition.needed_from(cut)
    if not isinstance(history.schema[definition.time].dataType, TimestampType):
        return history  # all of them are looked at when the state is built
    chosen = time <= F.timestamp_micros(F.lit(int(cut)))
    if np.isfinite(least):
        chosen &= time >= F.timestamp_micros(F.lit(int(least)))
    return history.where(chosen | time.isNull())


def first_state(
    blocks: DataFrame, definition: StreamDefinition, schema: pa.Schema, cut: float
) -> GroupedData:
    """The pages of all shards, from blocks of the history's rows."""
    pickled: bytes = cloudpickle.dumps((definition, schema, cut))  # type: ignore[no-untyped-call]

    def sash(blocks: pa.Table) -> pa.Table:
        from sash.spark.history import built

        return built(blocks, pickled)

    return blocks.groupBy("shard").applyInArrow(sash, PAGES).groupBy("shard")


class _Pages:
    """Pages as bytes by name."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        return self.data.get(name)

    def put(self, name: str, data: Any) -> None:
        self.data[name] = data

    def delete(self, name: str) -> None:
        del self.data[name]


def built(blocks: pa.Table, pickled: bytes) -> pa.Table:
    """The pages of one shard and its manifest, from its rows."""
    definition, schema, cut = cloudpickle.loads(pickled)
    pages = _Pages()
    shard = Shard(Work(definition), BytesPages(pages), None)
    tables = [from_bytes(b.as_buffer()) for b in blocks.column("rows") if len(b.as_py())]
    rows = pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()
    shard.load(rows, cut)
    pages.put(NAME, shard.manifest.dump())
    number = blocks.column("shard")[0].as_py()
    batches = [  # one page each: together they may have more bytes than an Arrow array can
        pa.record_batch([[number], [name], [bytes(memoryview(data))]], schema=ARROW)
        for name, data in pages.data.items()
    ]
    return pa.Table.from_batches(batches)
