"""Kafka as a Spark data source in Python, over confluent-kafka: no jar is needed.

    spark.dataSource.register(Kafka)
    spark.readStream.format("sash-kafka").options(servers="host:9092", topic="t").load()

A partition of the topic is a partition of the batch, read from offset to offset; offsets are
kept in Spark's checkpoint, so each row comes once. Options named `kafka.*` go to the
consumer as they are, without that prefix.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
ARROW = pa.schema(
    {"key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32(),
     "offset": pa.int64(), "timestamp": pa.timestamp("us", "UTC")}
)  # fmt: skip
PATIENCE = 20.0  # seconds without an answer from the broker, unless option `timeout` says
BATCH = 10_000


@dataclass
class Piece(InputPartition):
    """A partition of the topic, from an offset up to another."""

    partition: int
    start: int
    end: int


class Topic:
    """A topic as its brokers have it; pickles, and connects where it is used."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.servers, self.name = options["servers"], options["topic"]
        self.patience = float(options.get("timeout", PATIENCE))
        self.more = {k[6:]: v for k, v in options.items() if k.startswith("kafka.")}

    def consumer(self) -> Any:
        try:
            import confluent_kafka
        except ImportError as problem:
            raise ImportError(
                "a Kafka source needs confluent-kafka: pip install 'sash[kafka]'"
            ) from problem
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": "sash",  # a consumer must have one; no offset is committed to it
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # rows that are gone are an error, not a gap
            "log_level": 0,
        }
        return confluent_kafka.Consumer(settings | self.more)

    def ends(self) -> dict[str, tuple[int, int]]:
        """The first and the next offset of each partition."""
        from confluent_kafka import KafkaException, TopicPartition

        consumer = self.consumer()
        try:
            found = consumer.list_topics(self.name, timeout=self.patience).topics[self.name]
            if found.error is not None or not found.partitions:
                raise ValueError(f"Kafka at {self.servers} has no topic {self.name!r}")
            return {
                str(p): consumer.get_watermark_offsets(TopicPartition(self.name, p), self.patience)
                for p in found.partitions
            }
        except KafkaException as problem:
            what = problem.args[0].str()
            raise ConnectionError(f"Kafka at {self.servers} does not answer: {what}") from problem
        finally:
            consumer.close()

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The rows of a piece; an error if the broker stops giving them."""
        from confluent_kafka import TopicPartition

        if piece.start >= piece.end:
            return
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(self.name, piece.partition, piece.start)])
            place, rows, heard = piece.start, [], time.monotonic()
            while place < piece.end:
                for message in consumer.consume(BATCH, 0.5):
                    if message.error():
                        raise ConnectionError(f"Kafka, {self.name}: {message.error().str()}")
                    heard, place = time.monotonic(), message.offset() + 1
                    if place <= piece.end:
                        rows.append(_row(message))
                if time.monotonic() - heard > self.patience:
                    raise ConnectionError(
                        f"Kafka, {self.name}, partition {piece.partition}: no row {place} of "
                        f"{piece.end} in {self.patience:.0f} s"
                    )
                if len(rows) >= BATCH or place >= piece.end:
                    yield _batch(rows)
                    rows = []
        finally:
            consumer.close()


def _row(message: Any) -> tuple[Any, ...]:
    kind, at = message.timestamp()
    moment = datetime.fromtimestamp(at / 1000, UTC) if kind else None
    place = (message.topic(), message.partition(), message.offset())
    return (message.key(), message.value(), *place, moment)


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns: Any = zip(*rows) if rows else [[]] * len(ARROW)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ARROW)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)


class Reader(DataSourceReader):
    """All that is in the topic now."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic

    def partitions(self) -> list[Piece]:
        return [Piece(int(p), lo, hi) for p, (lo, hi) in self.topic.ends().items()]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        return self.topic.read(partition)


class StreamReader(DataSourceStreamReader):
    """The messages that come; an offset is the next one of each partition."""

    def __init__(self, topic: Topic, start: str) -> None:
        self.topic, self.start = topic, start

    def initialOffset(self) -> dict[str, int]:
        side = 0 if self.start == "earliest" else 1
        return {p: ends[side] for p, ends in self.topic.ends().items()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {p: hi for p, (_, hi) in self.topic.ends().items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Piece]:
        return [Piece(int(p), start.get(p, 0), hi) for p, hi in end.items()]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        return self.topic.read(partition)


class Kafka(DataSource):
    """The data source: options servers, topic, start ("earliest" or "latest"), kafka.*."""

    @classmethod
    def name(cls) -> str:
        return "sash-kafka"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> Reader:
        return Reader(Topic(self.options))

    def streamReader(self, schema: Any) -> StreamReader:
        return StreamReader(Topic(self.options), self.options.get("start", "earliest"))
