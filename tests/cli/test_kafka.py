"""Kafka through a Python data source, against the mock broker that confluent-kafka brings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from sash.cli import on_spark, pipeline_file
from sash.cli.errors import EndError

confluent_kafka = pytest.importorskip("confluent_kafka")
Change = Callable[..., Path]


class Broker:
    """A broker that lives as long as its producer."""

    def __init__(self) -> None:
        settings = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
        self.producer = confluent_kafka.Producer(settings)
        brokers = self.producer.list_topics(timeout=10).brokers
        self.servers = ",".join(f"{b.host}:{b.port}" for b in brokers.values())

    def send(self, topic: str, values: list[dict[str, Any]]) -> None:
        for value in values:
            self.producer.produce(topic, json.dumps(value), key=str(value["user"]))
        assert self.producer.flush(10) == 0


@pytest.fixture(scope="module")
def broker() -> Broker:
    return Broker()


def payments(start: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "user": i % 2,
            "ts": f"2024-01-01T{i // 60:02}:{i % 60:02}:00Z",
            "amount": float(i % 7),
            "shop": "s",
        }
        for i in range(start, start + count)
    ]


def of_kafka(changed: Change, servers: str, topic: str) -> Path:
    source = (
        f'"kafka"\nservers = "{servers}"\ntopic = "{topic}"\n'
        'schema = "user long, ts timestamp, amount double, shop string"'
    )
    return changed(('"parquet"\npath = "rows.parquet"', source))


@pytest.mark.slow
def test_a_batch(broker: Broker, changed: Change, spark: Any) -> None:
    broker.send("batch", payments(0, 100))
    outcome = on_spark.batch(pipeline_file.load(of_kafka(changed, broker.servers, "batch")), spark)
    found = parquet.read_table(changed().parent / "out").sort_by("ts")
    assert outcome.rows == 100
    assert found["amount"].to_pylist() == [float(i % 7) for i in range(100)]
    assert found["n"].to_pylist()[-1] == 31  # every other minute of an hour, both ends in


@pytest.mark.slow
def test_a_stream_goes_on_where_it_was(broker: Broker, changed: Change, spark: Any) -> None:
    """Rows that come between two runs are read once; what was given out equals the batch."""
    broker.send("stream", payments(0, 200))
    file = of_kafka(changed, broker.servers, "stream")
    loaded = pipeline_file.load(file)
    first = on_spark.stream(loaded, spark)
    broker.send("stream", payments(200, 400))
    second = on_spark.stream(loaded, spark)
    assert first.rows < second.rows < 600
    streamed = parquet.read_table(file.parent / "out").sort_by("ts")
    text = file.read_text().replace('path = "out"', 'path = "all"')
    file.write_text(text)
    on_spark.batch(pipeline_file.load(file), spark)
    wanted = parquet.read_table(file.parent / "all").sort_by("ts").slice(0, second.rows)
    for name in ("ts", "user", "n", "hi", "who", "fifty", "mine"):
        assert streamed[name].to_pylist() == wanted[name].to_pylist(), name


@pytest.mark.slow
def test_a_topic_that_is_not_there(broker: Broker, changed: Change, spark: Any) -> None:
    file = of_kafka(changed, "127.0.0.1:9", "none")
    file.write_text(
        file.read_text().replace("[windows]", "[source.options]\ntimeout = 1\n[windows]")
    )
    with pytest.raises(EndError) as end:
        on_spark.batch(pipeline_file.load(file), spark)
    assert "Kafka at 127.0.0.1:9 does not answer" in str(end.value)
    assert not (file.parent / "out").exists()
