"""Sources: a pipeline's rows as a Spark DataFrame, in a batch or as a stream."""

from __future__ import annotations

from typing import Any

from sash.cli.columns import check_columns, check_spine_columns
from sash.cli.errors import EndError, one_line
from sash.cli.pipeline import FILES, Pipeline, Source
from sash.cli.spark_types import DataFrame, SparkSession
from sash.spark.names import quoted

DEFAULTS: dict[str, dict[str, Any]] = {
    "parquet": {},
    # a row that cannot be read is an error: to leave it out would change answers silently
    "csv": {"header": True, "mode": "FAILFAST", "enforceSchema": False},
    "json": {"mode": "FAILFAST"},
}


def rows(pipeline: Pipeline, spark: SparkSession, stream: bool = False) -> DataFrame:
    """The source's rows, with `columns` added and `where` applied; ends where it is wrong."""
    source = pipeline.source
    if source.format in FILES:
        found = _files(source, spark, pipeline.stream.files if stream else None, stream)
    elif source.format == "rate":
        found = _rate(source, spark, stream)
    else:
        found = _kafka(source, spark, stream)
    found = _derived(pipeline, found)
    check_columns(pipeline, found.columns)
    return found


def spine(pipeline: Pipeline, spark: SparkSession) -> Any:
    """The rows of the spine; None where there is none."""
    if pipeline.spine is None:
        return None
    found = _files(pipeline.spine.source, spark)
    check_spine_columns(pipeline, found.columns)
    return found


def history(pipeline: Pipeline, spark: SparkSession) -> dict[str, Any]:
    """The options of a stream that begins with rows from elsewhere, treated as the source's."""
    if pipeline.history is None:
        return {}
    found = _derived(pipeline, _files(pipeline.history.source, spark))
    return {"history": found, "cut": pipeline.history.cut}


def _files(
    source: Source, spark: SparkSession, most: int | None = None, stream: bool = False
) -> DataFrame:
    """A source of files; `most`: how many of them a batch of a stream has."""
    assert source.path is not None
    options = DEFAULTS[source.format] | source.options
    if source.format == "csv" and source.schema is None:
        options.setdefault("inferSchema", True)
    reader = spark.read.format(source.format).options(**options)
    try:
        if source.schema is not None:
            reader = reader.schema(source.schema)
    except Exception as problem:
        source.table.wrong("schema", one_line(problem))
    try:
        batch = reader.load(str(source.path))
    except Exception as problem:
        raise EndError(f"{source.path}: {one_line(problem)}") from problem
    if not stream:
        return batch
    if most is not None:
        options["maxFilesPerTrigger"] = most
    incoming = spark.readStream.format(source.format).options(**options).schema(batch.schema)
    return incoming.load(str(source.path))


def _rate(source: Source, spark: SparkSession, stream: bool) -> DataFrame:
    """Spark's rate source; in a batch as many rows of the same kind from 2024 on."""
    a_second = int(source.options["rows_per_second"])
    if stream:
        return spark.readStream.format("rate").option("rowsPerSecond", a_second).load()
    micros = f"id * {1_000_000 // a_second if a_second <= 1_000_000 else 1}"
    start = "unix_micros(timestamp'2024-01-01 00:00:00')"
    moment = f"timestamp_micros({start} + {micros}) AS timestamp"
    return spark.range(int(source.options["rows"])).selectExpr(moment, "id AS value")


def _kafka(source: Source, spark: SparkSession, stream: bool) -> DataFrame:
    """A topic; with a `schema`, values are JSON of that schema, and its fields are columns."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        raise EndError("a Kafka source needs confluent-kafka: pip install 'sash[kafka]'") from None
    from sash.cli.kafka import Kafka

    spark.dataSource.register(Kafka)
    reader: Any = spark.readStream if stream else spark.read
    found = reader.format(Kafka.name()).options(**source.options).load()
    if source.schema is None:
        return found.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value",
                                "topic", "partition", "offset", "timestamp")  # fmt: skip
    text = source.schema.replace("'", "''")
    parsed = f"from_json(CAST(value AS STRING), '{text}', map('mode', 'FAILFAST')) AS value"
    try:
        return found.selectExpr(parsed).selectExpr("value.*")
    except Exception as problem:
        source.table.wrong("schema", one_line(problem))


def _derived(pipeline: Pipeline, found: DataFrame) -> DataFrame:
    source = pipeline.source
    for name, expression in source.columns.items():
        kept = [quoted(column) for column in found.columns if column.lower() != name.lower()]
        try:
            found = found.selectExpr(*kept, f"{expression} AS {quoted(name)}")
        except Exception as problem:
            pipeline.root.table("columns").wrong(name, one_line(problem))
    if source.where is not None:
        try:
            found = found.where(source.where)
        except Exception as problem:
            pipeline.root.wrong("where", one_line(problem))
    return found
