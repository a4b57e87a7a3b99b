"""Windows over a streaming DataFrame: the same definition as a batch's, exactly once.

    df → rows to shards → transformWithState, a call per shard → rows with answers → df

`emit="final"` gives each row once, when the watermark has passed all that its windows reach,
equal to the batch's; `emit="arrival"` gives it at once, as known then; `emit="update"` gives no
rows, but the values of keys that have changed, which `sash.serve.Sink` keeps. A row whose time the
watermark had passed before its batch is late, as for Spark's own windows: it is counted,
and with late="side" comes out without answers, its column `late` true.

The state has rows, in pages: a batch reads those of the keys that it concerns and writes its
own. Exactly once is Spark's doing: the source's offsets, the state and a sink that can be
written again. A source that gives a row twice has two rows: call dropDuplicatesWithinWatermark
before. Rows come out once and never change, so the output mode is Append, or Update, which is
the same; Spark refuses Complete when the query starts (STREAMING_OUTPUT_MODE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType, TimestampType

from sash.engine.stream.capacity import ON_SPARK, estimated
from sash.engine.stream.definition import LATE, StreamDefinition
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.options import StreamOptions
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.served import METADATA, description
from sash.engine.stream.stats import Stats
from sash.plan.definition import Query
from sash.plan.explain import Explanation, Step
from sash.plan.explain import explain as explain_plan
from sash.plan.planner import plan_of
from sash.plan.types import unit_of
from sash.spark import batch, restart
from sash.spark import history as histories
from sash.spark.keys import hash_of, numbers_of, shards_of
from sash.spark.names import quoted
from sash.spark.processor import Processor, pickled, rows_schema
from sash.spark.shards import Packing, Slicing, shard_ids
from sash.spark.types import transferable

WATERMARK = "spark.watermarkDelayMs"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROCESSED = "rows binary, figures array<long>"


@dataclass(frozen=True)
class SparkStreamOptions(StreamOptions):
    """The arguments of `windowed` over a streaming DataFrame, besides keys and time.

    `shards`: into how many groups keys are hashed; it stays the same for a stream, whatever
    the number of partitions. The default is the number of partitions when the stream begins,
    rounded up to a power of two. `cache`: whether pages are also kept in local files.

    `history`: a batch DataFrame of earlier rows, from which a new stream's state is built; every
    answer is then that of one batch over both. Rows up to `cut` (default: the youngest time of
    the history, found by a job) are the history's, and rows after it the stream's: a row of the
    stream at or before it is late. A checkpoint that is there goes on as it is.

    `checkpoint`: the query's checkpoint location, for which a definition that its state is not of
    is refused by the call, on the driver; the stream goes on with as many shards as it has.
    Without it the query itself ends with that error, in its first batch.
    """

    shards: int | None = None
    cache: bool = True
    checkpoint: Any = None


def aggregate(df: DataFrame, query: Query, **given: Any) -> DataFrame:
    """The stream of rows with one extra column per aggregation.

    `given`: the fields of `SparkStreamOptions`.
    """
    options = SparkStreamOptions(**given)
    job = prepare(df, query, options)
    kept = _kept(df, options)
    live = definition_of(job, options, kept)
    restart.check(kept, live, str(options.checkpoint))
    names = tuple(job.schema.names) if live.gives_rows else tuple(job.query.columns())
    own = job.query.by[0] if live.numbers == "own" else None
    packing = Packing((KEY, CHECK, *names), tuple(shard_ids(live.shards)), own=own)
    known, schema = _history(job, options), rows_schema(live, names)
    sent = packing
    if live.slices_at_once:
        sent = replace(packing, slicing=Slicing(pickled(live), schema, options.cache))
    blocks = _blocks(job, job.df, sent)
    ticks = None
    if (delay := watermark_of(job.df, job.query.time)) is not None:
        ticks = 1_000_000 // (unit_of(job.schema.field(job.query.time).type) or 1)
        never = F.lit(None).cast("timestamp")  # late for Spark: Sash looks at each row itself
        blocks = blocks.select("shard", "rows", never.alias("time", metadata={WATERMARK: delay}))
    told = {
        "ticks": ticks, "late": options.late, "cache": options.cache, "cut": known and known.cut,
    }  # fmt: skip
    processor = Processor(live, names, told)
    begin = None
    if known is not None:
        past = histories.that_matters(known.rows, live, known.cut)
        begin = histories.first_state(_blocks(job, past, packing), live, schema, known.cut)
    done = blocks.groupBy("shard").transformWithStateInPandas(
        processor, PROCESSED, "Append", "EventTime" if ticks else "None", begin
    )
    figures = [F.sum(F.col("figures")[i]).alias(name) for i, name in enumerate(Stats._fields)]
    watched = done.observe(_figures_of(job), *figures)
    output = _output(job, options.late) if options.emit != "update" else _values(job, live)
    return watched.select("rows").mapInArrow(unpack(), output)


def _kept(df: DataFrame, options: SparkStreamOptions) -> list[list[Manifest]]:
    """What the checkpoint has, if one is given."""
    if options.checkpoint is None:
        return []
    return restart.committed(df.sparkSession, str(options.checkpoint))


class History(NamedTuple):
    """Rows before a stream, as the stream has them, and the time in ticks where they end."""

    rows: DataFrame
    cut: float


def _history(job: batch.Job, options: SparkStreamOptions) -> History | None:
    if options.history is None:
        return None
    rows = histories.fitted(options.history, job.df)
    end = histories.cut_of(rows, job.query.time, options.cut)
    return None if end is None else History(rows, end)


def _blocks(job: batch.Job, rows: DataFrame, packing: Packing) -> DataFrame:
    """Rows, packed by shard."""
    names = [name for name in packing.names if name not in (KEY, CHECK)]
    columns = [F.col(quoted(name)).alias(f"c{i}") for i, name in enumerate(names)]
    hashes = [hash_of(job, F.xxhash64).alias(KEY), hash_of(job, F.hash).alias(CHECK)]
    rows = rows.select(*(hashes if packing.own is None else []), *columns)
    return rows.mapInArrow(packing.pack(), "shard int, rows binary")


def prepare(df: DataFrame, query: Query, options: SparkStreamOptions) -> batch.Job:
    """Check a call; raises what is wrong with it, and what to do."""
    options.check(query)
    job = batch.checked(df, query)
    if job.query.descending or job.ties:
        raise ValueError(
            "a stream's windows are in order of time, ascending: order by the time column alone"
        )
    taken = {name.lower() for name in (*df.columns, *query.aggregations)}
    if options.late == "side" and LATE in taken:
        raise ValueError(f"late='side' adds a column {LATE!r}, and there is one: rename it")
    _check_watermark(job, options.emit)
    provider = str(df.sparkSession.conf.get(PROVIDER, ""))
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise ValueError(
            f"Python's stateful operators keep their state in RocksDB: set {PROVIDER} to "
            f"{ROCKSDB} (sash.spark.session() does), it is {provider or 'not set'}"
        )
    return job


def watermark_of(df: DataFrame, time: str) -> int | None:
    """The delay of a column's watermark in milliseconds; None if it has none."""
    found = df.schema[time].metadata.get(WATERMARK)
    return None if found is None else int(found)


def _check_watermark(job: batch.Job, emit: str) -> None:
    time = job.query.time
    marked = [f.name for f in job.df.schema.fields if WATERMARK in f.metadata]
    if time in marked:
        return
    waits = emit in ("final", "update")
    if waits and not isinstance(job.df.schema[time].dataType, TimestampType):
        raise TypeError(
            f"emit={emit!r} waits for the watermark, which Spark has for timestamps alone, and "
            f"{time!r} is {job.df.schema[time].dataType.simpleString()}: cast it, or use "
            "emit='arrival'"
        )
    if marked:
        raise ValueError(
            f"the watermark is on {marked[0]!r}, the windows' time is {time!r}: give the same "
            "column to both"
        )
    if waits:
        raise ValueError(
            f"emit={emit!r} waits for the watermark, and the stream has none: add "
            f".withWatermark({time!r}, '10 minutes') before the call, or use emit='arrival'"
        )


def explain(
    df: DataFrame, query: Query, rates: tuple[float, int] | None = None, **given: Any
) -> Explanation:
    """The plan that `aggregate` would run, in words; `rates`: rows per second, and keys."""
    from sash.spark.explain import stream_steps

    options = SparkStreamOptions(**given)
    job = prepare(df, query, options)
    definition = definition_of(job, options, _kept(df, options))
    delay = watermark_of(job.df, job.query.time)
    steps = stream_steps(job, definition, delay, options.late, options.cache)
    if options.history is not None:
        until = "its youngest time" if options.cut is None else options.cut
        steps.append(Step("history", f"up to {until}; the state is built from it in a batch"))
    if options.checkpoint is not None:
        refused = f"{options.checkpoint}; state of another definition is refused"
        steps.append(Step("checkpoint", refused))
    steps += [] if rates is None else estimated(definition, *rates, ON_SPARK)
    return explain_plan(definition.plan, steps)


def definition_of(
    job: batch.Job, options: SparkStreamOptions, kept: Sequence[list[Manifest]] = ()
) -> StreamDefinition:
    """The instructions of shards. Times are in UTC: the session's zone may change, rows do not."""
    answers = {name: transferable(kind) for name, kind in job.answers.items()}
    schema = pa.schema(map(_in_utc, job.schema))
    plan = plan_of(job.query, schema, options.planning)
    shards = shards_of(job.df, options.shards, kept)
    return StreamDefinition(plan, answers, shards, allow_pickle=True, numbers=numbers_of(job, kept))


def _in_utc(field: pa.Field) -> pa.Field:
    zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp(field.type.unit, "UTC")) if zoned else field


def _output(job: batch.Job, late: str) -> StructType:
    schema = batch.output_of(job)
    fields = [StructField(f.name, f.dataType, True) for f in schema.fields]
    if late == "side":
        fields.append(StructField(LATE, BooleanType(), False))
    return StructType(fields)


def _values(job: batch.Job, definition: StreamDefinition) -> StructType:
    """The columns of keys' values: keys, time, answers; the first says what they are of."""
    known = {field.name: field for field in batch.output_of(job).fields}
    fields = [StructField(name, known[name].dataType, True) for name in definition.output.names]
    fields[0].metadata = {METADATA: description(definition)}
    return StructType(fields)


def _figures_of(job: batch.Job) -> str:
    """The name of the figures in Spark's progress; that of two calls in a query differs."""
    return f"sash: {', '.join(job.query.aggregations)}"


def unpack() -> Any:
    """The function for mapInArrow, from blocks to rows."""

    def sash(batches: Any) -> Any:
        from sash.spark.shards import unpacked

        return unpacked(batches)

    return sash
